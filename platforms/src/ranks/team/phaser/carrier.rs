//! The carrier of the threads of a rank, which no thread of its own runs.
//!
//! # Algorithm
//! The carrier is registered on both phasers, as a task would be (see `tasks`), and leaves a waker
//! at the first. It is called by the thread whose signal is the last one of the rank: that thread
//! begins the exchange, in [`Registration::signal`], and returns. A message is processed by the
//! thread that runs the turn in which it arrives. These are the threads that wait for the phase,
//! one at a time; while no thread waits, because all compute between signal and wait, or only
//! signal, it is the progress thread. The message that completes the exchange ends the second
//! phaser's phase, and the same thread checks the first one again, which threads that only signal
//! may have ended again.
//!
//! So no thread is woken: the thread that waits for a phase ends it. A carrier that the progress
//! thread runs would cost a wake-up of that thread and, without a free processor, two switches in
//! each phase.
//!
//! The thread that begins an exchange does not hand over to the progress thread, even if it
//! computes next, so a message that arrives while all threads of a rank compute may wait for the
//! progress thread as long as `Pace::take_over`, 200 us. A hand-over in each phase is worse where
//! the two share a processor: signal and wait around 10 us of work then took 90 to 390 us, and at
//! most 9 us without it (two ranks of one thread, two processors of a Xeon, family 6 model 207,
//! under load).
//!
//! # Concurrency
//! A [`Combiner`] lets one thread at a time run the carrier, and makes that one repeat it for
//! threads that have found it taken: those whose waker was called, and those that have put a
//! message into the inbox.
//!
//! # Departure
//! The last registration of a rank leaves a [`Departure`] before it leaves the phasers, so the
//! world of a rank waits from then on for the threads of the other ranks, whichever thread begins
//! the next exchange. The carrier drops it at the end of the phases.
//!
//! # Failures
//! A thread that panics sets `failed` before its registrations leave. Where its leave ends the
//! first phaser's phase, the carrier observes the error, by this chain of happens-before: `failed`
//! is set; the registration leaves (program order); that ends the phase, for which
//! [`poll_wait`](Registration::poll_wait) is ready (the phaser's own release and acquire of the
//! signal); `step` reads `failed`. So the exchange is not begun. The second phaser's phase ends
//! only after an exchange, so a thread that waits for it observes the error instead.

use super::exchange::{Message, PhaseExchange};
use super::part::{Part, Value};
use crate::Result;
use crate::error::Error as AnyError;
use crate::phaser::Registration;
use crate::ranks::collective::abandon;
use crate::ranks::engine::progress::of_this_rank;
use crate::ranks::engine::{Departure, ProgressEngine, inside, is_inside};
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Poll, Wake, Waker};
use tautline_core::comm::Combiner;
use tautline_core::deque::Inbox;
use tautline_core::service::Calls;
use tautline_core::wire::{Cause, Error, Fault, Receiver, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_node::SpinThenYield;

/// The phases of the threads of a rank, as these threads use them.
pub(super) trait Phases: Send + Sync {
    /// Communicates for a thread that waits, unless another one does; returns false once the phases
    /// have failed.
    fn turn(&self) -> bool;

    /// # Errors
    /// That with which the phases have failed.
    ///
    /// # Panics
    /// In the child of `fork`.
    fn check(&self) -> Result<()>;

    /// Ends the phases of all ranks, as a thread panics.
    fn panicked(&self);

    /// Makes the world wait for the phases, as the last thread of this rank leaves.
    fn depart(&self);
}

/// The calls of a phaser: one for each phase, whose number is that of the phase.
pub(super) struct Crossing {
    pub(super) engine: Arc<ProgressEngine>,
    pub(super) calls: Calls,
    /// The call that has made the phaser.
    pub(super) site: &'static Location<'static>,
}

/// The phases of the threads of a rank.
struct ThreadPhases<A, F: FnMut(Value, Value) -> Value> {
    crossing: Crossing,
    carrier: Combiner<ThreadCarrier<A, F>>,
    inbox: Inbox<(Rank, Message)>,
    failed: OnceLock<Error>,
    /// Full while the threads of this rank have left and the phases have not ended.
    departure: Mutex<Option<Departure>>,
    waker: Waker,
    this: Weak<Self>,
}

/// Ends the phases of this rank with those of the others.
pub(super) struct ThreadCarrier<A, F: FnMut(Value, Value) -> Value> {
    pub(super) gather: Registration,
    pub(super) release: Registration,
    pub(super) part: A,
    pub(super) combine: F,
    /// Lives while threads of this rank are registered.
    pub(super) threads: Weak<Threads>,
    /// `None` while threads of this rank have not signalled the phase.
    pub(super) exchange: Option<PhaseExchange<F>>,
    /// Whether the end of the phase of `release` is due.
    pub(super) releases: bool,
    /// Whether the threads of all ranks have left, or the phases have failed.
    pub(super) has_ended: bool,
}

/// Shared by the registrations of this rank.
pub(super) struct Threads(pub(super) Arc<dyn Phases>);

impl Drop for Threads {
    fn drop(&mut self) {
        self.0.depart();
    }
}

/// Starts the phases that `carrier` carries.
pub(super) fn start<A, F>(crossing: Crossing, carrier: ThreadCarrier<A, F>) -> Arc<dyn Phases>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    let phases = Arc::new_cyclic(|this| ThreadPhases {
        crossing,
        carrier: Combiner::new(carrier),
        inbox: Inbox::new(),
        failed: OnceLock::new(),
        departure: Mutex::new(None),
        waker: Waker::from(Arc::new(CarrierWaker(Weak::clone(this)))),
        this: Weak::clone(this),
    });
    phases.run();
    phases
}

