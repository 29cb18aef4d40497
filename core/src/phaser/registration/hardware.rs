//! What a task does for a barrier line that may carry its phases.
#![forbid(unsafe_code)]

use super::Registration;
use crate::phaser::Mode;
use crate::phaser::window::Carrier;
use crate::port::{Barrier, Line, Relax};

impl<P: Relax + Barrier> Registration<P> {
    /// Waits for a phase that the line carries; false if the tree has a part in it.
    #[inline]
    pub(super) fn wait_on_line(&self, line: Line, phase: usize) -> bool {
        let tree = &*self.tree;
        tree.port.arrive(line);
        let mut turn = 0;
        while !tree.port.is_done(line) {
            tree.port.relax(turn);
            turn = turn.saturating_add(1);
        }
        // Whoever closed the window was included, so it is seen here.
        tree.window.state().carrier(phase) == Carrier::Hardware
    }

    /// Goes where the window says, leaving `phase`.
    #[inline]
    pub(super) fn follow_window(&mut self, phase: usize) {
        let tree = &*self.tree;
        if self.shuts {
            self.shuts = false;
            tree.window.close(phase + 1);
        }
        let state = tree.window.state();
        match self.line {
            None if !self.hinders && state.begins_after(phase) => {
                self.line = tree.line();
                if let Some(line) = self.line {
                    tree.port.include(line);
                }
            }
            Some(line) if state.is_shut() || state.ends_by(phase) => {
                tree.port.exclude(line);
                self.line = None;
                if state.ends_by(phase) {
                    tree.reset_window(state);
                }
            }
            _ => {}
        }
        self.rides = self.line.is_some() && state.carrier(phase + 1) != Carrier::Software;
    }

    /// Its thread is its own: as far as it is concerned, the hardware may carry what follows.
    #[inline]
    pub(super) fn show_willing(&mut self) {
        if self.hinders && self.mode == Mode::SignalWait && self.tree.reduction.is_none() {
            self.hinders = false;
            self.tree.unhinder();
        }
    }

    /// Keeps the phaser off the hardware from now on.
    pub(super) fn hinder(&mut self) {
        if !self.hinders {
            self.hinders = true;
            self.tree.hinder();
            // Whoever ends this phase may not have seen it.
            self.shuts = true;
        }
        self.leave_line();
    }

    /// Does what it does next in software, and others this phase too.
    pub(super) fn leave_line(&mut self) {
        if let Some(line) = self.line.take() {
            self.tree.window.close(self.waited);
            self.tree.port.exclude(line);
        }
    }
}
