//! Balanced computations among the tasks of a pool.
//!
//! The workers of the balancer ([`glb`](crate::glb)) are futures of the pool's workers: each poll
//! takes steps until the balancer's worker has nothing to do, and what would unpark a thread wakes
//! the future. So no thread is started for a computation; a task that waits for one helps, with its
//! workers and with other tasks; and several computations share the pool: a poll ends after a while
//! if other tasks wait.
//!
//! # Not proved
//! The workers of a place have their models (`verify/tests/glb.rs`), and so have the wake-ups of futures
//! (`verify/tests/task.rs`); the two together run under ThreadSanitizer only.
#![forbid(unsafe_code)]

mod member;
mod places;
mod relay;

use super::{Cancelled, Cx};
use crate::glb::{Bag, Config, Control, Observer, Run, collect};
use crate::id::{PlaceId, WorkerId};
use crate::port::{Clock, Host};
use crate::sync::Lock;
use alloc::vec::Vec;
use core::time::Duration;
use member::{Crew, Member};
use places::Places;

/// How a balanced computation is run among tasks: the balancer's parameters, what may stop it, what
/// watches it.
#[derive(Debug)]
pub struct Balance<'c, F = Unobserved> {
    /// The balancer's parameters.
    pub config: Config,
    /// Stops the computation, and shows its progress.
    pub control: &'c Control,
    /// Stops it for [`Reason::Deadline`](crate::finish::Reason::Deadline) if it has not ended so
    /// long after its start. A worker checks the time after each grain.
    pub deadline: Option<Duration>,
    /// Called once for each worker before the start: makes the worker's observer.
    pub observe: F,
}

/// No worker is observed.
pub type Unobserved = fn(PlaceId, WorkerId);

impl<'c> Balance<'c> {
    /// A computation with these parameters, not observed.
    pub fn new(config: Config, control: &'c Control) -> Self {
        fn unobserved(_: PlaceId, _: WorkerId) {}
        Self {
            config,
            control,
            deadline: None,
            observe: unobserved,
        }
    }
}

impl<P: Host> Cx<'_, '_, P> {
    /// Does all work of `bag` with the workers of this pool, and returns what its parts submitted
    /// to `output`. This task waits; its worker works for the computation, and for others.
    ///
    /// `shared` makes the value that the workers of a place share. The places and workers are those
    /// of the pool ([`Pool::balancing`](super::Pool::balancing)).
    ///
    /// # Errors
    /// A scope around this task was cancelled.
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

    /// As [`balance`](Self::balance), with parameters, observers and a control of its own, and with
    /// all that was counted.
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

    /// As [`balance_as`](Self::balance_as), with the task context for what the bag does: `process`
    /// is called in place of [`Bag::process`], and may fork, spawn and wait.
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
        let pool = self.inside().pool();
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
        let port = self.inside().pool().port();
        let places = Places::<B, P>::new(&config, shared, port);
        let seats: Vec<_> = (0..config.places)
            .map(PlaceId)
            .flat_map(|place| (0..config.threads() as u32).map(move |w| (place, WorkerId(w))))
            .collect();
        let observers: Vec<O> = seats
            .iter()
            .map(|&(place, worker)| (balance.observe)(place, worker))
            .collect();
        let accounts: Vec<_> = seats.iter().map(|_| Lock::new(None)).collect();
        let began = port.now();
        let home = PlaceId::HOME;
        places.team(home).begin(bag, &places.at(home));
        let crew = Crew {
            places: &places,
            control: balance.control,
            deadline: balance.deadline.map(|after| deadline(began, after, port)),
            process: &process,
        };
        self.scope(|cx| {
            let members = seats.into_iter().zip(observers).zip(&accounts);
            // The last one first: a worker of the pool runs its newest task next.
            for ((seat, observer), account) in members.collect::<Vec<_>>().into_iter().rev() {
                cx.spawn_async(|task| Member::new(&crew, seat, task, observer, account));
            }
        });
        let ended = port.now();
        if let Some(reason) = self.cancelled() {
            return Err(Cancelled { reason });
        }
        let accounts = accounts.into_iter().map(|account| {
            let account = account.into_inner();
            account.expect("a worker that neither panicked nor was cancelled has ended")
        });
        let found = collect(places.into_teams(), config.threads(), accounts, &mut output);
        let ticks_per_second = port.ticks_per_second();
        Ok(Run {
            output,
            complete: found.complete,
            stopped: balance.control.reason(),
            elapsed: Duration::from_secs_f64((ended - began) as f64 / ticks_per_second),
            ticks_per_second,
            began,
            places: found.places,
            observers: found.observers,
        })
    }
}

/// The tick at which a computation that began at tick `began` has run for `after`.
fn deadline(began: u64, after: Duration, clock: &impl Clock) -> u64 {
    let ticks = after.as_secs_f64() * clock.ticks_per_second();
    began.saturating_add(ticks as u64)
}
