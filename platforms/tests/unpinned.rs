//! Threads and processes started on a pinned worker see all processors of its process.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;
use tautline::Machine;
use tautline::pinning::unpinned;
use tautline::prelude::*;

/// The processors in the status of a thread or process, as the kernel prints them.
fn allowed_in(status: &str) -> String {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.expect("Linux").trim().to_owned()
}

fn allowed_here() -> String {
    allowed_in(&fs::read_to_string("/proc/thread-self/status").expect("Linux"))
}

/// The processors of a program that is started here.
fn allowed_to(command: &mut Command) -> String {
    let output = command
        .arg("/proc/self/status")
        .output()
        .expect("it starts");
    allowed_in(&String::from_utf8_lossy(&output.stdout))
}

fn cat() -> Command {
    Command::new("cat")
}

/// A program that is started by `fork`, not by the spawn of the C library.
fn forked() -> Command {
    let mut command = cat();
    // SAFETY: the closure does nothing.
    unsafe { command.pre_exec(|| Ok(())) };
    command
}

/// Calls `act` on each worker of a pinned runtime that its threads are, and returns the results.
fn on_workers<T: Send>(act: impl Fn(&Runtime) -> T + Sync) -> Vec<T> {
    let workers = 3;
    let rt = Runtime::builder().workers(workers).pinned(true).build();
    let rt = rt.expect("it starts");
    let (met, results) = (Barrier::new(workers), Mutex::new(Vec::new()));
    let caller = thread::current().id();
    rt.run(|cx| {
        for _ in 0..workers {
            cx.spawn(|_| {
                met.wait();
                if thread::current().id() != caller {
                    let result = act(&rt);
                    results.lock().expect("no panic").push(result);
                }
                met.wait();
            });
        }
    });
    let results = results.into_inner().expect("no panic");
    assert_eq!(results.len(), workers - 1);
    results
}

/// The number of a list of the kernel's.
fn is_one(list: &str) -> bool {
    list.parse::<usize>().is_ok()
}

#[test]
fn runtimes_and_machines_have_the_processors_of_the_process() {
    let (here, before) = (allowed_here(), Machine::discover());
    let all = before.cpus().len();
    let seen = on_workers(|_| {
        assert!(is_one(&allowed_here()), "the worker is pinned");
        let spawned = thread::spawn(|| Runtime::new().expect("it starts").workers());
        let counts = [
            Runtime::new().expect("it starts").workers(),
            tautline::global().expect("it starts").workers(),
            spawned.join().expect("no panic"),
        ];
        assert!(is_one(&allowed_here()), "it stays pinned");
        (Machine::discover(), counts)
    });
    for (machine, counts) in seen {
        assert_eq!((machine, counts), (before.clone(), [all; 3]));
    }
    // The caller is a thread of the program, which is not pinned.
    assert_eq!(allowed_here(), here);
}

#[test]
fn programs_and_threads_that_are_started_unpinned() {
    let here = allowed_here();
    let seen = on_workers(|_| {
        let thread = || thread::spawn(allowed_here).join().expect("no panic");
        // A panic restores the pin, too.
        let panicked = std::panic::catch_unwind(|| unpinned(|| panic!("while unpinned")));
        assert!(panicked.is_err());
        let nested = unpinned(|| unpinned(|| allowed_to(&mut cat())));
        let started = [
            unpinned(thread),
            unpinned(|| allowed_to(&mut cat())),
            nested,
        ];
        // Only what calls no handler of forks inherits the pin.
        let forked = allowed_to(&mut forked());
        // A thread that a task has started is as pinned as its worker.
        let through = thread::spawn(move || unpinned(|| allowed_to(&mut cat())));
        let through = through.join().expect("no panic");
        assert!(is_one(&thread()) && is_one(&allowed_here()));
        (started, forked, through)
    });
    for (started, forked, through) in seen {
        assert_eq!(started, [&*here; 3]);
        assert_eq!((forked, through), (here.clone(), here.clone()));
    }
    assert_eq!(unpinned(allowed_here), here);
}

/// Threads of the library that a call on a pinned worker starts: for spawned tasks, for deadlines,
/// of unpinned runtimes.
#[test]
fn threads_of_the_library_are_not_pinned_by_their_starter() {
    let here = allowed_here();
    let seen = on_workers(|rt| {
        _ = rt.run_within(Duration::from_secs(60), |_| ());
        let other = Runtime::builder().workers(2).pinned(false).build();
        let other = other.expect("it starts");
        let met = Barrier::new(2);
        let both: [String; 2] = other
            .run(|cx| {
                let half = || {
                    met.wait();
                    allowed_here()
                };
                cx.join(|_| half(), |_| half())
            })
            .into();
        let spawned = other.spawn(|_| allowed_here()).join().expect("it ends");
        (both, spawned)
    });
    for (both, spawned) in seen {
        assert!(
            both.contains(&here),
            "the other worker of the unpinned runtime"
        );
        assert_eq!(spawned, here);
    }
    let tasks = fs::read_dir("/proc/self/task").expect("Linux");
    let timers: Vec<_> = tasks
        .filter_map(|task| {
            let path = task.expect("it is listed").path();
            let name = fs::read_to_string(path.join("comm")).ok()?;
            let status = fs::read_to_string(path.join("status")).ok()?;
            (name.trim() == "tautline-timer").then(|| allowed_in(&status))
        })
        .collect();
    assert_eq!(timers, [here]);
}
