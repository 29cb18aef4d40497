//! A runtime computes for one rank at a time: ranks that shared its workers would wait for each
//! other.

use crate::Result;
use crate::error::refuse;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tautline_core::Rank;

/// The rank for which a runtime computes.
#[derive(Debug, Default)]
pub(crate) struct Serves(Mutex<Option<Served>>);

/// A rank, by its number and the address of its channels, and its computations.
#[derive(Debug)]
struct Served {
    rank: Rank,
    address: usize,
    computations: usize,
}

impl Serves {
    /// Computes for `rank`, whose channels are at `address`, until the result is dropped.
    ///
    /// # Errors
    /// The runtime computes for another rank.
    pub(crate) fn serve(&self, rank: Rank, address: usize) -> Result<impl Sized> {
        let mut served = self.lock();
        let served = served.get_or_insert(Served {
            rank,
            address,
            computations: 0,
        });
        if served.address != address {
            let allowed = "each rank of a process needs a runtime of its own".to_owned();
            return refuse(
                "runtime",
                format!("that serves {} now", served.rank),
                allowed,
            );
        }
        served.computations += 1;
        Ok(Serving(self))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Served>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A computation for a rank.
struct Serving<'s>(&'s Serves);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        let mut served = self.0.lock();
        *served = served.take().and_then(|served| {
            let computations = served.computations - 1;
            (computations > 0).then_some(Served {
                computations,
                ..served
            })
        });
    }
}
