//! Operations that all ranks make together.

use super::World;
use super::mailbox::Mailbox;
use crate::Result;
use crate::error::Error;
use crate::ranks::engine::progress::of_this_rank;
use crate::ranks::engine::{ProgressEngine, inside};
use crate::ranks::error::RankError;
use crate::ranks::rooted::{AtRoot, FromRoot, FromRootToAll};
use std::cell::Cell;
use std::mem;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::collective::{
    AllToAll, Branch, Collect, CollectForAll, Combine, CombineBefore, ForAll, Message, Operation,
    Wave,
};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::service::Operation as Begun;
use tautline_core::wire::{self, Cause, Portable, unpack};

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
        let machine = ForAll::barrier(self.rank(), self.ranks());
        self.drive("barrier", Location::caller(), machine, ())
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
        let operation = FromRootToAll::of(value);
        self.wave("broadcast", Location::caller(), operation, ())
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
        let (given, ranks) = (values.len(), self.ranks());
        let is_complete = !self.is_home() || given == ranks as usize;
        assert!(is_complete, "{given} values for {ranks} ranks");
        let operation = FromRoot::of(values);
        self.wave("scatter", Location::caller(), operation, ())
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
        let operation = AtRoot::of(Combine::by(operator));
        self.wave("reduce", Location::caller(), operation, value)
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
        let operation = AtRoot::of(Collect::default());
        self.wave("gather", Location::caller(), operation, value)
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
        let machine = ForAll::new(self.rank(), self.ranks(), operator);
        self.drive("all-reduce", Location::caller(), machine, value)
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
        let operation = CollectForAll::default();
        self.wave("all-gather", Location::caller(), operation, value)
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
        let operation = CombineBefore::by(operator);
        self.wave("scan", Location::caller(), operation, value)
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
        let ranks = self.ranks();
        let given = values.len();
        assert_eq!(given, ranks as usize, "{given} values for {ranks} ranks");
        let machine = AllToAll::new(self.rank(), ranks);
        self.drive("all-to-all", Location::caller(), machine, values)
    }

    /// Runs an operation along the tree of ranks.
    fn wave<O: Operation>(
        &self,
        kind: &'static str,
        site: &'static Location<'static>,
        operation: O,
        own: O::Own,
    ) -> Result<O::Output>
    where
        Message<O::Up, O::Down>: Portable + 'static,
    {
        let branch = Branch::of(self.rank(), self.ranks());
        self.drive(kind, site, Wave::new(branch, operation), own)
    }

    /// Begins an operation, lets `machine` begin with `own`, and process each message, until it has
    /// ended.
    fn drive<M>(
        &self,
        kind: &'static str,
        site: &'static Location<'static>,
        mut machine: M,
        own: M::Event,
    ) -> Result<M::Effect>
    where
        M: Machine<Peer = Rank, Calls = ()>,
        M::Message: Portable + 'static,
    {
        let engine = &**self.engine();
        let mailbox = Mailbox::take();
        let receiver = Arc::clone(&mailbox);
        let operation: Begun<M::Message> = engine.calls.begin(site, kind, receiver);
        let (output, has_sent) = (Cell::new(None), Cell::new(false));
        let mut act = |action: Action<M>| match action {
            Action::Send(to, message) => {
                operation.send(to, &message);
                has_sent.set(true);
            }
            Action::Effect(ended) => output.set(Some(ended)),
        };
        machine.event(own, &mut Step::new(&mut (), &mut act));
        let mut last = Vec::new();
        let output = loop {
            if has_sent.take() {
                // Also if the call returns now: the others would wait until the next turn of this
                // rank.
                engine.progress.look(engine);
            }
            if let Some(output) = output.take() {
                break output;
            }
            let next = next_of(engine, &mailbox);
            let next = next.and_then(|(from, body)| {
                let decoded = decoded(engine, &operation, from, &body);
                // The channels may have ended before, for another reason.
                let decoded = decoded.map_err(|error| mailbox.error().unwrap_or(error));
                let before = mem::replace(&mut last, body);
                if before.capacity() > 0 {
                    mailbox.recycle(before);
                }
                decoded
            });
            let (from, message) = next.map_err(|error| Error::Rank(error.into()))?;
            let received = machine.receive(from, message, &mut Step::new(&mut (), &mut act));
            received.map_err(|refusal| Error::Rank(RankError::refused(from, refusal)))?;
        };
        drop(operation);
        Mailbox::give_back(mailbox, last);
        Ok(output)
    }
}

/// Waits for a message: communicates for a while, then sleeps.
fn next_of(engine: &ProgressEngine, mailbox: &Mailbox) -> Result<(Rank, Vec<u8>), wire::Error> {
    let found = Cell::new(None);
    let is_found = || {
        let next = mailbox.try_next();
        let is_found = next.is_some();
        found.set(next);
        is_found
    };
    engine.progress.poll_until(engine, is_found);
    found.take().unwrap_or_else(|| mailbox.next())
}

/// Decodes a message. If it is malformed, or decoding panics, ends all channels as a turn does.
fn decoded<M: Portable + 'static>(
    engine: &ProgressEngine,
    operation: &Begun<M>,
    from: Rank,
    body: &[u8],
) -> Result<(Rank, M), wire::Error> {
    let error = match inside(|| unpack(body)) {
        Some(Ok(message)) => return Ok((from, message)),
        Some(Err(malformed)) => operation.error(from, malformed),
        None => {
            let doing = "encoding or decoding, which panicked";
            of_this_rank(&engine.exchange, Cause::Lost { doing })
        }
    };
    // In a turn: completions of other operations run the program's code.
    inside(|| engine.exchange.fail(&error));
    Err(error)
}
