//! One part of a protocol between memories: events in, actions out.
//!
//! A protocol is one type, a [`Machine`], of which each place or rank has one. It has no I/O, no clock and no randomness of its own, so that the same
//! code runs over a link, in virtual time, and in every order of deliveries.
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

/// Those that take part in a protocol, each with a [`Machine`], counted from 0.
pub trait Peer: Copy + fmt::Debug + fmt::Display + Ord + Hash {
    /// Returns the peer with this number.
    fn numbered(number: u32) -> Self;

    /// Returns its number.
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

/// One part of a protocol, that of a place or a rank.
pub trait Machine {
    /// What has a part: a place, or a rank with all of its places.
    type Peer: Peer;
    /// What the parts send each other.
    type Message;
    /// What the driver reports: a call of the program, a finished chunk, a worker without work.
    type Event;
    /// What the driver is to do after the step: execute a chunk, complete a request.
    type Effect;
    /// What must be answered within a step, as a random number; `()` for most.
    type Calls: ?Sized;
    /// What is wrong with a message that no correct part sends.
    type Refusal: fmt::Debug + fmt::Display;

    /// Processes an event.
    fn event(&mut self, event: Self::Event, step: &mut Step<'_, Self>);

    /// Processes a message of another peer.
    ///
    /// # Errors
    /// If no correct part sends it; nothing has changed then.
    fn receive(
        &mut self,
        from: Self::Peer,
        message: Self::Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Self::Refusal>;

    /// Processes the loss of another peer, from which no message comes any more.
    fn lost(&mut self, _peer: Self::Peer, _step: &mut Step<'_, Self>) -> Tolerance {
        Tolerance::Fatal
    }
}

/// Whether a protocol can do without a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tolerance {
    /// It continues.
    Tolerated,
    /// It ends for all.
    Fatal,
}

/// Returns what answers within the steps of a machine that calls nothing.
pub fn no_calls<'a>() -> &'a mut () {
    // Nothing is allocated for a value without a size, so nothing leaks.
    Box::leak(Box::new(()))
}

/// The choices of a machine, as its [`Calls`](Machine::Calls).
pub trait Pick {
    /// Returns a number below `n`: uniform in a run, arbitrary in an exploration.
    fn pick(&mut self, n: u32) -> u32;
}

/// What a machine does in a step.
pub enum Action<M: Machine + ?Sized> {
    /// It sends a message to another peer.
    Send(M::Peer, M::Message),
    /// It requires this of its driver.
    Effect(M::Effect),
}

/// The driver's side of a step.
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

    /// Returns what answers within the step.
    pub fn calls(&mut self) -> &mut M::Calls {
        self.calls
    }
}

impl<M: Machine + ?Sized> fmt::Debug for Step<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Step")
    }
}
