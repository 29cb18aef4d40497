//! Many tasks in constant memory. Alone in its file: it measures the memory of the whole process.
//!
//! `TAUTLINE_SOAK_TASKS` is the number of tasks; without it, few enough for a normal test run.
#![cfg(target_os = "linux")]

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tautline_node::pool::{Node, Plan, Threads};

type Cx<'s, 'e> = tautline_core::task::Cx<'s, 'e, Node>;

const TASKS: u64 = 10_000_000;
/// One turn spawns this many tasks, each of which forks down to this depth.
const SPAWNS: u64 = 1000;
const DEPTH: u32 = 6;
/// Tasks of a turn: the spawned ones, and the second halves of their forks.
const TURN: u64 = SPAWNS << DEPTH;

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    // SAFETY: only returns a number.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// Forks down to `depth`; returns the number of tasks, the caller included.
fn forks(cx: &mut Cx, depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (a, b) = cx.join(|cx| forks(cx, depth - 1), |cx| forks(cx, depth - 1));
    a + b
}

/// Spawned tasks that fork, turn after turn: every one is counted, and what is in memory after a
/// tenth of them is all that there ever is, within one part in a hundred.
#[test]
fn many_tasks_in_flat_memory() {
    let asked = std::env::var("TAUTLINE_SOAK_TASKS");
    let tasks: u64 = asked.map_or(TASKS, |tasks| tasks.parse().expect("a number"));
    let turns = tasks.div_ceil(TURN).max(10);
    let threads = Threads::start(&Plan::flat(4));
    let done = AtomicU64::new(0);
    let (mut at_a_tenth, mut most) = (0, 0);
    for turn in 1..=turns {
        threads.run(|cx| {
            for _ in 0..SPAWNS {
                cx.spawn(|cx| _ = done.fetch_add(forks(cx, DEPTH), Relaxed));
            }
        });
        if turn * 10 / turns > 0 {
            let now = resident();
            most = most.max(now);
            if at_a_tenth == 0 {
                at_a_tenth = now;
            }
        }
    }
    let done = done.into_inner();
    println!("SOAK tasks={done} bytes_at_a_tenth={at_a_tenth} bytes_at_most={most}");
    assert_eq!(done, turns * TURN);
    let grown = most - at_a_tenth;
    assert!(
        grown <= at_a_tenth / 100,
        "{at_a_tenth} bytes grew to {most}"
    );
}
