//! Accesses to a shared object.

use super::message::{Ending, GlobalRef};
use super::operation::{Applied, Called, Operation};
use super::record::{
    Answer, AnyRecord, Lent, LocalCopy, Owned, Record, Seen, Typed, Update, Value, Waiting, promise,
};
use super::{Number, Object, Operator, Protocol};
use crate::Result;
use crate::error::Error;
use crate::execution::runtime::Cx;
use crate::ranks::engine::{ProgressEngine, assert_no_change};
use std::fmt;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::coherence::Kind;
use tautline_core::directory::lend;
use tautline_core::wire::Portable;
use tautline_node::SpinThenYield;

/// Turns of a task that waits for a value before it is suspended: as long as a few messages take.
const TURNS: u32 = 256;

/// A shared object, open at this rank: made by [`Globals::create`](super::Globals::create). Clones
/// are the same object.
pub struct Global<T: Object> {
    engine: Arc<ProgressEngine>,
    record: Arc<Record<T>>,
    /// The one of the record: hits need nothing else.
    copy: Arc<LocalCopy<T>>,
}

impl<T: Object> Clone for Global<T> {
    fn clone(&self) -> Self {
        Self::new(&self.engine, Arc::clone(&self.record))
    }
}

impl<T: Object> fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.record.name)
    }
}

/// A value that an object had at some moment of the call that returned it. It stays the same, and
/// keeps no task from changing the object.
///
/// A thread has seven views without a reference count; each further one has one.
///
/// It stays at its thread:
/// ```compile_fail,E0277
/// fn sent<T: Send>() {}
/// sent::<tautline::globals::View<String>>();
/// ```
pub struct View<T: Object>(Seen<T>);

impl<T: Object> Deref for View<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Object + fmt::Debug> fmt::Debug for View<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// As a [`View`], for async code: it may be sent, and kept as long as required.
#[derive(Clone)]
pub struct Snapshot<T: Object>(Value<T>);

impl<T: Object> Deref for Snapshot<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Object + fmt::Debug> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Each access waits, if it must, in a task, whose worker runs other tasks until then.
///
/// # Errors
/// All of these: a rank was lost, a value cannot be encoded or decoded, or the ranks have created
/// different objects. The line names the object.
impl<T: Object> Global<T> {
    pub(super) fn new(engine: &Arc<ProgressEngine>, record: Arc<Record<T>>) -> Self {
        let (engine, copy) = (Arc::clone(engine), Arc::clone(&record.copy));
        Self {
            engine,
            record,
            copy,
        }
    }

    /// Returns the name of the object, for other ranks.
    pub fn name(&self) -> GlobalRef<T> {
        GlobalRef::new(self.record.name.id, self.record.check)
    }

    pub(super) fn home(&self) -> Rank {
        self.record.name.id.home
    }

    /// Ends the object.
    pub(super) fn end(&self) {
        self.record.end(None, Ending::Freed);
    }

    /// Returns the value.
    #[inline]
    pub fn read(&self, cx: &mut Cx<'_, '_>) -> Result<View<T>> {
        match self.copy.read() {
            Some(seen) => Ok(View(seen)),
            None => match self.miss(cx) {
                Ok(value) => Ok(View(Seen::Kept(value))),
                Err(error) => Err(*error),
            },
        }
    }

    /// Returns a copy of the value.
    #[inline]
    pub fn get(&self, cx: &mut Cx<'_, '_>) -> Result<T> {
        match self.copy.get() {
            Some(value) => Ok(value),
            None => match self.miss(cx) {
                Ok(value) => Ok(T::clone(&value)),
                Err(error) => Err(*error),
            },
        }
    }

    /// Waits for the value. What it returns is small, so that the view of a hit stays in registers.
    #[cold]
    #[inline(never)]
    fn miss(&self, cx: &mut Cx<'_, '_>) -> Result<Value<T>, Box<Error>> {
        self.wait(cx, self.begin_read()).map_err(Box::new)
    }

    /// Replaces the value.
    pub fn set(&self, cx: &mut Cx<'_, '_>, value: T) -> Result<()> {
        self.modify(cx, |it| *it = value)
    }

