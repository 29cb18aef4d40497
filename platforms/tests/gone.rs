//! Calls from where a thread's values are gone: in destructors of thread-local values, and in
//! functions that run at exit.
#![cfg(target_os = "linux")]

use std::cell::RefCell;
use std::env;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tautline::prelude::*;

/// A fork of an unoptimised program takes more than 200 bytes: the stack of a thread that the
/// standard library starts has 2 MiB.
const DEPTH: u32 = 20_000;

fn runtime() -> Runtime {
    let rt = Runtime::builder().workers(2).pinned(false).build();
    rt.expect("it starts")
}

/// Forks so deep that the stack of a thread does not suffice.
fn deep(cx: &mut Cx, forks: u32) -> u32 {
    match forks {
        0 => 0,
        _ => 1 + cx.join(|cx| deep(cx, forks - 1), |_| ()).0,
    }
}

/// Calls of each kind; returns how many have succeeded.
fn use_all(rt: &Runtime) -> u32 {
    let other = runtime();
    let ran = [
        rt.run(|cx| cx.join(|_| 1, |_| 2)) == (1, 2),
        rt.run(|cx| cx.par(0..1000u64).sum::<u64>()) == 499_500,
        rt.run_within(Duration::from_secs(60), |_| 3) == Ok(3),
        rt.block_on(async |task: TaskCx| task.spawn_value(|_| 4).await.ok()) == Some(4),
        rt.spawn(|_| 5).join().ok() == Some(5),
        other.run(|_| rt.run(|cx| cx.join(|_| other.run(|_| 6), |_| 7))) == (6, 7),
        tautline::global().is_ok_and(|rt| rt.run(|_| true)),
        rt.run(|cx| deep(cx, DEPTH)) == DEPTH,
        rt.balancer()
            .sum(0..100u64, |n, _| n)
            .is_ok_and(|run| run.output == 4950),
    ];
    ran.iter().map(|ran| u32::from(*ran)).sum()
}

/// Uses a runtime when it is dropped.
struct Late(Arc<Runtime>, Arc<Mutex<Vec<u32>>>);

impl Drop for Late {
    fn drop(&mut self) {
        let ran = use_all(&self.0);
        self.1.lock().expect("no panic").push(ran);
    }
}

thread_local! {
    static FIRST: RefCell<Option<Late>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Late>> = const { RefCell::new(None) };
}

/// Values that a thread had before it called the library first, and after it; the thread has used
/// several runtimes, or none.
#[test]
fn destructors_of_thread_locals_use_runtimes() {
    for uses in [false, true] {
        let (rt, ran) = (Arc::new(runtime()), Arc::default());
        let late = || Late(Arc::clone(&rt), Arc::clone(&ran));
        let (first, second, used) = (late(), late(), Arc::clone(&rt));
        let body = move || {
            FIRST.set(Some(first));
            if uses {
                used.run(|_| ());
                // Nested, so that the thread is a worker of two pools.
                runtime().run(|_| used.run(|_| ()));
            }
            SECOND.set(Some(second));
        };
        thread::spawn(body).join().expect("no panic");
        assert_eq!(*ran.lock().expect("no panic"), [9, 9], "{uses}");
    }
}

/// On a thread of the library, whose values are gone when the runtime is dropped.
#[test]
fn destructors_of_a_workers_thread_locals_use_another_runtime() {
    let (other, ran) = (Arc::new(runtime()), Arc::default());
    let (kept, counted) = (Arc::clone(&other), Arc::clone(&ran));
    let start = move || FIRST.set(Some(Late(Arc::clone(&kept), Arc::clone(&counted))));
    let rt = Runtime::builder()
        .workers(3)
        .pinned(false)
        .on_thread_start(start);
    drop(rt.build().expect("it starts"));
    assert_eq!(*ran.lock().expect("no panic"), [9, 9]);
}

extern "C" fn at_exit() {
    println!(
        "at exit: {}",
        use_all(tautline::global().expect("it is there"))
    );
}

/// A process that uses runtimes after `main`.
#[test]
#[ignore = "by hand: a process that another test starts"]
fn exiting() {
    let Ok(when) = env::var("TEST_OF_TAUTLINE_EXIT") else {
        return;
    };
    if when == "used" {
        assert_eq!(use_all(tautline::global().expect("it starts")), 9);
    }
    FIRST.with(|_| ());
    // SAFETY: the function does not unwind, as none of its calls fails.
    let registered = unsafe { libc::atexit(at_exit) };
    assert_eq!(registered, 0);
}

#[test]
fn functions_at_exit_use_runtimes() {
    for when in ["used", "unused"] {
        let program = env::current_exe().expect("it runs");
        let mut command = Command::new(program);
        let command = command.args(["--exact", "exiting", "--nocapture", "--include-ignored"]);
        let output = command.env("TEST_OF_TAUTLINE_EXIT", when).output();
        let output = output.expect("it starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{when}: {output:?}");
        assert!(printed.contains("at exit: 9\n"), "{when}: {printed}");
    }
}
