//! Read hits.

use super::{
    Hits, Options, at_copy, at_two_workers, measured, without_objects, without_objects_twice,
};
use ::arc_swap::ArcSwap;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tautline::globals::Global;
use tautline::prelude::*;

/// The number that all reads return.
const VALUE: u64 = 3;

/// Returns nanoseconds of a read, of those whose results have this sum.
fn verified(hits: &Hits, sum: u64) -> f64 {
    assert_eq!(sum, hits.calls * VALUE);
    hits.each
}

fn numbers() -> Vec<u64> {
    vec![VALUE; 8]
}

fn of_number(options: &Options, cx: &mut Cx<'_, '_>, object: &Global<u64>) -> f64 {
    let mut sum = 0;
    let hits = measured(options.batch(true), || {
        sum += object.get(cx).expect("all live");
    });
    verified(&hits, sum)
}

/// Nanoseconds of a read of a number.
pub(in super::super) fn number(options: &Options) -> Option<f64> {
    at_copy(VALUE, |cx, object| of_number(options, cx, object))
}

/// As [`number`], each of two threads.
pub(in super::super) fn number_twice(options: &Options) -> Option<f64> {
    at_two_workers(VALUE, |cx, object| of_number(options, cx, object))
}

fn of_plain(options: &Options, [version, value]: &[AtomicU64; 2]) -> f64 {
    let (mut versions, mut sum) = (0, 0);
    let hits = measured(options.batch(true), || {
        // ORDERING: Relaxed both: no other thread writes.
        versions += version.load(Ordering::Relaxed);
        sum += value.load(Ordering::Relaxed);
    });
    assert_eq!(versions, hits.calls);
    verified(&hits, sum)
}

fn plain_pair() -> [AtomicU64; 2] {
    [1, VALUE].map(AtomicU64::new)
}

/// Nanoseconds of a load of a version and of one of a number.
pub(in super::super) fn plain(options: &Options) -> Option<f64> {
    without_objects(|| of_plain(options, &plain_pair()))
}

/// As [`plain`], each of two threads.
pub(in super::super) fn plain_twice(options: &Options) -> Option<f64> {
    let pair = plain_pair();
    without_objects_twice(|| of_plain(options, &pair))
}

fn of_vector(options: &Options, cx: &mut Cx<'_, '_>, object: &Global<Vec<u64>>) -> f64 {
    let mut sum = 0;
    let hits = measured(options.batch(true), || {
        sum += object.read(cx).expect("all live")[0];
    });
    verified(&hits, sum)
}

/// Nanoseconds of a view of a vector.
pub(in super::super) fn vector(options: &Options) -> Option<f64> {
    at_copy(numbers(), |cx, object| of_vector(options, cx, object))
}

/// As [`vector`], each of two threads.
pub(in super::super) fn vector_twice(options: &Options) -> Option<f64> {
    at_two_workers(numbers(), |cx, object| of_vector(options, cx, object))
}

fn of_arc_swap(options: &Options, swap: &ArcSwap<Vec<u64>>) -> f64 {
    let mut sum = 0;
    let hits = measured(options.batch(true), || sum += swap.load()[0]);
    verified(&hits, sum)
}

/// Nanoseconds of a guard of a vector.
pub(in super::super) fn arc_swap(options: &Options) -> Option<f64> {
    let swap = ArcSwap::new(Arc::new(numbers()));
    without_objects(|| of_arc_swap(options, &swap))
}

/// As [`arc_swap`], each of two threads.
pub(in super::super) fn arc_swap_twice(options: &Options) -> Option<f64> {
    let swap = ArcSwap::new(Arc::new(numbers()));
    without_objects_twice(|| of_arc_swap(options, &swap))
}

fn of_lock(options: &Options, lock: &RwLock<Vec<u64>>) -> f64 {
    let mut sum = 0;
    let hits = measured(options.batch(true), || sum += lock.read()[0]);
    verified(&hits, sum)
}

/// Nanoseconds of a read under a lock for readers and writers.
pub(in super::super) fn locked(options: &Options) -> Option<f64> {
    let lock = RwLock::new(numbers());
    without_objects(|| of_lock(options, &lock))
}

/// As [`locked`], each of two threads.
pub(in super::super) fn locked_twice(options: &Options) -> Option<f64> {
    let lock = RwLock::new(numbers());
    without_objects_twice(|| of_lock(options, &lock))
}