    /// Performs an operation on the value, where that is, and returns its result.
    ///
    /// # Errors
    /// Also if the operation panics: with the text of the panic. The value is as before.
    pub fn update<A, R>(
        &self,
        cx: &mut Cx<'_, '_>,
        operation: &Operation<T, A, R>,
        args: A,
    ) -> Result<R>
    where
        A: Portable + 'static,
        R: Portable + 'static,
    {
        let operation = Arc::clone(&operation.declared);
        self.call(cx, Called { operation, args })
    }

    /// Combines the value with another one, and returns the former value.
    ///
    /// # Panics
    /// If the operator does not [apply](Operator::applies_to) to such numbers.
    pub fn apply(&self, cx: &mut Cx<'_, '_>, operator: Operator, by: T) -> Result<T>
    where
        T: Number,
    {
        assert_applies::<T>(operator);
        let applied = Applied { operator, by };
        match self.copy.write(|value| applied.apply(value)) {
            Ok(former) => Ok(former),
            Err(_) => self.wait(cx, self.begin(applied)),
        }
    }

    pub(super) fn call<C: Typed<T>>(&self, cx: &mut Cx<'_, '_>, call: C) -> Result<C::Result> {
        let mut call = Some(call);
        let change = |value: &mut T| call.take().map(|call| call.call(value));
        let written = catch_unwind(AssertUnwindSafe(|| self.copy.write(change).ok()));
        match written {
            Ok(Some(result)) => Ok(result.expect("it was called")),
            Ok(None) => self.wait(cx, self.begin(call.expect("it was not called"))),
            Err(payload) => Err(Error::Rank(self.record.panicked(&*payload))),
        }
    }

    fn begin<C: Typed<T>>(&self, call: C) -> Pending<C::Result> {
        let (answer, promise) = promise();
        let change = Waiting::Change(Box::new(Update::new(call, promise)));
        self.record.access(Kind::Update, change);
        answer
    }

    /// Changes the value by a closure, which runs in this process, and may borrow what its caller
    /// has. It must be short, and access no shared object: other accesses wait for it.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::world::{self, Rank};
    ///
    /// let bins = world::loopback(2, |world| {
    ///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
    ///     let histogram = world.globals().create(Rank(0), || [0u32; 4]);
    ///     let local = [1, 0, world.rank().0, 2];
    ///     rt.run(|cx| {
    ///         histogram.modify(cx, |bins| {
    ///             bins.iter_mut().zip(&local).for_each(|(bin, n)| *bin += n);
    ///         })?;
    ///         let mut team = world.team();
    ///         team.barrier().wait(cx)?;
    ///         let bins = histogram.get(cx)?;
    ///         team.barrier().wait(cx)?;
    ///         Ok::<_, tautline::Error>(bins)
    ///     })
    /// });
    /// assert_eq!(bins.into_iter().collect::<tautline::Result<Vec<_>>>()?, [[2, 0, 1, 4]; 2]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    /// The closure has no `cx`: it cannot wait for another object.
    /// ```compile_fail,E0501
    /// # use tautline::prelude::*;
    /// # fn f(cx: &mut Cx<'_, '_>, here: tautline::globals::Global<u32>, there: tautline::globals::Global<u32>) {
    /// _ = here.modify(cx, |here| *here = there.get(cx).unwrap());
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the closure does. The value is as before.
    pub fn modify<R: Send>(
        &self,
        cx: &mut Cx<'_, '_>,
        change: impl FnOnce(&mut T) -> R + Send,
    ) -> Result<R> {
        match self.copy.write(change) {
            Ok(result) => Ok(result),
            Err(change) => self.modify_there(cx, change),
        }
    }

    #[cold]
    fn modify_there<R: Send>(
        &self,
        cx: &mut Cx<'_, '_>,
        change: impl FnOnce(&mut T) -> R + Send,
    ) -> Result<R> {
        let (mut change, mut result) = (Some(change), None);
        let mut run = |value: &mut T| result = change.take().map(|change| change(value));
        let ended = lend(&mut run, &SpinThenYield::default(), |loan| {
            let (answer, promise) = promise();
            let loan = Arc::clone(loan);
            let change = Waiting::Change(Box::new(Lent { loan, promise }));
            self.record.access(Kind::Modify, change);
            self.wait(cx, answer)
        })?;
        ended.unwrap_or_else(|payload| resume_unwind(payload));
        Ok(result.expect("it has run"))
    }

