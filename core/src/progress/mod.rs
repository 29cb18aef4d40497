//! Choice of the threads of a rank that run turns of its exchange.
//!
//! | thread | what it calls | when it stops |
//! |---|---|---|
//! | one that waits for a message | [`Progress::poll_until`] | the message has come, or nothing has moved for a while: then it hands over, and sleeps |
//! | one that waits without sleep | [`Progress::turn_alone`], between two polls | what it waits for has come |
//! | a worker without a task | [`Progress::look`], between two searches | it sleeps: then it [hands over](Progress::hand_over) |
//! | the progress thread | [`Progress::run`] | the rank [ends](Progress::end) |
//!
//! # Algorithm
//! The progress thread waits for the bell of the link, and does the work that is due. Threads that
//! run turns count their polls. While the count changes, the progress thread is away: it is parked,
//! and is not notified. It reads the count every now and then, and at once if a thread hands over;
//! if the count is the same, or a thread has handed over, it takes over. A thread that finds a task
//! or its message does not hand over, since it will poll again soon, or another one does. If no
//! thread does, the progress thread finds out by the count, after [`Pace::take_over`] at the
//! latest.
//!
//! Of the threads that wait, one at a time polls; the others sleep without handing over, which that
//! one does for all of them. A dedicated progress thread polls all the time, and other threads
//! leave what they submit to it. A thread that runs a turn also steps all communication workers, if
//! they have something to do.
//!
//! # Words
//! `is_due`: set by each thread that gives a communication worker something to do and does not step
//! it itself, cleared by the thread that will step all of them. `is_away`: written by the progress
//! thread alone. `looks`: incremented in each turn; increments may be lost. `is_handed_over`: set
//! by the threads that hand over, cleared by the progress thread. `is_polled`: held by the thread
//! that waits and polls. `is_dedicated`: a setting. `pending`: counts collective operations that
//! have not ended. `gives_up`: set if code of the program has panicked, cleared by the thread that
//! ends the channels. `end`: written once.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | N1 | `set_due` | `take_due` | what the workers have to do, of each thread that has set the word since | `progress_due` in `verify/tests/progress.rs` |
//! | N2 | `notify` sets `is_due`, then fences and loads `is_away` | `take_over` clears `is_away`, then fences; `take_due` loads `is_due` | one of them observes the other's store | `progress_take_over`, `progress_mode` there |
//! | N3 | `hand_over` sets `is_handed_over`, then gives the permit | `run` clears it, then loads `looks` | the polls of each thread that has handed over, for which the progress thread leaves no more | `progress_hand_over`, `progress_waits` there |
//! | N4 | `end` | `ends` | the operations that the program has started, in `pending` | `progress_end` there |
//! | N5 | `Pending::drop` | `is_pending` | what the operation has sent | the same |
//! | N6 | `give_up` sets `gives_up`, then rings | `run` waits for the bell, then `take_given_up` | the flag, which the bell carries | `progress_gives_up` there |
//!
//! # Proved
//! By loom, on the loops as they are shipped, over the shipped exchange: when all threads have
//! returned or sleep, nothing is left to do, where each that has run turns has handed over, also if
//! no time ever elapses; else after [`Pace::take_over`].
//!
//! # Not proved
//! Which thread runs a turn is a hint: two may poll at once, and the exchange and the workers let
//! one of them in.
#![forbid(unsafe_code)]

mod driver;

use crate::port::Bell;
use crate::sync::{AtomicBool, AtomicU32, AtomicUsize, CachePadded, Ordering, full_fence};
use alloc::sync::Arc;
use core::fmt;
pub use driver::Driver;

/// Durations of polling, in ticks of the driver's clock. The default is in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time for which a waiting thread polls while nothing moves, after the first `polls`
    /// polls.
    pub polling: u64,
    /// Polls of that thread between two readings of the clock; at least 1.
    pub polls: u32,
    /// Polls of a dedicated progress thread between two checks for its other duties.
    pub dedicated: u32,
    /// The time for which the progress thread leaves its work to other threads before it checks
    /// whether they still do it.
    pub take_over: u64,
    /// The longest time between two polls of the progress thread. A message that arrives ends a
    /// wait at once.
    pub look: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            polling: 50_000,
            polls: 64,
            dedicated: 1024,
            take_over: 200_000,
            look: 50_000_000,
        }
    }
}

