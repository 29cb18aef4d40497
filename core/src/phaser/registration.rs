//! A task's place on a phaser, and what it does there.

mod hardware;
mod values;

use super::next::{Next, Stage};
use super::tree::{Finally, Node, Progress, Seat, Slot, Tree, Visitor, signal};
use super::{Config, Mode, Phase, Phaser, PhaserError};
use crate::phaser::accumulator::Reduction;
use crate::port::{Barrier, Line, Relax};
use alloc::sync::Arc;
use core::mem;
use core::ptr::NonNull;
use core::task::{Poll, Waker};

/// Once in so many turns a task that waits looks for what is rarely so, and helps if it is past its patience.
pub(super) const SELDOM: u32 = 8;

/// One task's registration on one phaser. Dropping it takes the task off the phaser: it owes no signal any more.
///
/// The phaser lives as long as somebody is registered, or has a [`Phaser`] or an accumulator of it.
///
/// A task that waits by [`next_blocking`](Self::next_blocking) must stay on its thread: the hardware may carry its phases.
///
/// Who has dropped it cannot use it, and who waits cannot register anybody:
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
    tree: Arc<Tree<P>>,
    slot: NonNull<Slot>,
    mode: Mode,
    /// How many phases it has signalled, with values or without.
    progress: Progress,
    /// It has brought in a value for the phase that it signals next.
    brings: bool,
    /// Whether the phase for which this task requested a statement is odd; `None` once the task may
    /// not run the statement itself. The task waits for that phase, or has just left it.
    wants: Option<bool>,
    /// It keeps the result of the phase that it left last.
    keeps: bool,
    /// How many it has waited for.
    waited: usize,
    /// The node that it gathers.
    master_of: Option<NonNull<Node>>,
    /// The slot of its leaf that was behind when it last looked.
    suspect: u16,
    /// How many vacancies there were when it looked for a node.
    vacancies: u32,
    /// It may sleep in its slot.
    asleep: bool,
    /// It keeps the phaser off the hardware: always, or because it has not shown that it blocks a thread of its own.
    hinders: bool,
    /// The line that waits for its thread.
    line: Option<Line>,
    /// That line carries the phase that comes next, as it was when this task left the last one: nobody can undo that before this task
    /// has come, except that the tree takes part too.
    rides: bool,
    /// It did something that takes software after it had signalled.
    shuts: bool,
}

// SAFETY: the slot and the node are the tree's, which is Send and Sync and kept alive; only the task writes what is the task's.
unsafe impl<P: Relax + Barrier + Send + Sync> Send for Registration<P> {}
// SAFETY: by reference, only questions are possible.
unsafe impl<P: Relax + Barrier + Send + Sync> Sync for Registration<P> {}

impl<P: Relax + Barrier> Registration<P> {
    /// A new phaser, with the caller registered on it, alone.
    ///
    /// # Errors
    /// [`PhaserError::Degree`], [`PhaserError::Overflow`].
    pub fn create(port: P, mode: Mode, config: Config) -> Result<Self, PhaserError> {
        Self::found(port, mode, config, None)
    }

    pub(super) fn found(
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
        let tree = Arc::new(Tree::new(port, config, reduction));
        Ok(Self::enter(tree, mode, first, first))
    }

    fn enter(tree: Arc<Tree<P>>, mode: Mode, signalled: usize, waited: usize) -> Self {
        let Seat { slot, master_of } = tree.register(mode, signalled);
        Self {
            vacancies: tree.vacancies(),
            tree,
            slot,
            mode,
            progress: Progress::new(signalled),
            brings: false,
            wants: None,
            keeps: false,
            waited,
            master_of,
            suspect: 0,
            asleep: false,
            hinders: true,
            line: None,
            rides: false,
            shuts: false,
        }
    }

    /// Registers a child, which starts where this task stands: what this task has signalled, the child has. To be handed to the
    /// child before it begins.
    ///
    /// # Errors
    /// [`PhaserError::Capability`], [`PhaserError::Accumulates`].
    pub fn register(&mut self, mode: Mode) -> Result<Self, PhaserError> {
        if !self.mode.allows(mode) {
            let (held, asked) = (self.mode, mode);
            return Err(PhaserError::Capability { held, asked });
        }
        if self.tree.reduction.is_some() && !(mode.signals() && mode.waits()) {
            return Err(PhaserError::Accumulates { asked: mode });
        }
        // Before the child is there; and again, if whoever ends this phase does not know of it.
        self.tree.window.close(self.waited);
        self.shuts |= self.is_early();
        let tree = Arc::clone(&self.tree);
        Ok(Self::enter(
            tree,
            mode,
            self.progress.signalled(),
            self.waited,
        ))
    }

