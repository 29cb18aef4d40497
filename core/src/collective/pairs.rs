//! A reduction in which all ranks send at once.

use super::wave::Stray;
use crate::id::Rank;
use crate::machine::{Machine, Step};

/// Rounds, at most.
const ROUNDS: u32 = 4;

/// A message of a [`Pairs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Paired<T> {
    /// The value of a rank that takes no part in the rounds.
    Own(T),
    /// The values that the sender has combined before a round.
    Round(u8, T),
    /// The result, for a rank that takes no part in the rounds.
    All(T),
}

/// A reduction whose result all ranks get, at one rank. As an [`AllReduce`](super::AllReduce), but
/// with more messages, of which fewer follow each other: in each round, all ranks exchange what
/// they have in pairs. The operator must be associative, and need not be commutative; the result
/// has the same bits at all ranks.
///
/// # Algorithm
/// Recursive doubling. The ranks are divided into as many blocks as the greatest power of two
/// allows, of one rank or two consecutive ones, of which the first takes part for both. In round
/// `k` a block exchanges values with that whose number differs in bit `k`; both combine them in the
/// order of ranks. After `log2` of the number of blocks rounds, each has the values of all.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::collective::{Paired, Pairs};
/// use tautline_core::machine::{Action, Machine, Step};
///
/// let mut sums = [0, 1].map(|rank| Pairs::new(Rank(rank), 2, |a: u64, b| a + b));
/// let (mut sent, mut ended) = (Vec::new(), Vec::new());
/// let mut act = |action| match action {
///     Action::Send(to, message) => sent.push((to, message)),
///     Action::Effect(total) => ended.push(total),
/// };
/// sums[0].event(7, &mut Step::new(&mut (), &mut act));
/// sums[0].receive(Rank(1), Paired::Round(0, 8), &mut Step::new(&mut (), &mut act))?;
/// assert_eq!((sent, ended), (vec![(Rank(1), Paired::Round(0, 7))], vec![15]));
/// # Ok::<(), tautline_core::collective::Stray>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pairs<T, F> {
    blocks: Blocks,
    here: Rank,
    operator: F,
    /// The values that this rank has combined; `None` before it has begun, and during a
    /// combination.
    value: Option<T>,
    /// The value of the other rank of the block.
    other: Option<T>,
    /// The round whose value this rank lacks; before the first while it lacks a value of its block.
    round: Option<u8>,
    /// The values of rounds that have come early, by round.
    early: [Option<T>; ROUNDS as usize],
    has_ended: bool,
}

/// The blocks of ranks: the first `doubles` have two, the others one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Blocks {
    count: u32,
    doubles: u32,
}

impl Blocks {
    fn of(ranks: u32) -> Self {
        let count = 1 << ranks.ilog2();
        let doubles = ranks - count;
        Self { count, doubles }
    }

    /// Returns the block of a rank, and whether the rank takes no part in the rounds.
    fn block(self, rank: Rank) -> (u32, bool) {
        match rank.0 < 2 * self.doubles {
            true => (rank.0 / 2, rank.0 % 2 == 1),
            false => (rank.0 - self.doubles, false),
        }
    }

    /// Returns the rank that takes part for a block.
    fn first(self, block: u32) -> Rank {
        Rank(block + block.min(self.doubles))
    }

    fn rounds(self) -> u8 {
        self.count.ilog2() as u8
    }
}

impl<T, F> Pairs<T, F> {
    /// The ranks, at most: the messages of more take longer than those along the tree.
    pub const MOST: u32 = 1 << ROUNDS;
}

impl<T: Clone, F: FnMut(T, T) -> T> Pairs<T, F> {
    /// Creates the machine of `here` among `ranks`.
    ///
    /// # Panics
    /// If `here` is not one of the ranks, or if they are more than [`MOST`](Self::MOST).
    pub fn new(here: Rank, ranks: u32, operator: F) -> Self {
        assert!(here.0 < ranks, "{here} of {ranks} ranks");
        assert!(ranks <= Self::MOST, "{ranks} ranks, at most {}", Self::MOST);
        let blocks = Blocks::of(ranks);
        Self {
            blocks,
            here,
            operator,
            value: None,
            other: None,
            round: None,
            early: [const { None }; ROUNDS as usize],
            has_ended: false,
        }
    }

