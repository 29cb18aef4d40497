//! The calls of a team that combine and distribute values.

use super::{Running, Team, TeamCall, made, violated};
use crate::Result;
use crate::ranks::collective::elementwise;
use std::panic::Location;
use tautline_core::Rank;
use tautline_core::comm::{Number, Operator};
use tautline_core::wire::Portable;

/// All ranks of the team make the same call, with values of the same type; it ends when all have.
/// Values are combined in the order of ranks, so results have the same bits at all ranks and in
/// every run.
///
/// # Errors
/// All of these: the loss of a rank, a panic at another rank, or ranks that do not make the same
/// calls: of the same kind, at the same place of the program, with the same types, root and length.
/// Then all ranks get an error that names both calls.
impl Team {
    /// Ends when all ranks have made the call.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[inline]
    #[track_caller]
    pub fn barrier(&mut self) -> TeamCall<impl Future<Output = Result<()>> + Send + use<'_>> {
        let site = Location::caller();
        TeamCall::new(match self.ranks() {
            1 => Running::ended(()),
            _ => self.begin(site, made::barrier(self.group())),
        })
    }

    /// Returns the root's `value` at all ranks; those of the others are dropped.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # use tautline::world::{self, Rank};
    /// let seeds = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut team = world.team();
    ///     rt.run(|cx| team.broadcast(Rank(2), world.rank().0 + 40).wait(cx))
    /// });
    /// assert_eq!(seeds.into_iter().collect::<tautline::Result<Vec<_>>>()?, [42, 42, 42]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the team has no such rank.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn broadcast<'t, T: Portable + Clone + 'static>(
        &'t mut self,
        root: Rank,
        value: T,
    ) -> TeamCall<impl Future<Output = Result<T>> + Send + use<'t, T>> {
        let call = made::broadcast(self.group(), root, value);
        TeamCall::new(self.begin(Location::caller(), call))
    }

    /// Returns the value that the root has for this rank: one for each, by rank. The `values` of
    /// the others are dropped.
    ///
    /// # Panics
    /// If the team has no such rank; at the root, if there is not one value for each rank.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn scatter<'t, T: Portable + 'static>(
        &'t mut self,
        root: Rank,
        values: Vec<T>,
    ) -> TeamCall<impl Future<Output = Result<T>> + Send + use<'t, T>> {
        let call = made::scatter(self.group(), root, values);
        TeamCall::new(self.begin(Location::caller(), call))
    }

    /// Returns the combination of the values of all ranks, at the root, and `None` at the others.
    /// `operator` must be associative, and need not be commutative.
    ///
    /// # Panics
    /// If the team has no such rank.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn reduce<'t, T: Portable + 'static, F: FnMut(T, T) -> T>(
        &'t mut self,
        root: Rank,
        value: T,
        operator: F,
    ) -> TeamCall<impl Future<Output = Result<Option<T>>> + use<'t, T, F>> {
        let call = made::reduce(self.group(), root, value, operator);
        TeamCall::new(self.begin(Location::caller(), call))
    }

    /// Returns the values of all ranks, by rank, at the root, and `None` at the others.
    ///
    /// # Panics
    /// If the team has no such rank.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn gather<'t, T: Portable + 'static>(
        &'t mut self,
        root: Rank,
        value: T,
    ) -> TeamCall<impl Future<Output = Result<Option<Vec<T>>>> + Send + use<'t, T>> {
        let call = made::gather(self.group(), root, value);
        TeamCall::new(self.begin(Location::caller(), call))
    }

    /// Returns the combination of the values of all ranks, at all. `operator` must be associative,
    /// and need not be commutative.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # use tautline::world;
    /// let longest = world::loopback(3, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut team = world.team();
    ///     let name = "x".repeat(world.rank().index());
    ///     rt.run(|cx| team.all_reduce(name, |a, b| if a.len() < b.len() { b } else { a }).wait(cx))
    /// });
    /// assert!(longest.into_iter().all(|longest| longest.is_ok_and(|name| name == "xx")));
    /// ```
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn all_reduce<'t, T: Portable + Clone + 'static, F: FnMut(T, T) -> T>(
        &'t mut self,
        value: T,
        operator: F,
    ) -> TeamCall<impl Future<Output = Result<T>> + use<'t, T, F>> {
        let site = Location::caller();
        TeamCall::new(match self.ranks() {
            1 => Running::ended(value),
            _ => self.begin(site, made::all_reduce(self.group(), value, operator)),
        })
    }

    /// Replaces each element by the combination of the elements of all ranks at its position. All
    /// ranks have equally many. Unchanged after an error.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// # use tautline::team::Operator;
    /// # use tautline::world;
    /// let forces = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let mut team = world.team();
    ///     let mut forces = [1.5, f64::from(world.rank().0)];
    ///     rt.run(|cx| team.all_reduce_slice(&mut forces, Operator::Sum).wait(cx))?;
    ///     Ok::<_, tautline::Error>(forces)
    /// });
    /// assert!(forces.into_iter().all(|forces| forces.is_ok_and(|all| all == [3.0, 1.0])));
    /// ```
    ///
    /// # Panics
    /// If `operator` does not [apply](Operator::applies_to) to such numbers.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn all_reduce_slice<'t, T: Number>(
        &'t mut self,
        elements: &'t mut [T],
        operator: Operator,
    ) -> TeamCall<impl Future<Output = Result<()>> + Send + use<'t, T>> {
        let call = made::all_reduce_slice(self.group(), elements, elementwise(operator));
        let running = self.begin(Location::caller(), call);
        TeamCall::new(async move {
            let all = running.await?;
            if all.numbers().len() != elements.len() {
                return Err(violated("a vector of another length"));
            }
            elements.copy_from_slice(all.numbers());
            Ok(())
        })
    }

    /// Returns the values of all ranks, by rank, at all.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn all_gather<'t, T: Portable + Clone + 'static>(
        &'t mut self,
        value: T,
    ) -> TeamCall<impl Future<Output = Result<Vec<T>>> + Send + use<'t, T>> {
        let call = made::all_gather(self.group(), value);
        TeamCall::new(self.begin(Location::caller(), call))
    }

    /// Returns the combination of the values of all ranks before this one; `None` at rank 0.
    /// `operator` must be associative, and need not be commutative.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn scan<'t, T: Portable + Clone + 'static, F: FnMut(T, T) -> T>(
        &'t mut self,
        value: T,
        operator: F,
    ) -> TeamCall<impl Future<Output = Result<Option<T>>> + use<'t, T, F>> {
        let call = made::scan(self.group(), value, operator);
        TeamCall::new(self.begin(Location::caller(), call))
    }

    /// Sends the values to the ranks, one to each, by rank. Returns those that the ranks have sent
    /// to this one, by rank.
    ///
    /// # Panics
    /// If there is not one value for each rank.
    ///
    /// # Teamed
    /// A call of all ranks of the team.
    #[track_caller]
    pub fn all_to_all<'t, T: Portable + 'static>(
        &'t mut self,
        values: Vec<T>,
    ) -> TeamCall<impl Future<Output = Result<Vec<T>>> + Send + use<'t, T>> {
        let call = made::all_to_all(self.group(), values);
        TeamCall::new(self.begin(Location::caller(), call))
    }
}