/// Choice of the threads of a rank that run turns of its exchange.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use tautline_core::port::{Clock, Relax};
/// use tautline_core::progress::{Driver, Pace, Progress};
///
/// /// The only rank, whose worker counts its steps.
/// struct Alone(AtomicU32);
///
/// impl Clock for Alone {
///     fn now(&self) -> u64 { 0 }
/// }
///
/// impl Relax for Alone {
///     fn relax(&self, _: u32) {}
/// }
///
/// impl Driver for Alone {
///     fn exchange(&self) -> bool { false }
///
///     fn step(&self) -> bool {
///         self.0.fetch_add(1, Ordering::Relaxed) == 0
///     }
///
///     fn flush(&self) {}
///
///     fn wait(&self, _: u64) -> Option<bool> {
///         Some(false)
///     }
///
///     fn park(&self, _: u64) {}
///
///     fn unpark(&self) {}
/// }
///
/// let progress = Progress::new(Arc::new(|| ()), Pace::default());
/// let driver = Alone(AtomicU32::new(0));
/// progress.notify();
/// assert!(progress.turn(&driver) && !progress.turn(&driver));
/// assert_eq!(driver.0.into_inner(), 1);
/// ```
pub struct Progress {
    signal: CachePadded<Signal>,
    /// Written in each turn.
    turns: CachePadded<Turns>,
    is_handed_over: AtomicBool,
    is_dedicated: AtomicBool,
    gives_up: AtomicBool,
    end: AtomicU32,
    pending: AtomicUsize,
    pace: Pace,
    bell: Arc<dyn Bell>,
}

#[derive(Default)]
struct Signal {
    is_due: AtomicBool,
    is_away: AtomicBool,
}

#[derive(Default)]
struct Turns {
    looks: AtomicUsize,
    is_polled: AtomicBool,
}

/// The values of `end`.
const RUNS: u32 = 0;
const ENDS: u32 = 1;
const PANICKED: u32 = 2;

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").finish_non_exhaustive()
    }
}

impl Progress {
    /// Creates that of a rank whose progress thread waits for `bell`, the bell of its link.
    pub fn new(bell: Arc<dyn Bell>, pace: Pace) -> Self {
        Self {
            signal: CachePadded::default(),
            turns: CachePadded::default(),
            is_handed_over: AtomicBool::new(false),
            is_dedicated: AtomicBool::new(false),
            gives_up: AtomicBool::new(false),
            end: AtomicU32::new(RUNS),
            pending: AtomicUsize::new(0),
            pace,
            bell,
        }
    }

    /// Makes the next turn step all communication workers. Wakes no thread.
    #[inline]
    pub fn set_due(&self) {
        // ORDERING: Release, pairs with Acquire in take_due (N1). A swap, not a store: the thread
        // that takes the signal then also observes what precedes the earlier calls that this one
        // covers.
        self.signal.is_due.swap(true, Ordering::Release);
    }

    /// Returns whether there is something to do, and clears the signal: the caller must step all
    /// communication workers.
    #[inline]
    fn take_due(&self) -> bool {
        let is_due = &self.signal.is_due;
        // ORDERING: Relaxed load first, so that polling threads do not write the line; the fence of
        // take_over orders it where the caller will wait (N2).
        is_due.load(Ordering::Relaxed)
            // ORDERING: Acquire, pairs with Release in set_due (N1).
            && is_due.swap(false, Ordering::Acquire)
    }

    /// As [`set_due`](Self::set_due), and wakes the progress thread unless it is away.
    #[inline]
    pub fn notify(&self) {
        self.set_due();
        // ORDERING: SeqCst, pairs with the fence of take_over (N2): the progress thread observes
        // the signal, or this thread observes that it is not away.
        full_fence();
        // ORDERING: Relaxed: the fence above orders it.
        if !self.signal.is_away.load(Ordering::Relaxed) {
            self.bell.ring();
        }
    }

    /// States that turns are run without the bell, until [`take_over`](Self::take_over). Called by
    /// the progress thread.
    fn leave(&self) {
        // ORDERING: Relaxed: until it is visible, a notification is spurious.
        self.signal.is_away.store(true, Ordering::Relaxed);
    }

    /// States that the progress thread, which is the caller, is notified again. It must call
    /// [`take_due`](Self::take_due) before it waits for the bell.
    fn take_over(&self) {
        let is_away = &self.signal.is_away;
        // ORDERING: Relaxed on both: written by this thread alone; the fence below orders it.
        if is_away.load(Ordering::Relaxed) {
            // ORDERING: Relaxed: as above.
            is_away.store(false, Ordering::Relaxed);
            // ORDERING: SeqCst, pairs with the fence of notify (N2): take_due observes the signal,
            // or the bell is rung.
            full_fence();
        }
    }
}

