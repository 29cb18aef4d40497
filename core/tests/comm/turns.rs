//! A value of which one thread at a time runs turns, on one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tautline_core::comm::Combiner;
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

/// A thread that polls takes the value only if the number has changed.
#[test]
fn turns_that_move_something_are_counted() {
    let combiner = Combiner::new(());
    assert!(!combiner.run(|()| false));
    assert_eq!(combiner.moves(), 0);
    assert!(combiner.run(|()| true));
    assert_eq!(combiner.moves(), 1);
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
