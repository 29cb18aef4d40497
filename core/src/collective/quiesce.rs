//! Whether any message is under way.

use super::Branch;
use super::operation::{AllReduce, CombineForAll};
use super::wave::{Message, Outbox, Stray};
use crate::id::Rank;

/// The messages that a rank has sent to other ranks, and those of other ranks that it has processed, ever.
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

/// What a rank knows of the messages under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The round has not ended.
    Open,
    /// The round has ended, and a message may be under way: the rank begins the next round when it likes, best after it has
    /// processed what has arrived.
    Busy,
    /// No message was under way when the round began.
    Quiet,
}

/// Finds out when no message is under way between ranks that send messages only when they process one.
///
/// # Algorithm
/// Rounds add up what all ranks have sent and processed (Mattern 1987, the four counter method). The counts of a round are taken
/// at different times, so equal sums do not suffice. But if the sums of a round are equal, and those of the next one are the same,
/// then no rank sent or processed a message between its two counts, and so none was under way between the rounds.
#[derive(Clone, Debug)]
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

    /// Begins the first round, or the next one after a round that ended busy, with the present counts of this rank.
    ///
    /// # Panics
    /// If the round has begun before.
    pub fn begin(&mut self, counts: Counts, out: &mut impl Outbox<InRound>) -> Verdict {
        let round = self.round;
        let sums = self.sum.begin(counts, &mut in_round(round, out));
        self.judge(sums)
    }

    /// Processes a message.
    ///
    /// # Errors
    /// If the machine expects no such message from that rank.
    pub fn on(
        &mut self,
        from: Rank,
        message: InRound,
        out: &mut impl Outbox<InRound>,
    ) -> Result<Verdict, Stray> {
        let InRound { round, message } = message;
        if round != self.round {
            return Err(Stray { from });
        }
        let sums = self.sum.on(from, message, &mut in_round(round, out))?;
        Ok(self.judge(sums))
    }

    /// Judges by the sums of a round that has ended, and prepares for the messages of the next one.
    fn judge(&mut self, sums: Option<Counts>) -> Verdict {
        let Some(sums) = sums else {
            return Verdict::Open;
        };
        if sums.sent == sums.processed && self.last == Some(sums) {
            return Verdict::Quiet;
        }
        self.last = Some(sums);
        self.round += 1;
        self.sum = sum(&self.branch);
        Verdict::Busy
    }
}

fn sum(branch: &Branch) -> Sum {
    Sum::new(branch.clone(), CombineForAll::by(Counts::plus))
}

/// Sends messages as messages of a round.
fn in_round(round: u64, out: &mut impl Outbox<InRound>) -> impl Outbox<SumMessage> {
    move |to: Rank, message| out.send(to, InRound { round, message })
}
