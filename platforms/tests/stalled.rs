//! Programs with a deadlock: each states what waits for what, and ends if that is requested.
//!
//! Each program runs in a process of its own, this test's executable with the name of the program
//! in a variable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tautline::prelude::*;
use tautline::runtime::Wait;
use tautline::watch::Stalled;

/// The variable that names the program.
const PROGRAM: &str = "STALLED_PROGRAM";

/// The delay of another thread of the program that puts a cell: longer than a report takes.
const LATE: Duration = Duration::from_secs(8);

/// The time within which a deadlock is found: several times what it takes on an idle machine.
const FOUND: Duration = Duration::from_secs(30);

fn runtime() -> Runtime {
    let builder = Runtime::builder().workers(2).pinned(false);
    builder.build().expect("threads start")
}

/// The programs.
fn run(program: &str) {
    let (a, b): (Ddf<u32>, Ddf<u32>) = (Ddf::new(), Ddf::new());
    match program {
        "cycle" => runtime().run(|cx| {
            cx.spawn_when(&a, |a, _| b.put(*a).unwrap());
            cx.spawn_when(&b, |b, _| a.put(*b).unwrap());
        }),
        "any" => runtime().run(|cx| {
            cx.spawn_when_any([&a, &b], |_, _| ()).unwrap();
        }),
        "async" => runtime().run(|cx| {
            cx.spawn_async(async |_| _ = a.wait().await);
            cx.spawn_async(async |_| _ = tautline::runtime::wait_all((&a, &b)).await);
        }),
        "block_on" => runtime().block_on(async |_| _ = a.wait().await),
        "nested" => runtime().run(|cx| {
            cx.join(
                |cx| cx.scope_with(Wait::Own, |cx| cx.spawn_when(&a, |_, _| ())),
                |cx| _ = cx.block_on(b.wait()),
            );
        }),
        "phaser" => runtime().run(|cx| {
            let mut first = cx.phaser(Mode::SignalWait).unwrap();
            let mut second = cx.phaser(Mode::SignalWait).unwrap();
            // Each task waits for the other one's signal, which comes after its wait.
            let [one, other] = [first.wait_only(), second.signal_only()];
            cx.spawn_phased([one, other], async |mut task| {
                let [waits, signals] = task.members() else {
                    unreachable!()
                };
                waits.wait().await.unwrap();
                signals.signal().unwrap();
            })
            .unwrap();
            let [one, other] = [second.wait_only(), first.signal_only()];
            cx.spawn_phased([one, other], async |mut task| {
                task.members()[0].wait().await.unwrap();
                task.members()[1].signal().unwrap();
            })
            .unwrap();
        }),
        "finish" => runtime().run(|cx| {
            cx.spawn_async(async |task| {
                let finish = task.finish(async |task: TaskCx| {
                    task.spawn_async(async |_| _ = a.wait().await);
                });
                _ = finish.await;
            });
        }),
        "late" => thread::scope(|threads| {
            threads.spawn(|| {
                thread::sleep(LATE);
                a.put(42).unwrap();
            });
            let mut got = 0;
            runtime().run(|cx| cx.spawn_when(&a, |a, _| got = *a));
            println!("got {got}");
        }),
        "foreign" => {
            // A future that another thread wakes, as a timer does.
            let (tx, rx) = std::sync::mpsc::channel();
            let waker = thread::spawn(move || {
                let waker: std::task::Waker = rx.recv().unwrap();
                thread::sleep(LATE);
                waker.wake();
                // Later wakers are those of further polls.
                rx.iter().for_each(std::task::Waker::wake);
            });
            let begun = Instant::now();
            let tx = std::sync::Mutex::new(tx);
            runtime().block_on(async |_| {
                std::future::poll_fn(|cx| {
                    if begun.elapsed() >= LATE {
                        return std::task::Poll::Ready(());
                    }
                    tx.lock().unwrap().send(cx.waker().clone()).unwrap();
                    std::task::Poll::Pending
                })
                .await;
            });
            drop(tx);
            waker.join().unwrap();
            println!("woken");
        }
        "caller" => {
            // A future of another caller is woken from outside, and puts the cell.
            let rt = runtime();
            let cell = std::sync::Arc::new(Ddf::new());
            let put = std::sync::Arc::clone(&cell);
            let later = rt.spawn(move |cx| {
                cx.spawn_async(async move |_| {
                    let begun = Instant::now();
                    let mut waker = None;
                    std::future::poll_fn(|cx| {
                        if begun.elapsed() >= LATE {
                            return std::task::Poll::Ready(());
                        }
                        waker.get_or_insert_with(|| {
                            let waker = cx.waker().clone();
                            thread::spawn(move || {
                                thread::sleep(LATE);
                                waker.wake();
                            })
                        });
                        std::task::Poll::Pending
                    })
                    .await;
                    put.put(7).unwrap();
                });
            });
            rt.run(|cx| assert_eq!(cx.block_on(cell.wait()), &7));
            later.join().unwrap();
        }
        "deadline" => {
            let outcome = runtime().run_within(LATE, |cx| cx.spawn_when(&a, |_, _| ()));
            assert!(outcome.is_err());
        }
        "outside" => {
            // Nothing is to be done for a while.
            let rt = runtime();
            assert_eq!(rt.spawn(|_| 1).join().unwrap(), 1);
            thread::sleep(LATE);
            assert_eq!(rt.spawn(|_| 2).join().unwrap(), 2);
            // A deadlock is found nevertheless.
            rt.run(|cx| {
                let cycle = cx.spawn_value(|cx| _ = cx.block_on(a.wait()));
                cycle.join(cx).unwrap();
            });
        }
        "held" => {
            let released = AtomicBool::new(false);
            thread::scope(|threads| {
                runtime().run(|cx| {
                    let holds = [cx.hold(), cx.hold()];
                    cx.spawn_when(&a, |_, _| println!("put"));
                    threads.spawn(|| {
                        thread::sleep(LATE);
                        a.put(1).unwrap();
                        released.store(true, Relaxed);
                        drop(holds);
                    });
                });
                assert!(released.load(Relaxed));
            });
        }
        "busy" => runtime().run(|cx| {
            cx.scope(|cx| {
                cx.spawn_when(&a, |_, _| println!("put"));
                cx.spawn(|_| {
                    thread::sleep(LATE);
                    a.put(1).unwrap();
                });
            });
        }),
        // Another rank sends late, or makes its call late.
        #[cfg(feature = "serde")]
        "message" | "barrier" => {
            use tautline::comm::Tag;
            let ended = tautline::world::loopback(2, |world| {
                let (comm, is_first) = (world.comm(), world.is_home());
                if !is_first {
                    thread::sleep(LATE);
                }
                runtime().run(|cx| match (program, is_first) {
                    ("barrier", _) => comm.barrier().wait(cx).is_ok(),
                    (_, true) => comm.irecv::<u8>(None, None).wait(cx).is_ok(),
                    (_, false) => comm.send(&1u8, tautline::world::Rank(0), Tag(1)).is_ok(),
                })
            });
            assert_eq!(ended, [true; 2]);
        }
        #[cfg(feature = "serde")]
        "activities" | "call" => ranks(program == "call"),
        _ => unreachable!("{program}: no such program"),
    }
}

