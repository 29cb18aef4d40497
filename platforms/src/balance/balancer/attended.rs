//! Supervision of a computation while it runs: progress, interrupts, and the deadline, also while
//! all workers are in long tasks.
//!
//! A worker in a long task checks nothing, so a dedicated thread exists until the run ends; a run
//! without a deadline that tasks can poll, an interrupt or progress does not start one.

use super::Balancer;
use crate::balance::{Control, Reason};
use crate::{Error, Result};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// The progress of a computation, as [`Balancer::progress`] reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The tasks done so far, at this rank.
    pub done: u64,
    /// The time since the call of [`run`](Balancer::run).
    pub elapsed: Duration,
    /// Whether the computation has ended: this is the last report.
    pub ended: bool,
}

/// The receiver of reports of progress, and their interval.
#[derive(Clone)]
pub(super) struct Reports<'a> {
    every: Duration,
    report: Arc<dyn Fn(Progress) + Send + Sync + 'a>,
}

// A report that panics ends the computation with its panic, and is not called again by it.
impl UnwindSafe for Reports<'_> {}
impl RefUnwindSafe for Reports<'_> {}

impl fmt::Debug for Reports<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports")
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

impl<'a, F> Balancer<'a, F> {
    /// Calls `report` after each `every` while the computation runs, and once when it has ended, on
    /// a thread of its own. It may read what the tasks share, such as the incumbent in a
    /// [`Best`](crate::balance::Best). If it panics the computation is stopped, and the panic
    /// reaches the caller.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use tautline::prelude::*;
    ///
    /// /// The best of all sums of one number of each row, row by row.
    /// struct Node { row: usize, sum: u32, chosen: Vec<u32> }
    ///
    /// const ROWS: [[u32; 3]; 4] = [[3, 1, 2], [9, 8, 7], [4, 6, 5], [2, 2, 1]];
    ///
    /// impl Task for Node {
    ///     type Shared = Arc<Best<u32, Vec<u32>>>;
    ///     type Sum = (); // the solution is in what is shared
    ///
    ///     fn run(self, todo: &mut Local<Self>, (): &mut (), best: &Self::Shared) {
    ///         if self.row == ROWS.len() {
    ///             best.add(self.sum, self.chosen);
    ///             return;
    ///         }
    ///         for number in ROWS[self.row] {
    ///             let sum = self.sum + number;
    ///             if sum < best.bound() {
    ///                 let chosen = [&self.chosen[..], &[number]].concat();
    ///                 todo.push(Self { row: self.row + 1, sum, chosen });
    ///             }
    ///         }
    ///     }
    ///
    ///     fn add((): &mut (), (): ()) {}
    /// }
    ///
    /// let best = Arc::new(Best::new());
    /// let balancer = tautline::balancer().progress(Duration::from_secs(1), |progress| {
    ///     println!("{} nodes in {:?}, best: {:?}", progress.done, progress.elapsed, best.incumbent());
    /// });
    /// let root = Node { row: 0, sum: 0, chosen: Vec::new() };
    /// balancer.run([root], |_place| best.clone(), ())?;
    /// assert_eq!(best.incumbent(), Some((13, vec![1, 7, 4, 1])));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn progress<'b>(
        self,
        every: Duration,
        report: impl Fn(Progress) + Send + Sync + 'b,
    ) -> Balancer<'b, F>
    where
        'a: 'b,
    {
        let report = Arc::new(report);
        Balancer {
            reports: Some(Reports { every, report }),
            ..self
        }
    }

    /// Lets Ctrl-C end the computation with the result so far: the first `SIGINT`, `SIGTERM` or
    /// `SIGHUP` stops it for [`Reason::Interrupted`], the next one ends the process as before;
    /// those within 0.2 s after the first are the same interrupt, also when the computation has
    /// ended. While no such computation runs, these signals have the effect that they had. One that
    /// the process ignored from the start, as under `nohup`, stays ignored. Feature `signals`, on
    /// Unix systems.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::balance::Reason;
    ///
    /// let run = tautline::balancer().interruptible().sum(0..1000u64, |n, _todo| n)?;
    /// if run.stopped == Some(Reason::Interrupted) {
    ///     eprintln!("interrupted, so the sum is partial");
    /// }
    /// println!("{}", run.output);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// In a program that handles signals by itself, its handler calls [`Control::stop`]; see
    /// [the guide](crate::guide::balancing).
    #[cfg(all(unix, feature = "signals"))]
    pub fn interruptible(mut self) -> Self {
        self.is_interruptible = true;
        self
    }

    /// Calls `run`, whose computation has this control, and carries out these settings until it
    /// returns. `done` returns the tasks done so far; `deadline` is the real time after which the
    /// control is stopped.
    pub(super) fn attended<R>(
        &self,
        control: &Control,
        deadline: Option<Duration>,
        done: impl Fn() -> u64 + Sync,
        run: impl FnOnce() -> R,
    ) -> Result<R> {
        // Without a control of the program no task can poll it.
        let after = deadline.filter(|_| self.control.is_some());
        if self.reports.is_none() && !self.is_interruptible && after.is_none() {
            return Ok(run());
        }
        let began = Instant::now();
        let attendant = Attendant {
            control,
            reports: self.reports.as_ref(),
            deadline: after.and_then(|after| began.checked_add(after)),
            began,
            before: done(),
            done,
        };
        let (sign, signs) = mpsc::channel();
        thread::scope(|scope| {
            let named = thread::Builder::new().name("tautline-attendant".to_owned());
            let thread = match named.spawn_scoped(scope, || attendant.attend(signs)) {
                Ok(thread) => thread,
                // The workers keep to the deadline, between two tasks.
                Err(_) if self.reports.is_none() && !self.is_interruptible => return Ok(run()),
                Err(source) => return Err(Error::Threads { threads: 1, source }),
            };
            let ending = Ending(sign.clone());
            let result = {
                // Revoked before the attendant ends: an interrupt that it would not receive has its
                // default effect.
                let _interrupt = match self.is_interruptible {
                    true => Some(interrupt(sign)?),
                    false => None,
                };
                run()
            };
            drop(ending);
            match thread.join() {
                Ok(()) => Ok(result),
                Err(payload) => resume_unwind(payload),
            }
        })
    }
}

