//! What makes threads step communication workers, on one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::comm::{Combiner, Notifier};
use tautline_core::port::Spin;

/// A completion that submits an operation runs within a turn: a further turn processes it.
#[test]
fn a_run_within_a_turn_makes_the_holder_run_another() {
    let combiner = Combiner::new(0);
    let moved = combiner.run(|turns| {
        *turns += 1;
        if *turns == 1 {
            assert!(!combiner.run(|_| panic!("the value is taken")));
            assert_eq!(combiner.try_with(|turns| *turns), None);
        }
        *turns == 1
    });
    assert!(moved);
    assert_eq!(combiner.with(&Spin, |turns| *turns), 2);
}

#[test]
fn a_turn_that_panics_leaves_the_value_to_others() {
    let combiner = Combiner::new(0);
    let run = || combiner.run(|_| panic!("wanted"));
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert!(!combiner.run(|turns| {
        *turns += 1;
        false
    }));
    assert_eq!(combiner.try_with(|turns| *turns), Some(1));
}

#[test]
fn a_notification_rings_unless_the_progress_thread_is_away() {
    let rings = Arc::new(AtomicUsize::new(0));
    let bell = Arc::clone(&rings);
    let notifier = Notifier::new(Arc::new(move || _ = bell.fetch_add(1, Relaxed)));
    let rung = || rings.swap(0, Relaxed);
    assert!(!notifier.take_due());
    notifier.set_due();
    assert_eq!((notifier.take_due(), notifier.take_due()), (true, false));
    assert_eq!(rung(), 0);
    notifier.notify();
    assert_eq!((rung(), notifier.take_due()), (1, true));
    notifier.leave();
    notifier.notify();
    assert_eq!(rung(), 0);
    notifier.take_over();
    assert!(notifier.take_due(), "it was notified while it was away");
    notifier.notify();
    assert_eq!(rung(), 1);
}
