//! Messages between the ranks of a computation.

use crate::collective::{self, InRound};
use crate::finish::Reason;
use crate::glb::{Bag, Message, PlaceRun};
use crate::id::Rank;
#[cfg(doc)]
use crate::watch::Times;
use crate::wire::{Bulk, OneLine};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use serde::{Deserialize, Serialize};

/// A message between ranks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RankMessage<B> {
    /// From a place to a place.
    Places(Message<B>),
    /// To rank 0: the workers of a rank have stopped.
    Closed(Ending),
    /// From rank 0, along the tree: all workers stop.
    End(Ending),
    /// To all ranks: this one does not take part any more.
    Abandoned(Left),
    /// Of the end, from when the workers have ended.
    Closing(InClosing<B>),
}

/// The reason why a rank left a computation before its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Left {
    /// A scope around its task was cancelled.
    Cancelled(Reason),
    /// A task panicked, or the merging of results. The beginning of the panic's text, empty if it
    /// is not known; its payload does not leave the process.
    Panicked(String),
    /// The rank refused a message that no correct rank sends: its description.
    Refused(String),
    /// The loss of this rank while the results were collected.
    Lost(Rank),
}

impl Left {
    /// The most characters of a panic's text that travel.
    const TEXT: usize = 400;

    pub(super) fn panicked(text: Option<&str>) -> Self {
        // A failed assertion has three lines.
        let lines: Vec<&str> = text.unwrap_or_default().lines().map(str::trim).collect();
        Self::Panicked(lines.join(", ").chars().take(Self::TEXT).collect())
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled(reason) => write!(f, "its scope was cancelled: {reason}"),
            Self::Panicked(text) if text.is_empty() => f.write_str("a task panicked there"),
            Self::Panicked(text) => write!(f, "a task panicked there: {}", OneLine(text)),
            Self::Refused(text) => write!(f, "it refused a message: {}", OneLine(text)),
            Self::Lost(rank) => write!(f, "{rank} was lost while the results were collected"),
        }
    }
}

/// Messages between ranks from the end of the workers to the result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum InClosing<B> {
    /// Messages of the detection of quiescence between places.
    Count(InRound),
    /// Results up the tree, and the whole result down.
    Result(collective::Message<Part<B>, Bulk<u8>>),
    /// To rank 0, after a loss: the result of a rank.
    Kept(Part<B>),
    /// From rank 0, after a loss: the result of all ranks that are left.
    Whole(Bulk<u8>),
}

/// The reason why the workers stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ending {
    Done,
    Stopped(Reason),
}

/// The result of a subtree of ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part<B> {
    /// The results of all bags as one.
    pub bag: Option<B>,
    /// Whether all their work is done.
    pub complete: bool,
    /// The statistics of its places, in order. The ranks have clocks of their own: times travel in
    /// nanoseconds.
    pub places: Vec<PlaceRun>,
    /// The messages that left its ranks for others while workers ran.
    pub messages: u64,
    /// The bytes of these messages.
    pub bytes: u64,
}

impl<B: Bag> Part<B> {
    /// Creates the result of one rank.
    pub fn of(bags: Vec<B>, places: Vec<PlaceRun>) -> Self {
        let mut part = Self {
            bag: None,
            complete: true,
            places,
            messages: 0,
            bytes: 0,
        };
        bags.into_iter().for_each(|bag| part.add(bag));
        part
    }

    /// Sets the messages that have left the rank, and their bytes.
    pub(super) fn sent(self, (messages, bytes): (u64, u64)) -> Self {
        Self {
            messages,
            bytes,
            ..self
        }
    }

    /// Adds the result of the ranks that follow.
    pub(super) fn append(&mut self, next: Self) {
        match (&mut self.bag, next.bag) {
            (Some(bag), Some(next)) => bag.merge(next),
            (bag @ None, next) => *bag = next,
            (Some(_), None) => {}
        }
        self.complete &= next.complete;
        self.places.extend(next.places);
        self.messages = self.messages.saturating_add(next.messages);
        self.bytes = self.bytes.saturating_add(next.bytes);
    }

    /// Converts the times of all places, as [`Times::scaled`] does.
    pub(super) fn scale_times(&mut self, by: f64) {
        for place in &mut self.places {
            place.times = place.times.scaled(by);
        }
    }

    /// Adds the results of a bag.
    pub(super) fn add(&mut self, mut bag: B) {
        self.complete &= bag.is_empty();
        bag.drop_tasks();
        match &mut self.bag {
            Some(whole) => whole.merge(bag),
            none => *none = Some(bag),
        }
    }
}
