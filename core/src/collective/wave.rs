//! Values that travel up the tree, and results that travel down.

use super::Branch;
use crate::id::Rank;
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

/// Takes the messages that a machine sends.
pub trait Outbox<M> {
    /// Sends `message` to another rank.
    fn send(&mut self, to: Rank, message: M);
}

impl<M, F: FnMut(Rank, M)> Outbox<M> for F {
    fn send(&mut self, to: Rank, message: M) {
        self(to, message);
    }
}

/// A message that does not belong to the operation: from a rank that sends none of its kind, the second of its kind, or one
/// of another size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stray {
    /// The sender.
    pub from: Rank,
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: a message that the operation does not expect",
            self.from
        )
    }
}

impl core::error::Error for Stray {}

/// The values of a collective operation.
pub trait Operation {
    /// What a rank begins with.
    type Own;
    /// What travels up.
    type Up;
    /// What travels down.
    type Down;
    /// What a rank ends with.
    type Output;

    /// Whether values travel up. If not, rank 0 begins alone.
    const GATHERS: bool = true;

    /// Combines the value of a rank with those of its children's subtrees, in the order of ranks.
    fn combine(&mut self, own: Self::Own, children: Vec<Self::Up>) -> Self::Up;

    /// Turns the value of all ranks into the message to all; at rank 0.
    fn turn(&mut self, all: Self::Up) -> Self::Down;

    /// Returns the output of a rank, and the messages to its children's subtrees, which contain `sizes` ranks. No messages:
    /// nothing travels down. `None`: `down` does not fit.
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

/// What a rank ends with, once it has.
type Ended<O> = Option<<O as Operation>::Output>;

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

    /// Begins with the value of this rank. Returns the output if the rank ends by this.
    ///
    /// # Panics
    /// If it has begun before, if values do not travel up and this is not rank 0, or if the operation cannot divide the
    /// value among the ranks.
    pub fn begin(
        &mut self,
        own: O::Own,
        out: &mut impl Outbox<Message<O::Up, O::Down>>,
    ) -> Ended<O> {
        let is_first = self.own.is_none() && self.stage == Stage::Gathering;
        assert!(is_first, "a rank begins once, with its value");
        self.own = Some(own);
        self.go_up(out)
    }

    /// Processes a message. Returns the output if the rank ends by it.
    ///
    /// # Errors
    /// If the operation expects no such message from that rank.
    pub fn on(
        &mut self,
        from: Rank,
        message: Message<O::Up, O::Down>,
        out: &mut impl Outbox<Message<O::Up, O::Down>>,
    ) -> Result<Ended<O>, Stray> {
        match message {
            Message::Up(value) => {
                let child = self.branch.child(from);
                let slot = child.and_then(|child| self.values.get_mut(child));
                match slot {
                    Some(slot @ None) if self.stage == Stage::Gathering => *slot = Some(value),
                    _ => return Err(Stray { from }),
                }
                Ok(self.go_up(out))
            }
            Message::Down(down)
                if self.branch.parent() == Some(from) && self.stage == Stage::Waiting =>
            {
                let output = self.go_down(down, out);
                output.map(Some).ok_or(Stray { from })
            }
            Message::Down(_) => Err(Stray { from }),
        }
    }

    /// Returns whether this rank has ended.
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Sends the value of this subtree up, once it is complete.
    fn go_up(&mut self, out: &mut impl Outbox<Message<O::Up, O::Down>>) -> Ended<O> {
        if self.values.iter().any(Option::is_none) {
            return None;
        }
        let own = self.own.take()?;
        let values = self.values.iter_mut().filter_map(Option::take).collect();
        let value = self.operation.combine(own, values);
        let Some(parent) = self.branch.parent() else {
            let down = self.operation.turn(value);
            let output = self.go_down(down, out);
            return Some(output.expect("a value for each rank"));
        };
        out.send(parent, Message::Up(value));
        let output = self.operation.passed();
        self.stage = match output {
            Some(_) => Stage::Ended,
            None => Stage::Waiting,
        };
        output
    }

    fn go_down(
        &mut self,
        down: O::Down,
        out: &mut impl Outbox<Message<O::Up, O::Down>>,
    ) -> Ended<O> {
        let (output, messages) = self.operation.spread(down, self.branch.sizes())?;
        self.stage = Stage::Ended;
        for (child, message) in self.branch.children().zip(messages) {
            out.send(child, Message::Down(message));
        }
        Some(output)
    }
}
