//! The interface between the machine of a space and its values.

use crate::id::Rank;
use core::fmt::Debug;
use core::hash::Hash;

/// The values of a space at one rank, and the functions of its keys: the
/// [`Calls`](crate::machine::Machine::Calls) of [`Names`](super::Names).
///
/// [`home`](Self::home) and [`readers`](Self::readers) are functions of the program: equal at all
/// ranks, and always the same for a key. If one panics, the machine is as before the step.
pub trait Memory: Sized {
    /// The name of a value.
    type Key: Clone + Ord + Hash + Debug;
    /// A value in a message.
    type Value;

    /// Returns the rank that is the home of a key.
    fn home(&mut self, key: &Self::Key) -> Rank;

    /// Calls `task` for each task that reads the key, with its rank. Called only if the readers are
    /// [declared](super::Supply::Declared).
    fn readers(&mut self, key: &Self::Key, task: &mut dyn FnMut(Rank));

    /// Keeps the value of a key.
    fn keep(&mut self, key: &Self::Key, value: Self::Value);

    /// Returns the value of a key that is kept, to be sent.
    fn value(&mut self, key: &Self::Key) -> Self::Value;

    /// Drops the value of a key that was kept: no read of this rank is to come. The last read may
    /// have taken it.
    fn free(&mut self, key: &Self::Key);

    /// Gives back the value of a put that is refused in this step.
    fn give_back(&mut self, key: &Self::Key, value: Self::Value);
}
