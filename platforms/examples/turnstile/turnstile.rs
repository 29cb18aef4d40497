//! Mutual exclusion among ranks: one token, which moves along a tree towards the ranks that request
//! it.
//!
//! Raymond 1989, "A tree-based algorithm for distributed mutual exclusion", ACM TOCS 7 (1). Each
//! rank knows which neighbour leads to the token, and keeps the requests of its neighbours and its
//! own in order. It passes a request on once for all that wait, and the token to the first.
//! Messages between two ranks must arrive in order.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use tautline_core::Rank;
use tautline_core::collective::Branch;
use tautline_core::machine::{Machine, Step};

/// A message between neighbours in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    /// The sender, or a rank beyond it, requests the token.
    Request,
    /// The token.
    Token,
}

/// A call of the program at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The rank requests to enter; not again before it has left.
    Enter,
    /// The rank leaves.
    Leave,
}

/// The rank has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entered;

/// A reason to refuse a message: no correct rank sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The sender is no neighbour, or has a request here.
    Request,
    /// The token was not requested from the sender.
    Token,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "a request of a rank that may not send one",
            Self::Token => "a token that was not requested from its sender",
        })
    }
}

/// One rank's part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Turnstile {
    tree: Branch,
    /// The neighbour that leads to the token; `None` if it is here.
    holder: Option<Rank>,
    is_inside: bool,
    /// Whether a request to the holder is in flight.
    has_asked: bool,
    /// The neighbours that have requested the token, and this rank.
    waiting: VecDeque<Rank>,
}

impl Turnstile {
    /// Creates the part of `here`, one of `ranks`; rank 0 has the token. The same `radix` at all
    /// ranks.
    pub(crate) fn new(here: Rank, ranks: u32, radix: u32) -> Self {
        let tree = Branch::new(here, ranks, radix);
        Self {
            holder: tree.parent(),
            tree,
            is_inside: false,
            has_asked: false,
            waiting: VecDeque::new(),
        }
    }

    /// Passes the token to the first that waits, if it is free, and requests it if any still waits.
    fn proceed(&mut self, step: &mut Step<'_, Self>) {
        if self.holder.is_none() && !self.is_inside {
            match self.waiting.pop_front() {
                Some(rank) if rank == self.tree.here() => {
                    self.is_inside = true;
                    step.effect(Entered);
                }
                Some(rank) => {
                    self.holder = Some(rank);
                    step.send(rank, Message::Token);
                }
                None => {}
            }
        }
        if let Some(holder) = self.holder
            && !self.waiting.is_empty()
            && !self.has_asked
        {
            self.has_asked = true;
            step.send(holder, Message::Request);
        }
    }
}

impl Machine for Turnstile {
    type Peer = Rank;
    type Message = Message;
    type Event = Event;
    type Effect = Entered;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        match event {
            Event::Enter => self.waiting.push_back(self.tree.here()),
            Event::Leave => self.is_inside = false,
        }
        self.proceed(step);
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            Message::Request => {
                let mut neighbours = self.tree.children().chain(self.tree.parent());
                let is_neighbour = neighbours.any(|rank| rank == from);
                if !is_neighbour || self.holder == Some(from) || self.waiting.contains(&from) {
                    return Err(Refusal::Request);
                }
                self.waiting.push_back(from);
            }
            Message::Token => {
                if self.holder != Some(from) || !self.has_asked {
                    return Err(Refusal::Token);
                }
                self.holder = None;
                self.has_asked = false;
            }
        }
        self.proceed(step);
        Ok(())
    }
}
