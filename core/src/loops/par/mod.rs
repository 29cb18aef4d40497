//! Parallel iteration: `cx.par`.
//!
//! | part | what it is |
//! |---|---|
//! | [`Par`] | items on which a loop is about to run, and its settings |
//! | `source` | ranges, slices and strings, and the values that they are made of |
//! | `adapt` | adaptors |
//! | `consume`, `keys` | calls, sums and reductions; extremes and sorts by keys |
//! | `collect` | collections of the items |
//! | `early` | searches and bodies that may fail, which leave out the rest |
//! | `accumulate` | reductions, in any order or in a fixed one |
//! | `with_cx` | bodies that fork |
//! | `sort`, `scan` | sorting and prefix sums of slices |
//!
//! # Algorithm
//! A source is random access, so a loop over it is a loop over its indices: the chunks are those of
//! [`loops`](super). A worker runs an ordinary iterator over the consecutive indices that it has
//! taken, which the compiler optimises as a sequential loop. What it accumulates it keeps in its
//! own frame; the joins of the loop's parts combine these values. So a reduction uses neither a
//! lock nor the heap.

mod accumulate;
mod adapt;
mod collect;
mod consume;
mod early;
mod keys;
mod scan;
mod sort;
mod source;
mod with_cx;

pub use early::Try;
pub use source::{Chunked, IntoPar};
pub use with_cx::WithCx;

use super::progress::Listener;
use super::raw::Source;
use super::settings::{Report, Schedule, Settings};
use crate::port::Host;
use crate::task::Cx;
use core::cell::Cell;

impl<'s, 'e, P: Host> Cx<'s, 'e, P> {
    /// Returns the items of a range, slice or vector, for a loop on the workers that are free. The
    /// verbs are those of rayon: adaptors as [`map`](Par::map) describe the loop, and a consumer as
    /// [`for_each`](Par::for_each) or [`sum`](Par::sum) runs it.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let squares: Vec<u64> = cx.par(0..1000u64).map(|i| i * i).collect();
    /// assert_eq!(cx.par(&squares).max(), Some(&998_001));
    /// # }
    /// ```
    ///
    /// # Cancellation
    /// If a finish around this task is cancelled, a loop leaves out the items that have not
    /// started, but for the rest of the blocks that run, and does not return: the task unwinds to
    /// the finish, which returns an error. So no code takes a part of a result for the whole.
    /// Destructors run, and no panic hook is called. A loop whose items have all started returns
    /// its result. A panic of the other half of a join that is cut is dropped, as is one of a task
    /// that panics after the cancellation.
    ///
    /// Code that catches the unwinding with `catch_unwind` continues in a finish that is cancelled.
    /// Destructors must not run loops in such a finish, as a second unwinding ends the process.
    /// Where a program cannot unwind (`panic = "abort"`), loops run to their ends.
    #[track_caller]
    pub fn par<I: IntoPar>(&mut self, items: I) -> Par<'_, 's, 'e, P, I::Source> {
        Par {
            cx: self,
            source: items.into_source(),
            settings: Settings::here(),
            in_order: false,
        }
    }
}

/// Items on which a loop is about to run. Made by [`Cx::par`].
///
/// Functions are called by several workers at a time, so they are `Fn` and `Sync`. A panic of one
/// reaches the caller with its payload; items that have not started by then may be left out, and
/// owned ones are dropped.
#[must_use = "a loop runs when it is consumed, by `for_each` for instance"]
pub struct Par<'x, 's, 'e: 's, P: Host, S> {
    cx: &'x mut Cx<'s, 'e, P>,
    source: S,
    settings: Settings<'x>,
    in_order: bool,
}

impl<'x, 's, 'e, P: Host, S: Source> Par<'x, 's, 'e, P, S> {
    /// Makes this a loop with the settings of another.
    fn of(self, settings: Settings<'x>) -> Self {
        Self { settings, ..self }
    }

