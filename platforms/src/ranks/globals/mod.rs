//! Objects that all ranks share. Feature `serde`.
//!
//! A task at any rank reads and changes a [`Global`] as if all ranks had one memory: each access
//! sees the changes of the accesses before it, at whatever rank they ran. Copies of the value
//! travel to where it is used, and are recalled before another rank changes it.
//!
//! | a task | by | meets |
//! |---|---|---|
//! | reads | [`read`](Global::read) | a [`View`]: a value of the past, which it may keep |
//! | changes by an operation | [`update`](Global::update), [`apply`](Global::apply) | the value, where it is |
//! | changes by a closure | [`modify`](Global::modify), [`set`](Global::set) | the value, at its own rank |
//!
//! A [`GlobalArray`] consists of such objects, its blocks.
//!
//! ```
//! use tautline::globals::Operator;
//! use tautline::prelude::*;
//! use tautline::world::{self, Rank};
//!
//! // A branch and bound over ranks: the best cost that any rank has found.
//! let best = world::loopback(3, |world| {
//!     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
//!     let mut globals = world.globals();
//!     let best = globals.create(Rank(0), || u64::MAX);
//!     rt.run(|cx| {
//!         let cost = 40 - u64::from(world.rank().0);
//!         best.apply(cx, Operator::Min, cost)?;
//!         let mut team = world.team();
//!         team.barrier().wait(cx)?;
//!         let best = best.get(cx)?;
//!         // No rank leaves before all have read.
//!         team.barrier().wait(cx)?;
//!         Ok::<_, tautline::Error>(best)
//!     })
//! });
//! assert_eq!(best.into_iter().collect::<tautline::Result<Vec<_>>>()?, [38, 38, 38]);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! # Guarantee
//! The accesses of all tasks to all objects have one order, in which each reads what the last
//! change before it has left, and which has those of a task in the order of its program.
//!
//! On processors where a store becomes visible to some before others, which is POWER of those that
//! are supported, this holds for each object alone and between ranks: two threads of a rank may
//! observe two changes, by two others of that rank and to different objects, in different orders.
//!
//! # Source
//! `GlobalRef` objects, `X10Protocol` and `DirCoPX`: Paudel, Tardieu, Amaral; here the protocol is
//! [`tautline_core::coherence`].
#![forbid(unsafe_code)]

mod access;
mod array;
#[cfg(test)]
mod fuzz;
mod inlet;
mod message;
mod operation;
mod outlet;
mod record;

pub use access::{Global, Snapshot, View};
pub use array::{ArrayView, GlobalArray};
pub use message::GlobalRef;
pub use operation::{Block, Operation};
pub use tautline_core::coherence::Mode as Protocol;
pub use tautline_core::comm::{Number, Operator};
pub use tautline_core::wire::Plain;

use super::engine::ProgressEngine;
use super::error::RankError;
use super::world::World;
use crate::error::Error;
use inlet::{Inlet, Shared, check};
use message::{ObjectId, Origin};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::wire::Portable;

type Result<T, E = RankError> = std::result::Result<T, E>;

/// A value that can be shared by ranks.
pub trait Object: Portable + Clone + Sync + 'static {}

impl<T: Portable + Clone + Sync + 'static> Object for T {}

/// Plain data of which a [`GlobalArray`] consists.
pub trait Datum: Plain + Copy + Send + Sync + 'static {}

impl<T: Plain + Copy + Send + Sync + 'static> Datum for T {}

/// The shared objects of a program, at one rank: made by [`World::globals`].
///
/// Objects and operations are numbered: every rank creates the same ones in the same order. They
/// are kept as long as the world, or until their home [frees](Self::free) them.
pub struct Globals {
    engine: Arc<ProgressEngine>,
    shared: Arc<Shared>,
    /// The number of objects created by all ranks.
    created: u32,
}

/// The memory that shared objects take at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The number of objects that are open here.
    pub objects: usize,
    /// The bytes of copies of objects of other homes, encoded.
    pub copies: usize,
    /// The bytes of all objects beside their values: fixed ones, without sets of ranks and accesses
    /// that wait.
    pub overhead: usize,
}

impl fmt::Debug for Globals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the shared objects of {}", self.shared.outlet.here)
    }
}

impl World {
    /// Returns a new, empty set of shared objects of the program. Every rank
    /// makes this call, in the same order as other calls over the world; it sends no message.
    #[track_caller]
    pub fn globals(&self) -> Globals {
        let engine = self.engine();
        Globals {
            engine: Arc::clone(engine),
            shared: Inlet::open(engine, Location::caller()),
            created: 0,
        }
    }
}

impl Globals {
    /// Creates an object whose value `init` returns at its home; at the other ranks that is not
    /// called. No message is sent: where ranks differ in the type or the call, their first access
    /// ends with an error that names both.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let lengths = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let words = world.globals().create(Rank(1), || vec!["zero".to_owned(), "one".to_owned()]);
    ///     rt.run(|cx| {
    ///         let words = words.read(cx)?;
    ///         // No rank leaves before all have read.
    ///         world.team().barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(words.len())
    ///     })
    /// });
    /// assert_eq!(lengths.into_iter().collect::<Result<Vec<_>, _>>()?, [2, 2]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the program has no such rank.
    ///
    /// # Teamed
    /// A call of all ranks.
    #[track_caller]
    pub fn create<T: Object>(&mut self, home: Rank, init: impl FnOnce() -> T) -> Global<T> {
        self.create_as(Protocol::Directory, home, init)
    }

