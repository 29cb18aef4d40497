//! The link of this process.
#![forbid(unsafe_code)]

use crate::shared::Shared;
use crate::wire::Wire;
use std::fmt;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};

/// The link of this process to the others. A parcel has at most 1 GiB; sending a longer one panics.
pub struct MpiLink {
    /// `None` while it is dropped.
    wire: Option<Wire>,
    shared: Arc<Shared>,
}

impl fmt::Debug for MpiLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the link of {} of {} over MPI",
            self.here(),
            self.ranks()
        )
    }
}

impl MpiLink {
    pub(crate) fn new(wire: Wire, shared: Arc<Shared>) -> Self {
        Self {
            wire: Some(wire),
            shared,
        }
    }

    fn wire(&self) -> &Wire {
        self.wire.as_ref().expect("until it is dropped")
    }

    fn wire_mut(&mut self) -> &mut Wire {
        self.wire.as_mut().expect("until it is dropped")
    }
}

impl Link for MpiLink {
    fn here(&self) -> Rank {
        self.wire().here()
    }

    fn ranks(&self) -> u32 {
        self.wire().ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.wire().nap().clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.wire_mut().send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.wire_mut().poll(take)
    }

    /// Its bell is a nap, whose end may find something.
    fn arm(&mut self) -> bool {
        true
    }

    fn unsent(&self, to: Rank) -> usize {
        self.wire().unsent(to)
    }
}

impl Drop for MpiLink {
    fn drop(&mut self) {
        let mut wire = self.wire.take().expect("dropped once");
        wire.leave();
        self.shared.leave(wire);
    }
}
