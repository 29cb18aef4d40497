//! A task's registration on a phaser: its state, its creation, its signals and its drop.
//!
//! `wait` contains the ways to wait, `next` the waits as futures.

pub(crate) mod next;
mod wait;

use super::config::{Config, Phase};
use super::error::PhaserError;
use super::line::member::LineMember;
use super::mode::Mode;
use super::shared::Shared;
use super::tree::grow::Registered;
use super::tree::node::signal::{self, Progress};
use super::tree::node::{Node, Slot};
use super::tree::wake::Finally;
use super::value::reduction::Reduction;
use crate::port::{Barrier, Relax};
use alloc::sync::Arc;
use core::mem;
use core::ptr::NonNull;

/// One task's registration on one phaser. Dropping it deregisters the task, which then owes no more
/// signals.
///
/// The phaser lives as long as a task is registered, or a [`Phaser`](super::Phaser) or an
/// accumulator of it exists.
///
/// A task that waits by [`next_blocking`](Self::next_blocking) must stay on its thread: the
/// hardware may carry its phases.
///
/// A registration cannot be used after it was dropped, and cannot register a task during a wait:
///
/// ```compile_fail,E0382
/// # use tautline_core::{phaser::{Config, Mode, Registration}, port::Spin};
/// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default()).unwrap();
/// drop(task);
/// task.next_blocking().unwrap();
/// ```
///
/// ```compile_fail,E0499
/// # use tautline_core::{phaser::{Config, Mode, Registration}, port::Spin};
/// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default()).unwrap();
/// let next = task.next();
/// let child = task.register(Mode::SignalWait);
/// drop(next);
/// ```
#[derive(Debug)]
pub struct Registration<P: Relax + Barrier> {
    shared: Arc<Shared<P>>,
    slot: NonNull<Slot>,
    mode: Mode,
    /// The number of phases signalled, with values or without.
    progress: Progress,
    /// Whether a value is stored for the next signal.
    contributes: bool,
    /// The parity of the phase for which this task requested a statement (true if odd); `None` once
    /// the task may not run the statement itself. The task waits for that phase, or has just left
    /// it.
    requested: Option<bool>,
    /// Whether the slot caches the result of the phase that the task left last.
    caches: bool,
    /// The number of phases waited for.
    waited: usize,
    /// The node of which the task is the fixed master.
    master_of: Option<NonNull<Node>>,
    /// The slot of its leaf that was behind at the last poll.
    behind: u16,
    /// The number of vacancies when the task last searched for a node without a master.
    vacancies: u32,
    /// Whether this task may be asleep in its slot.
    asleep: bool,
    line: LineMember,
}

// SAFETY: the slot and the node belong to the tree, which is Send and Sync and is kept alive; only
// the task writes the task's words.
unsafe impl<P: Relax + Barrier + Send + Sync> Send for Registration<P> {}
// SAFETY: a shared reference permits queries only.
unsafe impl<P: Relax + Barrier + Send + Sync> Sync for Registration<P> {}

