//! A bug that loom must find. If it does not, the models do not run on loom's atomics and prove
//! nothing.
#![cfg(tautline_loom)]

use loom::thread;
use std::sync::Arc;
use tautline_core::sync::{AtomicUsize, Ordering, full_fence};
use tautline_verify::model::Model;

/// Store buffering: each thread raises its flag, then loads the other's. Without a fence both can
/// miss the other, but never on a sequential interleaving: only a memory model shows it.
fn both_miss(fenced: bool) {
    let flags = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
    let look = move |flags: &[AtomicUsize; 2], me: usize| {
        flags[me].store(1, Ordering::Relaxed);
        if fenced {
            full_fence();
        }
        flags[1 - me].load(Ordering::Relaxed)
    };
    let theirs = Arc::clone(&flags);
    let other = thread::spawn(move || look(&theirs, 1));
    let seen = look(&flags, 0) + other.join().unwrap();
    assert!(seen > 0, "both threads missed the other's flag");
}

#[test]
fn canary() {
    let caught = Model::new("canary").find(|| both_miss(false));
    let executions = caught.expect("loom did not find store buffering: the models check nothing");
    println!("CANARY caught executions={executions}");
}

#[test]
fn full_fence_forbids_store_buffering() {
    Model::new("fence").floor(10).check(|| both_miss(true));
}