    /// As [`read`](Self::read), in async code: no worker is occupied until then. The access begins
    /// at once.
    pub fn read_async(&self) -> impl Future<Output = Result<Snapshot<T>>> + Send + use<T> {
        assert_no_change();
        let hit = self.copy.value();
        let answer = hit.is_none().then(|| self.begin_read());
        async move {
            match (hit, answer) {
                (Some(value), _) => Ok(Snapshot(value)),
                (None, Some(answer)) => answer.await.map(Snapshot).map_err(Error::Rank),
                (None, None) => unreachable!("it has begun"),
            }
        }
    }

    /// As [`update`](Self::update), in async code: no worker is occupied until then. The access
    /// begins at once, and is performed also if the result is dropped.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_async<A, R>(
        &self,
        operation: &Operation<T, A, R>,
        args: A,
    ) -> impl Future<Output = Result<R>> + Send + use<T, A, R>
    where
        A: Portable + 'static,
        R: Portable + 'static,
    {
        let operation = Arc::clone(&operation.declared);
        let answer = self.begin(Called { operation, args });
        self.look();
        async move { answer.await.map_err(Error::Rank) }
    }

    /// As [`modify`](Self::modify), in async code, by a closure that borrows nothing: no worker is
    /// occupied until then. The access begins at once, and is performed also if the result is
    /// dropped.
    ///
    /// # Panics
    /// As [`modify`](Self::modify).
    pub fn modify_async<R: Send + 'static>(
        &self,
        change: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> impl Future<Output = Result<R>> + Send {
        let (answer, promise) = promise();
        let change = Waiting::Change(Box::new(Owned::new(change, promise)));
        self.record.access(Kind::Modify, change);
        self.look();
        async move {
            let ended = answer.await.map_err(Error::Rank)?;
            Ok(ended.unwrap_or_else(|payload| resume_unwind(payload)))
        }
    }

    /// Requests a copy of the value, if this rank has none, for a later read.
    pub fn prefetch(&self) {
        assert_no_change();
        if !self.copy.is_readable() {
            drop(self.begin_read());
            self.look();
        }
    }

    /// Selects the protocol by which other ranks than the home access the object, from now on. Has
    /// an effect at the home.
    pub fn set_protocol(&self, protocol: Protocol) {
        self.record.switch(protocol);
    }

    /// Begins a read. Returns the value if the copy is current, else what
    /// [`end_view`](Self::end_view) waits for.
    pub(super) fn begin_view(&self) -> std::result::Result<View<T>, Pending<Value<T>>> {
        let hit = self.copy.read().map(View);
        hit.ok_or_else(|| self.begin_read())
    }

    /// Ends a read that [`begin_view`](Self::begin_view) has begun.
    pub(super) fn end_view(
        &self,
        cx: &mut Cx<'_, '_>,
        begun: std::result::Result<View<T>, Pending<Value<T>>>,
    ) -> Result<View<T>> {
        begun.or_else(|answer| self.wait(cx, answer).map(|value| View(Seen::Kept(value))))
    }

    fn begin_read(&self) -> Pending<Value<T>> {
        let (answer, promise) = promise();
        self.record.access(Kind::Read, Waiting::Read(promise));
        answer
    }

    /// Sends what an access has left, and receives.
    pub(super) fn look(&self) {
        self.engine.progress.look(&*self.engine);
    }

    fn wait<R>(&self, cx: &mut Cx<'_, '_>, answer: Pending<R>) -> Result<R> {
        for _ in 0..TURNS {
            if let Some(result) = answer.take() {
                return result.map_err(Error::Rank);
            }
            self.look();
        }
        cx.block_on(answer).map_err(Error::Rank)
    }
}

/// # Panics
/// If an operator does not apply to such numbers.
pub(super) fn assert_applies<T: Number>(operator: Operator) {
    let applies = operator.applies_to(T::ELEMENT);
    let of = std::any::type_name::<T>();
    assert!(applies, "{operator:?} does not apply to {of}");
}

/// The result of an access that has begun.
pub(super) type Pending<R> = Answer<super::Result<R>>;
