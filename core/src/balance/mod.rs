//! Balanced computations: `cx.balance`, on the workers of a pool.
//!
//! | part | what it is |
//! |---|---|
//! | [`Cx::balance`](crate::task::Cx::balance) | processes all work of a bag, and returns what it submitted |
//! | [`Cx::balance_as`](crate::task::Cx::balance_as), [`Balance`] | the same with parameters, limits and observers |
//! | [`Cx::balance_with`](crate::task::Cx::balance_with) | the same for a bag whose processing forks, spawns and waits |
//! | `Cx::balance_across`, `Across` | the same over ranks, with the feature `wire` |
//! | `run`, `member` | the workers of a computation, as futures |
//! | `seats` | which worker of the pool takes which of them |
//! | `places` | the places of a computation, their wakers, and its end |
//! | `relay` | the states of a balancer's worker, as those of the pool's worker that polls it |
//!
//! The workers of the balancer ([`glb`](crate::glb)) are futures of the pool's workers: each poll
//! takes steps until the balancer's worker has nothing to do, and an unpark of that worker wakes
//! the future. So a computation starts no threads; a task that waits for one helps, with its
//! workers and with other tasks; and several computations share the pool: a poll ends after a while
//! if other tasks wait.
//!
//! # Proved
//! Two places on two workers (`balance_*` in `verify/tests/balance.rs`): loot and the end reach a
//! worker that is suspended, and a panic reaches the owner.
//!
//! # Not proved
//! The atomics of the crate `async-task` are invisible to these models: what a poll observes does
//! not rely on them, but on the lock of its worker's slot. So a future registers its waker at every
//! poll, under the lock that `unpark` takes. Once would do for the wakers of `async-task`, but then
//! what a poll observes after the end would rely on orderings that no model sees: the model of two
//! places deadlocks.
#![forbid(unsafe_code)]

#[cfg(feature = "wire")]
mod across;
mod member;
mod places;
mod relay;
mod run;
mod seats;
mod settings;

#[cfg(feature = "wire")]
pub use across::{Across, Left, RankError};
#[cfg(feature = "wire")]
#[doc(hidden)]
pub use across::{Closing, InClosing, Next, Part};
pub use settings::{Balance, Unobserved};

use crate::finish::Reason;
use crate::glb::{Bag, Control, Observer, Run, collect};
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::task::{Cancelled, Cx};
use alloc::vec::Vec;
use core::task::{Context, Poll};
use core::time::Duration;
use places::Places;
use run::run_workers;

impl<P: Host> Cx<'_, '_, P> {
    /// Processes all work of `bag` with the workers of this pool, and returns the result that its
    /// parts submitted to `output`. This task waits; its worker works for the computation, and for
    /// other tasks.
    ///
    /// `shared` creates the value that the workers of a place share. The places and workers are
    /// those of the pool ([`Pool::balancing`](crate::task::Pool::balancing)).
    ///
    /// ```
    /// # use tautline_core::{deque::Local, glb::{Task, Tasks}, port::Host, task::Cx};
    /// /// Numbers below some limit, each of which leads to at most two larger ones.
    /// struct Node(u32);
    ///
    /// impl Task for Node {
    ///     type Shared = ();
    ///     type Sum = u64;
    ///
    ///     fn run(self, todo: &mut Local<Self>, sum: &mut u64, (): &()) {
    ///         *sum += 1;
    ///         todo.extend([2 * self.0, 2 * self.0 + 1].into_iter().filter(|n| *n < 1000).map(Node));
    ///     }
    ///
    ///     fn add(sum: &mut u64, other: u64) {
    ///         *sum += other;
    ///     }
    /// }
    ///
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let nodes = cx.balance(Tasks::from_iter([Node(1)]), |_| (), 0);
    /// assert_eq!(nodes, Ok(999));
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a scope around this task was cancelled.
    ///
    /// # Panics
    /// With the first panic of the bag, after all workers have stopped.
    pub fn balance<B: Bag>(
        &mut self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<B::Output, Cancelled> {
        let control = Control::new();
        let balance = Balance::new(*self.pool().balancing(), &control);
        self.balance_as(balance, bag, shared, output)
            .map(|run| run.output)
    }

    /// As [`balance`](Self::balance), with the given parameters, observers and control; returns the
    /// statistics too.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tautline_core::{balance::Balance, glb::{Bag, Control}, port::Host, task::Cx};
    /// # fn f<P: Host, B: Bag<Shared = (), Output = u64>>(cx: &mut Cx<'_, '_, P>, bag: B) {
    /// let control = Control::new();
    /// let config = *cx.pool().balancing();
    /// let balance = Balance { deadline: Some(Duration::from_secs(10)), ..Balance::new(config, &control) };
    /// let run = cx.balance_as(balance, bag, |_| (), 0).expect("no scope around it is cancelled");
    /// println!("{} after {:?}, complete: {}", run.output, run.elapsed, run.complete);
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`balance`](Self::balance).
    ///
    /// # Panics
    /// As [`balance`](Self::balance); or if `config` has no place, no worker, or too many.
    pub fn balance_as<B: Bag, O: Observer>(
        &mut self,
        balance: Balance<'_, impl FnMut(PlaceId, WorkerId) -> O>,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<Run<B::Output, O>, Cancelled> {
        self.balance_by(balance, B::process, bag, shared, output)
    }

