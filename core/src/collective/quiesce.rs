//! Detection of quiescence: no message is in flight.

use super::Branch;
use super::operation::{AllReduce, CombineForAll};
use super::wave::{Message, Stray};
use crate::id::Rank;
use crate::machine::{Action, Machine, Step};

/// The messages that a rank has sent to other ranks, and those of other ranks that it has
/// processed, ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Counts {
    /// Sent.
    pub sent: u64,
    /// Processed.
    pub processed: u64,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            sent: self.sent.wrapping_add(other.sent),
            processed: self.processed.wrapping_add(other.processed),
        }
    }
}

/// A message of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct InRound {
    /// The number of the round.
    pub round: u64,
    /// The message.
    pub message: SumMessage,
}

type Sum = AllReduce<Counts, fn(Counts, Counts) -> Counts>;
type SumMessage = Message<Counts, Counts>;

/// The result of a round at a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// A message may be in flight: the rank begins the next round when it likes, best after it has
    /// processed what has arrived.
    Busy,
    /// Quiescence: no message was in flight when the round began.
    Quiet,
}

/// Detects quiescence of ranks that send messages only when they process one: no message is in
/// flight.
///
/// # Algorithm
/// Rounds add up what all ranks have sent and processed (Mattern 1987, the four counter method).
/// The counts of a round are taken at different times, so equal sums do not suffice. But if the
/// sums of a round are equal, and those of the next one are the same, then no rank sent or
/// processed a message between its two counts, and so none was in flight between the rounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Quiesce {
    branch: Branch,
    sum: Sum,
    round: u64,
    /// The sums of the round before.
    last: Option<Counts>,
}

impl Quiesce {
    /// Creates the machine of the rank at `branch`.
    pub fn new(branch: Branch) -> Self {
        Self {
            sum: sum(&branch),
            branch,
            round: 0,
            last: None,
        }
    }

    /// Lets the sum of the round take a step, and judges by the sums if the round ends by it.
    fn sum<T>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Sum, &mut Step<'_, Sum>) -> T,
    ) -> T {
        let (round, mut sums) = (self.round, None);
        let mut act = |action: Action<Sum>| match action {
            Action::Send(to, message) => step.send(to, InRound { round, message }),
            Action::Effect(found) => sums = Some(found),
        };
        let taken = take(&mut self.sum, &mut Step::new(&mut (), &mut act));
        if let Some(sums) = sums {
            step.effect(self.judge(sums));
        }
        taken
    }

    /// Judges by the sums of a round that has ended, and prepares for the messages of the next one.
    fn judge(&mut self, sums: Counts) -> Verdict {
        if sums.sent == sums.processed && self.last == Some(sums) {
            return Verdict::Quiet;
        }
        self.last = Some(sums);
        self.round += 1;
        self.sum = sum(&self.branch);
        Verdict::Busy
    }
}

/// The event is the present counts of this rank, with which it begins the first round, or the next
/// one after a round that ended busy; the effect is the verdict of a round.
impl Machine for Quiesce {
    type Peer = Rank;
    type Message = InRound;
    type Event = Counts;
    type Effect = Verdict;
    type Calls = ();
    type Refusal = Stray;

    /// # Panics
    /// If the round has begun before.
    fn event(&mut self, counts: Counts, step: &mut Step<'_, Self>) {
        self.sum(step, |sum, step| sum.event(counts, step));
    }

    fn receive(
        &mut self,
        from: Rank,
        InRound { round, message }: InRound,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        if round != self.round {
            return Err(Stray);
        }
        self.sum(step, |sum, step| sum.receive(from, message, step))
    }
}

fn sum(branch: &Branch) -> Sum {
    Sum::new(branch.clone(), CombineForAll::by(Counts::plus))
}
