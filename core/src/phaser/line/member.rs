//! One task's membership of the barrier line that may carry its phases.
#![forbid(unsafe_code)]

use super::Lines;
use super::window::Carrier;
use crate::port::{Barrier, Line};

/// The line state of one task.
#[derive(Debug)]
pub(crate) struct LineMember {
    /// The line that includes the task's thread.
    line: Option<Line>,
    /// Whether the next phase was assigned to that line at this task's previous `next`. The
    /// assignment cannot be revoked before this task arrives; it can only be downgraded to `Mixed`.
    on_line: bool,
    /// Whether the task must close the window when it leaves the phase: after its signal it did
    /// something that requires software.
    closes: bool,
    /// Whether the task keeps the phaser in software: always, or because it has not shown that it
    /// blocks a thread.
    forbids: bool,
}

impl LineMember {
    /// Creates a newly registered task, which forbids the line: see [`Lines::forbid`].
    pub(crate) fn new() -> Self {
        Self {
            line: None,
            on_line: false,
            closes: false,
            forbids: true,
        }
    }

    /// Whether a line includes the task's thread.
    #[inline]
    pub(crate) fn is_included(&self) -> bool {
        self.line.is_some()
    }

    /// Ends the membership, but for the line itself, which is returned: it must be excluded last.
    pub(crate) fn retire(&self, lines: &Lines, waited: usize) -> Option<Line> {
        if self.closes {
            lines.close_after(waited);
        }
        if self.forbids {
            lines.permit();
        }
        self.line
    }

    /// Called before the task registers another; `waited` is the phase it waits for next, `early`
    /// whether it has signalled that one.
    pub(crate) fn on_register(&mut self, lines: &Lines, waited: usize, early: bool) {
        // Before the newcomer is registered; and again later, if the task that ends this phase does
        // not know of it.
        lines.window.close(waited);
        self.closes |= early;
    }

    /// Waits for a phase that the line carries. Returns false if the tree carries it, too, or
    /// alone.
    #[inline]
    pub(crate) fn wait(&self, lines: &Lines, port: &impl Barrier, phase: usize) -> bool {
        let Some(line) = self.line.filter(|_| self.on_line) else {
            return false;
        };
        port.meet(line);
        // A task that has closed the window was included, so the closed window is visible here.
        lines.window.state().carrier(phase) == Carrier::Hardware
    }

    /// Follows the window when the task leaves `phase`.
    #[inline]
    pub(crate) fn follow(&mut self, lines: &Lines, port: &impl Barrier, phase: usize) {
        if self.closes {
            self.closes = false;
            lines.window.close(phase + 1);
        }
        let state = lines.window.state();
        match self.line {
            None if !self.forbids && state.begins_after(phase) => {
                self.line = lines.line();
                if let Some(line) = self.line {
                    port.include(line);
                }
            }
            Some(line) if state.is_software() || state.ends_by(phase) => {
                port.exclude(line);
                self.line = None;
                if state.ends_by(phase) {
                    lines.reset(state);
                }
            }
            _ => {}
        }
        self.on_line = self.line.is_some() && state.carrier(phase + 1) != Carrier::Software;
    }

    /// Permits later phases on the line on behalf of this task, which blocks its own thread.
    #[inline]
    pub(crate) fn permit(&mut self, lines: &Lines) {
        if self.forbids {
            self.forbids = false;
            lines.permit();
        }
    }

    /// Keeps the phaser in software from now on. `waited` is the phase that the task waits for.
    pub(crate) fn forbid(&mut self, lines: &Lines, port: &impl Barrier, waited: usize) {
        if !self.forbids {
            self.forbids = true;
            lines.forbid();
            // The task that ends this phase may not have observed it.
            self.closes = true;
        }
        self.leave(lines, port, waited);
    }

    /// Moves the task's next phase, and the others' phase `waited`, to software.
    pub(crate) fn leave(&mut self, lines: &Lines, port: &impl Barrier, waited: usize) {
        if let Some(line) = self.line.take() {
            lines.window.close(waited);
            port.exclude(line);
        }
    }
}
