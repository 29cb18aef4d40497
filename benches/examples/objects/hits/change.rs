//! Write hits of values that do not fit into a word: each is a changed copy.

use super::{Options, at_copy, measured, without_objects};
use ::arc_swap::ArcSwap;
use std::ops::IndexMut;
use std::sync::Arc;
use tautline::globals::Object;

fn of_object<T: Object + IndexMut<usize, Output = u64>>(
    options: &Options,
    value: T,
) -> Option<f64> {
    at_copy(value, |cx, object| {
        let hits = measured(options.batch(false), || {
            object
                .modify(cx, |numbers| numbers[0] += 1)
                .expect("all live");
        });
        assert_eq!(object.read(cx).expect("all live")[0], hits.calls);
        hits.each
    })
}

fn of_swap<T: Clone + IndexMut<usize, Output = u64>>(options: &Options, value: T) -> Option<f64> {
    without_objects(|| {
        let swap = ArcSwap::from_pointee(value);
        let hits = measured(options.batch(false), || {
            swap.rcu(|numbers| {
                let mut numbers = T::clone(numbers);
                numbers[0] += 1;
                Arc::new(numbers)
            });
        });
        assert_eq!(swap.load()[0], hits.calls);
        hits.each
    })
}

/// Nanoseconds of a change of an array by a closure.
pub(in super::super) fn array(options: &Options) -> Option<f64> {
    of_object(options, [0; 8])
}

/// As [`array`], by a read-copy-update of arc-swap.
pub(in super::super) fn array_rcu(options: &Options) -> Option<f64> {
    of_swap(options, [0; 8])
}

/// Nanoseconds of a change of a vector by a closure.
pub(in super::super) fn vector(options: &Options) -> Option<f64> {
    of_object(options, vec![0; 8])
}

/// As [`vector`], by a read-copy-update of arc-swap.
pub(in super::super) fn vector_rcu(options: &Options) -> Option<f64> {
    of_swap(options, vec![0; 8])
}
