//! State shared by a session and its links.
#![forbid(unsafe_code)]

use crate::exit;
use crate::wire::Wire;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// State shared by a session and its links.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// The links that exist.
    pub(crate) links: usize,
    /// The messages of links that were dropped.
    pub(crate) left: Vec<Wire>,
}

impl Shared {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // It is consistent between any two statements that change it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a link leaves.
    pub(crate) fn leave(&self, wire: Wire) {
        let mut state = self.state();
        state.left.push(wire);
        state.links -= 1;
        exit::count_end();
    }
}
