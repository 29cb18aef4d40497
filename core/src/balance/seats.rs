//! Assignment of the seats of a balanced computation to workers of the pool.
//!
//! A future takes its seat when it is polled first, at the place of the worker that polls it, so
//! that it begins near the memory of its place. Another worker may poll it later. It is a
//! preference, not a binding: with a binding, the computation could not end before whatever
//! occupies a place's workers has ended.

use crate::id::{PlaceId, WorkerId};
use crate::port::Relax;
use crate::sync::Lock;
use alloc::vec::Vec;

/// The workers of a computation, of type `W`, until a future has taken them.
#[derive(Debug)]
pub(super) struct Seats<W> {
    seats: Vec<Seat<W>>,
    /// The number of leaves of the pool's tree, in whose order the seats are.
    leaves: usize,
}

#[derive(Debug)]
struct Seat<W> {
    at: (PlaceId, WorkerId),
    worker: Lock<Option<W>>,
}

impl<W> Seats<W> {
    /// Creates the seats of `workers`, which are listed place by place, on a pool whose tree has
    /// `leaves`.
    pub(super) fn new(workers: impl IntoIterator<Item = Seated<W>>, leaves: usize) -> Self {
        let seat = |(at, worker)| Seat {
            at,
            worker: Lock::new(Some(worker)),
        };
        Self {
            seats: workers.into_iter().map(seat).collect(),
            leaves,
        }
    }

    /// Takes the free seat that suits a worker at leaf `here` best: its own, another one of the
    /// same place, any.
    pub(super) fn take(&self, here: usize, relax: &impl Relax) -> Option<Seated<W>> {
        let seats = self.seats.len();
        let own = (here * seats / self.leaves).min(seats.saturating_sub(1));
        let place = self.seats.get(own)?.at.0;
        let order = self.seats[own..].iter().chain(&self.seats[..own]);
        let (near, far) = (order.clone(), order);
        let near = near.filter(|seat| seat.at.0 == place);
        let far = far.filter(|seat| seat.at.0 != place);
        near.chain(far).find_map(|seat| seat.take(relax))
    }
}

/// A value with its seat.
pub(super) type Seated<T> = ((PlaceId, WorkerId), T);

impl<W> Seat<W> {
    fn take(&self, relax: &impl Relax) -> Option<Seated<W>> {
        let worker = self.worker.lock(relax).take()?;
        Some((self.at, worker))
    }
}
