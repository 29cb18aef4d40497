//! The ways to wait for a phase: on a barrier line, or in the tree under one of three disciplines.
//!
//! - *Oversubscribed* (`help_after` is 0): tasks share processors. The last task to signal ends the
//!   phase; a task that lacks more than one signal yields at once.
//! - *Watching*: few tasks with dedicated processors; see `shared::watch`.
//! - *Gathering*: a master gathers its node; the others poll the phase word, and help after a
//!   while.
#![forbid(unsafe_code)]

use super::Registration;
use crate::phaser::config::Phase;
use crate::phaser::error::PhaserError;
use crate::phaser::mode::Mode;
use crate::phaser::shared::watch::Watched;
use crate::phaser::shared::{Shared, Visit};
use crate::phaser::tree::gather::{Gatherer, SLOW_PATH_INTERVAL};
use crate::port::{Barrier, Relax};
use core::task::{Poll, Waker};

impl<P: Relax + Barrier> Registration<P> {
    /// Blocks the thread until all tasks have signalled the phase. Does nothing in mode
    /// [`Mode::Signal`].
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// task.signal()?;
    /// // Work that does not depend on the other tasks.
    /// task.wait_blocking()?;
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::DoubleWait`], [`PhaserError::Overflow`].
    pub fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        self.block(None)
    }

    /// Signals and then blocks the thread in a wait, each if the mode permits it.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut main = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// std::thread::scope(|threads| {
    ///     let mut other = main.register(Mode::SignalWait)?;
    ///     threads.spawn(move || (0..100).try_for_each(|_| other.next_blocking()));
    ///     (0..100).try_for_each(|_| main.next_blocking())
    /// })?;
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    #[inline]
    pub fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.arrive()?;
        self.block(None)
    }

    /// As [`next_blocking`](Self::next_blocking); one of the tasks runs its `statement` after all
    /// have signalled and before any resumes. All tasks registered in this mode must call it in the
    /// same phase, with the same statement.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWaitSingle, Config::default())?;
    /// let mut swaps = 0;
    /// task.next_single_blocking(|| swaps += 1)?;
    /// assert_eq!(swaps, 1);
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Single`], [`PhaserError::Overflow`]; [`PhaserError::Signalled`]: after an
    /// early signal the phase may have ended.
    ///
    /// # Panics
    /// Resumes a panic of the statement, in the task that ran it; the other tasks continue.
    pub fn next_single_blocking(&mut self, statement: impl FnOnce()) -> Result<(), PhaserError> {
        self.request_single()?;
        let task = ReleasesSingle(self);
        task.0.arrive()?;
        let mut statement = Some(statement);
        task.0.block(Some(&mut || {
            if let Some(statement) = statement.take() {
                statement();
            }
        }))
    }

    /// As [`wait_blocking`](Self::wait_blocking) while `continues` returns true. It is called after
    /// each failed poll, with the number of failed polls before. Once it returns false, this
    /// returns false; any wait may follow. Barrier lines are not used.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let missing = task.register(Mode::SignalWait)?;
    /// task.signal()?;
    /// assert!(!task.wait_while(|polls| polls < 100)?); // the other task has not signalled
    /// drop(missing);
    /// assert!(task.wait_while(|_| true)?);
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
    pub fn wait_while(
        &mut self,
        mut continues: impl FnMut(u32) -> bool,
    ) -> Result<bool, PhaserError> {
        if !self.mode.waits() {
            return Ok(true);
        }
        let phase = self.due()?;
        self.cancel_wait();
        self.release_single();
        self.forbid_lines();
        let mut polls = 0u32;
        let over = self.wait_in_tree(phase, None, &mut || {
            let failed = polls;
            polls = polls.wrapping_add(1);
            continues(failed)
        });
        if over {
            self.waited = phase + 1;
            self.follow_lines(phase);
        } else if self.mode.signals() {
            self.shared.after_signal(self.slot, true);
        }
        Ok(over)
    }

    /// As [`next_blocking`](Self::next_blocking), bounded as in [`wait_while`](Self::wait_while).
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// assert!(task.next_while(|polls| polls < 100)?);
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// As [`next_blocking`](Self::next_blocking).
    pub fn next_while(&mut self, continues: impl FnMut(u32) -> bool) -> Result<bool, PhaserError> {
        self.arrive()?;
        self.wait_while(continues)
    }

    /// Waits until all tasks have signalled the phase, without blocking a thread. Once woken, the
    /// caller must poll again, or [`cancel_wait`](Self::cancel_wait).
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// # use std::task::{Poll, Waker};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let missing = task.register(Mode::SignalWait)?;
    /// task.signal()?;
    /// assert!(task.poll_wait(Waker::noop()).is_pending());
    /// drop(missing); // wakes the task
    /// assert_eq!(task.poll_wait(Waker::noop()), Poll::Ready(Ok(())));
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
    pub fn poll_wait(&mut self, waker: &Waker) -> Poll<Result<(), PhaserError>> {
        self.poll(waker, None)
    }

    /// Cancels a wait that [`poll_wait`](Self::poll_wait) began and that is not polled again: the
    /// task may have been woken with the duty to wake others.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// # use std::task::Waker;
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let _missing = task.register(Mode::SignalWait)?;
    /// task.signal()?;
    /// assert!(task.poll_wait(Waker::noop()).is_pending());
    /// task.cancel_wait();
    /// # Ok::<(), PhaserError>(())
    /// ```
    #[inline]
    pub fn cancel_wait(&mut self) {
        if self.asleep {
            self.asleep = false;
            let duty = self.slot().sleeper.cancel(&self.shared.port);
            self.shared.tree.perform(duty, self.slot);
        }
    }

    /// As [`cancel_wait`](Self::cancel_wait), and withdraws the request for a statement even if
    /// another task's waker panics.
    pub(super) fn cancel_wait_and_single(&mut self) {
        ReleasesSingle(self).0.cancel_wait();
    }

    /// Signals for `next`. The caller must wait next, which performs the checks that otherwise
    /// follow a signal.
    #[inline]
    pub(super) fn arrive(&mut self) -> Result<(), PhaserError> {
        match (self.mode.signals(), self.mode.waits()) {
            (true, true) if self.progress.signalled() > self.waited => Ok(()),
            (true, true) => self.send_signal(),
            (true, false) => self.signal(),
            (false, _) => Ok(()),
        }
    }

    pub(super) fn poll(
        &mut self,
        waker: &Waker,
        single: Option<&mut dyn FnMut()>,
    ) -> Poll<Result<(), PhaserError>> {
        if !self.mode.waits() {
            return Poll::Ready(Ok(()));
        }
        let phase = self.due()?;
        self.cancel_wait();
        if single.is_none() {
            self.release_single();
        }
        self.forbid_lines();
        if !self.shared.is_past(phase) {
            self.asleep = true;
            self.slot().sleeper.sleep(waker);
            let mut visit = self.visit(true, single);
            if self.shared.announce_sleeper(phase, self.slot) {
                self.shared.recheck(phase, &mut visit);
            }
            self.behind = visit.by.behind;
            if !self.shared.is_past(phase) {
                return Poll::Pending;
            }
        }
        self.cancel_wait();
        self.waited = phase + 1;
        self.follow_lines(phase);
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn block(&mut self, single: Option<&mut dyn FnMut()>) -> Result<(), PhaserError> {
        if !self.mode.waits() {
            return Ok(());
        }
        let phase = self.due()?;
        self.cancel_wait();
        if single.is_none() {
            self.release_single();
        }
        let shared = &*self.shared;
        let carried = self.line.wait(&shared.lines, &shared.port, phase);
        if !carried {
            self.wait_in_tree(phase, single, &mut || true);
        }
        self.waited = phase + 1;
        if carried {
            // The window is unchanged, and the task has shown that it blocks a thread.
            return Ok(());
        }
        if self.mode == Mode::SignalWait && self.shared.tree.reduction.is_none() {
            self.line.permit(&self.shared.lines);
        }
        self.follow_lines(phase);
        Ok(())
    }

    /// Returns the phase to wait for.
    #[inline]
    fn due(&self) -> Result<usize, PhaserError> {
        if self.mode.signals() && self.progress.signalled() == self.waited {
            let phase = Phase(self.waited);
            return Err(PhaserError::DoubleWait { phase });
        }
        if self.waited == Phase::LAST.0 {
            return Err(PhaserError::Overflow);
        }
        Ok(self.waited)
    }

    #[inline]
    fn follow_lines(&mut self, phase: usize) {
        let shared = &*self.shared;
        self.line.follow(&shared.lines, &shared.port, phase);
    }

    fn forbid_lines(&mut self) {
        let shared = &*self.shared;
        self.line.forbid(&shared.lines, &shared.port, self.waited);
    }

    fn visit<'v>(&self, helps: bool, single: Option<&'v mut dyn FnMut()>) -> Visit<'v> {
        let by = Gatherer {
            slot: self.slot,
            in_tree: self.mode.signals(),
            helps,
            behind: self.behind,
        };
        Visit {
            by,
            registered: true,
            single,
        }
    }

    /// Waits in the tree; returns whether the phase has ended, which it has unless `continues`
    /// returned false.
    #[inline]
    fn wait_in_tree(
        &mut self,
        phase: usize,
        single: Option<&mut dyn FnMut()>,
        continues: &mut impl FnMut() -> bool,
    ) -> bool {
        let patience = self.shared.config.help_after;
        let mut visit = self.visit(patience == 0, single);
        let over = if patience == 0 {
            self.wait_oversubscribed(phase, &mut visit, continues)
        } else {
            let single = visit.single.is_some();
            let shared = &*self.shared;
            match shared.watch(phase, patience, &mut visit.by, single, continues) {
                Watched::Ended(result) => {
                    if let Some(result) = result {
                        self.slot().store_cached(phase, result);
                        self.caches = true;
                    }
                    true
                }
                Watched::Stopped => false,
                Watched::Unknown => self.wait_gathering(phase, &mut visit, continues),
            }
        };
        self.behind = visit.by.behind;
        over
    }

    /// Waits where tasks share processors.
    fn wait_oversubscribed(
        &self,
        phase: usize,
        visit: &mut Visit<'_>,
        continues: &mut impl FnMut() -> bool,
    ) -> bool {
        let shared = &*self.shared;
        // The last task to signal detects it here; no other needs to examine the slots again.
        shared.recheck(phase, visit);
        if shared.is_past(phase) {
            return true;
        }
        // The only missing task may be about to signal, on another processor.
        let yields = !shared.tree.lacks_one(phase);
        let (mut turn, mut watches) = (0, false);
        loop {
            if shared.is_past(phase) {
                return true;
            }
            let slow_path = turn % SLOW_PATH_INTERVAL == 0;
            let advances =
                slow_path && turn != 0 || self.watches_root(phase, slow_path, &mut watches);
            if let Some(over) = shared.end_poll(phase, advances, visit, continues) {
                return over;
            }
            match yields {
                true => shared.port.yield_now(turn),
                false => shared.port.relax(turn),
            }
            turn = following(turn);
        }
    }

    /// Waits where tasks have dedicated processors: gathers the task's own node and, after a while,
    /// helps the others.
    #[inline]
    fn wait_gathering(
        &self,
        phase: usize,
        visit: &mut Visit<'_>,
        continues: &mut impl FnMut() -> bool,
    ) -> bool {
        let shared = &*self.shared;
        let patience = shared.config.help_after;
        let node = self.master_of;
        let mut round = node.map(|node| shared.tree.round(node, &visit.by));
        let (mut turn, mut watches) = (0, false);
        loop {
            let slow_path = turn % SLOW_PATH_INTERVAL == 0;
            // While a master gathers, the phase has ended only if other tasks have helped.
            if (round.is_none() || slow_path) && shared.is_past(phase) {
                return true;
            }
            let mut advances = false;
            // A parked master gathers nothing.
            let must_help = || turn >= patience || shared.top.word.sleepers().is_some();
            if slow_path && turn != 0 && must_help() {
                (visit.by.helps, advances) = (true, true);
            } else if let Some(own) = &mut round {
                if shared.gather(own, phase, visit) {
                    round = None;
                    continue;
                }
            } else {
                advances = self.watches_root(phase, slow_path, &mut watches);
            }
            if let Some(over) = shared.end_poll(phase, advances, visit, continues) {
                return over;
            }
            shared.port.relax(turn);
            turn = following(turn);
        }
    }

    /// Whether a task without a node watches the root, because the root has no master.
    #[inline]
    fn watches_root(&self, phase: usize, slow_path: bool, watches: &mut bool) -> bool {
        if self.master_of.is_some() || !(*watches || slow_path && self.shared.tree.is_unwatched()) {
            return false;
        }
        *watches = *watches || self.shared.tree.claim(phase);
        *watches
    }
}

impl<P: Relax + Barrier> Shared<P> {
    /// Ends one poll of a wait; returns whether the phase has ended, if the wait has.
    #[inline]
    fn end_poll(
        &self,
        phase: usize,
        advances: bool,
        visit: &mut Visit<'_>,
        continues: &mut impl FnMut() -> bool,
    ) -> Option<bool> {
        if advances {
            self.advance(phase, visit);
            if self.is_past(phase) {
                return Some(true);
            }
        }
        if !continues() {
            return Some(self.is_past(phase));
        }
        None
    }
}

/// Returns the turn after `turn`, without overflow.
#[inline]
fn following(turn: u32) -> u32 {
    turn.checked_add(1).unwrap_or(u32::MAX / 2)
}

/// Withdraws the task's request for a statement when dropped: by then the phase has ended, or the
/// task has stopped waiting.
struct ReleasesSingle<'a, P: Relax + Barrier>(&'a mut Registration<P>);

impl<P: Relax + Barrier> Drop for ReleasesSingle<'_, P> {
    fn drop(&mut self) {
        self.0.release_single();
    }
}
