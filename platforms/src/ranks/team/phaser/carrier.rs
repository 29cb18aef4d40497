//! The carrier of the threads of a rank, which no thread of its own runs.
//!
//! # Algorithm
//! The carrier is registered on both phasers, as a task would be (see `tasks`), and sleeps on the
//! first. Its waker is called by the thread whose signal is the last one of the rank: that thread
//! begins the exchange, in [`Registration::signal`], and returns. A message is processed by the
//! thread that runs the turn in which it arrives. These are the threads that wait for the phase,
//! one at a time; while none does, because all compute between signal and wait, or only signal, it
//! is the progress thread. The message that completes the exchange ends the second phaser's phase,
//! and the same thread checks the first one again, which threads that only signal may have ended
//! again.
//!
//! So no thread is woken: the thread that waits for a phase ends it. A carrier that the progress
//! thread runs would cost a wake-up of that thread and, without a free processor, two switches in
//! each phase.
//!
//! # Concurrency
//! A [`Combiner`] lets one thread at a time run the carrier, and makes that one repeat it for
//! threads that have found it taken: those whose waker was called, and those that have put a
//! message into the inbox.
//!
//! # Failures
//! The first error is kept before the registration leaves whose thread has panicked. So a thread
//! that finds its phase ended because of it observes the error, and the exchange is not begun.

use super::part::{Part, Value};
use crate::Result;
use crate::error::Error as AnyError;
use crate::phaser::Registration;
use crate::ranks::collective::abandon;
use crate::ranks::engine::progress::of_this_rank;
use crate::ranks::engine::{ProgressEngine, inside, is_inside};
use std::any::type_name;
use std::panic::Location;
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Poll, Wake, Waker};
use tautline_core::collective::{ForAll, InForAll};
use tautline_core::comm::Combiner;
use tautline_core::deque::Inbox;
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::progress::Pending;
use tautline_core::service::{Calls, Operation};
use tautline_core::wire::{Cause, Error, Fault, Malformed, Receiver, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_node::SpinThenYield;

type Message = InForAll<Value>;

/// The phases of the threads of a rank, as these threads use them.
pub(super) trait Phases: Send + Sync {
    /// Communicates for a thread that waits; returns false once the phases have failed.
    fn turn(&self) -> bool;

    /// # Errors
    /// That with which the phases have failed.
    fn check(&self) -> Result<()>;

    /// Ends the phases of all ranks, as a thread panics.
    fn panicked(&self);
}

/// The calls of a phaser: one for each phase, whose number is that of the phase.
pub(super) struct Crossing {
    pub(super) engine: Arc<ProgressEngine>,
    pub(super) calls: Calls,
    /// The call that has made the phaser.
    pub(super) site: &'static Location<'static>,
}

/// The phases of the threads of a rank.
struct Carried<A, F: FnMut(Value, Value) -> Value> {
    crossing: Crossing,
    carrier: Combiner<Carrier<A, F>>,
    inbox: Inbox<(Rank, Message)>,
    failed: OnceLock<Error>,
    waker: Waker,
    this: Weak<Self>,
}

/// Ends the phases of this rank with those of the others.
pub(super) struct Carrier<A, F: FnMut(Value, Value) -> Value> {
    pub(super) gather: Registration,
    pub(super) release: Registration,
    pub(super) part: A,
    pub(super) combine: F,
    /// Lives while threads of this rank are registered.
    pub(super) threads: Weak<()>,
    /// `None` while threads of this rank have not signalled the phase.
    pub(super) exchange: Option<Exchange<F>>,
    /// Whether the end of the phase of `release` is due.
    pub(super) releases: bool,
    /// Whether the threads of all ranks have left, or the phases have failed.
    pub(super) has_ended: bool,
}

/// The exchange of a phase.
pub(super) struct Exchange<F: FnMut(Value, Value) -> Value> {
    machine: ForAll<Value, F>,
    /// `None` at the only rank of a team.
    operation: Option<Operation<Message>>,
    result: Option<Value>,
    _pending: Pending,
}

/// Starts the phases that `carrier` carries.
pub(super) fn carried<A, F>(crossing: Crossing, carrier: Carrier<A, F>) -> Arc<dyn Phases>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    let carried = Arc::new_cyclic(|this| Carried {
        crossing,
        carrier: Combiner::new(carrier),
        inbox: Inbox::new(),
        failed: OnceLock::new(),
        waker: Waker::from(Arc::new(Bell(Weak::clone(this)))),
        this: Weak::clone(this),
    });
    carried.run();
    carried
}

/// Wakes the carrier. It does not keep the phaser that keeps it.
struct Bell<A, F: FnMut(Value, Value) -> Value>(Weak<Carried<A, F>>);

impl<A, F> Wake for Bell<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    fn wake(self: Arc<Self>) {
        if let Some(carried) = self.0.upgrade() {
            carried.run();
        }
    }
}

