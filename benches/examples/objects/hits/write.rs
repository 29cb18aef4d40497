//! Write hits of a number.

use super::{Options, at_copy, measured, without_objects};
use parking_lot::Mutex;
use tautline::globals::Operator;

/// Nanoseconds of a change by a closure.
pub(in super::super) fn modify(options: &Options) -> Option<f64> {
    at_copy(0u64, |cx, object| {
        let hits = measured(options.batch(true), || {
            object.modify(cx, |number| *number += 1).expect("all live");
        });
        assert_eq!(object.get(cx).expect("all live"), hits.calls);
        hits.each
    })
}

/// Nanoseconds of an addition by an operator, which returns the former number.
pub(in super::super) fn apply(options: &Options) -> Option<f64> {
    at_copy(0u64, |cx, object| {
        let mut last = 0;
        let hits = measured(options.batch(true), || {
            last = object.apply(cx, Operator::Sum, 1).expect("all live");
        });
        assert_eq!(last + 1, hits.calls);
        hits.each
    })
}

/// Nanoseconds of an addition under a lock.
pub(in super::super) fn locked(options: &Options) -> Option<f64> {
    without_objects(|| {
        let lock = Mutex::new(0);
        let hits = measured(options.batch(true), || *lock.lock() += 1);
        assert_eq!(lock.into_inner(), hits.calls);
        hits.each
    })
}

/// As [`locked`]; returns the former number.
pub(in super::super) fn locked_fetch(options: &Options) -> Option<f64> {
    without_objects(|| {
        let (lock, mut last) = (Mutex::new(0), 0);
        let hits = measured(options.batch(true), || {
            let mut number = lock.lock();
            last = *number;
            *number += 1;
        });
        assert_eq!(last + 1, hits.calls);
        hits.each
    })
}
