//! The child of `fork`: each call works there, or fails in one line; none hangs.
//!
//! This program starts itself: such a process runs the test `role` alone, which plays the role that
//! the variable `ROLE` names and forks.
#![cfg(target_os = "linux")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use tautline::balance::Reason;
use tautline::comm::{Matched, Tag};
use tautline::messages;
use tautline::prelude::*;
use tautline::runtime::{Deadline, Failure};
use tautline::watch::Observe;
use tautline::world::{self, World};

/// The arguments by which this program plays a role.
const AS_ROLE: [&str; 5] = [
    "--exact",
    "role",
    "--nocapture",
    "--include-ignored",
    "--test-threads=1",
];

/// A child that has not ended by then hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// Plays `role` in a process of its own, and returns what it printed.
fn play(role: &str) -> Output {
    let program = env::current_exe().expect("it runs");
    let mut command = Command::new(program);
    let output = command.args(AS_ROLE).env("ROLE", role).output();
    output.expect("it starts")
}

fn plays(role: &str) {
    let Output { status, stderr, .. } = play(role);
    let printed = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{role}: {status}: {printed}");
}

/// Runs `child` in a child of this process, and returns its status.
fn status(child: impl FnOnce()) -> i32 {
    // SAFETY: the child calls what is tested here, and then ends without its parent's destructors.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let ended = catch_unwind(AssertUnwindSafe(child));
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(i32::from(ended.is_err())) }
    }
    assert!(pid > 0, "no child");
    let (start, mut status) = (Instant::now(), 0);
    // SAFETY: `pid` is a child of this process that was not waited for; `status` is a local.
    while unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > LIMIT {
            // SAFETY: as above.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        thread::sleep(Duration::from_millis(1));
    }
    status
}

/// Runs `child` in a child of this process, in which it must not panic.
#[track_caller]
fn fork(child: impl FnOnce()) {
    assert_eq!(status(child), 0);
}

fn runtime(workers: usize) -> Runtime {
    let rt = Runtime::builder().workers(workers).pinned(false).build();
    rt.expect("it starts")
}

fn fib(cx: &mut Cx, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
    a + b
}

/// Calls of each kind, on a runtime that may be another process's.
fn use_all(rt: &Runtime) {
    assert_eq!(rt.run(|cx| fib(cx, 16)), 987);
    assert_eq!(rt.run(|cx| cx.par(0..10_000u64).sum::<u64>()), 49_995_000);
    assert_eq!(rt.spawn(|cx| fib(cx, 10)).join().expect("it ends"), 55);
    let awaited = rt.block_on(async |_: TaskCx| rt.run_async(|cx| fib(cx, 10)).await);
    assert_eq!(awaited.expect("it ends"), 55);
    use_deadline(rt);
    let cell = Ddf::new();
    let late = rt.block_on(async |task: TaskCx| {
        task.spawn(|_| cell.put(40).expect("once"));
        *cell.wait().await + 2
    });
    assert_eq!(late, 42);
    let phases = rt.block_on(async |task: TaskCx| {
        let mut phaser = task.phaser(Mode::SignalWait).expect("one task");
        for _ in 0..3 {
            phaser.next().await.expect("a phase");
        }
        3
    });
    assert_eq!(phases, 3);
    // Met by all workers: their threads exist.
    let met = Barrier::new(rt.workers());
    rt.run(|cx| (0..rt.workers()).for_each(|_| cx.spawn(|_| _ = met.wait())));
}

fn use_deadline(rt: &Runtime) {
    let ended = rt.run_within(Duration::from_millis(20), |cx| {
        while cx.cancelled().is_none() {
            std::hint::spin_loop();
        }
    });
    assert_eq!(ended.unwrap_err().reason, Reason::Deadline);
}

fn climb(stairs: u32, todo: &mut tautline::balance::Local<u32>) -> u64 {
    todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
    u64::from(stairs == 0)
}

/// The process that forks.
#[test]
#[ignore = "by hand: a process that forks, which other tests start"]
fn role() {
    let Ok(role) = env::var("ROLE") else { return };
    match &*role {
        "after everything" => after_everything(),
        "before anything" => before_anything(),
        "nested" => nested(),
        "inside" => inside(),
        "lost" => lost(),
        "handles" => handles(),
        "busy" => busy(),
        "kept" => kept(),
        "observed" => observed(),
        "balanced" => balanced(),
        "ranks" => ranks(),
        role => panic!("{role}"),
    }
}

