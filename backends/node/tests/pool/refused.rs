//! A system that refuses threads, or memory: tested in a process of its own, whose address space is
//! bounded.
#![cfg(target_os = "linux")]

use super::{all_work, fib, stack, wait_until};
use std::fs;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;
use tautline_node::pool::{Plan, Threads};

/// Set in the process that has little room.
const INSIDE: &str = "TAUTLINE_TEST_LITTLE_ROOM";

const ASKED: usize = 16;

/// Room for the stacks of three workers or so, in bytes.
const ROOM: u64 = 220 << 20;

fn bound_address_space(room: u64) {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: only returns a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let limit = libc::rlimit64 {
        rlim_cur: pages * page + room,
        rlim_max: libc::RLIM64_INFINITY,
    };
    // SAFETY: `limit` is a limit.
    let set = unsafe { libc::setrlimit64(libc::RLIMIT_AS, &limit) };
    assert_eq!(set, 0);
}

/// Whether this is the process that has little room; else the test of that name has passed in one.
fn is_inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let own = std::env::current_exe().expect("the test itself");
    let child = Command::new(own)
        .args(["--exact", test, "--test-threads=1", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{}: {said}", child.status);
    assert!(!said.contains("mmap"), "{said}");
    false
}

/// Calls `f` below this number of frames of 16 KiB.
#[inline(never)]
fn below(frames: usize, f: &mut dyn FnMut()) {
    let mut frame = [0u8; 16 << 10];
    black_box(&mut frame);
    match frames {
        0 => f(),
        _ => below(frames - 1, f),
    }
    black_box(&mut frame);
}

/// A wait deep in the stack, of which other threads use the frame, ends though there is no memory
/// for more stack; a fork that finds no stack at all panics.
#[test]
fn refused_stack_ends_no_wait() {
    if !is_inside("refused::refused_stack_ends_no_wait") {
        return;
    }
    const STACK: usize = 8 << 20;
    let run = || {
        let threads = Threads::start(&Plan::flat(2));
        threads.run(|cx| {
            // Both workers have allocated: the allocator maps an arena for a thread's first
            // allocation, twice as large as what it keeps, which must not be measured as in use.
            let stolen = AtomicBool::new(false);
            cx.join(
                |_| wait_until("it is stolen", || stolen.load(SeqCst)),
                |_| {
                    drop(black_box(vec![0u8; 1 << 10]));
                    stolen.store(true, SeqCst);
                },
            );
            assert_eq!(fib(cx, 15), 610);
            bound_address_space(8 << 20);
            for _ in 0..3 {
                let (started, ended) = (AtomicBool::new(false), AtomicBool::new(false));
                let mut halves = || {
                    let (_, second) = cx.join(
                        |_| wait_until("it is stolen", || started.load(SeqCst)),
                        |_| {
                            started.store(true, SeqCst);
                            // Longer than the owner spins, so that it parks; a sleep, since the
                            // pool does not report that a worker has parked.
                            thread::sleep(Duration::from_millis(20));
                            ended.store(true, SeqCst);
                            [7u8; 4096]
                        },
                    );
                    assert!(ended.load(SeqCst), "left early");
                    assert_eq!(second, [7; 4096]);
                };
                below(STACK * 5 / 8 / (16 << 10), &mut halves);
            }
            let fall = catch_unwind(AssertUnwindSafe(|| stack::down(cx, 300_000, false)));
            let said = fall.unwrap_err().downcast::<&str>().map(|said| *said);
            assert!(said.unwrap().contains("no memory for more"));
            assert_eq!(fib(cx, 15), 610);
        });
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(run);
    thread.unwrap().join().unwrap();
}

/// A refused thread makes the pool smaller: it reports the number of workers and strands no task;
/// with more room it grows again.
#[test]
fn refused_threads_make_the_pool_smaller() {
    if !is_inside("refused::refused_threads_make_the_pool_smaller") {
        return;
    }
    bound_address_space(ROOM);
    let threads = Threads::start(&Plan::flat(ASKED));
    let got = threads.workers();
    assert!((1..ASKED).contains(&got), "{got} of {ASKED}");
    assert_eq!(threads.run(|cx| fib(cx, 15)), 610);
    all_work(&threads, got);
    assert!(threads.set_workers(ASKED).is_err());
    assert_eq!(threads.workers(), got);
    all_work(&threads, got);
    threads.set_workers(1).expect("fewer");
    assert_eq!(threads.workers(), 1);
}