/// Rank 1 takes long for what the others wait for: for a call, or for two activities that rank 0
/// has started there.
#[cfg(feature = "serde")]
fn ranks(is_call: bool) {
    use tautline::team::handler;
    use tautline::world::{self, Rank, World};
    let program = |world: &World| {
        let builder = Runtime::builder().workers(2).pinned(false).world(world);
        let rt = builder.build().expect("threads start");
        let slow = handler(|_, _, ()| thread::sleep(LATE));
        let mut team = world.team();
        rt.run(|cx| {
            if is_call {
                if world.rank() == Rank(1) {
                    thread::sleep(LATE);
                }
                return team.barrier().wait(cx);
            }
            team.finish(cx, &slow, |cx, at| {
                if at.rank() == Rank(0) {
                    cx.scope(|cx| (0..2).for_each(|_| at.spawn(cx, Rank(1), &slow, ())));
                }
            })
        })
    };
    let ended = world::loopback(3, program);
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
}

/// Is the program of the child process.
#[test]
fn the_program() {
    if let Ok(program) = std::env::var(PROGRAM) {
        run(&program);
    }
}

fn child(program: &str, stalled: &str) -> Output {
    let this = std::env::current_exe().expect("a path");
    let mut command = Command::new(this);
    command.args(["--exact", "the_program", "--nocapture", "--test-threads=1"]);
    command
        .env(PROGRAM, program)
        .env("TAUTLINE_STALLED", stalled);
    command.env("RUST_BACKTRACE", "0");
    command.output().expect("the child starts")
}

