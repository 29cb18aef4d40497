//! One part of a protocol between memories: events in, actions out.
//!
//! A protocol is one type, a [`Machine`], of which each place or rank has one. It has no I/O, no
//! clock and no randomness of its own, so that the same code runs over a link, in virtual time, and
//! in every order of deliveries.
//!
//! ```
//! use tautline_core::PlaceId;
//! use tautline_core::machine::{Action, Machine, Step};
//!
//! /// Passes a number around a ring of places until it is zero.
//! struct Countdown {
//!     next: PlaceId,
//! }
//!
//! impl Machine for Countdown {
//!     type Peer = PlaceId;
//!     type Message = u32;
//!     type Event = u32;
//!     type Effect = &'static str;
//!     type Calls = ();
//!     type Refusal = &'static str;
//!
//!     fn event(&mut self, start: u32, step: &mut Step<'_, Self>) {
//!         step.send(self.next, start);
//!     }
//!
//!     fn receive(
//!         &mut self,
//!         from: PlaceId,
//!         left: u32,
//!         step: &mut Step<'_, Self>,
//!     ) -> Result<(), Self::Refusal> {
//!         if from == self.next && left == 0 {
//!             return Err("a number after the end");
//!         }
//!         match left {
//!             0 => step.effect("lift-off"),
//!             _ => step.send(self.next, left - 1),
//!         }
//!         Ok(())
//!     }
//! }
//!
//! let mut machine = Countdown { next: PlaceId(1) };
//! let mut actions = Vec::new();
//! let mut step = |action| actions.push(action);
//! machine.receive(PlaceId(2), 7, &mut Step::new(&mut (), &mut step))?;
//! machine.receive(PlaceId(2), 0, &mut Step::new(&mut (), &mut step))?;
//! assert!(matches!(&actions[..], [Action::Send(PlaceId(1), 6), Action::Effect("lift-off")]));
//! # Ok::<(), &str>(())
//! ```
#![forbid(unsafe_code)]

use crate::id::{PlaceId, Rank};
use alloc::boxed::Box;
use core::fmt;
use core::hash::Hash;

/// A participant of a protocol, numbered from 0: a place or a rank.
pub trait Peer: Copy + fmt::Debug + fmt::Display + Ord + Hash + Send + Sync + 'static {
    /// Returns the peer with this number.
    fn numbered(number: u32) -> Self;

    /// Returns the number of this peer.
    fn number(self) -> u32;
}

impl Peer for PlaceId {
    fn numbered(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl Peer for Rank {
    fn numbered(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

/// A participant's state machine.
pub trait Machine {
    /// The type of participant: a place, or a rank with all of its places.
    type Peer: Peer;
    /// Messages between participants.
    type Message;
    /// Reports of the driver: a call of the program, a finished chunk, an idle worker.
    type Event;
    /// Requests to the driver, to be carried out after the step: execute a chunk, complete a
    /// request.
    type Effect;
    /// An interface queried within a step, such as a random source; `()` if unused.
    type Calls: ?Sized;
    /// The reason for refusing a message.
    type Refusal: fmt::Debug + fmt::Display;

    /// Processes an event.
    fn event(&mut self, event: Self::Event, step: &mut Step<'_, Self>);

    /// Processes a message of another peer.
    ///
    /// # Errors
    /// If no correct participant sends it. The state is unchanged then.
    fn receive(
        &mut self,
        from: Self::Peer,
        message: Self::Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Self::Refusal>;

    /// Processes the loss of another peer, which sends no further message. The driver calls it once
    /// for each, and ends the protocol at this peer if the loss is fatal.
    fn lost(&mut self, _peer: Self::Peer, _step: &mut Step<'_, Self>) -> Tolerance {
        Tolerance::Fatal
    }
}

/// The outcome of the loss of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tolerance {
    /// The protocol continues.
    Tolerated,
    /// The protocol ends at all peers.
    Fatal,
}

/// Returns the [`Calls`](Machine::Calls) of a machine that needs none.
pub fn no_calls<'a>() -> &'a mut () {
    // Nothing is allocated for a value without a size, so nothing leaks.
    Box::leak(Box::new(()))
}

/// The choices of a machine, as its [`Calls`](Machine::Calls).
pub trait Pick {
    /// Returns a number below `n`, which is not 0: random in a run, every value in an exploration.
    fn pick(&mut self, n: u32) -> u32;
}

/// An action of a machine in a step.
pub enum Action<M: Machine + ?Sized> {
    /// Sends a message to another peer.
    Send(M::Peer, M::Message),
    /// Requires an effect of the driver.
    Effect(M::Effect),
}

/// A step of a machine: collects its actions and answers its calls. Actions occur in the middle of
/// the step, so collecting one must not call the machine again.
pub struct Step<'a, M: Machine + ?Sized> {
    calls: &'a mut M::Calls,
    act: &'a mut dyn FnMut(Action<M>),
}

impl<'a, M: Machine + ?Sized> Step<'a, M> {
    /// Creates a step whose actions go to `act`, in order.
    pub fn new(calls: &'a mut M::Calls, act: &'a mut dyn FnMut(Action<M>)) -> Self {
        Self { calls, act }
    }

    /// Sends `message` to another peer.
    pub fn send(&mut self, to: M::Peer, message: M::Message) {
        (self.act)(Action::Send(to, message));
    }

    /// Requires `effect` of the driver.
    pub fn effect(&mut self, effect: M::Effect) {
        (self.act)(Action::Effect(effect));
    }

    /// Lets a machine that is a part of this one take a step, with the same calls. Its actions go
    /// to `act`, with what collects the actions of this machine.
    pub fn within<N: Machine<Calls = M::Calls> + ?Sized, R>(
        &mut self,
        mut act: impl FnMut(Action<N>, &mut dyn FnMut(Action<M>)),
        take: impl FnOnce(&mut Step<'_, N>) -> R,
    ) -> R {
        let outer = &mut *self.act;
        take(&mut Step::new(self.calls, &mut |action| act(action, outer)))
    }

    /// Returns the interface that is queried within the step.
    pub fn calls(&mut self) -> &mut M::Calls {
        self.calls
    }
}

impl<M: Machine + ?Sized> fmt::Debug for Step<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Step")
    }
}

/// Lets a machine take a step. `act` carries out the actions, in order, and may answer one by an
/// event, which the machine processes at once after the step; its actions may be answered likewise.
///
/// # Panics
/// If two actions of a step are answered.
pub fn drive<M: Machine, R>(
    machine: &mut M,
    calls: &mut M::Calls,
    mut act: impl FnMut(Action<M>) -> Option<M::Event>,
    take: impl FnOnce(&mut M, &mut Step<'_, M>) -> R,
) -> R {
    let mut answer = None;
    let mut carry_out = |action, answer: &mut Option<M::Event>| {
        if let Some(event) = act(action) {
            assert!(answer.replace(event).is_none(), "two answers in a step");
        }
    };
    let mut collect = |action| carry_out(action, &mut answer);
    let taken = take(machine, &mut Step::new(calls, &mut collect));
    while let Some(event) = answer.take() {
        let mut collect = |action| carry_out(action, &mut answer);
        machine.event(event, &mut Step::new(calls, &mut collect));
    }
    taken
}
