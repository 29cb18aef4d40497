//! Queues under one lock.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};

/// A link to the other ranks of this process: queues without bounds under one lock.
#[derive(Debug)]
pub struct Plain {
    here: Rank,
    world: Arc<World>,
}

/// The bell of a [`Plain`] link.
struct PlainBell {
    here: Rank,
    world: Arc<World>,
}

#[derive(Debug)]
struct World {
    ranks: Mutex<Vec<State>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mail: VecDeque<(Rank, Vec<u8>)>,
    /// Losses to be reported to it.
    losses: Vec<Rank>,
    is_rung: bool,
    is_gone: bool,
}

impl World {
    fn ranks(&self) -> MutexGuard<'_, Vec<State>> {
        self.ranks.lock().expect("held for moves of queues only")
    }
}

impl Plain {
    /// Connects `ranks` ranks.
    pub fn new(ranks: u32) -> Vec<Self> {
        let world = Arc::new(World {
            ranks: Mutex::new((0..ranks).map(|_| State::default()).collect()),
            changed: Condvar::new(),
        });
        (0..ranks)
            .map(|here| Self {
                here: Rank(here),
                world: world.clone(),
            })
            .collect()
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
            !core::mem::take(&mut state.is_rung) && state.mail.is_empty() && state.losses.is_empty()
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
        let (mail, lost) = {
            let mut ranks = self.world.ranks();
            let state = &mut ranks[self.here.index()];
            (core::mem::take(&mut state.mail), state.losses.pop())
        };
        for (from, parcel) in &mail {
            take(*from, parcel);
        }
        let lost = lost.map(|rank| Lost {
            rank,
            doing: "receiving from it",
            is_gone: true,
        });
        lost.map_or(Ok(!mail.is_empty()), Err)
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
        for state in ranks.iter_mut() {
            state.losses.push(self.here);
        }
        let state = &mut ranks[self.here.index()];
        state.is_gone = true;
        state.mail.clear();
        drop(ranks);
        self.world.changed.notify_all();
    }
}