impl<P: Relax + Barrier> Registration<P> {
    /// Creates a phaser, with the caller as its only registered task.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// task.next_blocking()?; // alone, so at once
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Degree`], [`PhaserError::Overflow`].
    pub fn create(port: P, mode: Mode, config: Config) -> Result<Self, PhaserError> {
        Self::create_with(port, mode, config, None)
    }

    /// As [`create`](Self::create), with a reduction if the phaser accumulates.
    pub(crate) fn create_with(
        port: P,
        mode: Mode,
        config: Config,
        reduction: Option<Reduction>,
    ) -> Result<Self, PhaserError> {
        if !(2..=1024).contains(&config.degree) {
            let degree = config.degree;
            return Err(PhaserError::Degree { degree });
        }
        if config.first > Phase::LAST {
            return Err(PhaserError::Overflow);
        }
        let first = config.first.0;
        let shared = Arc::new(Shared::new(port, config, reduction));
        Ok(Self::join(shared, mode, first, first))
    }

    fn join(shared: Arc<Shared<P>>, mode: Mode, signalled: usize, waited: usize) -> Self {
        let Registered { slot, master_of } = shared.register(mode, signalled);
        Self {
            vacancies: shared.tree.vacancies(),
            shared,
            slot,
            mode,
            progress: Progress::new(signalled),
            contributes: false,
            requested: None,
            caches: false,
            waited,
            master_of,
            behind: 0,
            asleep: false,
            line: LineMember::new(),
        }
    }

    /// Registers a child, which starts at this task's phase: it owes no phase that this task has
    /// signalled. The registration must be moved to the child before the child begins.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut first = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let mut second = first.register(Mode::SignalWait)?;
    /// let other = std::thread::spawn(move || second.next_blocking());
    /// first.next_blocking()?;
    /// other.join().unwrap()?;
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Capability`], [`PhaserError::Accumulates`].
    pub fn register(&mut self, mode: Mode) -> Result<Self, PhaserError> {
        if !self.mode.allows(mode) {
            let (held, asked) = (self.mode, mode);
            return Err(PhaserError::Capability { held, asked });
        }
        if self.shared.tree.reduction.is_some() && !(mode.signals() && mode.waits()) {
            return Err(PhaserError::Accumulates { asked: mode });
        }
        let early = self.is_early();
        self.line
            .on_register(&self.shared.lines, self.waited, early);
        let shared = Arc::clone(&self.shared);
        let signalled = self.progress.signalled();
        Ok(Self::join(shared, mode, signalled, self.waited))
    }

    /// Returns the mode of this registration.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut parent = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// assert_eq!(parent.register(Mode::Wait)?.mode(), Mode::Wait);
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the phase that this task signals next.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::Signal, Config::default())?;
    /// task.signal()?;
    /// task.signal()?;
    /// assert_eq!(task.signalled().0, 2);
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn signalled(&self) -> Phase {
        Phase(self.progress.signalled())
    }

    /// Whether the task gathers a node of the tree in every phase.
    pub fn is_master(&self) -> bool {
        self.master_of.is_some()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared<P>> {
        &self.shared
    }

    pub(crate) fn slot(&self) -> &Slot {
        // SAFETY: slots live as long as the phaser.
        unsafe { self.slot.as_ref() }
    }

    /// Whether the task has signalled the phase that it waits for next.
    pub(crate) fn is_early(&self) -> bool {
        self.mode.waits() && self.progress.signalled() > self.waited
    }

    /// Records that a value is stored for the next signal.
    pub(crate) fn contribute(&mut self) {
        self.contributes = true;
    }

    /// Discards the cached result, which the next signal makes stale.
    #[inline]
    fn discard_cached(&mut self) {
        if mem::take(&mut self.caches) {
            self.slot().discard_cached();
        }
    }

    /// Signals the phase; does not wait. For a task that also waits, the second signal of a phase
    /// is ignored. Does nothing in mode [`Mode::Wait`].
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut producer = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let mut consumer = producer.register(Mode::Wait)?;
    /// producer.signal()?;
    /// consumer.wait_blocking()?;
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    pub fn signal(&mut self) -> Result<(), PhaserError> {
        if !self.mode.signals() || self.is_early() {
            return Ok(());
        }
        if self.mode.waits() {
            let shared = &*self.shared;
            self.line.leave(&shared.lines, &shared.port, self.waited);
        }
        self.send_signal()?;
        self.shared.after_signal(self.slot, true);
        Ok(())
    }

    #[inline]
    fn send_signal(&mut self) -> Result<(), PhaserError> {
        if self.progress.signalled() == Phase::LAST.0 {
            return Err(PhaserError::Overflow);
        }
        if self.mode.waits() && self.master_of.is_none() && !self.line.is_included() {
            let vacancies = self.shared.tree.vacancies();
            if vacancies != self.vacancies {
                self.vacancies = vacancies;
                self.master_of = self.shared.tree.find_node(self.slot);
            }
        }
        self.discard_cached();
        self.progress = self.progress.next(mem::take(&mut self.contributes));
        signal::store(self.slot().word(), self.progress);
        Ok(())
    }

    /// Requests that a statement run at the end of the phase.
    fn request_single(&mut self) -> Result<(), PhaserError> {
        self.release_single();
        if !self.mode.singles() {
            return Err(PhaserError::Single { mode: self.mode });
        }
        if self.is_early() {
            let phase = Phase(self.waited);
            return Err(PhaserError::Signalled { phase });
        }
        self.shared.top.single.request(self.waited);
        self.requested = Some(self.waited & 1 == 1);
        Ok(())
    }

    /// Withdraws the request for a statement, if there is one. A leaked future cannot withdraw its
    /// request, so the next operation on the registration does.
    #[inline]
    fn release_single(&mut self) {
        if let Some(phase) = self.requested_phase() {
            self.requested = None;
            self.shared.release_single(phase, self.slot);
        }
    }

    /// Returns the phase for which this task requested a statement, if it may still run the
    /// statement itself.
    fn requested_phase(&self) -> Option<usize> {
        let left = |odd| usize::from(odd != (self.waited & 1 == 1));
        Some(self.waited - left(self.requested?))
    }
}

impl<P: Relax + Barrier> Drop for Registration<P> {
    fn drop(&mut self) {
        self.discard_cached();
        let shared = &*self.shared;
        if let Some(node) = self.master_of {
            shared.tree.leave_node(node);
        }
        let line = self.line.retire(&shared.lines, self.waited);
        // A value that was contributed is included even without a signal.
        let progress = match self.contributes {
            true => self.progress.next(true),
            false => self.progress,
        };
        let (slot, requested) = (self.slot, self.requested_phase());
        // Each of these may wake other tasks, and panics if a waker does; the others run
        // regardless.
        let _excludes = Finally::new(|| {
            if let Some(line) = line {
                shared.port.exclude(line);
            }
        });
        let _leaves = Finally::new(|| shared.leave(slot, self.mode, progress));
        let _releases = Finally::new(|| {
            if let Some(phase) = requested {
                shared.release_single(phase, slot);
            }
        });
        if self.mode.waits() {
            shared.publish_before(self.waited);
        }
    }
}
