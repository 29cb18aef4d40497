//! Machines that panic where they must not: the process ends, rather than that frames go which other threads still use.

use super::crew::{Cx, Fault, fail_at, on, wait_until};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use tautline_core::task::Wait;

/// Names the fault and the wait, in the process that has it.
const INSIDE: &str = "TAUTLINE_TEST_BROKEN_MACHINE";

/// What is said at the end.
const WORD: &str = "a port panicked inside a wait";

/// What is written if a wait was left by the machine's panic.
const UNWOUND: &str = "the wait was unwound";

const FAULTS: [Fault; 3] = [Fault::Clock, Fault::Relax, Fault::Park];

/// A wait in which the machine fails, while the other worker uses the frame.
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
    wait_until("the other worker has it", || began.load(SeqCst));
    fail_at(fault);
}

/// Stays until the process ends, or the machine is whole again.
fn hold(began: &AtomicBool) {
    began.store(true, SeqCst);
    wait_until("the machine is whole", || !began.load(SeqCst));
}

/// Reports a wait that unwinds, and lets the other worker go.
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
    let said = String::from_utf8_lossy(&child.stderr);
    let out = String::from_utf8_lossy(&child.stdout);
    assert!(!out.contains(UNWOUND), "{inside}: {out}{said}");
    assert!(!child.status.success(), "{inside}: {out}{said}");
    assert!(said.contains(WORD), "{inside}: {out}{said}");
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

/// The fork is in the deque already when a sleeper is to be woken for it.
#[test]
fn a_machine_that_panics_while_a_fork_is_offered_ends_the_process() {
    let name = "broken::a_machine_that_panics_while_a_fork_is_offered_ends_the_process";
    if std::env::var_os(INSIDE).is_none() {
        return check_aborts(name, "offer", Fault::Unpark);
    }
    on(2, |cx| {
        fail_at(Fault::Unpark);
        // Until the other worker sleeps and is to be woken.
        held(|_| while cx.join(|_| (), |_| ()) == ((), ()) {});
    });
}
