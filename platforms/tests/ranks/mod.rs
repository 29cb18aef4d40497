//! Common to tests of programs over ranks.

use std::thread;
use std::time::Duration;
use tautline::prelude::*;
use tautline::world::World;

/// Returns a runtime whose workers communicate, and share the processors with those of other ranks.
#[allow(dead_code, reason = "some tests need no workers")]
pub(crate) fn runtime(world: &World, workers: usize) -> Runtime {
    let runtime = Runtime::builder().world(world).workers(workers);
    runtime.pinned(false).build().expect("a runtime")
}

/// Returns a number that looks random, the same for the same arguments.
#[allow(dead_code, reason = "some tests draw nothing")]
pub(crate) fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(b) ^ 0x2545_f491;
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 27
}

/// Delays the calling thread now and then.
#[allow(dead_code, reason = "some tests delay nothing")]
pub(crate) fn delay(seed: u64) {
    match seed % 8 {
        // A sleep, for orders of signals that a free processor would not show.
        0 => thread::sleep(Duration::from_micros(seed % 200)),
        1..4 => thread::yield_now(),
        _ => {}
    }
}