    /// As [`balance_as`](Self::balance_as), with the task context for the processing of the bag:
    /// `process` is called in place of [`Bag::process`], and may fork, spawn and wait.
    ///
    /// ```
    /// # use tautline_core::{balance::Balance, glb::{Bag, Control}, port::Host, task::Cx};
    /// # fn f<P: Host, B: Bag<Shared = (), Output = u64>>(cx: &mut Cx<'_, '_, P>, bag: B) {
    /// let control = Control::new();
    /// let balance = Balance::new(*cx.pool().balancing(), &control);
    /// let run = cx.balance_with(
    ///     balance,
    ///     |bag: &mut B, n, shared, cx| {
    ///         cx.join(|_| println!("beside the work of the bag"), |_| ());
    ///         bag.process(n, shared)
    ///     },
    ///     bag,
    ///     |_| (),
    ///     0,
    /// );
    /// assert!(run.is_ok());
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`balance`](Self::balance).
    ///
    /// # Panics
    /// As [`balance_as`](Self::balance_as).
    pub fn balance_with<B: Bag, O: Observer>(
        &mut self,
        balance: Balance<'_, impl FnMut(PlaceId, WorkerId) -> O>,
        process: impl Fn(&mut B, usize, &B::Shared, &mut Cx<'_, '_, P>) -> usize + Sync,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<Run<B::Output, O>, Cancelled> {
        let pool = self.pool_of_scope();
        let process = |bag: &mut B, n: usize, shared: &B::Shared| {
            let ran = pool.run_inside(|cx| process(bag, n, shared, cx));
            match ran {
                Ok(done) => done,
                Err(_) => unreachable!("a worker of the balancer runs on a worker of the pool"),
            }
        };
        self.balance_by(balance, process, bag, shared, output)
    }

    fn balance_by<B: Bag, O: Observer>(
        &mut self,
        mut balance: Balance<'_, impl FnMut(PlaceId, WorkerId) -> O>,
        process: impl Fn(&mut B, usize, &B::Shared) -> usize + Sync,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        mut output: B::Output,
    ) -> Result<Run<B::Output, O>, Cancelled> {
        let config = balance.config;
        let port = self.pool_of_scope().port();
        let places = Places::<B, P>::new(&config, shared, port);
        let began = port.now();
        let home = PlaceId::HOME;
        places.team(home).begin(bag, &places.at(home));
        let seats: Vec<_> = config.seats().collect();
        let accounts = run_workers(
            self,
            &mut balance,
            &process,
            &places,
            &seats,
            None::<fn(Option<Reason>, &Context<'_>) -> Poll<()>>,
        )?;
        let ended = port.now();
        let found = collect(places.into_parts().0, &config, accounts, &mut output);
        let ticks_per_second = port.ticks_per_second();
        Ok(Run {
            output,
            complete: found.complete,
            stopped: balance.control.reason(),
            elapsed: Duration::from_secs_f64((ended - began) as f64 / ticks_per_second),
            ticks_per_second,
            began,
            places: found.places,
            workers: found.workers,
            messages: 0,
            bytes: 0,
            observers: found.observers,
        })
    }
}
