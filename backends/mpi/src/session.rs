//! The MPI library of this process.

use crate::calls::Comm;
use crate::error::Error;
use crate::exit;
use crate::link::MpiLink;
use crate::nap::Nap;
use crate::shared::{Shared, State};
use crate::wire::Wire;
use mpi::Threading;
use mpi::environment::{self, Universe};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_core::Rank;
use tautline_core::comm::PacketLink;
use tautline_core::port::{Bell, Link, Lost};

/// The time that a process waits for, in nanoseconds, between two checks whether the other ranks
/// have ended.
const LOOK_NS: u64 = 50_000_000;

/// Whether there is a session.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Permits another session.
fn release() {
    // ORDERING: Release, pairs with Acquire in start; no mutant: as there.
    OPEN.store(false, Ordering::Release);
}

/// The MPI library of this process, from its start on. Dropping it waits until all ranks that had
/// links have dropped them, and ends the library, unless the program had started it itself.
///
/// Other code of this process must not call MPI while a link does, and must not end the library, by
/// `MPI_Finalize` or by the drop of a `Universe`, before all links are dropped: any call of a link
/// is an error then, for which the library ends the process. A process that ends by itself while it
/// has a link fails, with a line that states so.
pub struct Session {
    /// `None` if the program has started the library.
    universe: Option<Universe>,
    /// The number of ranks of the program: asked once, before a link may make calls.
    ranks: u32,
    shared: Arc<Shared>,
}

// SAFETY: a `Universe` is the permission to end the library, which MPI wants on the thread that has
// started it, and which Open MPI and MPICH accept on any while no other one calls them: the value
// is only dropped.
unsafe impl Send for Session {}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.library())
    }
}

impl Session {
    /// Starts MPI, or uses the library that this program has started. Once per process.
    ///
    /// # Errors
    /// If the library grants less than `MPI_THREAD_SERIALIZED`, was ended in this process before,
    /// or reports an error.
    pub fn start() -> Result<Self, Error> {
        if environment::is_finalized() {
            return Err(Error::Ended);
        }
        // ORDERING: Acquire, pairs with Release in release: the calls of the last session come
        // before those of this one; no mutant: loom builds core alone.
        if OPEN.swap(true, Ordering::Acquire) {
            return Err(Error::Connected);
        }
        let started = environment::initialize_with_threading(Threading::Serialized);
        let (universe, granted) = match started {
            Some((universe, granted)) => (Some(universe), granted),
            None => (None, environment::threading_support()),
        };
        let granted = match granted {
            Threading::Single => "MPI_THREAD_SINGLE",
            Threading::Funneled => "MPI_THREAD_FUNNELED",
            Threading::Serialized | Threading::Multiple => {
                let ranks = Comm::world_ranks().inspect_err(|_| release())?;
                exit::watch();
                return Ok(Self {
                    universe,
                    ranks,
                    shared: Arc::default(),
                });
            }
        };
        release();
        Err(Error::Threads { granted })
    }

    /// Returns the number of ranks of the program.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the library's own name and version, in one line. MPI permits that call to any thread
    /// at any time.
    pub fn library(&self) -> String {
        let named = environment::library_version().unwrap_or_default();
        let named = named
            .trim_end_matches('\0')
            .lines()
            .next()
            .unwrap_or_default();
        named.trim().to_owned()
    }

    /// Connects this process to the others, of which the first `ranks` call this.
    ///
    /// # Errors
    /// If this process has a link, or the program has fewer ranks.
    pub fn connect(&self, ranks: u32) -> Result<MpiLink, Error> {
        let mut state = self.shared.state();
        if state.links > 0 {
            return Err(Error::Connected);
        }
        // SAFETY: there is no other link, and none is made while `state` is locked.
        unsafe { self.connect_to(ranks, &mut state) }
    }

    /// As [`connect`](Self::connect), also while this process has other links.
    ///
    /// # Errors
    /// If the program has fewer ranks.
    ///
    /// # Safety
    /// Links of this process, and this method, are used by one thread at a time, which includes
    /// that they are dropped.
    pub unsafe fn connect_beside(&self, ranks: u32) -> Result<MpiLink, Error> {
        // SAFETY: the caller's.
        unsafe { self.connect_to(ranks, &mut self.shared.state()) }
    }

    /// # Safety
    /// As [`connect_beside`](Self::connect_beside).
    unsafe fn connect_to(&self, ranks: u32, state: &mut State) -> Result<MpiLink, Error> {
        let all = self.ranks;
        if !(1..=all).contains(&ranks) {
            return Err(Error::Ranks { ranks, all });
        }
        let wire = Wire::new(Comm::of_first(ranks)?)?;
        state.links += 1;
        exit::count_link();
        Ok(MpiLink::new(wire, Arc::clone(&self.shared)))
    }

    /// Starts MPI and connects this process to all others, as the launcher has started them: this
    /// rank, and the number of ranks. If the launcher states no number, its rank may be local to
    /// the machine; then only a link of a single rank is checked. The link ends the library when it
    /// is dropped.
    ///
    /// # Errors
    /// As [`start`](Self::start) and [`connect`](Self::connect); or if the library knows this
    /// process as another rank.
    pub fn join(launched: (u32, Option<u32>)) -> Result<Joined, Error> {
        let session = Self::start()?;
        let link = session.connect(session.ranks())?;
        let joined = (link.here().0, link.ranks());
        let is_same = match launched {
            (rank, Some(ranks)) => joined == (rank, ranks),
            (rank, None) => rank == 0 || joined.1 > 1,
        };
        if !is_same {
            return Err(Error::Launcher {
                launched,
                joined,
                library: session.library(),
            });
        }
        Ok(Joined {
            link,
            _session: session,
        })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let mut wires = std::mem::take(&mut state.left);
        if state.links > 0 {
            // The library is in use until the process ends.
            std::mem::forget(self.universe.take());
            return;
        }
        drop(state);
        // A rank that has failed waits for none: it ends without ending the library, so that the
        // launcher ends the others.
        let is_orderly = |wires: &[Wire]| !wires.iter().any(Wire::is_broken);
        while let Some(nap) = waits_for(&wires).filter(|_| is_orderly(&wires)) {
            for wire in &mut wires {
                _ = wire.poll(&mut |_, _| ());
            }
            nap.wait(LOOK_NS);
        }
        let ended = is_orderly(&wires) && wires.into_iter().all(|wire| wire.end().is_ok());
        if !ended {
            std::mem::forget(self.universe.take());
        }
        // Ends the library before another session may search for it.
        drop(self.universe.take());
        release();
    }
}

/// Returns what to wait for until all ranks have left; `None` if they have.
fn waits_for(wires: &[Wire]) -> Option<Arc<Nap>> {
    let waiting = wires.iter().find(|wire| !wire.is_over());
    waiting.map(|wire| wire.nap().clone())
}

/// The link of a process to all others, and the library under it.
#[derive(Debug)]
pub struct Joined {
    // Dropped first.
    link: MpiLink,
    _session: Session,
}

impl Joined {
    /// Returns the way of the packets of communicators.
    pub fn packets(&self) -> Arc<dyn PacketLink> {
        self.link.packets()
    }
}

impl Link for Joined {
    fn here(&self) -> Rank {
        self.link.here()
    }

    fn ranks(&self) -> u32 {
        self.link.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.link.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.link.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}
