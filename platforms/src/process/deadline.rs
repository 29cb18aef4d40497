//! Deadlines of finishes: one thread of the process cancels tokens when their time has come.

use crate::{Error, Result};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tautline_core::finish::Reason;
use tautline_core::task::CancelToken;
use tautline_node::pool::Thread;
use tautline_node::process::{Owned, PerProcess};

/// A [`CancelToken`] that is cancelled after a time, as [`Reason::Deadline`].
///
/// It is for [`finish_until`](tautline_core::task::Cx::finish_until) in tasks and in async code.
/// Tasks that have not begun are dropped, and suspended ones; a running one ends earlier where it
/// polls [`cancelled`](tautline_core::task::Cx::cancelled), and at its next loop of `par`,
/// `par_for` or `concurrent`, which unwinds to the finish
/// ([`Cx::par`](tautline_core::task::Cx::par), Cancellation). Dropping it revokes the deadline.
///
/// ```
/// use std::time::Duration;
/// use tautline::balance::Reason;
/// use tautline::prelude::*;
/// use tautline::runtime::Deadline;
///
/// let rt = Runtime::new()?;
/// let never = Ddf::<u32>::new();
/// let outcome = rt.run(|cx| {
///     let deadline = Deadline::after(Duration::from_millis(20));
///     cx.finish_until(&deadline, |cx| {
///         cx.spawn_when(&never, |n, _| println!("{n}"));
///     })
/// });
/// assert_eq!(outcome.unwrap_err().reason, Reason::Deadline);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Debug)]
pub struct Deadline {
    token: CancelToken,
    /// `None` if it has passed already, or lies beyond the clock. In the child of `fork`, a
    /// deadline of the parent does not pass.
    key: Option<Owned<Key>>,
}

/// The time, and a number that distinguishes equal times.
type Key = (Instant, u64);

impl Deadline {
    /// Creates a token that is cancelled when `after` has passed from now on.
    ///
    /// # Panics
    /// If the system refuses the thread that all deadlines of the process share: see
    /// [`try_after`](Self::try_after).
    pub fn after(after: Duration) -> Self {
        match Self::try_after(after) {
            Ok(deadline) => deadline,
            Err(refused) => panic!("no deadline: {refused}"),
        }
    }

    /// As [`after`](Self::after), with an error in place of the panic: for a program that is to
    /// work where it may have no further thread.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tautline::prelude::*;
    /// use tautline::runtime::Deadline;
    ///
    /// let rt = Runtime::new()?;
    /// let sum = |cx: &mut Cx| cx.par(0..100u64).sum::<u64>();
    /// let outcome = match Deadline::try_after(Duration::from_secs(10)) {
    ///     Ok(deadline) => rt.run(|cx| cx.finish_until(&deadline, sum)),
    ///     Err(_) => Ok(rt.run(sum)), // without a deadline
    /// };
    /// assert_eq!(outcome.unwrap(), 4950);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Threads`] if the system refuses the thread. The next call tries to start it again.
    pub fn try_after(after: Duration) -> Result<Self> {
        let token = CancelToken::new();
        let due = Instant::now().checked_add(after);
        if after.is_zero() {
            token.cancel(Reason::Deadline);
        }
        let key = due.filter(|_| !after.is_zero());
        let add = |due| Timer::of_process().add(due, token.clone()).map(Owned::new);
        let key = key.map(add).transpose()?;
        Ok(Self { token, key })
    }
}

impl Deref for Deadline {
    type Target = CancelToken;

    fn deref(&self) -> &CancelToken {
        &self.token
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        if let Some(&key) = self.key.as_ref().and_then(Owned::get) {
            Timer::of_process().remove(key);
        }
    }
}

/// Returns whether a deadline of the process has not passed, which may cancel what waits.
pub(crate) fn is_one_pending() -> bool {
    !Timer::of_process().state().tokens.is_empty()
}

/// The deadlines of the process, by time.
#[derive(Debug, Default)]
struct Timer {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// By time: most are added near the back, and removed near one of the ends.
    tokens: VecDeque<(Key, CancelToken)>,
    count: u64,
    is_started: bool,
}

impl Timer {
    fn of_process() -> &'static Self {
        static TIMER: PerProcess<Timer> = PerProcess::empty();
        TIMER.get_or_init(Self::default)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .expect("no panic while the lock is held, except before anything is changed")
    }

    fn add(&'static self, due: Instant, token: CancelToken) -> Result<Key> {
        let mut state = self.state();
        if !state.is_started {
            let started = Thread::default().spawn("timer", || self.serve());
            started.map_err(|source| Error::Threads { threads: 1, source })?;
            state.is_started = true;
        }
        let key = (due, state.count);
        state.count += 1;
        let at = state.tokens.partition_point(|(other, _)| *other < key);
        state.tokens.insert(at, (key, token));
        drop(state);
        if at == 0 {
            self.changed.notify_one();
        }
        Ok(key)
    }

    fn remove(&self, key: Key) {
        let mut state = self.state();
        let at = state.tokens.binary_search_by_key(&key, |(key, _)| *key);
        let token = at.ok().and_then(|at| state.tokens.remove(at));
        drop(state);
        drop(token);
    }

    /// Cancels tokens that are due, for ever.
    fn serve(&self) -> ! {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            let first = state.tokens.front();
            let left = first.map(|((due, _), _)| due.saturating_duration_since(now));
            state = match left {
                Some(Duration::ZERO) => {
                    let first = state.tokens.pop_front();
                    drop(state);
                    if let Some((_, token)) = first {
                        // Drops tasks, whose panics it contains.
                        token.cancel(Reason::Deadline);
                    }
                    self.state()
                }
                Some(left) => self.changed.wait_timeout(state, left).expect("as above").0,
                None => self.changed.wait(state).expect("as above"),
            };
        }
    }
}
