//! The phasers that the tree is measured against, with blocking waits only.
//!
//! # Algorithm
//! The two of Habanero Java (Chatterjee 2013, 6.2.3, after Shirako, Peixotto, Sarkar, Scherer 2008 and Shirako, Sarkar 2010): see
//! [`Flat`] and [`Tiered`].
//!
//! # Proved
//! By loom, for two or three tasks: phase order and termination under registration and drops. By random schedules, in the programs
//! that the tree is run in.

mod flat;
mod list;
mod node;
mod shape;
mod tiered;

pub use flat::Flat;
pub use shape::Tiers;
pub use tiered::Tiered;

use super::{Mode, Phase, PhaserError, Registration};
use crate::port::{Barrier, Relax};

/// A task's place on some phaser, so that one program can be run on several. Dropping it takes the task off.
pub trait Member: Sized {
    /// Registers a child, which starts where this task stands.
    ///
    /// # Errors
    /// [`PhaserError::Capability`], and what the phaser does not take.
    fn register(&mut self, mode: Mode) -> Result<Self, PhaserError>;

    /// Says that this task has come so far; does not wait. With a task that waits too, the second signal of a phase is none.
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    fn signal(&mut self) -> Result<(), PhaserError>;

    /// Waits, on its thread, until all have signalled the phase.
    ///
    /// # Errors
    /// [`PhaserError::DoubleWait`], [`PhaserError::Overflow`].
    fn wait_blocking(&mut self) -> Result<(), PhaserError>;

    /// Signals and waits, each if its mode lets it.
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
    fn register(&mut self, mode: Mode) -> Result<Self, PhaserError> {
        self.register(mode)
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

/// Where a task stands on a phaser.
#[derive(Clone, Copy, Debug)]
struct Standing {
    mode: Mode,
    /// How many phases it has signalled.
    signalled: usize,
    /// How many it has waited for.
    waited: usize,
}

impl Standing {
    fn first(mode: Mode) -> Self {
        Self {
            mode,
            signalled: 0,
            waited: 0,
        }
    }

    fn child(self, mode: Mode) -> Result<Self, PhaserError> {
        if self.mode.allows(mode) {
            Ok(Self { mode, ..self })
        } else {
            let (held, asked) = (self.mode, mode);
            Err(PhaserError::Capability { held, asked })
        }
    }

    /// How many phases will have been signalled with the signal that is due, if one is.
    #[inline]
    fn signal(&mut self) -> Result<Option<usize>, PhaserError> {
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

    /// The phase to wait for, if the task waits; it counts as waited for.
    #[inline]
    fn wait(&mut self) -> Result<Option<usize>, PhaserError> {
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
