//! Ctrl-C for programs: what each signal ends.
//!
//! This program starts itself: such a process runs the test `role` alone, which plays the role that
//! the variable `ROLE` names.
#![cfg(all(unix, feature = "signals"))]

use std::env;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tautline::prelude::*;
use tautline::runtime::Interrupt;
use tautline_node::interrupts;

/// A process that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Longer than the time within which signals are one interrupt.
const APART: Duration = Duration::from_millis(400);

/// A process in its role.
struct Role {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Role {
    /// Starts the process; it ignores this signal from the start.
    fn start(role: &str, ignored: Option<i32>) -> Self {
        let mut command = Command::new(env::current_exe().expect("it runs"));
        command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
        command.env("ROLE", role).stdout(Stdio::piped());
        if let Some(signal) = ignored {
            let ignore = move || {
                // SAFETY: the call has no handler.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
                Ok(())
            };
            // SAFETY: after `fork` only a system call is made.
            unsafe { command.pre_exec(ignore) };
        }
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, lines }
    }

    /// Waits until the process prints a line that ends so.
    fn awaits(&mut self, end: &str) {
        let mut line = String::new();
        while !line.trim_end().ends_with(end) {
            line.clear();
            let read = self.lines.read_line(&mut line).expect("text");
            assert!(read > 0, "ended before it printed {end:?}");
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the process was not waited for.
        let sent = unsafe { libc::kill(self.child.id() as i32, signal) };
        assert_eq!(sent, 0);
    }

    /// Returns its exit status, and the rest of its output.
    fn end(mut self) -> (ExitStatus, String) {
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if began.elapsed() > LIMIT {
                self.child.kill().expect("it runs");
            }
            // A sleep, since std cannot wait for a child with a limit.
            thread::sleep(Duration::from_millis(5));
        };
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("text");
        (status, rest)
    }
}

/// Sums endlessly, and prints when it has begun.
fn endless(balancer: Balancer<'_>) -> tautline::balance::Run<u64> {
    let begun = AtomicBool::new(false);
    let run = balancer.sum([()], |(), todo| {
        if !begun.swap(true, Relaxed) {
            println!("\nbegun");
        }
        todo.push(());
        1u64
    });
    run.expect("valid settings")
}

fn runtime() -> Runtime {
    Runtime::builder().workers(2).pinned(false).build().unwrap()
}

fn wait_for_a_signal() -> ! {
    println!("\nwaiting");
    // A sleep, which the signal is to end.
    thread::sleep(LIMIT);
    panic!("no signal has ended the process")
}

#[test]
fn role() {
    let Ok(role) = env::var("ROLE") else {
        return;
    };
    match role.as_str() {
        "runs" => {
            // Each of them by its own first signal.
            for _ in 0..2 {
                let run = endless(runtime().balancer().interruptible());
                assert_eq!(run.tasks(), run.output);
                println!("\n{:?}, complete: {}", run.stopped, run.complete);
            }
            wait_for_a_signal();
        }
        "stuck" => {
            _ = runtime().balancer().interruptible().sum([()], |(), _| {
                wait_for_a_signal();
                #[expect(unreachable_code)]
                0u64
            });
        }
        "finish" => {
            let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
            let interrupt = Interrupt::new().unwrap();
            let outcome = rt.run(|cx| {
                cx.finish_until(&interrupt, |cx| {
                    println!("\nbegun");
                    cx.par(0..usize::MAX).map(std::hint::black_box).max()
                })
            });
            let reason = outcome.expect_err("it was interrupted").reason;
            println!("\n{reason}");
        }
        "ranks" => {
            #[cfg(feature = "serde")]
            for run in tautline::world::loopback(2, |world| {
                let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
                let balancer = rt.balancer().interruptible();
                balancer.across(world).sum([0u64], |n, todo| {
                    if n == 1000 {
                        println!("\nbegun");
                    }
                    todo.push(n + 1);
                    1u64
                })
            }) {
                println!("\n{:?}", run.unwrap().stopped);
            }
        }
        "forked" => {
            let _interrupt = Interrupt::new().unwrap();
            // SAFETY: the child only makes system calls.
            let child = unsafe { libc::fork() };
            if child == 0 {
                // SAFETY: the calls take numbers alone. A signal without an effect ends the sleep.
                unsafe {
                    libc::sleep(LIMIT.as_secs() as u32);
                    libc::_exit(0);
                }
            }
            let mut status = 0;
            // SAFETY: the second call writes the status; the child was not waited for before.
            unsafe {
                libc::kill(child, libc::SIGINT);
                libc::waitpid(child, &raw mut status, 0);
            }
            println!("\nended by signal {}", libc::WTERMSIG(status));
        }
        "panics" => {
            let _panics = interrupts::Interrupt::call(|| panic!("as a test does")).unwrap();
            for _ in 0..2 {
                let (called, calls) = mpsc::channel();
                let _works = interrupts::Interrupt::call(move || called.send(()).unwrap());
                println!("\nbegun");
                calls.recv_timeout(LIMIT).expect("it is called");
                println!("\ncalled");
            }
        }
        "plain" => {
            endless(runtime().balancer());
        }
        role => panic!("no role {role}"),
    }
}

