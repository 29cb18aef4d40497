//! The records of a runtime of its workers, and its reports.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
#[cfg(all(unix, feature = "signals"))]
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tautline::prelude::*;
use tautline::watch::{Awaits, Dump, Observe, Observer, State, WorkerTimes};

/// Set in a process of its own: which part of this program to run.
const INSIDE: &str = "TEST_OF_TAUTLINE_WATCHED";

/// A runtime of `workers` workers, whatever the environment requests.
fn runtime(workers: usize, observe: Observe) -> Runtime {
    let builder = Runtime::builder().workers(workers).places(1).pinned(false);
    builder.observe(observe).build().unwrap()
}

/// A path for a file that does not exist yet.
fn fresh(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("tautline-{}-{name}", std::process::id()));
    _ = fs::remove_file(&path);
    path
}

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

/// Forks, and phased tasks that wait without occupying a worker.
fn program(rt: &Runtime) {
    assert_eq!(rt.run(|cx| fib(cx, 22)), 17711);
    let count = AtomicUsize::new(0);
    let phases = &count;
    rt.run(|cx| {
        let mut ph = cx.phaser(Mode::SignalWait)?;
        for _ in 0..8 {
            cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
                for _ in 0..50 {
                    task.next().await.unwrap();
                    phases.fetch_add(1, SeqCst);
                }
            })?;
        }
        Ok::<(), tautline::phaser::PhaserError>(())
    })
    .unwrap();
    assert_eq!(count.into_inner(), 400);
}

