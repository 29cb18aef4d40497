//! A machine, its inputs, and its effects.

use crate::comm::Combiner;
use crate::deque::Inbox;
use crate::machine::{Action, Machine, Step, Tolerance};
use crate::port::Spin;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

/// Carries the messages of a machine to other peers.
pub trait Carrier<M: Machine>: Send {
    /// Sends `message` to another peer. Called within a step, in order, so that it should be short;
    /// it may encode the message.
    fn send(&mut self, to: M::Peer, message: M::Message);
}

impl<M: Machine, F: FnMut(M::Peer, M::Message) + Send> Carrier<M> for F {
    fn send(&mut self, to: M::Peer, message: M::Message) {
        self(to, message);
    }
}

/// Carries out the effects of a machine.
///
/// Calls come one at a time, in the order of the steps, from any thread that has given the service
/// an input. They may give it further inputs, and [stop](Service::stop) it.
pub trait Handler<M: Machine, C>: Send + Sync + Sized {
    /// Carries out an effect.
    fn effect(&self, effect: M::Effect, service: &Service<M, C, Self>);

    /// Processes that the machine has refused a message.
    fn refused(&self, from: M::Peer, refusal: M::Refusal, service: &Service<M, C, Self>);
}

/// A machine that any thread steps.
///
/// ```
/// use std::sync::Mutex;
/// use tautline_core::PlaceId;
/// use tautline_core::machine::{Machine, Step};
/// use tautline_core::service::{Handler, Service};
///
/// /// Greets each peer that greets.
/// struct Greeter;
///
/// impl Machine for Greeter {
///     type Peer = PlaceId;
///     type Message = &'static str;
///     type Event = PlaceId;
///     type Effect = String;
///     type Calls = ();
///     type Refusal = &'static str;
///
///     fn event(&mut self, to: PlaceId, step: &mut Step<'_, Self>) {
///         step.send(to, "hello");
///     }
///
///     fn receive(
///         &mut self,
///         from: PlaceId,
///         message: &'static str,
///         step: &mut Step<'_, Self>,
///     ) -> Result<(), &'static str> {
///         step.effect(format!("{message} from {from}"));
///         (message == "hello").then_some(()).ok_or("that is no greeting")
///     }
/// }
///
/// struct Heard(Mutex<Vec<String>>);
///
/// impl<C> Handler<Greeter, C> for Heard {
///     fn effect(&self, heard: String, _: &Service<Greeter, C, Self>) {
///         self.0.lock().unwrap().push(heard);
///     }
///
///     fn refused(&self, from: PlaceId, why: &'static str, _: &Service<Greeter, C, Self>) {
///         self.0.lock().unwrap().push(format!("{from} was refused: {why}"));
///     }
/// }
///
/// let service = Service::new(Greeter, Box::new(()), Heard(Mutex::default()));
/// service.connect(|to: PlaceId, message| println!("{message} to {to}"));
/// service.event(PlaceId(1));
/// service.receive(PlaceId(1), "hello");
/// assert_eq!(*service.handler().0.lock().unwrap(), ["hello from place 1"]);
/// ```
pub struct Service<M: Machine, C, H> {
    inputs: Inbox<Input<M>>,
    steps: Combiner<State<M, C>>,
    outputs: Inbox<Output<M>>,
    outlet: Combiner<()>,
    handler: H,
}

enum Input<M: Machine> {
    Event(M::Event),
    Message(M::Peer, M::Message),
}

enum Output<M: Machine> {
    Effect(M::Effect),
    Refused(M::Peer, M::Refusal),
}

struct State<M: Machine, C> {
    /// `None` after a step that panicked.
    machine: Option<M>,
    calls: Box<M::Calls>,
    /// `None` until it is connected, and after the end.
    carrier: Option<C>,
    /// Messages for the carrier to come.
    unsent: Vec<(M::Peer, M::Message)>,
    has_stopped: bool,
}

impl<M: Machine, C, H> fmt::Debug for Service<M, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").finish_non_exhaustive()
    }
}

impl<M: Machine, C, H> Service<M, C, H> {
    /// Creates a service, whose messages wait until it is [connected](Self::connect). `calls`
    /// answers the machine within its steps.
    pub fn new(machine: M, calls: Box<M::Calls>, handler: H) -> Self {
        Self {
            inputs: Inbox::new(),
            steps: Combiner::new(State {
                machine: Some(machine),
                calls,
                carrier: None,
                unsent: Vec::new(),
                has_stopped: false,
            }),
            outputs: Inbox::new(),
            outlet: Combiner::new(()),
            handler,
        }
    }

    /// Returns the handler.
    pub fn handler(&self) -> &H {
        &self.handler
    }
}

