//! The interface that the phasers have in common: registration, signal, blocking wait.
#![forbid(unsafe_code)]

use super::error::BaselineError;
use tautline_core::phaser::{Mode, Phase, PhaserError, Registration};
use tautline_core::port::{Barrier, Relax};

/// A task's registration on any kind of phaser, so that one program can run on several. Dropping it
/// deregisters the task.
pub trait Member: Sized {
    /// Registers a child, which starts at this task's phase.
    ///
    /// # Errors
    /// [`PhaserError::Capability`], and the limits of the phaser.
    fn register(&mut self, mode: Mode) -> Result<Self, BaselineError>;

    /// Signals the phase; does not wait. For a task that also waits, the second signal of a phase
    /// is ignored.
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    fn signal(&mut self) -> Result<(), PhaserError>;

    /// Blocks the thread until all tasks have signalled the phase.
    ///
    /// # Errors
    /// [`PhaserError::DoubleWait`], [`PhaserError::Overflow`].
    fn wait_blocking(&mut self) -> Result<(), PhaserError>;

    /// Signals and waits, each if the mode permits it.
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    #[inline]
    fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.signal()?;
        self.wait_blocking()
    }
}

impl<P: Relax + Barrier> Member for Registration<P> {
    fn register(&mut self, mode: Mode) -> Result<Self, BaselineError> {
        Ok(self.register(mode)?)
    }

    fn signal(&mut self) -> Result<(), PhaserError> {
        self.signal()
    }

    fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        self.wait_blocking()
    }

    #[inline]
    fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.next_blocking()
    }
}

/// A task's progress on a phaser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) mode: Mode,
    /// The number of phases signalled.
    pub(crate) signalled: usize,
    /// The number of phases waited for.
    waited: usize,
}

impl Progress {
    /// Creates a task in phase 0.
    pub(crate) fn first(mode: Mode) -> Self {
        Self {
            mode,
            signalled: 0,
            waited: 0,
        }
    }

    /// Returns the progress of a child.
    pub(crate) fn child(self, mode: Mode) -> Result<Self, PhaserError> {
        if self.mode.allows(mode) {
            Ok(Self { mode, ..self })
        } else {
            let (held, asked) = (self.mode, mode);
            Err(PhaserError::Capability { held, asked })
        }
    }

    /// Counts a signal, if one is due; returns the number of phases signalled then.
    #[inline]
    pub(crate) fn signal(&mut self) -> Result<Option<usize>, PhaserError> {
        let is_early = self.mode.waits() && self.signalled > self.waited;
        if !self.mode.signals() || is_early {
            return Ok(None);
        }
        if self.signalled == Phase::LAST.0 {
            return Err(PhaserError::Overflow);
        }
        self.signalled += 1;
        Ok(Some(self.signalled))
    }

    /// Counts a wait, if the task waits; returns the phase to wait for.
    #[inline]
    pub(crate) fn wait(&mut self) -> Result<Option<usize>, PhaserError> {
        if !self.mode.waits() {
            return Ok(None);
        }
        let phase = self.waited;
        if self.mode.signals() && self.signalled == phase {
            let phase = Phase(phase);
            return Err(PhaserError::DoubleWait { phase });
        }
        if phase == Phase::LAST.0 {
            return Err(PhaserError::Overflow);
        }
        self.waited += 1;
        Ok(Some(phase))
    }
}