/// The intervals of each worker in a trace: name, beginning and end in nanoseconds.
fn intervals(text: &str) -> Vec<Vec<(String, u64, u64)>> {
    let json: Value = serde_json::from_str(text).expect("a trace is JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let ns = |value: &Value| (value.as_f64().expect("a time") * 1e3).round() as u64;
    let mut workers = vec![];
    for event in events {
        match event["ph"].as_str() {
            Some("M") if event["name"] == "thread_name" => workers.push(vec![]),
            Some("X") => {
                let (from, length) = (ns(&event["ts"]), ns(&event["dur"]));
                let name = event["name"].as_str().expect("a name").to_owned();
                let worker = workers.last_mut().expect("its thread is named before");
                worker.push((name, from, from + length));
            }
            _ => {}
        }
    }
    workers
}

/// The name of an arrow in a trace, and the threads that it leads from and to.
type Arrow = (String, u64, u64);

/// The arrows of a trace. Each has one start and one finish, in this order, both within intervals
/// of their threads.
fn arrows(text: &str) -> Vec<Arrow> {
    let json: Value = serde_json::from_str(text).expect("a trace is JSON");
    let workers = intervals(text);
    let events = json["traceEvents"].as_array().expect("events");
    let mut all: BTreeMap<u64, [Option<&Value>; 2]> = BTreeMap::new();
    for event in events {
        let side = match event["ph"].as_str() {
            Some("s") => 0,
            Some("f") => 1,
            _ => continue,
        };
        let arrow = all.entry(event["id"].as_u64().unwrap()).or_default();
        assert_eq!(arrow[side].replace(event), None, "twice");
    }
    let point = |event: &Value| {
        let at = (event["ts"].as_f64().expect("a time") * 1e3).round() as u64;
        let thread = event["tid"].as_u64().expect("a thread");
        let mut intervals = workers[thread as usize - 1].iter();
        assert!(intervals.any(|(_, from, to)| (*from..*to).contains(&at)));
        (thread, at)
    };
    let arrow = |sides: [Option<&Value>; 2]| {
        let [start, finish] = sides.map(|side| side.expect("both sides"));
        let ((victim, begun), (thief, ended)) = (point(start), point(finish));
        assert!(begun < ended, "{start} {finish}");
        (start["name"].as_str().unwrap().to_owned(), victim, thief)
    };
    all.into_values().map(arrow).collect()
}

/// A search that ends with another worker's task draws an arrow from that worker.
#[test]
fn stolen_tasks_are_arrows_in_a_trace() {
    let trace = fresh("steals.json");
    let rt = runtime(2, Observe::new().trace(&trace));
    rt.run(|cx| {
        for _ in 0..20 {
            let begun = AtomicBool::new(false);
            let wait = || {
                while !begun.load(SeqCst) {
                    thread::yield_now();
                }
            };
            cx.join(|_| wait(), |_| begun.store(true, SeqCst));
            // The thief searches during the sleep.
            thread::sleep(Duration::from_millis(2));
        }
    });
    drop(rt);
    let found = arrows(&fs::read_to_string(&trace).unwrap());
    _ = fs::remove_file(&trace);
    assert!((10..=20).contains(&found.len()), "{found:?}");
    assert!(found.iter().all(|arrow| *arrow == ("task".into(), 1, 2)));
}

/// All loot that a place receives is an arrow from the place that sent it.
#[test]
fn loot_is_an_arrow_in_a_trace() {
    let trace = fresh("loot.json");
    let builder = Runtime::builder().places(3).workers(1).pinned(false);
    let rt = builder
        .observe(Observe::new().trace(&trace))
        .build()
        .unwrap();
    let run = rt.balancer().sum([17u32], |height, todo| {
        if height > 0 {
            todo.extend([height - 1; 2]);
        }
        1u64
    });
    let run = run.expect("threads start");
    assert_eq!(run.output, (1 << 18) - 1);
    drop(rt);
    let text = fs::read_to_string(&trace).unwrap();
    _ = fs::remove_file(&trace);
    assert!(
        text.contains("\"dropped_spans\":0,\"title\""),
        "all is kept"
    );
    let loot = arrows(&text)
        .into_iter()
        .filter(|(name, ..)| name == "loot");
    let received: u64 = run.places.iter().map(|p| p.tally.received.count).sum();
    assert_eq!(loot.count() as u64, received);
    assert!(received > 0, "the other places have worked");
}

/// A trace of forks and phasers has one row for each worker, whose intervals follow each other, in
/// states that tasks have.
#[test]
fn a_program_of_forks_and_phasers_is_traced() {
    let (trace, life) = (fresh("forks.json"), fresh("forks.html"));
    let rt = runtime(3, Observe::new().trace(&trace).life(&life));
    program(&rt);
    // The threads may start after the program has ended.
    let searched = |w: &WorkerTimes| w.times.of(State::Stealing) > 0;
    let table = loop {
        let table = rt.times().expect("it is observed");
        if table.workers.len() == 3 && table.workers[1..].iter().all(searched) {
            break table;
        }
        thread::yield_now();
    };
    drop(rt);
    let workers = intervals(&fs::read_to_string(&trace).unwrap());
    let page = fs::read_to_string(&life).unwrap();
    _ = (fs::remove_file(&trace), fs::remove_file(&life));

    assert_eq!(workers.len(), 3);
    for worker in &workers {
        assert!(worker.is_sorted_by_key(|(_, from, _)| *from));
        for pair in worker.windows(2) {
            assert!(pair[0].2 <= pair[1].1, "{pair:?} overlap");
        }
        let known = ["computing", "stealing", "waiting", "idle", "no run"];
        let strange = worker.iter().find(|(name, ..)| !known.contains(&&**name));
        assert_eq!(strange, None);
    }
    let has = |worker: usize, state: &str| workers[worker].iter().any(|(name, ..)| name == state);
    assert!(has(0, "computing"));
    // A thread that nothing was given to has searched, and then slept.
    assert!(has(1, "stealing") && has(2, "stealing"));
    assert!(page.contains("\"waiting\"") && !page.contains("{{"));

    assert_eq!(table.workers.len(), 3);
    let total = table.total();
    assert!(total.of(State::Computing) > 0);
    assert_eq!(total.of(State::Probing) + total.of(State::Distributing), 0);
    let text = table.to_string();
    // The system may have taken a processor away, which the last line states.
    let lines = text.lines().filter(|line| !line.starts_with(" no run"));
    assert_eq!(lines.count(), 2 + 3 + 1, "{text}");
    assert!(text.contains("computing") && text.contains("all"), "{text}");
}

/// A balanced computation is recorded with its own states.
#[test]
fn a_balanced_computation_is_recorded() {
    let rt = runtime(2, Observe::new());
    let run = rt.balancer().sum([21u32], |height, todo| {
        if height > 0 {
            todo.extend([height - 1; 2]);
        }
        1u64
    });
    assert_eq!(run.expect("threads start").output, (1 << 22) - 1);
    let total = rt.times().expect("it is observed").total();
    assert!(total.of(State::Computing) > total.of(State::Distributing));
    assert!(total.of(State::Distributing) > 0);
}

/// Passes on the states that it has seen the end of.
struct Calls(mpsc::Sender<State>);

impl Observer for Calls {
    fn span(&mut self, state: State, from: u64, to: u64) {
        assert!(from <= to);
        _ = self.0.send(state);
    }
}

/// Each worker has an observer of its own; none is made if nothing is observed.
#[test]
fn observers_are_made_for_each_worker() {
    let (made, seen) = mpsc::channel();
    let rt = runtime(2, Observe::new().each(move |_, _| Calls(made.clone())));
    program(&rt);
    drop(rt);
    assert!(seen.iter().any(|state| state == State::Computing));

    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let observe = Observe::default().each(move |_, _| _ = count.fetch_add(1, SeqCst));
    let rt = runtime(2, observe);
    program(&rt);
    assert_eq!(rt.times(), None);
    assert_eq!(
        made.load(SeqCst),
        0,
        "observers of a runtime that is not observed"
    );
}

/// Reads dumps until one is as `wanted`.
fn dump_until(rt: &Runtime, wanted: impl Fn(&Dump) -> bool) -> Dump {
    loop {
        let dump = rt.dump();
        if wanted(&dump) {
            return dump;
        }
        thread::yield_now();
    }
}

fn awaits(dump: &Dump, what: Awaits) -> bool {
    let blocked = |state| matches!(state, Some(State::Waiting | State::Stealing));
    let mut workers = dump.workers.iter();
    workers.any(|w| w.doing.awaits == Some(what) && blocked(w.doing.state))
}

/// Suspends until `go`; its worker runs other tasks until then.
async fn until(go: &AtomicBool) {
    std::future::poll_fn(|cx| {
        if go.load(SeqCst) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// A program that is stuck in a blocking wait for a phase is found to be.
#[test]
fn a_dump_names_the_wait_of_a_program_that_is_stuck() {
    let rt = runtime(2, Observe::default());
    let go = AtomicBool::new(false);
    thread::scope(|scope| {
        let stuck = scope.spawn(|| {
            rt.run(|cx| {
                let mut ph = cx.phaser(Mode::SignalWait).unwrap();
                let go = &go;
                cx.spawn_phased([ph.signal_only()], move |mut task| async move {
                    until(go).await;
                    task.signal().unwrap();
                    drop(task);
                })
                .unwrap();
                ph.next_blocking().unwrap();
            });
        });
        let text = dump_until(&rt, |dump| awaits(dump, Awaits::Phase)).to_string();
        go.store(true, SeqCst);
        assert!(text.contains("waiting for the end of a phase"), "{text}");
        stuck.join().unwrap();
    });
    assert_eq!(rt.dump().suspended(), None, "not counted");
}

/// A task that is suspended in a wait occupies no worker, and is counted.
#[test]
fn a_dump_counts_suspended_tasks() {
    let rt = runtime(2, Observe::new());
    let go = AtomicBool::new(false);
    thread::scope(|scope| {
        let stuck = scope.spawn(|| {
            rt.run(|cx| {
                let mut ph = cx.phaser(Mode::SignalWait).unwrap();
                let child = [ph.signal_wait()];
                cx.spawn_phased(child, |mut task| async move {
                    task.next().await.unwrap();
                })
                .unwrap();
                while !go.load(SeqCst) {
                    thread::yield_now();
                }
            });
        });
        let text = dump_until(&rt, |dump| dump.suspended() == Some(1)).to_string();
        go.store(true, SeqCst);
        assert!(text.contains("1 task suspended in a wait"), "{text}");
        stuck.join().unwrap();
    });
    assert_eq!(rt.dump().suspended(), Some(0));
}

/// The waits for tasks are named, also if nothing is observed.
#[test]
fn a_dump_names_what_a_blocked_worker_waits_for() {
    let rt = runtime(2, Observe::default());
    let go = AtomicBool::new(false);
    for what in [Awaits::Scope, Awaits::Future, Awaits::Fork] {
        go.store(false, SeqCst);
        let begun = AtomicBool::new(false);
        let hold = || {
            begun.store(true, SeqCst);
            while !go.load(SeqCst) {
                thread::yield_now();
            }
        };
        let others_begin = || {
            while !begun.load(SeqCst) {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            let stuck = scope.spawn(|| {
                rt.run(|cx| match what {
                    Awaits::Scope => {
                        cx.spawn(|_| hold());
                        others_begin();
                    }
                    Awaits::Fork => _ = cx.join(|_| others_begin(), |_| hold()),
                    _ => {
                        let (sender, receiver) = mpsc::channel::<std::task::Waker>();
                        cx.scope(|cx| {
                            let (go, begun) = (&go, &begun);
                            cx.spawn(move |_| {
                                let waker = receiver.recv().unwrap();
                                begun.store(true, SeqCst);
                                while !go.load(SeqCst) {
                                    thread::yield_now();
                                }
                                waker.wake();
                            });
                            cx.block_on(std::future::poll_fn(|cx| {
                                if go.load(SeqCst) {
                                    return std::task::Poll::Ready(());
                                }
                                _ = sender.send(cx.waker().clone());
                                others_begin();
                                std::task::Poll::Pending
                            }));
                        });
                    }
                });
            });
            let text = dump_until(&rt, |dump| awaits(dump, what)).to_string();
            go.store(true, SeqCst);
            assert!(text.contains(what.name()), "{text}");
            stuck.join().unwrap();
        });
    }
}

/// Returns a command that runs `test` of this program in another process, with `inside` set.
fn again(test: &str, inside: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, inside);
    for variable in ["TRACE", "LIFE", "TIMES", "DUMP", "PLACES", "WORKERS"] {
        command.env_remove(format!("TAUTLINE_{variable}"));
    }
    command
}

/// The variables do what the builder does, and a file that cannot be written is refused by name.
#[test]
fn the_environment_asks_for_a_trace() {
    const THIS: &str = "the_environment_asks_for_a_trace";
    match std::env::var(INSIDE).as_deref() {
        Ok("refused") => {
            let error = Runtime::new().unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error}");
            return print!("{error}");
        }
        Ok(_) => return program(&Runtime::new().unwrap()),
        Err(_) => {}
    }
    let trace = fresh("environment.json");
    let output = again(THIS, "traced")
        .env("TAUTLINE_TRACE", &trace)
        .env("TAUTLINE_TIMES", "1")
        .env("TAUTLINE_WORKERS", "2")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("share of time"), "{said}");
    assert!(!said.contains("rank"), "{said}");
    let workers = intervals(&fs::read_to_string(&trace).unwrap());
    _ = fs::remove_file(&trace);
    assert_eq!(workers.len(), 2);

    for (variable, value) in [
        ("TAUTLINE_TRACE", "/nowhere/at/all.json"),
        ("TAUTLINE_LIFE", "/nowhere/at/all.html"),
        ("TAUTLINE_TIMES", "often"),
        ("TAUTLINE_DUMP", "sometimes"),
    ] {
        let output = again(THIS, "refused").env(variable, value).output();
        let said = String::from_utf8_lossy(&output.unwrap().stdout).into_owned();
        let named = format!("{variable} {value}: ");
        assert!(said.contains(&named), "{said}");
    }
}

/// A process that is stuck prints what its workers do when it receives the signal.
#[cfg(all(unix, feature = "signals"))]
#[test]
fn a_signal_prints_what_every_worker_does() {
    use std::io::{BufRead, BufReader};
    use std::ops::DerefMut;
    if std::env::var_os(INSIDE).is_some() {
        let rt = Runtime::new().unwrap();
        return rt.run(|cx| {
            let mut ph = cx.phaser(Mode::SignalWait).unwrap();
            let _other = ph.deref_mut().register(Mode::SignalWait);
            eprintln!("stuck soon");
            ph.next_blocking().unwrap();
        });
    }
    let mut stuck = again("a_signal_prints_what_every_worker_does", "stuck")
        .env("TAUTLINE_DUMP", "1")
        .env("TAUTLINE_WORKERS", "2")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(stuck.stderr.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").unwrap();
    while !next().contains("stuck soon") {}
    let signal = |name: &str| {
        let pid = stuck.id().to_string();
        assert!(
            Command::new("sh")
                .args(["-c", "kill $0 $1", name, &pid])
                .status()
                .unwrap()
                .success()
        );
    };
    // The process may not have begun to wait at the first signal.
    let found = loop {
        signal("-USR1");
        while !next().starts_with("tautline: ") {}
        let first = next();
        assert!(first.starts_with("worker 0: "), "{first}");
        if !first.starts_with("worker 0: computing") {
            break first;
        }
    };
    signal("-KILL");
    stuck.wait().unwrap();
    assert!(found.contains("waiting for the end of a phase"), "{found}");
}

/// A rank that waits for another prints which one when the process receives the signal.
#[cfg(all(unix, feature = "signals", feature = "serde"))]
#[test]
fn a_signal_prints_for_which_rank_each_waits() {
    use std::io::{BufRead, BufReader};
    use tautline::world;
    if std::env::var_os(INSIDE).is_some() {
        world::loopback(2, |world| {
            if world.is_home() {
                eprintln!("stuck soon");
                world.barrier().unwrap();
            }
            loop {
                std::thread::park();
            }
        });
    }
    let mut stuck = again("a_signal_prints_for_which_rank_each_waits", "ranks")
        .env("TAUTLINE_DUMP", "1")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(stuck.stderr.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").unwrap();
    while !next().contains("stuck soon") {}
    let pid = stuck.id().to_string();
    // The rank may not have begun to wait at the first signal.
    let found = loop {
        let sent = Command::new("sh")
            .args(["-c", "kill $0 $1", "-USR1", &pid])
            .status()
            .unwrap();
        assert!(sent.success());
        let line = loop {
            let line = next();
            if line.starts_with("tautline: rank 0: ") {
                break line;
            }
        };
        if line.ends_with(": rank 1 has not begun it") {
            break line;
        }
    };
    stuck.kill().unwrap();
    stuck.wait().unwrap();
    let expected = "tautline: rank 0: operation 0 (barrier) at platforms/tests/watch.rs:";
    assert!(found.starts_with(expected), "{found}");
    assert!(found.contains(", of rank 0, rank 1, open for "), "{found}");
}