    /// How this task is registered.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The phaser that it is registered on.
    pub fn phaser(&self) -> Phaser<P> {
        Phaser(Arc::clone(&self.tree))
    }

    /// It is on this phaser.
    pub fn is_on(&self, phaser: &Phaser<P>) -> bool {
        Arc::ptr_eq(&self.tree, &phaser.0)
    }

    pub(super) fn tree(&self) -> &Arc<Tree<P>> {
        &self.tree
    }

    /// It will not run the statement that it has wanted, if it has not: a future that was leaked cannot say so itself, so the next
    /// operation on the registration does.
    #[inline]
    pub(super) fn let_go(&mut self) {
        if let Some(phase) = self.wanted() {
            self.wants = None;
            self.tree.let_go(phase, self.slot);
        }
    }

    /// The phase for which this task requested a statement, if it may still run the statement
    /// itself.
    fn wanted(&self) -> Option<usize> {
        let left = |odd| usize::from(odd != (self.waited & 1 == 1));
        Some(self.waited - left(self.wants?))
    }

    pub(super) fn slot(&self) -> &Slot {
        // SAFETY: slots live as long as the phaser.
        unsafe { self.slot.as_ref() }
    }

    /// The phase that it signals next.
    pub fn signalled(&self) -> Phase {
        Phase(self.progress.signalled())
    }

    /// Whether it gathers a node of the tree in every phase.
    pub fn is_master(&self) -> bool {
        self.master_of.is_some()
    }

    /// It has signalled the phase that it has not waited for.
    pub(super) fn is_early(&self) -> bool {
        self.mode.waits() && self.progress.signalled() > self.waited
    }

    /// Says that this task has come so far; does not wait. With a task that waits too, the second signal of a phase is none.
    /// Nothing for one that is registered [`Mode::Wait`].
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    pub fn signal(&mut self) -> Result<(), PhaserError> {
        if !self.mode.signals() || self.is_early() {
            return Ok(());
        }
        if self.mode.waits() {
            self.leave_line();
        }
        self.send_signal()?;
        self.tree.after_signal(self.slot, true);
        Ok(())
    }

    #[inline]
    fn send_signal(&mut self) -> Result<(), PhaserError> {
        if self.progress.signalled() == Phase::LAST.0 {
            return Err(PhaserError::Overflow);
        }
        if self.mode.waits() && self.master_of.is_none() && self.line.is_none() {
            let vacancies = self.tree.vacancies();
            if vacancies != self.vacancies {
                self.vacancies = vacancies;
                self.master_of = self.tree.find_node(self.slot);
            }
        }
        self.forget();
        self.progress = self.progress.next(mem::take(&mut self.brings));
        signal(self.slot().word(), self.progress);
        Ok(())
    }

    /// The phase to wait for.
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