/// Returns the standard error of a child that ends by itself.
fn ends(program: &str, stalled: &str) -> (bool, String) {
    let output = child(program, stalled);
    let text = String::from_utf8(output.stderr).expect("text");
    (output.status.success(), text)
}

/// A run whose tasks can never end panics with what waits, and where in the program.
#[test]
fn every_kind_of_hang_ends_with_the_waits() {
    let programs = [
        ("cycle", "2 waits for a cell at platforms/tests/stalled.rs:"),
        ("any", "1 wait for a cell at platforms/tests/stalled.rs:"),
        ("async", "2 waits for a cell at platforms/tests/stalled.rs:"),
        (
            "block_on",
            "1 wait for a cell at platforms/tests/stalled.rs:",
        ),
        (
            "nested",
            "2 waits for a cell at platforms/tests/stalled.rs:",
        ),
        (
            "phaser",
            "2 waits for the end of a phase at platforms/tests/stalled.rs:",
        ),
        ("finish", "1 wait for the end of a finish"),
        (
            "outside",
            "1 wait for a cell at platforms/tests/stalled.rs:",
        ),
    ];
    thread::scope(|threads| {
        for (program, waits) in programs {
            threads.spawn(move || {
                let (succeeded, text) = ends(program, "panic");
                assert!(!succeeded, "{program}: {text}");
                assert!(
                    text.contains("nothing can go on unless another thread acts: "),
                    "{program}: {text}"
                );
                assert!(text.contains(waits), "{program}: {text}");
            });
        }
    });
}

/// By default a line is printed, once, and a cell that another thread puts later is waited for.
#[test]
fn a_late_put_is_reported_and_waited_for() {
    let output = child("late", "");
    let [text, out] =
        [output.stderr, output.stdout].map(|text| String::from_utf8(text).expect("text"));
    assert!(output.status.success() && out.contains("got 42"), "{text}");
    assert_eq!(
        text.matches("tautline: nothing can go on").count(),
        1,
        "{text}"
    );
    assert!(
        text.contains("1 wait for a cell at platforms/tests/stalled.rs:"),
        "{text}"
    );
}

/// Holds are named, and end nothing: another thread may release them, and put the cell.
#[test]
fn holds_are_reported_and_waited_for() {
    thread::scope(|threads| {
        for stalled in ["report", "panic", "abort"] {
            threads.spawn(move || {
                let (succeeded, text) = ends("held", stalled);
                assert!(succeeded, "{stalled}: {text}");
                assert_eq!(
                    text.matches("tautline: nothing can go on").count(),
                    1,
                    "{text}"
                );
                for wait in ["1 wait for a cell at ", "2 holds not released, taken at "] {
                    let wait = format!("{wait}platforms/tests/stalled.rs:");
                    assert!(text.contains(&wait), "{stalled}: {text}");
                }
            });
        }
    });
}

/// A wait that may be ended from outside and a running task are no deadlock, also with `Panic`.
#[test]
fn a_future_of_another_origin_and_a_long_task_are_left_alone() {
    let mut programs = vec!["foreign", "caller", "deadline", "busy"];
    if cfg!(feature = "serde") {
        programs.extend(["message", "barrier"]);
    }
    thread::scope(|threads| {
        for program in programs {
            threads.spawn(move || {
                let (succeeded, text) = ends(program, "panic");
                assert!(
                    succeeded && !text.contains("nothing can go on"),
                    "{program}: {text}"
                );
            });
        }
    });
}

