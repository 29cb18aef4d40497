//! Handlers: the code that other ranks may start here.

use super::arguments::{Arguments, decode};
use super::{At, Entry, Failed, Handlers, packed};
use crate::execution::runtime::Cx;
use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use tautline_core::wire::Portable;

/// Code that every rank of a team can start at every other one, in a
/// [finish](crate::team::Team::finish): made by [`handler`].
///
/// A message names it by its position among the handlers of the finish, and has the encoded
/// arguments: no code and no address travels. So it may borrow data of its rank.
pub struct Handler<F, A, R> {
    run: F,
    is_short: bool,
    site: &'static Location<'static>,
    types: PhantomData<fn(A) -> R>,
}

impl<F, A, R> fmt::Debug for Handler<F, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the handler at {}", self.site)
    }
}

/// Returns a handler that calls `run` with the arguments of a message, which has their type; the
/// result of a [call](At::call) goes back.
///
/// ```
/// use tautline::prelude::*;
/// use tautline::team::handler;
/// use tautline::world::{self, Rank};
///
/// let words = world::loopback(2, |world| {
///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
///     let words = ["zero", "one"];
///     // It borrows `words` of its rank.
///     let get = handler(|_, _, at: usize| words.get(at).map(|word| word.to_string()));
///     rt.run(|cx| {
///         let mut team = world.team();
///         let other = Rank(1 - team.rank().0);
///         team.finish(cx, &get, |cx, at| at.call(cx, other, &get, other.index()).wait(cx))?
///     })
/// });
/// let words = words.into_iter().collect::<tautline::Result<Vec<_>>>()?;
/// assert_eq!(words, [Some("one".to_owned()), Some("zero".to_owned())]);
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// Borrowed values must be `Sync`:
/// ```compile_fail,E0277
/// # use tautline::team::handler;
/// let count = std::cell::Cell::new(0);
/// let add = handler(|_, _, n: u32| count.set(count.get() + n));
/// ```
/// Arguments must be values that have an [encoding](crate::world::Portable), so neither references,
/// nor `Rc`, nor structures that do not derive serde's traits:
/// ```compile_fail,E0277
/// # use tautline::team::handler;
/// let print = handler(|_, _, text: &'static str| println!("{text}"));
/// ```
/// ```compile_fail,E0277
/// # use tautline::team::handler;
/// let print = handler(|_, _, text: std::rc::Rc<String>| println!("{text}"));
/// ```
/// ```compile_fail,E0277
/// # use tautline::team::handler;
/// struct Line(String);
/// let print = handler(|_, _, line: Line| println!("{}", line.0));
/// ```
/// Borrowed values must outlive the finish:
/// ```compile_fail,E0597
/// # use tautline::prelude::*;
/// # use tautline::team::{Team, handler};
/// # fn f(cx: &mut Cx<'_, '_>, team: &mut Team) {
/// let get;
/// {
///     let words = ["zero".to_owned(), "one".to_owned()];
///     get = handler(|_, _, at: usize| words[at].clone());
/// }
/// _ = team.finish(cx, &get, |_, _| ());
/// # }
/// ```
#[track_caller]
pub fn handler<F, A, R>(run: F) -> Handler<F, A, R>
where
    F: for<'s, 'e> Fn(&mut Cx<'s, 'e>, At<'s>, A) -> R + Sync,
    A: Portable + 'static,
    R: Portable + 'static,
{
    Handler {
        run,
        is_short: false,
        site: Location::caller(),
        types: PhantomData,
    }
}

impl<F, A, R> Handler<F, A, R> {
    /// Makes calls that arrive together run one after the other in one task: for code that takes
    /// less time than a task. It must not wait.
    #[must_use]
    pub fn short(mut self) -> Self {
        self.is_short = true;
        self
    }
}

impl<F, A, R> Entry for Handler<F, A, R>
where
    F: for<'s, 'e> Fn(&mut Cx<'s, 'e>, At<'s>, A) -> R + Sync,
    A: Portable + 'static,
    R: Portable + 'static,
{
    fn is_short(&self) -> bool {
        self.is_short
    }

    fn site(&self) -> &'static Location<'static> {
        self.site
    }

    fn takes(&self) -> (TypeId, &'static str) {
        (TypeId::of::<A>(), type_name::<A>())
    }

    fn run<'s>(
        &self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        args: &[u8],
        answers: bool,
    ) -> Result<Vec<u8>, Failed> {
        let args = decode(self.site, args).map_err(Failed::Arguments)?;
        let result = (self.run)(cx, at, args);
        match answers {
            true => packed(&result, at.limit()).map_err(Failed::Result),
            false => Ok(Vec::new()),
        }
    }

    fn run_batch<'s>(&self, cx: &mut Cx<'s, '_>, at: At<'s>, batch: &[u8]) {
        let mut all = Arguments::of_batch(at.from(), self.site, batch);
        while cx.cancelled().is_none()
            && let Some(args) = all.next()
        {
            (self.run)(cx, at, args);
        }
    }

    fn run_here<'s>(
        &self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        args: &mut (dyn Any + Send),
        result: &mut dyn Any,
    ) {
        let args = args.downcast_mut::<Option<A>>().and_then(Option::take);
        let ended = (self.run)(cx, at, args.expect("arguments of its type"));
        if let Some(result) = result.downcast_mut() {
            *result = Some(ended);
        }
    }
}

