//! The simulator's network.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use tautline_core::port::{Bell, Link, Lost};
use tautline_core::{PlaceId, Rank};
use tautline_sim::engine::{Actor, Engine, Faults, Here, Turn, Weigh, World};
use tautline_sim::{Cluster, Ranks};

/// A link over the simulator's engine: parcels take the way of its messages, with its delays, its
/// bandwidth and its lost transmissions. Virtual time passes when a rank polls or waits, one event
/// at a time. A parcel in flight counts as not sent.
#[derive(Debug)]
pub struct Simulated {
    here: Rank,
    sea: Arc<Sea>,
}

/// The bell of a [`Simulated`] link.
struct SimulatedBell {
    here: Rank,
    sea: Arc<Sea>,
}

/// State shared by all ranks.
#[derive(Debug)]
struct Sea {
    waters: Mutex<Waters>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waters {
    world: World<Cargo>,
    /// By rank.
    ports: Vec<Port>,
    /// By sender and receiver: the bytes in flight.
    under_way: Vec<Vec<usize>>,
    /// Parcels sent, events processed, and ranks gone.
    changes: u64,
}

/// One message of the engine.
#[derive(Debug)]
enum Cargo {
    Parcel(Vec<u8>),
    /// The sender has gone.
    Gone,
}

impl Weigh for Cargo {
    const KINDS: usize = 1;

    fn kind(&self) -> usize {
        0
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Parcel(bytes) => bytes.len() as u64,
            Self::Gone => 0,
        }
    }
}

/// The actor at which a rank's parcels arrive.
#[derive(Debug, Default)]
struct Port {
    mail: VecDeque<(Rank, Vec<u8>)>,
    /// The arrivals since the bytes in flight were counted: senders, and numbers of bytes.
    arrived: Vec<(Rank, usize)>,
    losses: Vec<Rank>,
    is_rung: bool,
    /// The changes when the rank prepared to wait.
    heard: u64,
    is_gone: bool,
}

impl Actor for Port {
    type Message = Cargo;

    fn step(&mut self, _: &Here<'_, Cargo>) -> Turn {
        Turn::Parked
    }

    fn on(&mut self, from: PlaceId, cargo: Cargo, _: &Here<'_, Cargo>) {
        let from = Rank(from.0);
        match cargo {
            Cargo::Parcel(bytes) => {
                self.arrived.push((from, bytes.len()));
                if !self.is_gone {
                    self.mail.push_back((from, bytes));
                }
            }
            Cargo::Gone => self.losses.push(from),
        }
    }
}

impl Waters {
    /// Processes the next event. Returns whether there was one.
    fn advance(&mut self) -> bool {
        let mut engine = Engine::new(&self.world, core::mem::take(&mut self.ports));
        let moved = engine.advance().is_some();
        self.changes += u64::from(moved);
        self.ports = engine.into_actors();
        for (to, port) in self.ports.iter_mut().enumerate() {
            for (from, bytes) in port.arrived.drain(..) {
                let sent = &mut self.under_way[from.index()][to];
                // Parcels in flight to a rank that has gone were dropped.
                *sent = sent.saturating_sub(bytes);
            }
        }
        moved
    }
}

impl Sea {
    fn waters(&self) -> MutexGuard<'_, Waters> {
        self.waters.lock().expect("no test panics in the engine")
    }
}

impl Simulated {
    /// Connects `ranks` ranks, one on each node of `cluster`, whose messages between two ranks must
    /// be ordered.
    ///
    /// # Panics
    /// If they are not.
    pub fn new(cluster: Cluster, faults: Faults, ranks: u32, seed: u64) -> Vec<Self> {
        assert!(cluster.ordered, "a link keeps the order of its parcels");
        let cluster = Cluster {
            node_places: 1,
            ranks: Ranks {
                places: 1,
                worker: true,
                ..cluster.ranks
            },
            ..cluster
        };
        let waters = Waters {
            world: World::new(cluster, ranks, 1, seed).with_faults(faults),
            ports: (0..ranks).map(|_| Port::default()).collect(),
            under_way: vec![vec![0; ranks as usize]; ranks as usize],
            changes: 0,
        };
        let sea = Arc::new(Sea {
            waters: Mutex::new(waters),
            changed: Condvar::new(),
        });
        let link = |here| Self {
            here: Rank(here),
            sea: Arc::clone(&sea),
        };
        (0..ranks).map(link).collect()
    }

    fn port<'a>(&self, waters: &'a mut Waters) -> &'a mut Port {
        &mut waters.ports[self.here.index()]
    }
}

impl Bell for SimulatedBell {
    fn ring(&self) {
        self.sea.waters().ports[self.here.index()].is_rung = true;
        self.sea.changed.notify_all();
    }

    /// Any change may concern this rank: an event to process, or what another rank has processed.
    fn wait(&self, ticks: u64) {
        let at = self.here.index();
        let is_idle = |waters: &mut Waters| {
            let port = &mut waters.ports[at];
            !core::mem::take(&mut port.is_rung) && port.heard == waters.changes
        };
        let limit = Duration::from_nanos(ticks);
        let changed = &self.sea.changed;
        let waited = changed.wait_timeout_while(self.sea.waters(), limit, is_idle);
        drop(waited.expect("no test panics in the engine"));
    }
}

impl Link for Simulated {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.sea.waters().ports.len() as u32
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(SimulatedBell {
            here: self.here,
            sea: Arc::clone(&self.sea),
        })
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        assert!(to != self.here && to.0 < self.ranks(), "{to}");
        let mut waters = self.sea.waters();
        if waters.ports[to.index()].is_gone {
            return;
        }
        waters.changes += 1;
        waters.under_way[self.here.index()][to.index()] += parcel.len();
        let here = waters.world.at(PlaceId(self.here.0));
        here.send(PlaceId(to.0), Cargo::Parcel(parcel.to_vec()), 0);
        drop(waters);
        self.sea.changed.notify_all();
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let mut waters = self.sea.waters();
        let moved = waters.advance();
        let port = self.port(&mut waters);
        let (mail, lost) = (core::mem::take(&mut port.mail), port.losses.pop());
        drop(waters);
        if moved {
            self.sea.changed.notify_all();
        }
        for (from, parcel) in &mail {
            take(*from, parcel);
        }
        let lost = lost.map(|rank| Lost {
            rank,
            doing: "receiving from it",
            is_gone: true,
        });
        lost.map_or(Ok(moved || !mail.is_empty()), Err)
    }

    fn arm(&mut self) -> bool {
        let mut waters = self.sea.waters();
        let moved = waters.advance();
        let changes = waters.changes;
        let port = self.port(&mut waters);
        port.heard = changes;
        let is_idle = port.mail.is_empty() && port.losses.is_empty();
        drop(waters);
        if moved {
            self.sea.changed.notify_all();
        }
        is_idle && !moved
    }

    fn unsent(&self, to: Rank) -> usize {
        self.sea.waters().under_way[self.here.index()][to.index()]
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        // A test that has failed may have left the lock poisoned.
        let Ok(mut waters) = self.sea.waters.lock() else {
            return;
        };
        waters.changes += 1;
        let port = self.port(&mut waters);
        port.is_gone = true;
        port.mail.clear();
        let ranks = waters.ports.len() as u32;
        for to in (0..ranks).filter(|to| *to != self.here.0) {
            // What was sent to this rank is dropped.
            waters.under_way[to as usize][self.here.index()] = 0;
            let here = waters.world.at(PlaceId(self.here.0));
            here.send(PlaceId(to), Cargo::Gone, 0);
        }
        drop(waters);
        self.sea.changed.notify_all();
    }
}
