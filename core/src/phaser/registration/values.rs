//! What a task does for the phaser's accumulator.
#![forbid(unsafe_code)]

use super::Registration;
use crate::phaser::tree::Visitor;
use crate::port::{Barrier, Relax};
use core::mem;

impl<P: Relax + Barrier> Registration<P> {
    /// A value is in place for its next signal.
    pub(in crate::phaser) fn brings_value(&mut self) {
        self.brings = true;
    }

    /// It has watched the others in `phase`; if that is over, it keeps the result.
    #[inline]
    pub(super) fn watched(&mut self, phase: usize, over: bool, by: &Visitor<'_>) {
        self.suspect = by.suspect;
        if over
            && let Some(result) = by.result
            && let Some(reduction) = &self.tree.reduction
        {
            reduction.keep(self.slot(), phase, result);
            self.keeps = true;
        }
    }

    /// What it keeps will not be the last result any more.
    #[inline]
    pub(super) fn forget(&mut self) {
        if mem::take(&mut self.keeps)
            && let Some(reduction) = &self.tree.reduction
        {
            reduction.forget(self.slot());
        }
    }
}