/// Runs the carrier. Weak, as the phases own the waker.
struct CarrierWaker<A, F: FnMut(Value, Value) -> Value>(Weak<ThreadPhases<A, F>>);

impl<A, F> Wake for CarrierWaker<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        if let Some(phases) = self.0.upgrade() {
            phases.run();
        }
    }
}

/// The effects of steps on the calling thread.
#[derive(Default)]
struct Stepped {
    /// Whether messages are to be sent.
    has_sent: bool,
    /// Whether the phases have failed here, so that the channels are to end.
    has_failed: bool,
}

impl<A, F> ThreadPhases<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    /// Runs the carrier; if another thread holds it, that thread runs a further step. Does nothing
    /// in the child of `fork`.
    fn run(&self) {
        let engine = &self.crossing.engine;
        if !self.has_others() {
            self.steps();
            return;
        }
        if !engine.exchange.is_here() {
            return;
        }
        let stepped = self.steps();
        match (is_inside(), self.failed.get()) {
            (true, Some(_)) if stepped.has_failed => engine.give_up(),
            (false, Some(error)) if stepped.has_failed => {
                _ = inside(|| engine.exchange.fail(error));
            }
            (false, _) if stepped.has_sent => {
                engine.progress.look(&**engine);
            }
            // In a turn, what was sent leaves with it.
            _ => {}
        }
    }

    /// Whether the team has other ranks.
    fn has_others(&self) -> bool {
        self.crossing.calls.group().ranks() > 1
    }

    /// As [`run`](Self::run), without its consequences.
    fn steps(&self) -> Stepped {
        let mut stepped = Stepped::default();
        let mut run = || {
            let run = |carrier: &mut _| {
                self.step(carrier, &mut stepped);
                true
            };
            inside(|| self.carrier.run(run)).is_some()
        };
        if !run() {
            // An element's function has panicked.
            let here = of_this_rank(&self.crossing.engine.exchange, Cause::Panicked);
            let has_failed = self.failed.set(here).is_ok();
            // The carrier ends.
            run();
            stepped.has_failed |= has_failed;
        }
        stepped
    }

    fn step(&self, carrier: &mut ThreadCarrier<A, F>, stepped: &mut Stepped) {
        while self.failed.get().is_none() && !carrier.has_ended {
            if let Some(exchange) = &mut carrier.exchange {
                self.receive(exchange, stepped);
                match exchange.result() {
                    Some(result) => carrier.end(result),
                    None if self.failed.get().is_none() => return,
                    None => {}
                }
            } else if carrier.releases {
                // The threads have signalled before, so if it is pending, one of them ends it.
                if carrier.release.poll_wait(&self.waker).is_pending() {
                    return;
                }
                carrier.releases = false;
            } else {
                if !self.has_gathered(carrier) {
                    return;
                }
                // A thread that has panicked has left after it had set the error.
                if self.failed.get().is_none() {
                    self.begin(carrier, stepped);
                }
            }
        }
        if !carrier.has_ended {
            // No message of the exchange comes any more.
            (carrier.exchange, carrier.has_ended) = (None, true);
            carrier.gather.cancel_wait();
            carrier.release.cancel_wait();
        }
        *self.departure() = None;
    }

    /// Whether the threads of this rank have signalled the phase; if not, the carrier is run again
    /// once they have.
    fn has_gathered(&self, carrier: &mut ThreadCarrier<A, F>) -> bool {
        // The threads get the error of the last phase before the carrier does.
        let is_signalled = carrier.gather.signal().is_ok();
        is_signalled && matches!(carrier.gather.poll_wait(&self.waker), Poll::Ready(Ok(())))
    }

    fn begin(&self, carrier: &mut ThreadCarrier<A, F>, stepped: &mut Stepped) {
        let Crossing {
            engine,
            calls,
            site,
        } = &self.crossing;
        let is_present = u32::from(carrier.threads.strong_count() > 0);
        let own = ((is_present, carrier.part.own()), carrier.combine);
        let this = self.this.upgrade().filter(|_| self.has_others());
        let receiver = this.map(|this| this as Arc<dyn Receiver>);
        let exchange = PhaseExchange::begin(&engine.progress, calls, site, receiver, own);
        let exchange = carrier.exchange.insert(exchange);
        stepped.has_sent |= exchange.take_sent();
    }

    /// Processes the messages that have arrived.
    fn receive(&self, exchange: &mut PhaseExchange<F>, stepped: &mut Stepped) {
        while let Some((from, message)) = self.inbox.pop(&SpinThenYield::default()) {
            if let Err(error) = exchange.receive(from, message) {
                stepped.has_failed |= self.failed.set(error).is_ok();
            }
        }
        stepped.has_sent |= exchange.take_sent();
    }

    fn departure(&self) -> MutexGuard<'_, Option<Departure>> {
        let departure = self.departure.lock();
        departure.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Part<SpinThenYield>, F: FnMut(Value, Value) -> Value> ThreadCarrier<A, F> {
    /// Ends the exchange, with this result.
    fn end(&mut self, (ranks, result): Value) {
        self.exchange = None;
        if ranks == 0 {
            self.has_ended = true;
            return;
        }
        let published = self.part.publish(&mut self.release, result);
        // As of `gather`, in has_gathered.
        self.releases = published.and_then(|()| self.release.signal()).is_ok();
    }
}

