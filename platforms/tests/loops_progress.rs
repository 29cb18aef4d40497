//! The progress that a loop reports.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tautline::prelude::*;

const MS: Duration = Duration::from_millis(1);

fn runtime() -> Runtime {
    let builder = Runtime::builder().workers(2).pinned(false);
    builder.build().expect("two workers")
}

fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_loop_reports_by_time_and_at_its_end() {
    let (reports, busy) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let report = |done, of| {
        assert!(!busy.swap(true, SeqCst), "two reports at a time");
        reports.lock().unwrap().push((Instant::now(), done, of));
        busy.store(false, SeqCst);
    };
    let items = vec![MS; 1000];
    let sum = runtime().run(|cx| {
        let items = cx.par(&items).progress(&report);
        items
            .map(|time| {
                compute(*time);
                1
            })
            .sum::<u32>()
    });
    let reports = reports.into_inner().unwrap();
    assert_eq!(sum, 1000);
    let done: Vec<usize> = reports.iter().map(|report| report.1).collect();
    assert!(done.len() >= 5 && done.is_sorted(), "{done:?}");
    assert!(reports.iter().all(|report| report.2 == 1000));
    assert_eq!(done.last(), Some(&1000));
    let (_last, timed) = reports.split_last().unwrap();
    let between = timed.windows(2).map(|pair| pair[1].0 - pair[0].0);
    assert!(between.min() >= Some(40 * MS), "too often");
}

/// Each verb, with the total that it counts.
#[test]
fn every_loop_ends_with_its_total() {
    let last = Mutex::new(None);
    let report = |done, of| *last.lock().unwrap() = Some((done, of));
    let take = || last.lock().unwrap().take();
    let mut numbers: Vec<u64> = (0..5000).collect();
    runtime().run(|cx| {
        cx.par(&numbers).progress(&report).for_each(|_| ());
        assert_eq!(take(), Some((5000, 5000)));
        assert_eq!(
            cx.par(0..10u64)
                .filter(|n| *n > 4)
                .progress(&report)
                .count(),
            5
        );
        assert_eq!(take(), Some((10, 10)));
        assert_eq!(cx.par(0..0u64).progress(&report).max(), None);
        assert_eq!(take(), Some((0, 0)));
        let found = cx.par(&numbers).progress(&report).find_any(|n| **n == 0);
        assert_eq!(found, Some(&0));
        assert!(take().is_some_and(|(done, of)| done < of && of == 5000));
        cx.par(&mut numbers).progress(&report).sort_unstable();
        assert_eq!(take(), None);
        let each = cx.par(0..20).progress(&report).with_cx();
        each.for_each(|cx, n| _ = cx.par(0..n).count());
        assert_eq!(take(), Some((20, 20)));
        cx.loop_over(5..30).progress(&report).for_each(|_| ());
        assert_eq!(take(), Some((25, 25)));
    });
}

#[test]
fn a_loop_that_panics_does_not_report_its_end() {
    let reports = Mutex::new(Vec::new());
    let run = || {
        runtime().run(|cx| {
            let report = |done, _| reports.lock().unwrap().push(done);
            let items = cx.par(0..100).progress(&report);
            items.for_each(|n| assert!(n < 50, "too large"));
        });
    };
    catch_unwind(AssertUnwindSafe(run)).expect_err("an item panics");
    assert!(!reports.lock().unwrap().contains(&100));
}

#[test]
fn a_report_that_panics_ends_the_loop() {
    let run = || {
        runtime().run(|cx| {
            let items = cx.par(0..usize::MAX).progress(&|_, _| panic!("no report"));
            items.for_each(|_| compute(MS));
        });
    };
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("the report panics");
    assert_eq!(payload.downcast_ref(), Some(&"no report"));
}