/// The child uses the runtime, drops it, starts others.
fn after_everything() {
    let rt = runtime(3);
    use_all(&rt);
    let global = tautline::global().expect("it starts");
    use_all(global);
    fork(|| use_all(&rt));
    fork(|| {
        use_all(&rt);
        use_all(&runtime(2));
        use_all(tautline::global().expect("it starts"));
    });
    // Its threads are the parent's: there is nothing to wait for.
    // SAFETY: the child ends next, without the destructor of `rt`.
    fork(|| drop(unsafe { std::ptr::read(&raw const rt) }));
    fork(|| {
        use_all(&rt);
        // SAFETY: the child ends next, without the destructor of `rt`.
        drop(unsafe { std::ptr::read(&raw const rt) });
    });
    fork(|| {
        rt.set_workers(2).expect("threads start");
        assert_eq!(rt.workers(), 2);
    });
    use_all(&rt);
}

#[test]
fn a_child_uses_and_drops_the_runtime_of_its_parent() {
    plays("after everything");
}

/// A fork before anything was started, and one after the runtime was.
fn before_anything() {
    fork(|| use_all(tautline::global().expect("it starts")));
    let rt = runtime(2);
    fork(|| use_all(&rt));
    use_all(&rt);
}

#[test]
fn a_child_of_a_parent_that_has_called_nothing() {
    plays("before anything");
}

/// Children of children, which have used what they inherited or have not.
fn nested() {
    let rt = runtime(2);
    use_all(&rt);
    fork(|| {
        fork(|| use_all(&rt));
        use_all(&rt);
        fork(|| {
            use_all(&rt);
            fork(|| use_all(&rt));
        });
        use_all(&rt);
    });
}

#[test]
fn a_child_of_a_child() {
    plays("nested");
}

/// Forked inside of `run`: by the caller, and by a worker; alone, and while other tasks run.
fn inside() {
    let rt = runtime(3);
    rt.run(|cx| {
        fork(|| use_all(&rt));
        fork(|| assert_eq!(fib(cx, 12), 144));
    });
    // Not borrowed from the caller, whose stack is free in the child of another thread.
    let (rt, met) = (Arc::new(rt), Arc::new(Barrier::new(3)));
    rt.run(|cx| {
        for _ in 0..3 {
            let (rt, met) = (Arc::clone(&rt), Arc::clone(&met));
            cx.spawn(move |_| {
                met.wait();
                fork(|| use_all(&rt));
                met.wait();
            });
        }
    });
    // No other task is there: the child may leave `run`.
    let lonely = runtime(1);
    let parent = std::process::id();
    lonely.run(|cx| {
        // SAFETY: the child ends below.
        let pid = unsafe { libc::fork() };
        assert_eq!(fib(cx, 12), 144);
        let mut status = 0;
        // SAFETY: a child of this process, and a local.
        let waited = pid == 0 || unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid;
        assert!(waited && status == 0);
    });
    if std::process::id() != parent {
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(0) }
    }
}

#[test]
fn a_child_that_a_task_forks() {
    plays("inside");
}

/// A child that waits for a task that a thread of its parent runs.
fn lost() {
    let rt = runtime(2);
    let (met, ended) = (Barrier::new(2), Barrier::new(2));
    let mut status = 0;
    rt.run(|cx| {
        let other = |_: &mut Cx| {
            met.wait();
            ended.wait();
        };
        let forks = |_: &mut Cx| {
            met.wait();
            // SAFETY: the child is to be ended by what is tested.
            let pid = unsafe { libc::fork() };
            if pid > 0 {
                // SAFETY: a child of this process, and a local.
                unsafe { libc::waitpid(pid, &raw mut status, 0) };
                ended.wait();
            }
        };
        cx.join(forks, other);
    });
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT);
}

#[test]
fn a_child_that_waits_for_its_parents_task_is_ended_in_one_line() {
    let output = play("lost");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let told = printed
        .lines()
        .filter(|line| line.starts_with("tautline: "));
    let told: Vec<_> = told.collect();
    assert_eq!(told.len(), 1, "{printed}");
    assert!(told[0].contains("was forked by a task, and waits for tasks of its parent"));
    assert!(told[0].ends_with("end it by `exec` or `_exit`"));
}