impl<M: Machine, C: Carrier<M>, H: Handler<M, C>> Service<M, C, H> {
    /// Lets `carrier` send messages, those that wait first. If the service has ended, drops it
    /// then.
    pub fn connect(&self, mut carrier: C) {
        let dropped = self.steps.with(&Spin, |state| {
            // Also after the end, for which they may have been the last steps: other peers wait for
            // them.
            for (to, message) in state.unsent.drain(..) {
                carrier.send(to, message);
            }
            match state.has_stopped {
                true => Some(carrier),
                false => state.carrier.replace(carrier),
            }
        });
        // Outside of the lock.
        drop(dropped);
        self.run();
    }

    /// Lets the machine process an event.
    pub fn event(&self, event: M::Event) {
        self.give(Input::Event(event));
    }

    /// Lets the machine process a message of another peer.
    pub fn receive(&self, from: M::Peer, message: M::Message) {
        self.give(Input::Message(from, message));
    }

    /// Lets the machine process the loss of a peer, after the inputs that wait. Waits while another
    /// thread steps the machine. After the end, the loss is tolerated.
    pub fn lost(&self, peer: M::Peer) -> Tolerance {
        let tolerance = self.steps.with(&Spin, |state| {
            self.drain(state);
            let mut tolerance = Tolerance::Tolerated;
            self.step(state, |machine, step| {
                tolerance = machine.lost(peer, step);
                None
            });
            tolerance
        });
        self.run();
        tolerance
    }

    /// Ends the service: inputs that wait, and those that come, have no effect; messages still wait
    /// for the carrier. Returns the machine and the carrier for the first call; the caller drops
    /// them.
    pub fn stop(&self) -> (Option<M>, Option<C>) {
        let taken = self.steps.with(&Spin, |state| {
            state.has_stopped = true;
            (state.machine.take(), state.carrier.take())
        });
        self.run();
        taken
    }

    fn give(&self, input: Input<M>) {
        let mut own = Some(input);
        self.process(|state| {
            if let Some(input) = own.take() {
                self.take(state, input);
            }
        });
        // Another thread has the machine: it processes what waits here.
        if let Some(input) = own {
            self.inputs.push(input, &Spin);
            self.run();
        }
        self.carry_out();
    }

    /// Processes the waiting inputs, unless another thread does, which then processes those that
    /// have come since, too.
    fn run(&self) {
        self.process(|_| ());
        self.carry_out();
    }

    /// Processes the inputs that wait and calls `then`, unless another thread has the machine.
    fn process(&self, mut then: impl FnMut(&mut State<M, C>)) {
        self.steps.run(|state| {
            self.drain(state);
            then(state);
            true
        });
    }

    /// Carries out the effects that wait, unless another thread does.
    fn carry_out(&self) {
        // What other threads have put there, they carry out.
        if self.outputs.is_empty() {
            return;
        }
        self.outlet.run(|()| {
            while let Some(output) = self.outputs.pop(&Spin) {
                match output {
                    Output::Effect(effect) => self.handler.effect(effect, self),
                    Output::Refused(from, why) => self.handler.refused(from, why, self),
                }
            }
            true
        });
    }

    fn drain(&self, state: &mut State<M, C>) {
        while let Some(input) = self.inputs.pop(&Spin) {
            self.take(state, input);
        }
    }

    /// Lets the machine process an input.
    fn take(&self, state: &mut State<M, C>, input: Input<M>) {
        self.step(state, |machine, step| match input {
            Input::Event(event) => {
                machine.event(event, step);
                None
            }
            Input::Message(from, message) => {
                let received = machine.receive(from, message, step);
                received.err().map(|refusal| (from, refusal))
            }
        });
    }

    /// Lets the machine take a step, which may be refused. Its effects wait for the outlet.
    fn step(
        &self,
        state: &mut State<M, C>,
        take: impl FnOnce(&mut M, &mut Step<'_, M>) -> Option<(M::Peer, M::Refusal)>,
    ) {
        // Put back unless the step panics.
        let Some(mut machine) = state.machine.take() else {
            return;
        };
        let State {
            calls,
            carrier,
            unsent,
            ..
        } = state;
        let mut act = |action| match action {
            Action::Send(to, message) => match carrier {
                Some(carrier) => carrier.send(to, message),
                None => unsent.push((to, message)),
            },
            Action::Effect(effect) => self.outputs.push(Output::Effect(effect), &Spin),
        };
        let refused = take(&mut machine, &mut Step::new(&mut **calls, &mut act));
        state.machine = Some(machine);
        if let Some((from, refusal)) = refused {
            self.outputs.push(Output::Refused(from, refusal), &Spin);
        }
    }
}
