//! A system that refuses threads: looked at in a process of its own, whose address space is bounded.
#![cfg(target_os = "linux")]

use super::{all_work, fib};
use std::fs;
use std::process::Command;
use tautline_node::pool::{Plan, Threads};

/// Set in the process that has little room.
const INSIDE: &str = "TAUTLINE_TEST_LITTLE_ROOM";

const ASKED: usize = 16;

/// Room for the stacks of three workers or so, in bytes.
const ROOM: u64 = 220 << 20;

fn bound_address_space() {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let limit = libc::rlimit {
        rlim_cur: pages * page + ROOM,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: `limit` is a limit.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
    assert_eq!(set, 0);
}

/// A refused thread makes the pool smaller: it says how many workers there are and strands no task; with more room it grows
/// again.
#[test]
fn refused_threads_make_the_pool_smaller() {
    if std::env::var_os(INSIDE).is_none() {
        let own = std::env::current_exe().expect("the test itself");
        let name = "refused::refused_threads_make_the_pool_smaller";
        let status = Command::new(own)
            .args(["--exact", name, "--test-threads=1"])
            .env(INSIDE, "1")
            .status();
        assert!(status.expect("it starts").success());
        return;
    }
    bound_address_space();
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
