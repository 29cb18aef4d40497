//! Ports that panic where they must not: the process aborts, before frames are unwound that other
//! threads still access.

use super::crew::{Cx, Fault, fail_at, on, wait_until};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use tautline_core::task::Wait;

/// Contains the fault and the wait, in the process under test.
const INSIDE: &str = "TAUTLINE_TEST_BROKEN_MACHINE";

/// Part of the final message.
const WORD: &str = "a port panicked inside a wait";

/// Printed if a wait was unwound by the port's panic.
const UNWOUND: &str = "the wait was unwound";

const FAULTS: [Fault; 3] = [Fault::Clock, Fault::Relax, Fault::Park];

/// A wait in which the port fails, while the other worker accesses the frame.
type Program = fn(Fault);

const PROGRAMS: [(&str, Program); 4] = [
    ("join", |fault| {
        on(2, |cx| {
            held(|began| {
                cx.join(|_| wait_then_fail(began, fault), |_| hold(began));
            });
        });
    }),
    ("join_own", |fault| {
        on(2, |cx| {
            let join = |cx: &mut Cx<'_, '_>, began: &AtomicBool| {
                cx.join(|_| wait_then_fail(began, fault), |_| hold(began));
            };
            held(|began| cx.scope_with(Wait::Own, |cx| join(cx, began)));
        });
    }),
    ("scope", |fault| {
        on(2, |cx| {
            held(|began| {
                cx.scope(|cx| {
                    cx.spawn(|_| hold(began));
                    wait_then_fail(began, fault);
                });
            });
        });
    }),
    ("scope_park", |fault| {
        on(2, |cx| {
            held(|began| {
                cx.scope_with(Wait::Park, |cx| {
                    cx.spawn(|_| hold(began));
                    wait_then_fail(began, fault);
                });
            });
        });
    }),
];

fn wait_then_fail(began: &AtomicBool, fault: Fault) {
    wait_until("the other worker runs the task", || began.load(SeqCst));
    fail_at(fault);
}

/// Blocks until the process ends, or the port works again.
fn hold(began: &AtomicBool) {
    began.store(true, SeqCst);
    wait_until("the port works again", || !began.load(SeqCst));
}

/// Reports a wait that unwinds, and releases the other worker.
fn held(wait: impl FnOnce(&AtomicBool)) {
    let began = AtomicBool::new(false);
    if catch_unwind(AssertUnwindSafe(|| wait(&began))).is_err() {
        println!("{UNWOUND}");
        std::process::exit(1);
    }
}

fn check_aborts(test: &str, program: &str, fault: Fault) {
    let inside = format!("{program} {fault:?}");
    let own = std::env::current_exe().expect("the test itself");
    let child = Command::new(own)
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(INSIDE, &inside)
        .output()
        .expect("it starts");
    let stderr = String::from_utf8_lossy(&child.stderr);
    let out = String::from_utf8_lossy(&child.stdout);
    assert!(!out.contains(UNWOUND), "{inside}: {out}{stderr}");
    assert!(!child.status.success(), "{inside}: {out}{stderr}");
    assert!(stderr.contains(WORD), "{inside}: {out}{stderr}");
}

#[test]
fn a_machine_that_panics_in_a_wait_ends_the_process() {
    let name = "broken::a_machine_that_panics_in_a_wait_ends_the_process";
    let Ok(inside) = std::env::var(INSIDE) else {
        for (program, _) in PROGRAMS {
            // A wait that does not help does not spin here: the crew has no patience.
            let spins = matches!(program, "join" | "scope");
            let faults = FAULTS.iter().filter(|&&f| spins || f != Fault::Relax);
            faults.for_each(|&fault| check_aborts(name, program, fault));
        }
        return;
    };
    for (program, run) in PROGRAMS {
        for fault in FAULTS {
            if inside == format!("{program} {fault:?}") {
                run(fault);
            }
        }
    }
}

/// The fork is already in the deque when a sleeper is woken for it.
#[test]
fn a_machine_that_panics_while_a_fork_is_offered_ends_the_process() {
    let name = "broken::a_machine_that_panics_while_a_fork_is_offered_ends_the_process";
    if std::env::var_os(INSIDE).is_none() {
        return check_aborts(name, "offer", Fault::Unpark);
    }
    on(2, |cx| {
        fail_at(Fault::Unpark);
        // Until the other worker is parked and must be woken.
        held(|_| while cx.join(|_| (), |_| ()) == ((), ()) {});
    });
}