/// The code of a handler that takes all calls that arrive together: made by [`batch_handler`].
pub struct BatchHandler<F>(F);

/// Returns a handler that calls `run` once with all calls of a [batch](At::batch) that arrive
/// together, in their order; with one call, if it was made by itself, or at the own rank. As
/// [short](Handler::short) handlers, it must not wait. Arguments that it does not take are dropped.
/// A cancellation does not interrupt it.
///
/// It gains where calls have something in common: one lock for all of them, as here, or memory that
/// can be fetched for some before the first of them needs it.
///
/// ```
/// use std::sync::Mutex;
/// use tautline::prelude::*;
/// use tautline::team::batch_handler;
/// use tautline::world::{self, Rank};
///
/// let sums = world::loopback(2, |world| {
///     let rt = Runtime::builder().world(world).workers(1).pinned(false).build()?;
///     let sum = Mutex::new(0);
///     // Locks it once for hundreds of calls.
///     let add = batch_handler(|_, _, numbers| *sum.lock().unwrap() += numbers.sum::<u64>());
///     rt.run(|cx| {
///         let mut team = world.team();
///         let other = Rank(1 - team.rank().0);
///         team.finish(cx, &add, |cx, at| {
///             let mut batch = at.batch(cx, &add);
///             (1..=1000).for_each(|number| batch.push(cx, other, number));
///         })
///     })?;
///     Ok::<u64, tautline::Error>(sum.into_inner().unwrap())
/// });
/// assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [500_500; 2]);
/// # Ok::<(), tautline::Error>(())
/// ```
#[track_caller]
pub fn batch_handler<F, A>(run: F) -> Handler<BatchHandler<F>, A, ()>
where
    F: for<'s, 'e, 'a> Fn(&mut Cx<'s, 'e>, At<'s>, Arguments<'a, A>) + Sync,
    A: Portable + 'static,
{
    Handler {
        run: BatchHandler(run),
        is_short: true,
        site: Location::caller(),
        types: PhantomData,
    }
}

impl<F, A> Entry for Handler<BatchHandler<F>, A, ()>
where
    F: for<'s, 'e, 'a> Fn(&mut Cx<'s, 'e>, At<'s>, Arguments<'a, A>) + Sync,
    A: Portable + 'static,
{
    fn is_short(&self) -> bool {
        true
    }

    fn site(&self) -> &'static Location<'static> {
        self.site
    }

    fn takes(&self) -> (TypeId, &'static str) {
        (TypeId::of::<A>(), type_name::<A>())
    }

    fn run<'s>(
        &self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        args: &[u8],
        _: bool,
    ) -> Result<Vec<u8>, Failed> {
        let args = decode(self.site, args).map_err(Failed::Arguments)?;
        (self.run.0)(cx, at, Arguments::of_one(at.from(), self.site, args));
        Ok(Vec::new())
    }

    fn run_batch<'s>(&self, cx: &mut Cx<'s, '_>, at: At<'s>, batch: &[u8]) {
        if cx.cancelled().is_none() {
            (self.run.0)(cx, at, Arguments::of_batch(at.from(), self.site, batch));
        }
    }

    fn run_here<'s>(
        &self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        args: &mut (dyn Any + Send),
        result: &mut dyn Any,
    ) {
        let args = args.downcast_mut::<Option<A>>().and_then(Option::take);
        let args = args.expect("arguments of its type");
        (self.run.0)(cx, at, Arguments::of_one(at.from(), self.site, args));
        if let Some(result) = result.downcast_mut() {
            *result = Some(());
        }
    }
}

impl<F, A, R> Handlers for Handler<F, A, R>
where
    Self: Entry,
{
    fn entry(&self, position: usize) -> Option<&dyn Entry> {
        (position == 0).then_some(self)
    }
}

macro_rules! tuples {
    ($($name:ident $at:tt),+) => {
        impl<$($name: Entry),+> Handlers for ($(&$name,)+) {
            fn entry(&self, position: usize) -> Option<&dyn Entry> {
                match position {
                    $($at => Some(self.$at),)+
                    _ => None,
                }
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