impl<A, F> Phases for ThreadPhases<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    fn turn(&self) -> bool {
        let engine = &self.crossing.engine;
        if self.has_others() && !engine.progress.is_dedicated() {
            engine.progress.turn_alone(&**engine);
        }
        self.failed.get().is_none()
    }

    fn check(&self) -> Result<()> {
        if self.has_others() {
            self.crossing.engine.assert_rank();
        }
        let failed = self.failed.get();
        failed.map_or(Ok(()), |error| Err(AnyError::Rank(error.clone().into())))
    }

    fn panicked(&self) {
        let engine = &self.crossing.engine;
        if !engine.exchange.is_here() {
            return;
        }
        _ = self
            .failed
            .set(of_this_rank(&engine.exchange, Cause::Panicked));
        if self.has_others() {
            abandon(engine, &self.crossing.calls);
        }
    }

    fn depart(&self) {
        let engine = &self.crossing.engine;
        if self.has_others() && engine.exchange.is_here() {
            *self.departure() = Some(engine.depart());
            // The phases may have ended before: the carrier drops it.
            self.run();
        }
    }
}

impl<A, F> Receiver for ThreadPhases<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let message = (Rank(from.0), unpack(body)?);
        self.inbox.push(message, &SpinThenYield::default());
        let has_failed = self.steps().has_failed;
        let failed = self.failed.get().filter(|_| has_failed);
        failed.map_or(Ok(()), |error| {
            Err(Fault {
                peer: Some(error.peer),
                name: error.channel,
                cause: error.cause.clone(),
            })
        })
    }

    fn fail(&self, error: &Error) {
        _ = self.failed.set(error.clone());
        self.run();
    }

    /// The phases end here; other teams continue.
    fn lost(&self, error: &Error) -> bool {
        self.fail(error);
        true
    }
}