/// The reason for waking the attendant: to stop the computation, or its end (`None`).
type Sign = Option<Reason>;

/// Notifies the attendant at the end of the computation, also by a panic.
struct Ending(Sender<Sign>);

impl Drop for Ending {
    fn drop(&mut self) {
        // An attendant that has panicked receives nothing.
        let _ = self.0.send(None);
    }
}

/// Has an interrupt wake the attendant.
#[cfg(all(unix, feature = "signals"))]
fn interrupt(sign: Sender<Sign>) -> Result<impl Sized> {
    crate::process::interrupt::call(move || _ = sign.send(Some(Reason::Interrupted)))
}

#[cfg(not(all(unix, feature = "signals")))]
fn interrupt(_: Sender<Sign>) -> Result<()> {
    unreachable!("no setting requests it")
}

/// The thread that attends a computation.
struct Attendant<'a, D> {
    control: &'a Control,
    reports: Option<&'a Reports<'a>>,
    deadline: Option<Instant>,
    began: Instant,
    /// The tasks of earlier computations.
    before: u64,
    done: D,
}

impl<D: Fn() -> u64> Attendant<'_, D> {
    fn attend(&self, signs: Receiver<Sign>) {
        let _stop = StopInPanic(self.control);
        let every = self.reports.map(|reports| reports.every);
        let mut due = every.and_then(|every| self.began.checked_add(every));
        let mut deadline = self.deadline;
        loop {
            let sign = match due.into_iter().chain(deadline).min() {
                Some(at) => signs.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => signs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match sign {
                Ok(Some(reason)) => self.control.stop(reason),
                Ok(None) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if deadline.is_some_and(|at| now >= at) {
                self.control.stop(Reason::Deadline);
                deadline = None;
            }
            if let Some(reports) = self.reports
                && due.is_some_and(|at| now >= at)
            {
                self.report(reports, false);
                // Reports that take longer than the time between them are not made up for.
                due = now.checked_add(reports.every);
            }
        }
        if let Some(reports) = self.reports {
            self.report(reports, true);
        }
    }

    fn report(&self, reports: &Reports<'_>, ended: bool) {
        (reports.report)(Progress {
            done: (self.done)() - self.before,
            elapsed: self.began.elapsed(),
            ended,
        });
    }
}

/// Stops the computation if a report panics.
struct StopInPanic<'a>(&'a Control);

impl Drop for StopInPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(Reason::Interrupted);
        }
    }
}