/// Turns of any thread.
impl Progress {
    /// Receives, lets communication workers do what there is to do, and sends. Returns whether
    /// anything moved.
    #[inline]
    pub fn turn(&self, driver: &impl Driver) -> bool {
        let looks = &self.turns.looks;
        // ORDERING: Relaxed: a hint for the progress thread: an increment that is lost is one of
        // several threads that poll.
        let count = looks.load(Ordering::Relaxed).wrapping_add(1);
        // ORDERING: Relaxed: as above.
        looks.store(count, Ordering::Relaxed);
        let turn = || {
            let moved = driver.exchange();
            self.step(driver) || moved
        };
        driver.contain(turn).unwrap_or(true)
    }

    /// Lets communication workers do what there is to do, and sends. Returns whether there was
    /// anything.
    #[inline]
    fn step(&self, driver: &impl Driver) -> bool {
        let moved = self.take_due() && driver.step();
        if moved {
            driver.flush();
        }
        moved
    }

    /// Runs a turn for a worker without a task, which calls it every now and then, and [hands
    /// over](Self::hand_over) before it sleeps. Returns whether anything moved.
    #[inline]
    pub fn look(&self, driver: &impl Driver) -> bool {
        !self.is_dedicated() && self.turn(driver)
    }

    /// Makes the progress thread take over from the calling thread, which has run turns.
    pub fn hand_over(&self, driver: &impl Driver) {
        // ORDERING: Release, pairs with Acquire in run (N3). A swap, not a store: the progress
        // thread then also observes the polls of the threads that have handed over before.
        self.is_handed_over.swap(true, Ordering::Release);
        driver.unpark();
    }

    /// Runs turns until `is_over`, or until nothing has moved for a while, and hands over then: the
    /// caller may sleep. Returns at once while the progress thread is dedicated. A message that
    /// comes soon costs no reading of the clock.
    pub fn poll_until(&self, driver: &impl Driver, mut is_over: impl FnMut() -> bool) {
        if self.is_dedicated() {
            return;
        }
        let (mut since, mut polls) = (None, 0u32);
        while !is_over() {
            let moved = self.turn_alone(driver);
            if moved == Some(true) {
                (since, polls) = (None, 0);
                continue;
            }
            polls = polls.wrapping_add(1);
            if moved.is_some() && polls % self.pace.polls != 0 {
                driver.relax(polls);
            } else if self.is_patient(&mut since, driver.now()) {
                driver.yield_now(polls);
            } else {
                // A thread that still polls hands over itself.
                if moved.is_some() {
                    self.hand_over(driver);
                }
                return;
            }
        }
    }

    fn is_patient(&self, since: &mut Option<u64>, now: u64) -> bool {
        now - *since.get_or_insert(now) < self.pace.polling
    }

    /// Runs a [turn](Self::turn), unless another thread that waits does: then returns `None`.
    #[inline]
    pub fn turn_alone(&self, driver: &impl Driver) -> Option<bool> {
        let is_polled = &self.turns.is_polled;
        // ORDERING: Relaxed on both: a hint. The load keeps the line shared by threads that wait.
        if is_polled.load(Ordering::Relaxed) || is_polled.swap(true, Ordering::Relaxed) {
            return None;
        }
        let _reset = Reset(is_polled);
        Some(self.turn(driver))
    }
}

/// Sets a flag to false, also while a panic unwinds.
struct Reset<'a>(&'a AtomicBool);

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed: as in turn_alone.
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The progress thread.
impl Progress {
    /// Runs turns, as the progress thread, until the rank [ends](Self::end). Calls `attend` before
    /// each: it does what else there is to do, such as ending the channels if a thread has [given
    /// up](Self::take_given_up).
    pub fn run(&self, driver: &impl Driver, mut attend: impl FnMut()) {
        let mut seen = 0;
        while !self.ends() {
            // ORDERING: Acquire, pairs with Release in hand_over (N3).
            let is_handed_over = self.is_handed_over.swap(false, Ordering::Acquire);
            // ORDERING: Relaxed: a hint that other threads run turns; after the flag, so that it
            // counts those of threads that do not.
            let looks = self.turns.looks.load(Ordering::Relaxed);
            let is_left = looks != seen && !is_handed_over;
            seen = looks;
            attend();
            if self.is_dedicated() {
                self.poll(driver);
            } else if is_left {
                self.leave();
                driver.park(self.pace.take_over);
            } else {
                self.await_bell(driver);
            }
        }
    }

