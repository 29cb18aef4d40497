//! Operations that all ranks make together.

use super::World;
use crate::Result;
use crate::ranks::collective::{Call, Running, calls};
use crate::ranks::engine::assert_may_block;
use std::panic::Location;
use tautline_core::Rank;
use tautline_core::group::Group;
use tautline_core::machine::Machine;
use tautline_core::wire::Portable;

/// The root of calls that have one.
const ROOT: Rank = Rank(0);

/// Every rank makes the same call, with values of the same type, and waits in it until all have: a
/// worker that makes it runs no other task during the call. Values are combined in the order of
/// ranks, so results have the same bits in every run.
///
/// # Errors
/// All of these: the loss of a rank, a panic at another rank, or ranks that do not make the same
/// calls.
impl World {
    /// Returns when all ranks have called it.
    ///
    /// ```
    /// # use std::sync::atomic::{AtomicU32, Ordering};
    /// # use tautline::world;
    /// let arrived = AtomicU32::new(0);
    /// world::loopback(3, |world| {
    ///     arrived.fetch_add(1, Ordering::SeqCst);
    ///     world.barrier()?;
    ///     assert_eq!(arrived.load(Ordering::SeqCst), 3);
    ///     Ok::<_, tautline::Error>(())
    /// });
    /// ```
    #[track_caller]
    pub fn barrier(&self) -> Result<()> {
        self.complete(Location::caller(), calls::barrier(self.all()))
    }

    /// Returns rank 0's `value` at all ranks.
    ///
    /// ```
    /// # use tautline::world;
    /// let seeds = world::loopback(3, |world| world.broadcast(41 + world.rank().0));
    /// for seed in seeds {
    ///     assert_eq!(seed?, 41);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn broadcast<T: Portable + Clone + 'static>(&self, value: T) -> Result<T> {
        let call = calls::broadcast(self.all(), ROOT, value);
        self.complete(Location::caller(), call)
    }

    /// Returns the value that rank 0 has for this rank: one for each, by rank. The `values` of the
    /// other ranks are dropped.
    ///
    /// ```
    /// # use tautline::world;
    /// let parts = world::loopback(3, |world| {
    ///     let numbers: Vec<u32> = (0..9).collect();
    ///     let parts = world.is_home().then(|| numbers.chunks(3).map(<[_]>::to_vec).collect());
    ///     world.scatter(parts.unwrap_or_default())
    /// });
    /// let parts = parts.into_iter().collect::<tautline::Result<Vec<_>>>()?;
    /// assert_eq!(parts, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// At rank 0, if there is not one value for each rank.
    #[track_caller]
    pub fn scatter<T: Portable + 'static>(&self, values: Vec<T>) -> Result<T> {
        let call = calls::scatter(self.all(), ROOT, values);
        self.complete(Location::caller(), call)
    }

    /// Returns the combination of the values of all ranks, at rank 0, and `None` at the others.
    /// `operator` as for [`all_reduce`](Self::all_reduce), but `T` need not be `Clone`.
    ///
    /// ```
    /// # use tautline::world;
    /// let sums = world::loopback(3, |world| world.reduce(world.rank().0, |a, b| a + b));
    /// let sums = sums.into_iter().collect::<tautline::Result<Vec<_>>>()?;
    /// assert_eq!(sums, [Some(3), None, None]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn reduce<T: Portable + 'static>(
        &self,
        value: T,
        operator: impl FnMut(T, T) -> T,
    ) -> Result<Option<T>> {
        let call = calls::reduce(self.all(), ROOT, value, operator);
        self.complete(Location::caller(), call)
    }

    /// Returns the values of all ranks, by rank, at rank 0, and `None` at the others.
    ///
    /// ```
    /// # use tautline::world;
    /// let names = world::loopback(2, |world| world.gather(world.rank().to_string()));
    /// let names = names.into_iter().collect::<tautline::Result<Vec<_>>>()?;
    /// assert_eq!(names, [Some(vec!["rank 0".into(), "rank 1".into()]), None]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn gather<T: Portable + 'static>(&self, value: T) -> Result<Option<Vec<T>>> {
        let call = calls::gather(self.all(), ROOT, value);
        self.complete(Location::caller(), call)
    }

    /// Returns the combination of the values of all ranks, at all ranks. `operator` must be
    /// associative, and need not be commutative.
    ///
    /// ```
    /// # use tautline::world;
    /// let sums = world::loopback(3, |world| world.all_reduce(world.rank().0, |a, b| a + b));
    /// for sum in sums {
    ///     assert_eq!(sum?, 3);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<T: Portable + Clone + 'static>(
        &self,
        value: T,
        operator: impl FnMut(T, T) -> T,
    ) -> Result<T> {
        let call = calls::all_reduce(self.all(), value, operator);
        self.complete(Location::caller(), call)
    }

    /// Returns the values of all ranks, by rank, at all ranks.
    ///
    /// ```
    /// # use tautline::world;
    /// let names = world::loopback(2, |world| world.all_gather(world.rank().to_string()));
    /// for names in names {
    ///     assert_eq!(names?, ["rank 0", "rank 1"]);
    /// }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather<T: Portable + Clone + 'static>(&self, value: T) -> Result<Vec<T>> {
        self.complete(Location::caller(), calls::all_gather(self.all(), value))
    }

    /// Returns the combination of the values of all ranks before this one; `None` at rank 0.
    /// `operator` as for [`all_reduce`](Self::all_reduce).
    ///
    /// ```
    /// # use tautline::world;
    /// let firsts = world::loopback(3, |world| world.scan(10u64, |a, b| a + b));
    /// let firsts = firsts.into_iter().collect::<tautline::Result<Vec<_>>>()?;
    /// assert_eq!(firsts, [None, Some(10), Some(20)]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    #[track_caller]
    pub fn scan<T: Portable + Clone + 'static>(
        &self,
        value: T,
        operator: impl FnMut(T, T) -> T,
    ) -> Result<Option<T>> {
        let call = calls::scan(self.all(), value, operator);
        self.complete(Location::caller(), call)
    }

    /// Sends the values to the ranks, one to each, by rank. Returns those that the ranks have sent
    /// to this one, by rank.
    ///
    /// ```
    /// # use tautline::world;
    /// let exchanged = world::loopback(2, |world| {
    ///     let from = world.rank().0;
    ///     world.all_to_all(vec![(from, 0), (from, 1)])
    /// });
    /// let exchanged = exchanged.into_iter().collect::<tautline::Result<Vec<_>>>()?;
    /// assert_eq!(exchanged, [[(0, 0), (1, 0)], [(0, 1), (1, 1)]]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If there is not one value for each rank.
    #[track_caller]
    pub fn all_to_all<T: Portable + 'static>(&self, values: Vec<T>) -> Result<Vec<T>> {
        self.complete(Location::caller(), calls::all_to_all(self.all(), values))
    }

    fn all(&self) -> &Group {
        self.engine().calls.group()
    }

    /// Makes a call, and waits until it has ended.
    fn complete<M>(&self, site: &'static Location<'static>, call: Call<M>) -> Result<M::Effect>
    where
        M: Machine<Peer = Rank, Calls = (), Message: Portable + 'static>,
    {
        let engine = self.engine();
        assert_may_block();
        Running::begin(engine, &engine.calls, site, call).block()
    }
}
