//! The link of this process.
#![forbid(unsafe_code)]

use crate::nap::Nap;
use crate::packets::SharedWire;
use crate::shared::Shared;
use crate::wire::Wire;
use mpi::environment;
use std::fmt;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::PacketLink;
use tautline_core::port::{Bell, Link, Lost};

/// The link of this process to the others. A parcel has at most 1 GiB; sending a longer one panics.
pub struct MpiLink {
    here: Rank,
    ranks: u32,
    nap: Arc<Nap>,
    wire: Arc<SharedWire>,
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
            here: wire.here(),
            ranks: wire.ranks(),
            nap: Arc::clone(wire.nap()),
            wire: Arc::new(SharedWire::new(wire)),
            shared,
        }
    }

    /// Returns the way of the packets of communicators.
    pub fn packets(&self) -> Arc<dyn PacketLink> {
        self.wire.clone()
    }
}

impl Link for MpiLink {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.ranks
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.nap.clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.wire.with(|wire| wire.send(to, parcel));
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.wire.with(|wire| wire.poll(take))
    }

    /// Its bell is a nap, whose end may find something.
    fn arm(&mut self) -> bool {
        true
    }

    fn unsent(&self, to: Rank) -> usize {
        self.wire.with(|wire| wire.unsent(to))
    }
}

impl Drop for MpiLink {
    fn drop(&mut self) {
        let Some(mut wire) = self.wire.close() else {
            return;
        };
        if environment::is_finalized() {
            // The program has ended the library, which would end the process for any further call.
            std::mem::forget(wire);
            return;
        }
        wire.leave();
        for (done, outcome) in wire.natives().take_ended() {
            done.complete(outcome);
        }
        self.shared.leave(wire);
    }
}