#[test]
fn each_run_ends_with_its_result_by_its_first_signal() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let mut role = Role::start("runs", None);
        for _ in 0..2 {
            role.awaits("begun");
            role.signal(signal);
            role.awaits("Some(Interrupted), complete: false");
            thread::sleep(APART);
        }
        // No run is left that could be stopped.
        role.awaits("waiting");
        role.signal(signal);
        assert_eq!(role.end().0.signal(), Some(signal));
    }
}

#[test]
fn the_second_signal_ends_a_process_that_does_not_react() {
    let mut role = Role::start("stuck", None);
    role.awaits("waiting");
    role.signal(libc::SIGINT);
    thread::sleep(APART);
    assert_eq!(
        role.child.try_wait().unwrap(),
        None,
        "the first one ends it"
    );
    role.signal(libc::SIGINT);
    assert_eq!(role.end().0.signal(), Some(libc::SIGINT));
}

#[test]
fn signals_at_once_are_one_interrupt() {
    // As of `timeout -s INT`.
    let mut role = Role::start("runs", None);
    role.awaits("begun");
    for signal in [libc::SIGINT, libc::SIGINT, libc::SIGHUP] {
        role.signal(signal);
        // The first run ends during the sleep, and the second one begins.
        thread::sleep(Duration::from_millis(20));
    }
    role.awaits("Some(Interrupted), complete: false");
    role.awaits("begun");
    thread::sleep(APART);
    // It would end the process if the second run had ended.
    role.signal(libc::SIGTERM);
    role.awaits("Some(Interrupted), complete: false");
    role.awaits("waiting");
    thread::sleep(APART);
    role.signal(libc::SIGINT);
    assert_eq!(role.end().0.signal(), Some(libc::SIGINT));
}

#[test]
fn a_signal_ends_a_child_of_fork_that_has_no_action() {
    let (status, printed) = Role::start("forked", None).end();
    assert!(
        status.success() && printed.contains(&format!("\nended by signal {}\n", libc::SIGINT)),
        "{status}: {printed}"
    );
}

#[test]
fn an_action_that_panics_leaves_out_no_other() {
    let mut role = Role::start("panics", None);
    for _ in 0..2 {
        role.awaits("begun");
        role.signal(libc::SIGINT);
        role.awaits("called");
        thread::sleep(APART);
    }
    assert!(role.end().0.success());
}

#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let mut role = Role::start("runs", Some(libc::SIGINT));
    role.awaits("begun");
    // If they were heeded, they would end both runs, and then the process.
    for _ in 0..3 {
        role.signal(libc::SIGINT);
        // A sleep, since an ignored signal is no event.
        thread::sleep(Duration::from_millis(300));
    }
    assert_eq!(role.child.try_wait().unwrap(), None);
    role.signal(libc::SIGTERM);
    role.awaits("Some(Interrupted), complete: false");
    role.awaits("begun");
    role.signal(libc::SIGKILL);
    role.end();
}

#[test]
fn a_loop_ends_with_its_finish() {
    let mut role = Role::start("finish", None);
    role.awaits("begun");
    role.signal(libc::SIGINT);
    let (status, rest) = role.end();
    assert!(
        status.success() && rest.contains("\ninterrupted\n"),
        "{status}: {rest}"
    );
}

#[cfg(feature = "serde")]
#[test]
fn all_ranks_of_a_process_end() {
    let mut role = Role::start("ranks", None);
    role.awaits("begun");
    role.signal(libc::SIGINT);
    let (status, rest) = role.end();
    assert!(status.success(), "{status}: {rest}");
    assert_eq!(rest.matches("Some(Interrupted)").count(), 2, "{rest}");
}

#[test]
fn a_run_that_is_not_interruptible_is_ended() {
    let mut role = Role::start("plain", None);
    role.awaits("begun");
    role.signal(libc::SIGINT);
    assert_eq!(role.end().0.signal(), Some(libc::SIGINT));
}