/// A rank that waits for others prints where, and for which ranks and activities, and waits on:
/// each wait once.
#[test]
#[cfg(feature = "serde")]
fn waits_for_other_ranks_are_reported_and_waited_for() {
    let reported = |program: &str, stalled: &str| {
        let (succeeded, text) = ends(program, stalled);
        assert!(
            succeeded && !text.contains("nothing can go on"),
            "{program}: {text}"
        );
        let lines = text.lines().filter(|line| line.starts_with("tautline: "));
        let mut lines: Vec<String> = lines.map(String::from).collect();
        lines.sort();
        lines
    };
    thread::scope(|threads| {
        threads.spawn(|| {
            let lines = reported("activities", "report");
            let start = "operation 0 of group 1 (finish) at platforms/tests/stalled.rs:";
            for (rank, line) in lines.iter().enumerate() {
                assert!(
                    line.starts_with(&format!("tautline: rank {rank}: {start}")),
                    "{line}"
                );
                assert!(
                    line.contains(", of rank 0, rank 1, rank 2, open for "),
                    "{line}"
                );
            }
            let counts = ": it waits for rank 0, which counts the activities";
            assert!(lines.len() == 3 && lines[1..].iter().all(|line| line.ends_with(counts)));
            let scope = "; the scope that first spawned elsewhere at platforms/tests/stalled.rs:";
            assert!(lines[0].contains(scope), "{lines:?}");
            assert!(
                lines[0].ends_with(" waits for 2 activities at rank 1"),
                "{lines:?}"
            );
        });
        threads.spawn(|| {
            // In one process, a rank reports the waits of the others, too.
            let lines = reported("call", "panic");
            let start = "operation 0 of group 1 (barrier) at platforms/tests/stalled.rs:";
            let [first, last] = &lines[..] else {
                panic!("{lines:?}");
            };
            for (line, rank, other) in [(first, 0, 2), (last, 2, 0)] {
                assert!(
                    line.starts_with(&format!("tautline: rank {rank}: {start}")),
                    "{line}"
                );
                let absent = format!(": rank 1 has not begun it; rank {other} has");
                assert!(line.ends_with(&absent), "{line}");
            }
        });
        threads.spawn(|| assert_eq!(reported("call", "ignore"), [] as [&str; 0]));
    });
}

/// A report is no reason to end, an abort ends the process with the line.
#[test]
fn an_abort_prints_the_line() {
    let (succeeded, text) = ends("cycle", "abort");
    assert!(!succeeded, "{text}");
    assert_eq!(
        text.matches("tautline: nothing can go on").count(),
        1,
        "{text}"
    );
}

/// The runtime remains usable after it has ended the waits.
#[test]
fn a_runtime_runs_on_after_a_standstill() {
    let builder = Runtime::builder().workers(2).pinned(false);
    let rt = builder
        .stalled(Stalled::Panic)
        .build()
        .expect("threads start");
    for round in 0..2 {
        let never = Ddf::<u32>::new();
        let run = AssertUnwindSafe(|| rt.run(|cx| cx.spawn_when(&never, |_, _| ())));
        let payload = catch_unwind(run).expect_err("nothing can go on");
        let message = payload.downcast_ref::<String>().expect("a message");
        assert!(
            message.contains("1 wait for a cell at "),
            "{round}: {message}"
        );
        assert_eq!(rt.run(|cx| cx.join(|_| 1, |_| 2)), (1, 2));
    }
}

/// Tasks from outside are served before and after the waits of a runtime were ended. Two workers
/// wait, whose checks coincide after each question.
#[test]
fn tasks_from_outside_are_served_after_a_standstill() {
    let builder = Runtime::builder().workers(2).pinned(false);
    let rt = builder
        .stalled(Stalled::Panic)
        .build()
        .expect("threads start");
    for _ in 0..2 {
        assert_eq!(rt.spawn(|_| 1).join().unwrap(), 1);
        let never = Ddf::<u32>::new();
        let run = AssertUnwindSafe(|| rt.run(|cx| cx.spawn_when(&never, |_, _| ())));
        let begun = Instant::now();
        catch_unwind(run).expect_err("nothing can go on");
        assert!(begun.elapsed() < FOUND, "{:?}", begun.elapsed());
    }
    assert_eq!(rt.spawn(|_| 2).join().unwrap(), 2);
}

#[test]
fn a_malformed_variable_is_refused() {
    let (succeeded, text) = ends("cycle", "stop");
    assert!(!succeeded, "{text}");
    let line = "TAUTLINE_STALLED stop: report, panic, abort or ignore";
    assert!(text.contains(line), "{text}");
}
