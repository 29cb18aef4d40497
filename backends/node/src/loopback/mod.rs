//! Ranks inside one process: a link of threads, for tests and as the first world.
//!
//! # Algorithm
//! From each rank to each other leads a ring ([`tautline_core::channel`]). A parcel is a record, or
//! several if it is longer than a piece: the first one begins with the length of the parcel. What
//! does not fit into the ring waits in a queue of its sender. A rank that waits marks the rings
//! that it waits for, and sleeps on its bell.
//!
//! # Words
//! `Shared::gone`: set by each rank when its end is dropped. The rings have their own.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | LB1 | `Loopback::drop` sets `gone` | `poll` and `send` load it | the last records of the rank that is gone | the rings: `verify/tests/channel.rs` |
#![forbid(unsafe_code)]

mod pair;
mod signal;

use pair::{Inward, Outward};
use signal::Signal;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_core::Rank;
use tautline_core::channel::Local;
use tautline_core::port::{Bell, Link, Lost};

/// Words of a ring.
const UNITS: usize = 1 << 12;

/// One rank's link to the other ranks of this process.
///
/// ```
/// use tautline_core::port::Link;
/// use tautline_core::Rank;
/// use tautline_node::Loopback;
///
/// let [mut zero, mut one] = Loopback::all::<2>();
/// std::thread::scope(|scope| {
///     scope.spawn(move || {
///         zero.send(Rank(1), b"hello");
///         while zero.unsent(Rank(1)) > 0 {
///             zero.poll(&mut |_, _| ()).expect("rank 1 waits for the parcel");
///         }
///     });
///     let mut got = Vec::new();
///     while got.is_empty() {
///         one.wait(1_000_000);
///         // Rank 0 ends after its parcel.
///         let _ = one.poll(&mut |from, parcel| got.push((from, parcel.to_vec())));
///     }
///     assert_eq!(got, [(Rank(0), b"hello".to_vec())]);
/// });
/// ```
pub struct Loopback {
    here: Rank,
    shared: Arc<Shared>,
    /// By rank; `None` at this one.
    peers: Vec<Option<Peer>>,
}

/// What all ranks share.
struct Shared {
    bells: Vec<Arc<Signal>>,
    gone: Vec<AtomicBool>,
}

/// Another rank.
struct Peer {
    out: Outward,
    inward: Inward,
    /// Whether its loss was reported.
    is_reported: bool,
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the loopback link of {} of {}", self.here, self.ranks())
    }
}

impl Loopback {
    /// Connects `ranks` ranks. Dropping a link is the loss of its rank for the others; what they
    /// have not received of it by then still arrives, but for what waited for room.
    ///
    /// # Panics
    /// If `ranks` is 0.
    pub fn new(ranks: u32) -> Vec<Self> {
        Self::with_rings(ranks, UNITS)
    }

    /// As [`new`](Self::new), as an array.
    ///
    /// # Panics
    /// If `N` is 0.
    pub fn all<const N: usize>() -> [Self; N] {
        let all = Self::new(u32::try_from(N).expect("few ranks"));
        all.try_into().expect("one link for each rank")
    }

    /// As [`new`](Self::new), with rings of `units` words each: a power of two, at least 8.
    ///
    /// # Panics
    /// If `ranks` is 0, or `units` is not as stated.
    pub fn with_rings(ranks: u32, units: usize) -> Vec<Self> {
        assert_ne!(ranks, 0, "ranks of a program");
        assert!(units >= 8, "{units} words of a ring: at least 8");
        let shared = Arc::new(Shared {
            bells: (0..ranks).map(|_| Arc::default()).collect(),
            gone: (0..ranks).map(|_| AtomicBool::new(false)).collect(),
        });
        let ring = || Arc::new(Local::new(units));
        let rings: Vec<Vec<_>> = (0..ranks)
            .map(|_| (0..ranks).map(|_| ring()).collect())
            .collect();
        let link = |here: u32| Self {
            here: Rank(here),
            shared: shared.clone(),
            peers: (0..ranks as usize)
                .map(|there| {
                    let at = here as usize;
                    (there != at).then(|| Peer {
                        out: Outward::new(rings[at][there].clone()),
                        inward: Inward::new(rings[there][at].clone()),
                        is_reported: false,
                    })
                })
                .collect(),
        };
        (0..ranks).map(link).collect()
    }
}

impl Shared {
    fn is_gone(&self, rank: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in drop (LB1): its last records are in the rings;
        // no mutant: no model runs the threads' links.
        self.gone[rank].load(Ordering::Acquire)
    }
}

impl Link for Loopback {
    fn here(&self) -> Rank {
        self.here
    }

    fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.shared.bells[self.here.index()].clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        let ranks = self.peers.len();
        let peer = self.peers.get_mut(to.index()).and_then(Option::as_mut);
        let Some(peer) = peer else {
            panic!("{} sends to {to} of {ranks}", self.here);
        };
        if !self.shared.is_gone(to.index()) {
            peer.out.send(parcel);
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let Self { shared, peers, .. } = self;
        let mut moved = false;
        let mut lost = None;
        for (rank, peer) in peers.iter_mut().enumerate() {
            let Some(peer) = peer else { continue };
            // Before its ring is read: what it sent last is then in the ring.
            let is_gone = shared.is_gone(rank);
            let from = Rank(rank as u32);
            if is_gone {
                peer.out.drop_all();
            } else {
                moved |= peer.out.push(&shared.bells[rank]);
            }
            let (some, is_empty) = peer
                .inward
                .drain(&shared.bells[rank], &mut |p| take(from, p));
            moved |= some;
            if is_gone && is_empty && !peer.is_reported && lost.is_none() {
                peer.is_reported = true;
                lost = Some(Lost {
                    rank: from,
                    doing: "receiving from it",
                });
            }
        }
        lost.map_or(Ok(moved), Err)
    }

    fn arm(&mut self) -> bool {
        let Self { shared, peers, .. } = self;
        let mut may_sleep = true;
        for (rank, peer) in peers.iter_mut().enumerate() {
            let Some(peer) = peer else { continue };
            let _ = peer.out.push(&shared.bells[rank]);
            may_sleep &= peer.inward.sleep() && peer.out.sleep();
            // After the marks: a rank that goes later rings.
            may_sleep &= !shared.is_gone(rank) || peer.is_reported;
        }
        may_sleep
    }

    fn unsent(&self, to: Rank) -> usize {
        let peer = self.peers.get(to.index()).and_then(Option::as_ref);
        peer.map_or(0, |p| p.out.unsent())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        let Self {
            shared,
            peers,
            here,
        } = self;
        for (rank, peer) in peers.iter_mut().enumerate() {
            if let Some(peer) = peer {
                let _ = peer.out.push(&shared.bells[rank]);
            }
        }
        // ORDERING: Release, pairs with Acquire in is_gone (LB1): the last records of this rank;
        // no mutant: as there.
        shared.gone[here.index()].store(true, Ordering::Release);
        for bell in &shared.bells {
            bell.ring();
        }
    }
}
