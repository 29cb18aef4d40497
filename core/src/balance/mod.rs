//! Balanced computations on the workers of a pool: [`Cx::balancer`](crate::task::Cx::balancer).
//!
//! | part | what it is |
//! |---|---|
//! | [`TaskBalancer`] | a computation, its settings, and its ends: [`run`](TaskBalancer::run), [`sum`](TaskBalancer::sum), [`run_with`](TaskBalancer::run_with) for work that forks |
//! | `TaskBalancer::across`, `Across` | the same over ranks, with the feature `wire` |
//! | `run`, `member` | the workers of a computation, as futures |
//! | `seats` | which worker of the pool takes which of them |
//! | `places` | the places of a computation, their wakers, and its end |
//! | `observer` | the states of a balancer's worker, as those of the pool's worker that polls it |
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
mod observer;
mod places;
mod run;
mod seats;
mod settings;

#[cfg(feature = "wire")]
pub use across::{Across, Left, RankError};
#[cfg(feature = "wire")]
#[doc(hidden)]
pub use across::{Closing, InClosing, Next, Part};
pub use settings::{TaskBalancer, Unobserved};

use crate::deque::Local;
use crate::finish::Reason;
use crate::glb::{Bag, Control, IntoBag, Observer, Run, Sum, collect};
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::task::{Cancelled, Cx};
use alloc::vec::Vec;
use core::ops::AddAssign;
use core::task::{Context, Poll};
use core::time::Duration;
use places::Places;
use run::run_workers;

impl<P: Host, F> TaskBalancer<'_, '_, '_, P, F> {
    /// Does `roots` and every task that they lead to, and adds up the results. `task` does one
    /// task: it pushes the remaining work onto the deque and returns its result.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn sum<T, S, O>(
        self,
        roots: impl IntoIterator<Item = T>,
        task: impl Fn(T, &mut Local<T>) -> S + Sync,
    ) -> Result<Run<S, O>, Cancelled>
    where
        F: FnMut(PlaceId, WorkerId) -> O,
        O: Observer,
        T: Send,
        S: AddAssign + Default + Send,
    {
        self.run(Sum::of(roots), |_| &task, S::default())
    }

    /// Processes all of `work`, an array or a vector of [`Task`](crate::glb::Task)s, or a [`Bag`],
    /// and returns what its parts submitted to `output`, with the statistics. `shared` creates the
    /// value that the workers of a place share.
    ///
    /// ```
    /// # use tautline_core::{deque::Local, glb::Task, port::Host, task::Cx};
    /// # use std::time::Duration;
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
    /// let balancer = cx.balancer().deadline(Duration::from_secs(10));
    /// let run = balancer.run([Node(1)], |_| (), 0).expect("no scope around it is cancelled");
    /// assert_eq!((run.output, run.complete), (999, true));
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a scope around the task was cancelled.
    ///
    /// # Panics
    /// With the first panic of the bag, after all workers have stopped; or if the parameters have
    /// no place, no worker, or too many.
    pub fn run<W: IntoBag, O: Observer>(
        self,
        work: W,
        shared: impl Fn(PlaceId) -> <W::Bag as Bag>::Shared,
        output: <W::Bag as Bag>::Output,
    ) -> Result<Run<<W::Bag as Bag>::Output, O>, Cancelled>
    where
        F: FnMut(PlaceId, WorkerId) -> O,
    {
        self.run_by(W::Bag::process, work.into_bag(), shared, output)
    }

    /// As [`run`](Self::run), with the task context for the processing of the bag: `process` is
    /// called in place of [`Bag::process`], and may fork, spawn and wait.
    ///
    /// ```
    /// # use tautline_core::{glb::Bag, port::Host, task::Cx};
    /// # fn f<P: Host, B: Bag<Shared = (), Output = u64>>(cx: &mut Cx<'_, '_, P>, bag: B) {
    /// let run = cx.balancer().run_with(
    ///     |bag: &mut B, n, shared, cx| {
    ///         cx.join(|_| println!("possibly in parallel with the work of the bag"), |_| ());
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
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run).
    pub fn run_with<B: Bag, O: Observer>(
        self,
        process: impl Fn(&mut B, usize, &B::Shared, &mut Cx<'_, '_, P>) -> usize + Sync,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<Run<B::Output, O>, Cancelled>
    where
        F: FnMut(PlaceId, WorkerId) -> O,
    {
        let pool = self.cx.pool_of_scope();
        let process = |bag: &mut B, n: usize, shared: &B::Shared| {
            let ran = pool.run_inside(|cx| process(bag, n, shared, cx));
            match ran {
                Ok(done) => done,
                Err(_) => unreachable!("a worker of the balancer runs on a worker of the pool"),
            }
        };
        self.run_by(process, bag, shared, output)
    }

    fn run_by<B: Bag, O: Observer>(
        self,
        process: impl Fn(&mut B, usize, &B::Shared) -> usize + Sync,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        mut output: B::Output,
    ) -> Result<Run<B::Output, O>, Cancelled>
    where
        F: FnMut(PlaceId, WorkerId) -> O,
    {
        let Self { cx, mut settings } = self;
        let alone = Control::new();
        let control = settings.control.unwrap_or(&alone);
        let config = settings.config;
        let port = cx.pool_of_scope().port();
        let places = Places::<B, P>::new(&config, shared, port);
        let began = port.now();
        let home = PlaceId::HOME;
        places.team(home).begin(bag, &places.at(home));
        let seats: Vec<_> = config.seats().collect();
        let accounts = run_workers(
            cx,
            &mut settings,
            control,
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
            stopped: control.reason(),
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
