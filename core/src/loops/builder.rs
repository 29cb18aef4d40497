//! A loop with settings: `cx.loop_over`.

use super::instance::engine;
use super::progress::Listener;
use super::settings::{Report, Schedule, Settings};
use crate::port::Host;
use crate::task::Cx;
use core::cell::Cell;
use core::ops::Range;

/// A loop that has not begun. Made by [`Cx::loop_over`].
///
/// ```
/// # use tautline_core::{loops::Schedule, port::Host, task::Cx};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let rows = cx.loop_over(0..1000).named("rows");
/// let report = rows.schedule(Schedule::Static).explain(|_| {});
/// assert_eq!(report.name, Some("rows"));
/// # }
/// ```
#[must_use = "a loop runs when for_each or explain is called"]
pub struct Loop<'c, 's, 'e, P: Host> {
    cx: &'c mut Cx<'s, 'e, P>,
    range: Range<usize>,
    settings: Settings<'c>,
}

impl<'s, 'e, P: Host> Cx<'s, 'e, P> {
    /// Prepares a loop over `range`, with the schedule [`Schedule::Auto`].
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicU64, Ordering};
    /// # use tautline_core::{loops::Schedule, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sum = AtomicU64::new(0);
    /// let rows = cx.loop_over(0..1000).schedule(Schedule::Guided).named("rows");
    /// rows.for_each(|i| _ = sum.fetch_add(i as u64, Ordering::Relaxed));
    /// assert_eq!(sum.into_inner(), 499_500);
    /// # }
    /// ```
    #[track_caller]
    pub fn loop_over(&mut self, range: Range<usize>) -> Loop<'_, 's, 'e, P> {
        Loop {
            cx: self,
            range,
            settings: Settings::here(),
        }
    }
}

impl<'c, P: Host> Loop<'c, '_, '_, P> {
    /// Sets how the iterations are divided.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicUsize, Ordering};
    /// # use tautline_core::{loops::Schedule, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let calls = AtomicUsize::new(0);
    /// // All iterations cost the same: one chunk for each worker.
    /// let each = cx.loop_over(0..100).schedule(Schedule::Static);
    /// each.for_each(|_| _ = calls.fetch_add(1, Ordering::Relaxed));
    /// assert_eq!(calls.into_inner(), 100);
    /// # }
    /// ```
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = schedule;
        self
    }

    /// Names the loop: in its report, and to tell loops of one call site apart, such as those of a
    /// function that is called with different data.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// fn blur<P: Host>(cx: &mut Cx<'_, '_, P>, name: &'static str, rows: usize) {
    ///     // The times of the rows of a thumbnail are no prediction for those of a page.
    ///     cx.loop_over(0..rows).named(name).for_each(|_row| ());
    /// }
    /// blur(cx, "thumbnail", 100);
    /// blur(cx, "page", 4000);
    /// # }
    /// ```
    pub fn named(mut self, name: &'static str) -> Self {
        self.settings.name = Some(name);
        self
    }

    /// Reports the progress of the loop, as [`Par::progress`](super::Par::progress).
    ///
    /// ```
    /// # extern crate std;
    /// # use std::eprint;
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let rows = cx.loop_over(0..1000).progress(&|done, of| eprint!("\r{done} of {of} rows"));
    /// rows.for_each(|_row| ());
    /// # }
    /// ```
    pub fn progress(mut self, report: &'c (dyn Fn(usize, usize) + Sync)) -> Self {
        self.settings.listener = Some(Listener(report));
        self
    }

    /// Calls `body` with each index once, as [`Cx::par_for`] does.
    ///
    /// ```
    /// # use core::sync::atomic::{AtomicUsize, Ordering};
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let sum = AtomicUsize::new(0);
    /// let indices = cx.loop_over(10..20).named("indices");
    /// indices.for_each(|i| _ = sum.fetch_add(i, Ordering::Relaxed));
    /// assert_eq!(sum.into_inner(), 145);
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `body`. Indices that have not started by then may be left out.
    pub fn for_each(self, body: impl Fn(usize) + Sync) {
        let body = from(self.range.start, body);
        engine(self.cx, self.range.len(), &self.settings, &body);
    }

    /// Calls `body` with each index once, and returns how the loop ran.
    ///
    /// ```
    /// # extern crate std;
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// let report = cx.loop_over(0..1000).named("rows").explain(|_| {});
    /// std::println!("{report}");
    /// # }
    /// ```
    ///
    /// # Panics
    /// With a panic of `body`. Indices that have not started by then may be left out.
    pub fn explain(self, body: impl Fn(usize) + Sync) -> Report {
        let (report, body) = (Cell::new(None), from(self.range.start, body));
        let mut settings = self.settings;
        settings.report = Some(&report);
        engine(self.cx, self.range.len(), &settings, &body);
        report.take().expect("a loop that has ended reports")
    }
}

/// Returns the body of a loop whose first index is `start`.
#[inline]
pub(super) fn from(start: usize, body: impl Fn(usize) + Sync) -> impl Fn(Range<usize>) + Sync {
    move |indices| (start + indices.start..start + indices.end).for_each(&body)
}