    /// Returns whether this rank has ended.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn block(&self) -> (u32, bool) {
        self.blocks.block(self.here)
    }

    /// Whether another rank of the block takes no part in the rounds.
    fn is_double(&self) -> bool {
        self.block().0 < self.blocks.doubles
    }

    /// Takes the steps that the received values permit.
    fn proceed(&mut self, step: &mut Step<'_, Self>) {
        let (block, is_second) = self.block();
        if self.value.is_none() || is_second {
            return;
        }
        if self.round.is_none() {
            if self.is_double() {
                let Some(other) = self.other.take() else {
                    return;
                };
                self.combine(other, true);
            }
            self.enter(0, step);
        }
        while let Some(round) = self.round
            && let Some(early) = self.early.get_mut(usize::from(round))
            && let Some(value) = early.take()
        {
            let is_first = block & (1 << round) == 0;
            self.combine(value, is_first);
            self.enter(round + 1, step);
        }
    }

    /// Combines the value of this rank with another one.
    fn combine(&mut self, value: T, is_first: bool) {
        let Some(own) = self.value.take() else {
            return;
        };
        self.value = Some(match is_first {
            true => (self.operator)(own, value),
            false => (self.operator)(value, own),
        });
    }

    /// Sends this rank's values of a round, or ends after the last.
    fn enter(&mut self, round: u8, step: &mut Step<'_, Self>) {
        self.round = Some(round);
        let (block, _) = self.block();
        if round < self.blocks.rounds() {
            let partner = self.blocks.first(block ^ (1 << round));
            if let Some(value) = self.value.clone() {
                step.send(partner, Paired::Round(round, value));
            }
            return;
        }
        let Some(all) = self.value.take() else {
            return;
        };
        if self.is_double() {
            step.send(Rank(self.here.0 + 1), Paired::All(all.clone()));
        }
        self.has_ended = true;
        step.effect(all);
    }
}

/// The event is the value of this rank, the effect what those of all combine to.
impl<T: Clone, F: FnMut(T, T) -> T> Machine for Pairs<T, F> {
    type Peer = Rank;
    type Message = Paired<T>;
    type Event = T;
    type Effect = T;
    type Calls = ();
    type Refusal = Stray;

    /// # Panics
    /// If it has begun before.
    fn event(&mut self, own: T, step: &mut Step<'_, Self>) {
        let is_first = self.value.is_none() && self.round.is_none();
        assert!(is_first && !self.has_ended, "a rank begins once");
        if let (_, true) = self.block() {
            step.send(Rank(self.here.0 - 1), Paired::Own(own.clone()));
        }
        self.value = Some(own);
        self.proceed(step);
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Paired<T>,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        let (block, is_second) = self.block();
        match message {
            Paired::Own(value) => {
                let is_second = from.0 == self.here.0 + 1 && self.is_double() && !is_second;
                if !is_second || self.other.is_some() || self.round.is_some() {
                    return Err(Stray);
                }
                self.other = Some(value);
            }
            Paired::Round(round, value) => {
                let is_over = self.round.is_some_and(|now| round < now);
                if is_second || is_over || round >= self.blocks.rounds() {
                    return Err(Stray);
                }
                let is_partner = self.blocks.first(block ^ (1 << round)) == from;
                match &mut self.early[usize::from(round)] {
                    early @ None if is_partner => *early = Some(value),
                    _ => return Err(Stray),
                }
            }
            Paired::All(all) => {
                let is_first = is_second && from.0 + 1 == self.here.0;
                if !is_first || self.value.take_if(|_| !self.has_ended).is_none() {
                    return Err(Stray);
                }
                self.has_ended = true;
                step.effect(all);
                return Ok(());
            }
        }
        self.proceed(step);
        Ok(())
    }
}