/// Handles to objects of the parent: a handle of a task, a future, a deadline.
fn handles() {
    let rt = runtime(2);
    let go = Arc::new(AtomicBool::new(false));
    let waits = |go: Arc<AtomicBool>| {
        move |_: &mut tautline::runtime::Cx<'_, 'static>| {
            while !go.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        }
    };
    let mut running = Some(rt.spawn(waits(Arc::clone(&go))));
    let mut awaited = Some(rt.run_async(waits(Arc::clone(&go))));
    let deadline = Deadline::after(Duration::from_secs(3600));
    let is_cancelled = |failure: Failure| match failure {
        Failure::Cancelled(cancelled) => cancelled.reason == Reason::Interrupted,
        _ => false,
    };
    fork(|| {
        let running = running.take().expect("one");
        assert!(running.join().is_err_and(is_cancelled));
        let awaited = awaited.take().expect("one");
        let ended = rt.block_on(async |_: TaskCx| awaited.await);
        assert!(ended.is_err_and(is_cancelled));
        drop(deadline);
        use_deadline(&rt);
    });
    // In a task of the child's, which waits as a worker; and dropped without a wait.
    fork(|| {
        let running = running.take().expect("one");
        let joined = rt.run(|_| running.join());
        assert!(joined.is_err_and(is_cancelled));
        drop(awaited.take());
    });
    go.store(true, Ordering::Relaxed);
    running.take().expect("one").join().expect("it ends");
}

#[test]
fn handles_of_the_parents_tasks_are_cancelled_in_a_child() {
    plays("handles");
}

/// Forks while other threads are anywhere in the library.
fn busy() {
    let rt = &runtime(3);
    let ends = &AtomicBool::new(false);
    let is_over = || ends.load(Ordering::Relaxed);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over() {
                assert_eq!(rt.run(|cx| fib(cx, 8)), 21);
            }
        });
        scope.spawn(|| {
            while !is_over() {
                rt.spawn(|_| ()).join().expect("it ends");
                _ = rt.run_within(Duration::from_micros(50), |cx| fib(cx, 8));
            }
        });
        scope.spawn(|| {
            while !is_over() {
                drop(Runtime::builder().workers(2).build().expect("it starts"));
            }
        });
        scope.spawn(|| {
            while !is_over() {
                messages::set_hook(|_| ());
            }
        });
        for _ in 0..20 {
            fork(|| {
                messages::set_hook(|_| ());
                assert_eq!(rt.run(|cx| fib(cx, 10)), 55);
                assert_eq!(rt.spawn(|cx| fib(cx, 10)).join().expect("it ends"), 55);
                use_deadline(rt);
                drop(Runtime::builder().workers(2).build().expect("it starts"));
            });
        }
        ends.store(true, Ordering::Relaxed);
    });
}

#[test]
fn children_of_a_busy_parent() {
    plays("busy");
}

/// Processors of the parent's workers, which the child knows; and those of the child's runtime,
/// which are no worker's.
fn kept() {
    let first = Runtime::builder().workers(2).pinned(true).build();
    let first = first.expect("it starts");
    fork(|| {
        let second = Runtime::builder().workers(2).build().expect("it starts");
        assert!(!second.plan().pinned);
        use_all(&second);
        use_all(&first);
    });
    // The parent keeps values that the child drops.
    // SAFETY: the child ends next, without the destructor of `first`.
    fork(|| drop(unsafe { std::ptr::read(&raw const first) }));
    let second = Runtime::builder().workers(2).build().expect("it starts");
    assert!(!second.plan().pinned);
}

#[test]
fn a_child_knows_the_processors_of_its_parents_workers() {
    plays("kept");
}

/// Files and tables of the parent's runtime, which the parent alone writes.
fn observed() {
    let path = env::temp_dir().join(format!("tautline-forked-{}.json", std::process::id()));
    let observe = Observe::new().trace(&path).printed();
    let rt = Runtime::builder().workers(2).pinned(false).observe(observe);
    let rt = rt.build().expect("it starts");
    let told = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&told);
    messages::set_hook(move |_| *counted.lock().expect("no panic") += 1);
    rt.run(|cx| fib(cx, 10));
    fork(|| {
        use_all(&rt);
        assert!(rt.times().is_none());
        // SAFETY: the child ends next, without the destructor of `rt`.
        drop(unsafe { std::ptr::read(&raw const rt) });
        assert_eq!(*told.lock().expect("no panic"), 0);
    });
    assert!(rt.times().is_some());
    drop(rt);
    assert_eq!(*told.lock().expect("no panic"), 1);
    let written = fs::read_to_string(&path).expect("written once");
    fs::remove_file(&path).expect("written");
    assert!(written.contains("computing"));
}

