//! Queues under one lock.

use super::packets::{PlainPackets, complete};
use super::world::{self, Inbox, State, World};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tautline_core::Rank;
use tautline_core::comm::{Error, PacketLink};
use tautline_core::port::{Bell, Link, Lost};

/// A link to the other ranks of this process: queues without bounds under one lock.
pub struct Plain {
    here: Rank,
    world: Arc<World>,
}

/// The bell of a [`Plain`] link.
struct PlainBell {
    here: Rank,
    world: Arc<World>,
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the link of {} in this process", self.here)
    }
}

impl Plain {
    /// Connects `ranks` ranks.
    pub fn new(ranks: u32) -> Vec<Self> {
        let world = Arc::new(World::new(ranks));
        (0..ranks)
            .map(|here| Self {
                here: Rank(here),
                world: world.clone(),
            })
            .collect()
    }

    /// Returns the transport of packets, in addition to the parcels.
    pub fn packets(&self) -> Arc<dyn PacketLink> {
        Arc::new(PlainPackets {
            here: self.here,
            world: self.world.clone(),
        })
    }
}

impl Bell for PlainBell {
    fn ring(&self) {
        self.world.ranks()[self.here.index()].is_rung = true;
        self.world.changed.notify_all();
    }

    fn wait(&self, ticks: u64) {
        let at = self.here.index();
        let is_idle = |ranks: &mut Vec<State>| {
            let state = &mut ranks[at];
            let has_mail = !state.mail.is_empty() || !state.inbox.is_empty();
            !core::mem::take(&mut state.is_rung) && !has_mail && state.losses.is_empty()
        };
        let limit = Duration::from_nanos(ticks);
        let changed = &self.world.changed;
        let waited = changed.wait_timeout_while(self.world.ranks(), limit, is_idle);
        drop(waited.expect("held for moves of queues only"));
    }
}

impl Link for Plain {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.world.ranks().len() as u32
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(PlainBell {
            here: self.here,
            world: self.world.clone(),
        })
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        assert!(to != self.here && to.0 < self.ranks(), "{to}");
        let mut ranks = self.world.ranks();
        let state = &mut ranks[to.index()];
        if !state.is_gone {
            state.mail.push_back((self.here, parcel.to_vec()));
        }
        drop(ranks);
        self.world.changed.notify_all();
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let (mail, moved, lost) = {
            let mut ranks = self.world.ranks();
            let moved = world::pass_packets(&mut ranks, self.here);
            let state = &mut ranks[self.here.index()];
            let mail = core::mem::take(&mut state.mail);
            let moved = moved || !mail.is_empty();
            (mail, moved, state.losses.pop())
        };
        for (from, parcel) in &mail {
            take(*from, parcel);
        }
        let lost = lost.map(|rank| Lost {
            rank,
            doing: "receiving from it",
            is_gone: true,
        });
        lost.map_or(Ok(moved), Err)
    }

    fn arm(&mut self) -> bool {
        true
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let mut ranks = self.world.ranks();
        let mut ends = Vec::new();
        for (rank, state) in ranks.iter_mut().enumerate() {
            state.losses.push(self.here);
            let error = match rank == self.here.index() {
                true => Error::Closed,
                false => world::lost(self.here),
            };
            let queues = state.started.values_mut();
            ends.extend(queues.flat_map(|queue| world::end(queue, error)));
        }
        let state = &mut ranks[self.here.index()];
        state.is_gone = true;
        state.mail.clear();
        state.inbox = Inbox::default();
        drop(ranks);
        complete(ends);
        self.world.changed.notify_all();
    }
}