    /// As [`create`](Self::create), with the protocol by which other ranks than the home access the
    /// object.
    ///
    /// # Panics
    /// As [`create`](Self::create).
    ///
    /// # Teamed
    /// A call of all ranks.
    #[track_caller]
    pub fn create_as<T: Object>(
        &mut self,
        protocol: Protocol,
        home: Rank,
        init: impl FnOnce() -> T,
    ) -> Global<T> {
        let ranks = self.shared.outlet.ranks;
        assert!(home.0 < ranks, "a home at {home} of {ranks} ranks");
        let number = self.created;
        self.created += 1;
        let value = (home == self.shared.outlet.here).then(init);
        let site = Location::caller();
        let (id, origin) = (ObjectId::created(home, number), Origin::new(site, home));
        let check = check::<T>(site);
        let record = self
            .shared
            .enter(id, origin.clone(), check, protocol, value);
        self.shared.created::<T>(number, origin);
        Global::new(&self.engine, record)
    }

    /// Makes a value of this rank a shared object, whose home it is. Other ranks get to know its
    /// [name](Global::name), in messages or in other objects, and [open](Self::open) it.
    ///
    /// ```
    /// use tautline::globals::GlobalRef;
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let sums = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut globals = world.globals();
    ///     let all = globals.create(Rank(0), Vec::<GlobalRef<u32>>::new);
    ///     rt.run(|cx| {
    ///         let own = globals.publish(world.rank().0 + 1).name();
    ///         all.modify(cx, |all| all.push(own))?;
    ///         let mut team = world.team();
    ///         team.barrier().wait(cx)?;
    ///         let mut sum = 0;
    ///         for name in all.read(cx)?.iter() {
    ///             sum += globals.open(*name)?.get(cx)?;
    ///         }
    ///         team.barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(sum)
    ///     })
    /// });
    /// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [6, 6, 6]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn publish<T: Object>(&self, value: T) -> Global<T> {
        let (site, here) = (Location::caller(), self.shared.outlet.here);
        let id = ObjectId::published(here, self.shared.next_published());
        let (check, origin) = (check::<T>(site), Origin::new(site, here));
        let record = self
            .shared
            .enter(id, origin, check, Protocol::Directory, Some(value));
        Global::new(&self.engine, record)
    }

    /// Returns the object with a name.
    ///
    /// # Errors
    /// If this rank has not created it, or if it is no name of such an object: the line names the
    /// object and this call.
    #[track_caller]
    pub fn open<T: Object>(&self, name: GlobalRef<T>) -> crate::Result<Global<T>> {
        let found = self.shared.find(name, Location::caller());
        let record = found.map_err(Error::Rank)?;
        Ok(Global::new(&self.engine, record))
    }

    /// Ends an object whose home is this rank: drops its value, and ends all accesses, now and
    /// later, with an error of kind [`Freed`](super::world::RankErrorKind::Freed). Accesses of
    /// other ranks may still find their copy until this has reached them. Its name is not used
    /// again.
    ///
    /// # Panics
    /// If its home is another rank.
    pub fn free<T: Object>(&self, object: &Global<T>) {
        let (home, here) = (object.home(), self.shared.outlet.here);
        assert!(
            home == here,
            "{object:?} is freed at its home, not at {here}"
        );
        object.end();
    }

    /// Limits the bytes of the copies of objects of other homes that this rank keeps, as they are
    /// encoded; 1 GiB at first. Copies that have not been accessed lately are dropped, and a
    /// value that no other rank has is sent to its home. Copies that accesses wait for may exceed
    /// the limit.
    pub fn keep_at_most(&self, bytes: usize) {
        self.shared.outlet.cache.limit(bytes);
    }

    /// Returns the memory that the objects take at this rank.
    pub fn memory(&self) -> Memory {
        let records = self.shared.records();
        Memory {
            objects: records.len(),
            copies: self.shared.outlet.cache.bytes(),
            overhead: records.iter().map(|record| record.overhead()).sum(),
        }
    }

    /// Declares an operation on objects of type `T`, which changes a value and returns a result.
    /// [`update`](Global::update) performs it where the value is: it must do the same at every
    /// rank, so what it captures is the same there.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let tickets = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut globals = world.globals();
    ///     let next = globals.create(Rank(0), || 0u64);
    ///     let take = globals.operation(|next: &mut u64, count: u64| {
    ///         let first = *next;
    ///         *next += count;
    ///         first
    ///     });
    ///     rt.run(|cx| {
    ///         let ticket = next.update(cx, &take, 10)?;
    ///         world.team().barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(ticket)
    ///     })
    /// });
    /// let mut tickets = tickets.into_iter().collect::<Result<Vec<_>, _>>()?;
    /// tickets.sort();
    /// assert_eq!(tickets, [0, 10, 20]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Teamed
    /// A call of all ranks.
    #[track_caller]
    pub fn operation<T: Object, A: Portable + 'static, R: Portable + 'static>(
        &mut self,
        run: impl Fn(&mut T, A) -> R + Send + Sync + 'static,
    ) -> Operation<T, A, R> {
        let declared = self.shared.outlet.declare(Location::caller(), run);
        self.shared.declared();
        declared
    }
}
