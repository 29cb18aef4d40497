//! Values that travel up the tree, and results that travel down.

use super::Branch;
use crate::id::Rank;
use crate::machine::{Machine, Step};
use alloc::vec::Vec;
use core::fmt;

/// A message of a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<U, D> {
    /// The value of a child's subtree.
    Up(U),
    /// The parent's message to this subtree.
    Down(D),
}

/// A message that the operation does not accept: from a rank that sends none of its kind, a second
/// one, or one of the wrong size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stray;

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message that the operation does not expect")
    }
}

impl core::error::Error for Stray {}

/// The values of a collective operation.
pub trait Operation {
    /// The contribution of a rank.
    type Own;
    /// The message to the parent.
    type Up;
    /// The message to the children.
    type Down;
    /// The result at a rank.
    type Output;

    /// Whether values travel up. If not, rank 0 begins alone.
    const GATHERS: bool = true;

    /// Combines the value of a rank with those of its children's subtrees, in the order of ranks.
    fn combine(&mut self, own: Self::Own, children: Vec<Self::Up>) -> Self::Up;

    /// Turns the value of all ranks into the message to all; at rank 0.
    fn turn(&mut self, all: Self::Up) -> Self::Down;

    /// Returns the output of a rank, and the messages to its children's subtrees, which contain
    /// `sizes` ranks. No messages: nothing travels down. `None`: `down` does not fit.
    fn spread(
        &mut self,
        down: Self::Down,
        sizes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Self::Output, Vec<Self::Down>)>;

    /// Returns the output of a rank that has sent its value up, if nothing travels down.
    fn passed(&mut self) -> Option<Self::Output> {
        None
    }
}

/// One operation at one rank.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::collective::{AllReduce, Branch, CombineForAll};
/// use tautline_core::machine::{Action, Machine, Step};
///
/// // One rank of one: the sum is its own value, and no message is sent.
/// let branch = Branch::new(Rank(0), 1, 2);
/// let mut sum = AllReduce::new(branch, CombineForAll::by(|a: u64, b| a + b));
/// let mut ended = None;
/// let mut act = |action| match action {
///     Action::Effect(total) => ended = Some(total),
///     Action::Send(..) => unreachable!("there is no other rank"),
/// };
/// sum.event(7, &mut Step::new(&mut (), &mut act));
/// assert_eq!(ended, Some(7));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wave<O: Operation> {
    branch: Branch,
    operation: O,
    own: Option<O::Own>,
    /// By child.
    values: Vec<Option<O::Up>>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Values are missing: that of this rank, or those of children.
    Gathering,
    /// The message of the parent is missing.
    Waiting,
    Ended,
}

impl<O: Operation> Wave<O> {
    /// Creates the machine of the rank at `branch`.
    pub fn new(branch: Branch, operation: O) -> Self {
        let children = branch.children().len();
        let stage = match O::GATHERS || branch.parent().is_none() {
            true => Stage::Gathering,
            false => Stage::Waiting,
        };
        let children = if O::GATHERS { children } else { 0 };
        Self {
            branch,
            operation,
            own: None,
            values: (0..children).map(|_| None).collect(),
            stage,
        }
    }

    /// Returns whether this rank has ended.
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Sends the value of this subtree up, once it is complete.
    fn go_up(&mut self, step: &mut Step<'_, Self>) -> Result<(), Stray> {
        if self.values.iter().any(Option::is_none) {
            return Ok(());
        }
        let Some(own) = self.own.take() else {
            return Ok(());
        };
        let values = self.values.iter_mut().filter_map(Option::take).collect();
        let value = self.operation.combine(own, values);
        let Some(parent) = self.branch.parent() else {
            let down = self.operation.turn(value);
            return self.go_down(down, step);
        };
        step.send(parent, Message::Up(value));
        match self.operation.passed() {
            Some(output) => self.end(output, step),
            None => self.stage = Stage::Waiting,
        }
        Ok(())
    }

    fn go_down(&mut self, down: O::Down, step: &mut Step<'_, Self>) -> Result<(), Stray> {
        let spread = self.operation.spread(down, self.branch.sizes());
        let (output, messages) = spread.ok_or(Stray)?;
        for (child, message) in self.branch.children().zip(messages) {
            step.send(child, Message::Down(message));
        }
        self.end(output, step);
        Ok(())
    }

    fn end(&mut self, output: O::Output, step: &mut Step<'_, Self>) {
        self.stage = Stage::Ended;
        step.effect(output);
    }
}

/// The event is the value that this rank begins with, the effect what it ends with.
impl<O: Operation> Machine for Wave<O> {
    type Peer = Rank;
    type Message = Message<O::Up, O::Down>;
    type Event = O::Own;
    type Effect = O::Output;
    type Calls = ();
    type Refusal = Stray;

    /// # Panics
    /// If it has begun before, if values do not travel up and this is not rank 0, or if the
    /// operation cannot divide the value among the ranks.
    fn event(&mut self, own: O::Own, step: &mut Step<'_, Self>) {
        let is_first = self.own.is_none() && self.stage == Stage::Gathering;
        assert!(is_first, "a rank begins once, with its value");
        self.own = Some(own);
        self.go_up(step).expect("a value for each rank");
    }

    fn receive(
        &mut self,
        from: Rank,
        message: Self::Message,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match message {
            Message::Up(value) => {
                let child = self.branch.child(from);
                let slot = child.and_then(|child| self.values.get_mut(child));
                match slot {
                    Some(slot @ None) if self.stage == Stage::Gathering => *slot = Some(value),
                    _ => return Err(Stray),
                }
                self.go_up(step)
            }
            Message::Down(down)
                if self.branch.parent() == Some(from) && self.stage == Stage::Waiting =>
            {
                self.go_down(down, step)
            }
            Message::Down(_) => Err(Stray),
        }
    }
}