    /// Waits, on its thread, until all have signalled the phase. Nothing for one that is registered [`Mode::Signal`].
    ///
    /// # Errors
    /// [`PhaserError::DoubleWait`], [`PhaserError::Overflow`].
    pub fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        self.block(None)
    }

    /// Signals and waits, each if its mode lets it, on its thread.
    ///
    /// # Errors
    /// [`PhaserError::Overflow`].
    #[inline]
    pub fn next_blocking(&mut self) -> Result<(), PhaserError> {
        self.arrive()?;
        self.block(None)
    }

    /// As [`next_blocking`](Self::next_blocking); one of the tasks runs its `statement` after all have signalled and before any goes
    /// on. All that are registered so must call it in the same phase, with the same statement.
    ///
    /// # Errors
    /// [`PhaserError::Single`], [`PhaserError::Overflow`]; [`PhaserError::Signalled`]: after an early signal the phase may be over.
    ///
    /// # Panics
    /// With the panic of the statement, in the task that ran it; the others go on.
    pub fn next_single_blocking(&mut self, statement: impl FnOnce()) -> Result<(), PhaserError> {
        self.want_single()?;
        let task = LetsGo(self);
        task.0.arrive()?;
        let mut statement = Some(statement);
        task.0.block(Some(&mut || {
            if let Some(statement) = statement.take() {
                statement();
            }
        }))
    }

    /// Has a statement run at the end of the phase.
    pub(super) fn want_single(&mut self) -> Result<(), PhaserError> {
        self.let_go();
        if !self.mode.singles() {
            return Err(PhaserError::Single { mode: self.mode });
        }
        if self.is_early() {
            let phase = Phase(self.waited);
            return Err(PhaserError::Signalled { phase });
        }
        self.tree.top.between.want(self.waited);
        self.wants = Some(self.waited & 1 == 1);
        Ok(())
    }

    /// As [`wait_blocking`](Self::wait_blocking) for as long as `goes_on` says so, which is asked after each failed look, with the
    /// number of those before it. If it says no, the result is false, and this or any other wait may follow, or none. The
    /// hardware does not carry the phase.
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
    pub fn wait_while(
        &mut self,
        mut goes_on: impl FnMut(u32) -> bool,
    ) -> Result<bool, PhaserError> {
        if !self.mode.waits() {
            return Ok(true);
        }
        let phase = self.due()?;
        self.rise();
        self.let_go();
        self.hinder();
        let mut looks = 0u32;
        let over = self.wait_in_tree(phase, None, &mut || {
            let failed = looks;
            looks = looks.wrapping_add(1);
            goes_on(failed)
        });
        if over {
            self.waited = phase + 1;
            self.follow_window(phase);
        } else if self.mode.signals() {
            self.tree.after_signal(self.slot, true);
        }
        Ok(over)
    }

    /// As [`next_blocking`](Self::next_blocking), with the end of [`wait_while`](Self::wait_while).
    ///
    /// # Errors
    /// As [`next_blocking`](Self::next_blocking).
    pub fn next_while(&mut self, goes_on: impl FnMut(u32) -> bool) -> Result<bool, PhaserError> {
        self.arrive()?;
        self.wait_while(goes_on)
    }

    /// The signal of `next`; the wait that follows at once does what is due after it.
    #[inline]
    pub(super) fn arrive(&mut self) -> Result<(), PhaserError> {
        match (self.mode.signals(), self.mode.waits()) {
            (true, true) if self.progress.signalled() > self.waited => Ok(()),
            (true, true) => self.send_signal(),
            (true, false) => self.signal(),
            (false, _) => Ok(()),
        }
    }

    #[inline]
    fn block(&mut self, single: Option<&mut dyn FnMut()>) -> Result<(), PhaserError> {
        if !self.mode.waits() {
            return Ok(());
        }
        let phase = self.due()?;
        self.rise();
        if single.is_none() {
            self.let_go();
        }
        let line = self.line.filter(|_| self.rides);
        let carried = line.is_some_and(|line| self.wait_on_line(line, phase));
        if !carried {
            self.wait_in_tree(phase, single, &mut || true);
        }
        self.waited = phase + 1;
        if carried {
            // Nothing is to be shown, and nothing to be followed.
            return Ok(());
        }
        self.show_willing();
        self.follow_window(phase);
        Ok(())
    }

    fn visitor<'v>(&self, helps: bool, single: Option<&'v mut dyn FnMut()>) -> Visitor<'v> {
        let (slot, signals) = (self.slot, self.mode.signals());
        Visitor {
            slot,
            signals,
            helps,
            bound: true,
            suspect: self.suspect,
            single,
            result: None,
        }
    }

    /// Waits in the tree, gathering what is its own to gather and, after a while, what others should have.
    #[inline]
    fn wait_in_tree(
        &mut self,
        phase: usize,
        single: Option<&mut dyn FnMut()>,
        goes_on: &mut impl FnMut() -> bool,
    ) -> bool {
        let tree = &*self.tree;
        let patience = tree.config.help_after;
        let mut by = self.visitor(patience == 0, single);
        let mut yields = false;
        if patience == 0 {
            // The last one to come sees that it is: nobody need look at the others' slots again.
            tree.look_again(phase, &mut by);
            if tree.is_past(phase) {
                self.suspect = by.suspect;
                return true;
            }
            // The only one who is missing may be about to signal, on another processor.
            yields = !tree.lacks_one(phase);
        } else if let Some(over) = tree.watch(phase, patience, &mut by, goes_on) {
            self.watched(phase, over, &by);
            return over;
        }
        let own = self.master_of.filter(|_| patience > 0);
        let mut gathering = own.map(|node| tree.round(node, &by));
        let (mut turn, mut watches) = (0, false);
        let over = loop {
            let seldom = turn % SELDOM == 0;
            // As long as a master gathers, the phase is over only if others have helped.
            if (gathering.is_none() || seldom) && tree.is_past(phase) {
                break true;
            }
            let mut passes = false;
            // Who sleeps gathers nothing.
            if seldom && turn != 0 && (turn >= patience || tree.sleepers().is_some()) {
                (by.helps, passes) = (true, true);
            } else if let Some(round) = &mut gathering {
                if tree.gather(round, phase, &mut by) {
                    gathering = None;
                    continue;
                }
            } else if self.master_of.is_none() && (watches || seldom && tree.is_unwatched()) {
                watches = watches || tree.claim(phase);
                passes = watches;
            }
            if passes {
                tree.advance(phase, &mut by);
                if tree.is_past(phase) {
                    break true;
                }
            }
            if !goes_on() {
                break tree.is_past(phase);
            }
            if yields {
                tree.port.yield_now(turn);
            } else {
                tree.port.relax(turn);
            }
            turn = turn.checked_add(1).unwrap_or(u32::MAX / 2);
        };
        self.suspect = by.suspect;
        over
    }

    /// Waits until all have signalled the phase, without a thread. Once woken, poll again, or [`rise`](Self::rise).
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
    pub fn poll_wait(&mut self, waker: &Waker) -> Poll<Result<(), PhaserError>> {
        self.poll(waker, None)
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
        self.rise();
        if single.is_none() {
            self.let_go();
        }
        self.hinder();
        let tree = &*self.tree;
        if !tree.is_past(phase) {
            self.asleep = true;
            self.slot().sleeper.sleep(waker);
            let mut by = self.visitor(true, single);
            if tree.fall_asleep(phase, self.slot) {
                tree.look_again(phase, &mut by);
            }
            self.suspect = by.suspect;
            let tree = &*self.tree;
            if !tree.is_past(phase) {
                return Poll::Pending;
            }
        }
        self.rise();
        self.waited = phase + 1;
        self.follow_window(phase);
        Poll::Ready(Ok(()))
    }

    /// Ends a wait that [`poll_wait`](Self::poll_wait) began, if it is not to be polled again: it may have been woken to wake others.
    #[inline]
    pub fn rise(&mut self) {
        if self.asleep {
            self.asleep = false;
            let errand = self.slot().sleeper.rise(&self.tree.port);
            self.tree.run_errand(errand, self.slot);
        }
    }

    /// As [`rise`](Self::rise), and [`let_go`](Self::let_go) whatever the wakers of others do.
    pub(super) fn rise_and_let_go(&mut self) {
        LetsGo(self).0.rise();
    }

    /// Waits until all have signalled the phase.
    ///
    /// Gives the errors of [`wait_blocking`](Self::wait_blocking).
    pub fn wait(&mut self) -> Next<'_, P> {
        Next::new(self, Stage::Wait, None)
    }

    /// Signals and waits, each if its mode lets it.
    ///
    /// Gives the errors of [`next_blocking`](Self::next_blocking).
    #[expect(clippy::should_implement_trait, reason = "the construct's own word")]
    pub fn next(&mut self) -> Next<'_, P> {
        Next::new(self, Stage::Signal, None)
    }

    /// As [`next_single_blocking`](Self::next_single_blocking), without a thread.
    pub fn next_single<F: FnOnce()>(&mut self, statement: F) -> Next<'_, P, F> {
        Next::new(self, Stage::Signal, Some(statement))
    }
}