impl<A, F> Carried<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    /// Lets the carrier do what there is to do, unless another thread does, which then repeats it.
    fn run(&self) {
        let has_begun = self.carrier.run(|carrier| self.step(carrier));
        let engine = &self.crossing.engine;
        // In a turn, what was sent leaves with it.
        if has_begun && !is_inside() {
            engine.progress.look(&**engine);
        }
    }

    /// Returns whether an exchange has begun.
    fn step(&self, carrier: &mut Carrier<A, F>) -> bool {
        let mut has_begun = false;
        while self.failed.get().is_none() && !carrier.has_ended {
            if let Some(exchange) = &mut carrier.exchange {
                self.receive(exchange);
                let Some(result) = exchange.result else {
                    return has_begun;
                };
                carrier.end(result);
            } else if carrier.releases {
                // The threads have signalled before, so if it is pending, one of them ends it.
                if carrier.release.poll_wait(&self.waker).is_pending() {
                    return has_begun;
                }
                carrier.releases = false;
            } else {
                if !self.has_gathered(carrier) {
                    return has_begun;
                }
                // A thread that has panicked has left after it had kept the error.
                if self.failed.get().is_none() {
                    self.begin(carrier);
                    has_begun = true;
                }
            }
        }
        if !carrier.has_ended {
            // No message of the exchange comes any more.
            (carrier.exchange, carrier.has_ended) = (None, true);
            carrier.gather.cancel_wait();
            carrier.release.cancel_wait();
        }
        has_begun
    }

    /// Whether the threads of this rank have signalled the phase; if not, the carrier is run again
    /// once they have.
    fn has_gathered(&self, carrier: &mut Carrier<A, F>) -> bool {
        // The threads get the error of the last phase before the carrier does.
        let is_signalled = carrier.gather.signal().is_ok();
        is_signalled && matches!(carrier.gather.poll_wait(&self.waker), Poll::Ready(Ok(())))
    }

    fn begin(&self, carrier: &mut Carrier<A, F>) {
        let Crossing {
            engine,
            calls,
            site,
        } = &self.crossing;
        let group = calls.group();
        let machine = ForAll::new(group.here(), group.ranks(), carrier.combine);
        let receiver = self.this.upgrade().filter(|_| group.ranks() > 1);
        let mut exchange = Exchange {
            machine,
            operation: receiver.map(|receiver| calls.begin(site, "phase", receiver)),
            result: None,
            _pending: Pending::new(&engine.progress),
        };
        let is_present = u32::from(carrier.threads.strong_count() > 0);
        let own = (is_present, carrier.part.own());
        exchange.step(|machine, step| machine.event(own, step));
        carrier.exchange = Some(exchange);
    }

    /// Processes the messages that have arrived.
    fn receive(&self, exchange: &mut Exchange<F>) {
        while let Some((from, message)) = self.inbox.pop(&SpinThenYield::default()) {
            let received = exchange.step(|machine, step| machine.receive(from, message, step));
            if received.is_err() {
                let why = "its call does not expect it";
                let refused = Malformed::refused(type_name::<Message>(), 0, why);
                let operation = exchange.operation.as_ref();
                let error = operation.map(|operation| operation.error(from, refused));
                error.map(|error| self.failed.set(error));
            }
        }
    }
}

impl<F: FnMut(Value, Value) -> Value> Exchange<F> {
    /// Lets the machine take a step, and sends its messages.
    fn step<R>(
        &mut self,
        take: impl FnOnce(&mut ForAll<Value, F>, &mut Step<'_, ForAll<Value, F>>) -> R,
    ) -> R {
        let Self {
            machine,
            operation,
            result,
            ..
        } = self;
        let mut act = |action: Action<ForAll<Value, F>>| match action {
            Action::Send(to, message) => {
                let operation = operation.as_ref().expect("there is another rank");
                operation.send(to, &message);
            }
            Action::Effect(all) => *result = Some(all),
        };
        take(machine, &mut Step::new(&mut (), &mut act))
    }
}

impl<A: Part<SpinThenYield>, F: FnMut(Value, Value) -> Value> Carrier<A, F> {
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

impl<A, F> Phases for Carried<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    fn turn(&self) -> bool {
        let Crossing { engine, calls, .. } = &self.crossing;
        if calls.group().ranks() > 1 {
            engine.progress.look(&**engine);
        }
        self.failed.get().is_none()
    }

    fn check(&self) -> Result<()> {
        let Some(error) = self.failed.get() else {
            return Ok(());
        };
        if !is_inside() {
            // It may be of a message that was processed outside of a turn.
            inside(|| self.crossing.engine.exchange.fail(error));
        }
        Err(AnyError::Rank(error.clone().into()))
    }

    fn panicked(&self) {
        let Crossing { engine, calls, .. } = &self.crossing;
        if !engine.exchange.is_here() {
            return;
        }
        _ = self
            .failed
            .set(of_this_rank(&engine.exchange, Cause::Panicked));
        if calls.group().ranks() > 1 {
            abandon(engine);
        }
    }
}

impl<A, F> Receiver for Carried<A, F>
where
    A: Part<SpinThenYield> + 'static,
    F: FnMut(Value, Value) -> Value + Copy + Send + 'static,
{
    fn take(&self, from: PlaceId, _: PlaceId, body: &[u8]) -> Result<(), Fault> {
        let message = (Rank(from.0), unpack(body)?);
        self.inbox.push(message, &SpinThenYield::default());
        self.run();
        let failed = self.failed.get();
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
}
