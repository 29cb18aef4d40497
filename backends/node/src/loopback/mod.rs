//! Ranks inside one process: a link of threads, for tests and as the first world.
//!
//! The rings between them are those of [`Mesh`], in memory of this process.
//!
//! # Words
//! `Company::gone`: set by each rank when its end is dropped. The rings have their own.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | LB1 | `leave` sets `gone` | `is_gone` loads it | the last records of the rank that is gone | the rings: `verify/tests/channel.rs`; `verify/litmus/loopback.toml` |
#![forbid(unsafe_code)]

#[cfg(test)]
mod corrupt;
mod signal;

use crate::fence::FullFences;
use signal::Signal;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_core::Rank;
use tautline_core::channel::{Local, Mesh, Roster};
use tautline_core::port::{Bell, Link, Lost};

/// Words of a ring.
const UNITS: usize = 1 << 12;

/// One rank's link to the other ranks of this process. A parcel has at most 1 GiB; sending a longer
/// one panics.
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
pub struct Loopback(Mesh<Arc<Local>, Company>);

/// State shared by all ranks.
struct Company {
    bells: Vec<Signal>,
    gone: Vec<AtomicBool>,
}

impl Roster for Company {
    type Fence = FullFences;

    fn fence(&self) -> &FullFences {
        &FullFences
    }

    fn is_gone(&self, rank: Rank) -> bool {
        // ORDERING: Acquire, pairs with Release in leave (LB1): its last records are in the rings.
        self.gone[rank.index()].load(Ordering::Acquire)
    }

    fn leave(&self, rank: Rank) {
        // ORDERING: Release, pairs with Acquire in is_gone (LB1): the last records of this rank.
        self.gone[rank.index()].store(true, Ordering::Release);
    }

    fn ring(&self, rank: Rank) {
        self.bells[rank.index()].ring();
    }

    fn wait(&self, rank: Rank, ticks: u64) {
        self.bells[rank.index()].wait(ticks);
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the loopback link of {} of {}",
            self.here(),
            self.ranks()
        )
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
        let ring = || Arc::new(Local::new(units));
        let rings: Vec<Vec<_>> = (0..ranks)
            .map(|_| (0..ranks).map(|_| ring()).collect())
            .collect();
        Self::over(&rings)
    }

    /// Connects ranks through `rings`, by sender and receiver.
    fn over(rings: &[Vec<Arc<Local>>]) -> Vec<Self> {
        let company = Arc::new(Company {
            bells: rings.iter().map(|_| Signal::default()).collect(),
            gone: rings.iter().map(|_| AtomicBool::new(false)).collect(),
        });
        let ranks = rings.len() as u32;
        let ring = |from: Rank, to: Rank| rings[from.index()][to.index()].clone();
        let link = |here| Self(Mesh::new(Rank(here), ranks, company.clone(), ring));
        (0..ranks).map(link).collect()
    }
}

impl Link for Loopback {
    fn here(&self) -> Rank {
        self.0.here()
    }

    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.0.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.0.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.0.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.0.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.0.unsent(to)
    }
}
