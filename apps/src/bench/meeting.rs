//! Phasers as barriers to measure.
#![forbid(unsafe_code)]

use super::{Barrier, Episodes};
use std::fmt;
use tautline_core::phaser::Mode;
use tautline_exhibits::phaser::Member;

/// Tasks that all signal and wait on one phaser.
pub struct Meeting<F> {
    tasks: usize,
    first: F,
}

impl<F> Meeting<F> {
    /// Creates `tasks` tasks, at least one, on the phaser of which `first` creates the first one.
    pub fn new(tasks: usize, first: F) -> Self {
        Self { tasks, first }
    }
}

impl<F> fmt::Debug for Meeting<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Meeting").field(&self.tasks).finish()
    }
}

/// A task at a [`Meeting`].
#[derive(Debug)]
pub struct AtMeeting<M>(pub M);

impl<M: Member + Send, F: Fn() -> M> Barrier for Meeting<F> {
    type Party<'a>
        = AtMeeting<M>
    where
        F: 'a;

    fn parties(&self) -> Vec<AtMeeting<M>> {
        let mut first = (self.first)();
        let others: Vec<M> = (1..self.tasks)
            .map(|_| first.register(Mode::SignalWait).expect("its own mode"))
            .collect();
        let all = std::iter::once(first).chain(others);
        all.map(AtMeeting).collect()
    }
}

impl<M: Member> Episodes for AtMeeting<M> {
    #[inline]
    fn wait(&mut self) {
        self.0.next_blocking().expect("phases to come");
    }
}
