//! Hooks of started threads, and their names.

use super::{all_work, wait_until};
use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use tautline_node::pool::{Hook, Plan, Thread, Threads};

/// Each started thread calls both hooks once, the first before it runs tasks, and has the name.
#[test]
fn threads_call_their_hooks() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let seen = Arc::clone(&seen);
        Some(Hook::new(move || {
            let name = thread::current().name().unwrap().to_owned();
            seen.lock().unwrap().push((what, name));
        }))
    };
    let thread = Thread {
        name: "worker".to_owned(),
        stack_bytes: 1 << 20,
        on_start: note("start"),
        on_stop: note("stop"),
    };
    let plan = Plan {
        thread,
        ..Plan::flat(4)
    };
    let threads = Threads::start(&plan);
    all_work(&threads, 4);
    let expected = |what| ["worker-1", "worker-2", "worker-3"].map(|name| (what, name.to_owned()));
    let sorted = || {
        let mut seen = seen.lock().unwrap().clone();
        seen.sort();
        seen
    };
    assert_eq!(sorted(), expected("start"));
    drop(threads);
    assert_eq!(sorted(), [expected("start"), expected("stop")].concat());
}

/// A thread whose hook panics works as the others do, and the pool ends as others do.
#[test]
fn hooks_that_panic_strand_no_task() {
    let called = Arc::new(AtomicUsize::new(0));
    let fails = || {
        let called = Arc::clone(&called);
        Some(Hook::new(move || {
            called.fetch_add(1, SeqCst);
            panic_any("a hook that panics");
        }))
    };
    let plan = Plan {
        thread: Thread {
            on_start: fails(),
            on_stop: fails(),
            ..Thread::default()
        },
        ..Plan::flat(3)
    };
    let threads = Threads::start(&plan);
    all_work(&threads, 3);
    wait_until("both have started", || called.load(SeqCst) == 2);
    drop(threads);
    assert_eq!(called.load(SeqCst), 4);
}