#[test]
fn a_child_writes_nothing_of_what_its_parent_observes() {
    plays("observed");
}

/// A balancer with a runtime of its own, which is kept from run to run.
fn balanced() {
    let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
    let balancer = rt.balancer();
    let climbs = |balancer: &Balancer| {
        balancer
            .clone()
            .sum([20u32], climb)
            .expect("it ends")
            .output
    };
    assert_eq!(climbs(&balancer), 10_946);
    fork(|| assert_eq!(climbs(&balancer), 10_946));
    let rt = runtime(2);
    let on = rt.balancer();
    assert_eq!(climbs(&on), 10_946);
    fork(|| assert_eq!(climbs(&on), 10_946));
}

#[test]
fn a_child_balances() {
    plays("balanced");
}

/// Whether `call` panics with one line, which states that a child is no rank.
fn is_refused<T>(call: impl FnOnce() -> T) -> bool {
    let Err(payload) = catch_unwind(AssertUnwindSafe(call)) else {
        return false;
    };
    let message = payload.downcast_ref::<String>().cloned();
    let message = message.or(payload.downcast_ref::<&str>().map(ToString::to_string));
    message.is_some_and(|line| line.lines().count() == 1 && line.contains("is no rank"))
}

/// A world of the parent, which the child refuses to use, and a world of the child's.
fn ranks() {
    let sums = world::loopback(2, |world| {
        let (comm, other) = (world.comm(), world::Rank(1 - world.rank().0));
        let mut received = Some(comm.irecv::<u32>(other, Tag(1)));
        let mut awaited = Some(comm.irecv::<u32>(other, Tag(2)));
        let mut thread = world.team().phaser_for_threads(1)?;
        thread.signal()?;
        world.barrier()?;
        fork(|| {
            let (received, awaited) = (received.take().expect("one"), awaited.take());
            assert!(is_refused(|| world.barrier()));
            assert!(is_refused(|| world.all_reduce(1, |a, b| a + b)));
            assert!(is_refused(|| world.waiting()));
            assert!(is_refused(|| world.comm()));
            assert!(is_refused(|| comm.send(&1, other, Tag(1))));
            assert!(is_refused(|| comm.recv::<u32>(other, Tag(1))));
            assert!(is_refused(|| comm.barrier().wait_blocking()));
            // SAFETY: it is refused.
            let matched = unsafe { Matched::promise() };
            assert!(is_refused(|| comm.native(matched)));
            assert!(is_refused(|| received.cancel()));
            assert!(is_refused(|| received.wait_blocking()));
            assert!(is_refused(|| thread.wait_blocking()));
            assert!(is_refused(|| thread.next_blocking()));
            assert!(is_refused(|| thread.signal()));
            // SAFETY: the child ends next, without the destructor of `thread`.
            drop(unsafe { std::ptr::read(&raw const thread) });
            let rt = runtime(1);
            let awaited = awaited.expect("one");
            assert!(is_refused(|| rt.block_on(async |_: TaskCx| awaited.await)));
            let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
            let balancer = rt.balancer();
            assert!(is_refused(|| balancer.across(world).sum([20u32], climb)));
            drop(comm.clone());
            // SAFETY: the child ends next, without the destructor of `world`.
            drop(unsafe { std::ptr::read(&raw const *world) });
            let sums = world::loopback(2, |world: &World| world.all_reduce(1, |a, b| a + b));
            assert!(sums.into_iter().all(|sum| sum.is_ok_and(|sum| sum == 2)));
        });
        // The child has not left for its parent.
        thread.wait_blocking()?;
        thread.next_blocking()?;
        comm.send(&3u32, other, Tag(1))?;
        comm.send(&4u32, other, Tag(2))?;
        let sum = [received.take(), awaited.take()].map(|it| it.expect("one").wait_blocking());
        let [Ok(three), Ok(four)] = sum else {
            panic!("{sum:?}");
        };
        world.all_reduce(three.value + four.value, |a, b| a + b)
    });
    assert_eq!(
        sums.into_iter()
            .collect::<tautline::Result<Vec<_>>>()
            .expect("no rank is lost"),
        [14, 14]
    );
}

#[test]
fn a_child_is_no_rank() {
    plays("ranks");
}