impl<P: Relax + Barrier> Drop for Registration<P> {
    fn drop(&mut self) {
        self.forget();
        let tree = &*self.tree;
        if let Some(node) = self.master_of {
            tree.leave_node(node);
        }
        if self.shuts {
            tree.shut_after(self.waited);
        }
        if self.hinders {
            tree.unhinder();
        }
        // What it has brought in counts, though the signal is missing.
        let progress = match self.brings {
            true => self.progress.next(true),
            false => self.progress,
        };
        let (slot, line, wanted) = (self.slot, self.line, self.wanted());
        // Each of these may wake others, and panics if a waker does: what is behind it is done nevertheless.
        let _excludes = Finally::new(|| {
            if let Some(line) = line {
                tree.port.exclude(line);
            }
        });
        let _leaves = Finally::new(|| tree.leave(slot, self.mode, progress));
        let _lets_go = Finally::new(|| {
            if let Some(phase) = wanted {
                tree.let_go(phase, slot);
            }
        });
        if self.mode.waits() {
            tree.leave_behind(self.waited);
        }
    }
}

/// Ends the time in which a task can run its statement: by then the phase is over, or the task has given it up.
struct LetsGo<'a, P: Relax + Barrier>(&'a mut Registration<P>);

impl<P: Relax + Barrier> Drop for LetsGo<'_, P> {
    fn drop(&mut self) {
        self.0.let_go();
    }
}
