//! Values of a world that a child of `fork` must not use.
#![forbid(unsafe_code)]

use std::ops::Deref;
use tautline_node::process::Owned;

/// A value of the process that has joined the ranks. A child of `fork` lacks the threads that may
/// hold its locks, and is no rank: a use panics there, and a drop has no effect.
pub(crate) struct RankOwned<T>(Owned<T>);

impl<T> RankOwned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Owned::new(value))
    }

    /// Whether this is the process of the value.
    pub(crate) fn is_here(&self) -> bool {
        self.0.is_here()
    }
}

impl<T> Deref for RankOwned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let here = self.0.get();
        here.expect(
            "a process that was made by `fork` is no rank: only its parent may use the world",
        )
    }
}
