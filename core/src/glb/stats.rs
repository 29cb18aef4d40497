//! Counts of a run.

use crate::glb::{Bag, Message};
use crate::lifeline::Traffic;

/// Requests that a place made in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Steals {
    /// Requests sent.
    pub asked: u64,
    /// Loot that came of them.
    pub answered: u64,
}

/// Loot that passed in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Loot {
    /// Messages with loot.
    pub count: u64,
    /// Tasks in them, as far as the bags knew.
    pub tasks: u64,
    /// Tasks in the largest.
    pub largest: u64,
}

impl Loot {
    fn add<B: Bag>(&mut self, loot: &B) {
        let tasks = loot.len() as u64;
        self.count += 1;
        self.tasks += tasks;
        self.largest = self.largest.max(tasks);
    }
}

/// The counts of one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Tally {
    /// Tasks done here.
    pub tasks: u64,
    /// Steals from places picked at random.
    pub random: Steals,
    /// Steals along lifelines, at once or later.
    pub lifeline: Steals,
    /// Loot that came here.
    pub received: Loot,
    /// Loot that left.
    pub sent: Loot,
    /// Messages sent, of all kinds.
    pub messages: u64,
    /// Of these, what a quiet place sent, but for answers and bounds. The protocol has none.
    pub unasked: u64,
    /// The grain at the end.
    pub grain: usize,
    /// The use of the reserve for this place's own workers.
    pub reserve: Traffic,
    /// The request whose answer is outstanding goes along a lifeline.
    asked_lifeline: bool,
    /// Messages that neither answer a request nor tell a bound.
    begun: u64,
}

impl Tally {
    /// A message leaves this place.
    pub fn on_send<B: Bag>(&mut self, message: &Message<B>) {
        self.messages += 1;
        if !matches!(message, Message::Answer(_) | Message::Bound(_)) {
            self.begun += 1;
        }
        if let Message::Request { lifeline } = message {
            self.asked_lifeline = *lifeline;
            self.by(*lifeline).asked += 1;
        }
        if let Some(loot) = message.loot() {
            self.sent.add(loot);
        }
    }

    /// A message has come to this place.
    pub fn on_receive<B: Bag>(&mut self, message: &Message<B>) {
        if let Some(loot) = message.loot() {
            let lifeline = self.asked_lifeline || matches!(message, Message::Loot(_));
            self.by(lifeline).answered += 1;
            self.received.add(loot);
        }
    }

    /// Messages so far that neither answer a request nor tell a bound.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    fn by(&mut self, lifeline: bool) -> &mut Steals {
        if lifeline {
            &mut self.lifeline
        } else {
            &mut self.random
        }
    }
}