    /// Polls for a while, as the dedicated thread, which is not rung for.
    fn poll(&self, driver: &impl Driver) {
        self.leave();
        for poll in 0..self.pace.dedicated {
            if !self.turn(driver) {
                driver.relax(poll);
            }
        }
        // Other threads may have to run on this processor.
        driver.yield_now(0);
    }

    /// Waits for the bell, as the progress thread or in its place after its end, and does what
    /// there is to do. Returns whether anything moved.
    pub fn await_bell(&self, driver: &impl Driver) -> bool {
        self.take_over();
        let before = self.step_all(driver);
        let waited = driver.wait(self.pace.look);
        let after = self.step_all(driver);
        if waited.is_none() {
            // It has reached the receivers of all channels; those opened from now on get it at the
            // next poll.
            driver.park(self.pace.look);
        }
        before || after || waited == Some(true)
    }

    /// Lets communication workers do what there is to do, until there is nothing. Returns whether
    /// there was anything.
    fn step_all(&self, driver: &impl Driver) -> bool {
        let mut moved = false;
        while self.step(driver) {
            moved = true;
        }
        moved
    }

    /// Whether only the progress thread runs turns.
    #[inline]
    pub fn is_dedicated(&self) -> bool {
        // ORDERING: Relaxed: a setting: threads that miss it run turns in the meantime, or leave
        // them to a thread that is notified.
        self.is_dedicated.load(Ordering::Relaxed)
    }

    /// Selects whether only the progress thread runs turns, and polls, from now on.
    pub fn dedicate(&self, is_dedicated: bool, driver: &impl Driver) {
        // ORDERING: Relaxed: as in is_dedicated.
        self.is_dedicated.store(is_dedicated, Ordering::Relaxed);
        self.hand_over(driver);
        self.bell.ring();
    }

    /// Leaves what the caller has submitted to a dedicated progress thread, if there is one; else
    /// returns false.
    #[inline]
    pub fn delegate(&self) -> bool {
        let is_dedicated = self.is_dedicated();
        if is_dedicated {
            // The thread may be about to wait, as the setting has changed.
            self.notify();
        }
        is_dedicated
    }
}

/// The end of a rank.
impl Progress {
    /// Ends [`run`](Self::run): the program has ended at this rank, or has panicked.
    pub fn end(&self, has_panicked: bool, driver: &impl Driver) {
        let end = if has_panicked { PANICKED } else { ENDS };
        // ORDERING: Release, pairs with Acquire in ends (N4).
        self.end.store(end, Ordering::Release);
        self.bell.ring();
        driver.unpark();
    }

    /// Whether the program has ended. What it has started before is visible then.
    pub fn ends(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in end (N4).
        self.end.load(Ordering::Acquire) != RUNS
    }

    /// Whether the program has ended by a panic.
    pub fn has_panicked(&self) -> bool {
        // ORDERING: Relaxed: a thread that has observed the end observes the same.
        self.end.load(Ordering::Relaxed) == PANICKED
    }

    /// Whether a collective operation has not ended. What the others have sent is visible.
    pub fn is_pending(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in Pending::drop (N5).
        self.pending.load(Ordering::Acquire) > 0
    }

    /// States that the channels are to end, as code of the program has panicked in a turn, and
    /// wakes the progress thread.
    pub fn give_up(&self) {
        // ORDERING: Relaxed: the bell carries it (N6). A swap, as loom lets a store precede an
        // update that has not read it.
        self.gives_up.swap(true, Ordering::Relaxed);
        self.bell.ring();
    }

    /// Returns whether the channels are to end, once.
    pub fn take_given_up(&self) -> bool {
        // ORDERING: Relaxed: the flag publishes nothing (N6).
        self.gives_up.swap(false, Ordering::Relaxed)
    }
}

/// A collective operation that has not ended: the end of the rank waits until it is dropped.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Pending(Arc<Progress>);

impl Pending {
    /// Counts an operation that begins.
    pub fn new(progress: &Arc<Progress>) -> Self {
        // ORDERING: Relaxed: `end` publishes it (N4).
        progress.pending.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(progress))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in is_pending (N5).
        self.0.pending.fetch_sub(1, Ordering::Release);
    }
}