    fn with<T>(self, make: impl FnOnce(S) -> T) -> Par<'x, 's, 'e, P, T> {
        Par {
            cx: self.cx,
            source: make(self.source),
            settings: self.settings,
            in_order: self.in_order,
        }
    }

    /// Names the loop, to tell loops of one call site apart, as [`Loop::named`](super::Loop::named)
    /// does.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut heaviest = |name, sizes: &[usize]| cx.par(sizes).named(name).map(|n| n * n).max();
    /// assert_eq!(heaviest("even", &[2, 2, 2]), Some(4));
    /// // The iterations of this one take other times, which are kept apart.
    /// assert_eq!(heaviest("rising", &[1, 2, 3]), Some(9));
    /// # }
    /// ```
    pub fn named(mut self, name: &'static str) -> Self {
        self.settings.name = Some(name);
        self
    }

    /// Sets how the indices are divided among the workers.
    ///
    /// ```
    /// # use tautline_core::{loops::Schedule, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let halves = cx.par(&[0.5; 1000]).schedule(Schedule::Static);
    /// assert_eq!(halves.sum::<f64>(), 500.0);
    /// # }
    /// ```
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = schedule;
        self
    }

    /// Reports how the loop ran. A call that runs several loops reports the last one; a sort, which
    /// runs forks, reports nothing.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut report = None;
    /// let sum: u64 = cx.par(0..1_000_000u64).named("sum").explain(&mut report).sum();
    /// assert_eq!(sum, 499_999_500_000);
    /// // As "sum: auto, 41 chunks, 0.30 ns an iteration, blocks vary by 2 %".
    /// println!("{}", report.expect("a loop that has ended reports"));
    /// # }
    /// ```
    pub fn explain(mut self, report: &'x mut Option<Report>) -> Self {
        self.settings.report = Some(Cell::from_mut(report));
        self
    }

    /// Reports the progress of the loop: calls `report` with the items that have ended and their
    /// total, about every 50 ms, and once when the loop has ended. Workers call it between two
    /// blocks of items, one at a time, so it should be short. With [`in_order`](Self::in_order) the
    /// numbers are those of blocks; a call that runs several loops counts each of them; a sort,
    /// which runs forks, reports nothing.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sum: u64 = cx
    ///     .par(0..1_000_000u64)
    ///     .progress(&|done, of| eprint!("\r{} %", 100 * done / of.max(1)))
    ///     .sum();
    /// assert_eq!(sum, 499_999_500_000);
    /// # }
    /// ```
    ///
    /// A loop that ends early reports at last what it has done until then; one that is cut by a
    /// cancellation or a panic does not report its end.
    pub fn progress(mut self, report: &'x (dyn Fn(usize, usize) + Sync)) -> Self {
        self.settings.listener = Some(Listener(report));
        self
    }

    /// Lets reductions combine in a fixed order: items by blocks that depend on their number only,
    /// and blocks by a fixed tree. So a floating-point result has the same bits in every run, with
    /// any number of workers, and an operation need not be commutative. Costs a value in memory for
    /// each block, of which there are 4096 at most.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let mut sum = || cx.par(0..100_000).map(|i| 1.0 / (1.0 + f64::from(i))).in_order().sum::<f64>();
    /// assert_eq!(sum().to_bits(), sum().to_bits());
    /// # }
    /// ```
    pub fn in_order(self) -> Self {
        Self {
            in_order: true,
            ..self
        }
    }

    /// Passes the context of the task to the function of [`for_each`](WithCx::for_each), which can
    /// then fork, or run inner loops.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let rows = vec![vec![1; 100]; 100];
    /// let mut sums = vec![0; 100];
    /// cx.par(&rows).zip(&mut sums).with_cx().for_each(|cx, (row, sum)| *sum = cx.par(row).sum());
    /// assert_eq!(sums, [100; 100]);
    /// # }
    /// ```
    pub fn with_cx(self) -> WithCx<'x, 's, 'e, P, S> {
        WithCx { par: self }
    }
}
