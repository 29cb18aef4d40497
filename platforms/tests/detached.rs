//! Tasks from outside of a runtime, futures for other executors, deadlines, the global runtime.

use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::panic::panic_any;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};
use tautline::balance::Reason;
use tautline::prelude::*;
use tautline::runtime::{Cancelled, Deadline, Failure, Wait};

const WORKERS: [usize; 3] = [1, 2, 4];
const SOON: Duration = Duration::from_millis(20);

fn start(workers: usize) -> Runtime {
    let rt = Runtime::builder().workers(workers).pinned(false).build();
    rt.unwrap()
}

/// Counts how often it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Another executor: the calling thread, parked until it is woken.
fn block_on<T: Future>(future: T) -> T::Output {
    struct Parked(Thread);
    impl Wake for Parked {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Parked(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Returns the reason why a task was cancelled.
fn reason<R: std::fmt::Debug>(ended: Result<R, Failure>) -> Reason {
    match ended {
        Err(Failure::Cancelled(Cancelled { reason })) => reason,
        other => panic!("not cancelled: {other:?}"),
    }
}

/// Occupies all workers until the guard is dropped.
fn occupy(rt: &Runtime, workers: usize) -> mpsc::Sender<()> {
    let (gate, opened) = mpsc::channel();
    let (began, begun) = mpsc::channel();
    let opened = Arc::new(Mutex::new(opened));
    for _ in 0..workers {
        let (began, opened) = (began.clone(), Arc::clone(&opened));
        drop(rt.spawn(move |_| {
            began.send(()).unwrap();
            opened.lock().unwrap().recv().unwrap_err();
        }));
    }
    (0..workers).for_each(|_| begun.recv().unwrap());
    gate
}

/// Asserts that numbers were recorded in ascending order by `workers` threads, each of which takes
/// one, then records it.
fn assert_order(recorded: &[usize], count: usize, workers: usize) {
    let mut highest = 0;
    for (at, &number) in recorded.iter().enumerate() {
        highest = highest.max(number);
        assert!(highest < at + workers, "{workers} workers: {recorded:?}");
    }
    let mut sorted = recorded.to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..count));
}

/// Tasks from outside start first in, first out, whatever they do: those that fork, spawn, panic,
/// wait, and futures.
#[test]
fn tasks_from_outside_start_in_order() {
    fn work(cx: &mut Cx, depth: u32) {
        if depth > 0 {
            cx.join(|cx| work(cx, depth - 1), |cx| work(cx, depth - 1));
        }
    }
    for workers in WORKERS {
        let (rt, order) = (start(workers), Arc::new(Mutex::new(vec![])));
        let gate = occupy(&rt, workers);
        let (mut joined, mut awaited) = (vec![], vec![]);
        for number in 0..100 {
            let order = Arc::clone(&order);
            let body = move |cx: &mut Cx<'_, 'static>| {
                order.lock().unwrap().push(number);
                match number % 6 {
                    0 => work(cx, 6),
                    1 => (0..20).for_each(|_| cx.spawn(|cx| work(cx, 2))),
                    2 => cx.spawn_async(|task| async move { task.yield_now().await }),
                    3 => cx.block_on(async { std::future::ready(()).await }),
                    4 => panic_any(number),
                    _ => (),
                }
            };
            match number % 2 {
                0 => joined.push(rt.spawn(body)),
                _ => awaited.push(rt.run_async(body)),
            }
        }
        drop(gate);
        let ended = joined.into_iter().map(|task| task.join().is_ok());
        assert_eq!(ended.filter(|ok| *ok).count(), 34, "16 panic");
        assert!(awaited.into_iter().all(|task| block_on(task).is_ok()));
        assert_order(&order.lock().unwrap(), 100, workers);
    }
}

/// Suspended tasks that a thread outside wakes resume first in, first out.
#[test]
fn tasks_woken_from_outside_resume_in_order() {
    const TASKS: usize = 100;
    type Wakers = [Mutex<Option<Waker>>; TASKS];
    for workers in WORKERS {
        let (rt, order) = (start(workers), Arc::new(Mutex::new(vec![])));
        let wakers: Arc<Wakers> = Arc::new([const { Mutex::new(None) }; TASKS]);
        let (suspends, suspended) = mpsc::channel();
        let all = {
            let (order, wakers) = (Arc::clone(&order), Arc::clone(&wakers));
            rt.spawn(move |cx| {
                for number in 0..TASKS {
                    let (order, wakers) = (Arc::clone(&order), Arc::clone(&wakers));
                    let suspends = suspends.clone();
                    let mut is_woken = false;
                    let future = poll_fn(move |context| {
                        if is_woken {
                            order.lock().unwrap().push(number);
                            return Poll::Ready(());
                        }
                        is_woken = true;
                        *wakers[number].lock().unwrap() = Some(context.waker().clone());
                        suspends.send(()).unwrap();
                        Poll::Pending
                    });
                    cx.spawn_async(|_| future);
                }
            })
        };
        (0..TASKS).for_each(|_| suspended.recv().unwrap());
        let gate = occupy(&rt, workers);
        for waker in wakers.iter() {
            waker.lock().unwrap().take().unwrap().wake();
        }
        drop(gate);
        all.join().unwrap();
        assert_order(&order.lock().unwrap(), TASKS, workers);
    }
}

/// A task from outside starts though the tasks of others never end; and those end though tasks from
/// outside never do.
#[test]
fn neither_side_starves_the_other() {
    struct Busy {
        threads: Mutex<HashSet<ThreadId>>,
        stop: AtomicBool,
    }
    fn chain<'s>(cx: &mut Cx<'s, '_>, busy: &'s Busy) {
        busy.threads.lock().unwrap().insert(thread::current().id());
        if !busy.stop.load(SeqCst) {
            cx.spawn(|cx| chain(cx, busy));
        }
    }
    for workers in WORKERS {
        let rt = start(workers);
        rt.spawn(|_| ()).join().unwrap();
        let busy = Arc::new(Busy {
            threads: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        thread::scope(|threads| {
            let (rt, busy) = (&rt, &busy);
            threads.spawn(|| {
                rt.run(|cx| (0..8 * workers).for_each(|_| cx.spawn(|cx| chain(cx, busy))))
            });
            // The caller of `run`, and the threads that run tasks from outside.
            while busy.threads.lock().unwrap().len() < workers + 1 {
                thread::yield_now();
            }
            let stops = Arc::clone(busy);
            let stop = rt.spawn(move |_| stops.stop.store(true, SeqCst));
            stop.join().unwrap();
        });

        let long = rt.spawn(|cx| (0..1000).for_each(|_| cx.spawn(|cx| _ = cx.join(|_| 1, |_| 2))));
        let mut long = pin!(long);
        let mut context = Context::from_waker(Waker::noop());
        while long.as_mut().poll(&mut context).is_pending() {
            let requests = [(); 8].map(|()| rt.spawn(|_| ()));
            requests.into_iter().for_each(|task| task.join().unwrap());
        }
    }
}

/// Tasks are spawned from several threads, which join or await them; the value includes that of the
/// tasks that they spawn.
#[test]
fn tasks_are_spawned_from_any_thread() {
    fn fib(cx: &mut Cx, n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = cx.join(|cx| fib(cx, n - 1), |cx| fib(cx, n - 2));
        a + b
    }
    for workers in WORKERS {
        let rt = start(workers);
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..10 {
                        let (joined, awaited) =
                            (rt.spawn(|cx| fib(cx, 12)), rt.spawn(|cx| fib(cx, 13)));
                        assert_eq!(joined.join().unwrap(), 144);
                        assert_eq!(block_on(awaited).unwrap(), 233);
                    }
                });
            }
        });
        let inner = Arc::new(AtomicUsize::new(0));
        let of_task = Arc::clone(&inner);
        let spawner = rt.spawn(move |cx| {
            for _ in 0..50 {
                let count = Arc::clone(&of_task);
                cx.spawn(move |_| _ = count.fetch_add(1, SeqCst));
            }
        });
        spawner.join().unwrap();
        assert_eq!(inner.load(SeqCst), 50, "{workers} workers");
    }
}

/// A task that joins another one helps, on one worker too; one in a runtime of its own blocks.
#[test]
fn tasks_join_tasks() {
    for workers in WORKERS {
        let rt = Arc::new(start(workers));
        let (inner, other) = (Arc::clone(&rt), start(1));
        let outer = rt.spawn(move |_| inner.spawn(|_| 1).join().unwrap() + 1);
        assert_eq!(other.run(|_| outer.join().unwrap()), 2);
    }
}

/// A panic of a task, or of one that it spawned, reaches its handle with the payload, and no other
/// task.
#[test]
fn a_panic_reaches_the_handle_alone() {
    for workers in WORKERS {
        let rt = start(workers);
        let cell = Arc::new(Ddf::new());
        let filled = Arc::clone(&cell);
        let unharmed = rt.spawn(move |cx| *cx.block_on(filled.wait()));
        let words = [
            rt.spawn(|_| panic_any("body")).join(),
            rt.spawn(|cx| cx.spawn(|_| panic_any("child"))).join(),
        ];
        let words = words.map(|ended| match ended {
            Err(Failure::Panicked(payload)) => *payload.downcast::<&str>().unwrap(),
            other => panic!("{other:?}"),
        });
        assert_eq!(words, ["body", "child"]);
        let line = rt
            .spawn(|_| -> u32 { panic!("number {}", 7) })
            .join()
            .unwrap_err();
        assert_eq!(line.to_string(), "the task panicked: number 7");
        cell.put(8).unwrap();
        assert_eq!(unharmed.join().unwrap(), 8);
    }
}

/// A dropped handle detaches: the task continues. Its value, or its payload, may panic when it is
/// dropped.
#[test]
fn a_dropped_handle_detaches() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("dropped");
        }
    }
    for workers in WORKERS {
        let rt = start(workers);
        let runs = Arc::new(AtomicUsize::new(0));
        for turn in 0..30 {
            let runs = Arc::clone(&runs);
            drop(rt.spawn(move |_| {
                runs.fetch_add(1, SeqCst);
                if turn % 2 == 0 {
                    panic_any(Bomb);
                }
                Bomb
            }));
        }
        while runs.load(SeqCst) < 30 {
            thread::yield_now();
        }
        assert_eq!(rt.spawn(|_| 1).join().unwrap(), 1, "{workers} workers");
    }
}

/// The end of a runtime cancels what has not begun and what is suspended, and waits for what runs.
#[test]
fn the_end_of_a_runtime_cancels_its_tasks() {
    for workers in WORKERS {
        let (rt, drops) = (start(workers), Arc::new(AtomicUsize::new(0)));
        let (began, begun) = mpsc::channel();
        let running = rt.spawn(move |cx| {
            began.send(()).unwrap();
            while cx.cancelled().is_none() {
                thread::yield_now();
            }
        });
        begun.recv().unwrap();
        let cell = Arc::new(Ddf::<u32>::new());
        let suspended = {
            let (cell, dropped) = (Arc::clone(&cell), Dropped(Arc::clone(&drops)));
            rt.spawn(move |cx| {
                cx.spawn_async(|_| async move {
                    let _dropped = dropped;
                    cell.wait().await;
                });
            })
        };
        let many: Vec<_> = (0..100)
            .map(|_| {
                let dropped = Dropped(Arc::clone(&drops));
                rt.spawn(move |_| drop(dropped))
            })
            .collect();
        drop(rt);
        assert_eq!(drops.load(SeqCst), 101);
        let stopped = |ended: Result<(), Failure>| match ended {
            Ok(()) => true,
            Err(Failure::Cancelled(Cancelled { reason })) => reason == Reason::Interrupted,
            Err(Failure::Panicked(_)) => false,
        };
        assert!(!matches!(running.join(), Ok(())), "a cancelled finish");
        assert!(matches!(suspended.join(), Err(Failure::Cancelled(_))));
        assert!(many.into_iter().all(|task| stopped(task.join())));
    }
}

/// A task may drop the last reference to its runtime, and what it has spawned is cancelled.
#[test]
fn a_task_may_drop_its_runtime() {
    for workers in WORKERS {
        let rt = Arc::new(start(workers));
        let inside = Arc::clone(&rt);
        let (let_go, gone) = mpsc::channel::<()>();
        let task = rt.spawn(move |_| {
            gone.recv().unwrap_err();
            drop(Arc::into_inner(inside).expect("the last reference"));
            5
        });
        drop(rt);
        drop(let_go);
        // The runtime has ended since, which cancels the task's finish.
        assert!(
            matches!(task.join(), Err(Failure::Cancelled(_))),
            "{workers}"
        );
    }
}

/// A future of `run_async` gives the value, the reason of a cancellation, or the payload of a
/// task's panic.
#[test]
fn a_computation_is_awaited() {
    for workers in WORKERS {
        let rt = start(workers);
        let both = block_on(rt.run_async(|cx| cx.join(|_| 1, |_| 2)));
        assert_eq!(both.unwrap(), (1, 2));
        let found = block_on(rt.run_async(|cx| _ = cx.cancel(Reason::Found)));
        assert_eq!(reason(found), Reason::Found);
        let bodies: [fn(&mut Cx); 3] = [
            |_| panic_any("text"),
            |cx| cx.spawn(|_| panic_any("text")),
            |cx| cx.spawn_async(|_| async { panic_any("text") }),
        ];
        for body in bodies {
            match block_on(rt.run_async(body)) {
                Err(Failure::Panicked(payload)) => {
                    assert_eq!(payload.downcast_ref(), Some(&"text"))
                }
                other => panic!("{workers} workers: {other:?}"),
            }
        }
        let (began, begun) = mpsc::channel();
        let late = rt.run_async(move |cx| {
            began.send(()).unwrap();
            while cx.cancelled().is_none() {
                thread::yield_now();
            }
        });
        begun.recv().unwrap();
        drop(rt);
        assert_eq!(reason(block_on(late)), Reason::Interrupted);
    }
}

/// A future of `run_async` that is dropped, polled or not, cancels its computation: running tasks
/// see that, suspended and waiting ones are dropped.
#[test]
fn a_dropped_computation_is_cancelled() {
    for workers in WORKERS {
        let rt = start(workers);
        for is_polled in [false, true] {
            let drops = Arc::new(AtomicUsize::new(0));
            let (began, begun) = mpsc::channel();
            let (ended, end) = mpsc::channel();
            let counts = [(); 2].map(|()| Dropped(Arc::clone(&drops)));
            let mut running = Box::pin(rt.run_async(move |cx| {
                let [of_future, of_task] = counts;
                let never = Arc::new(Ddf::<u32>::new());
                let cell = Arc::clone(&never);
                cx.spawn_async(|_| async move {
                    let _dropped = of_future;
                    cell.wait().await;
                });
                cx.spawn_async(|_| async move {
                    let _dropped = of_task;
                    std::future::pending::<()>().await;
                });
                began.send(()).unwrap();
                while cx.cancelled().is_none() {
                    thread::yield_now();
                }
                ended.send(cx.cancelled()).unwrap();
            }));
            begun.recv().unwrap();
            if is_polled {
                block_on(poll_fn(|cx| {
                    assert!(running.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                }));
            }
            drop(running);
            assert_eq!(end.recv().unwrap(), Some(Reason::GivenUp));
            while drops.load(SeqCst) < 2 {
                thread::yield_now();
            }
        }
    }
}

/// A deadline ends tasks that run and poll, tasks that fork, and tasks that wait for ever; one that
/// does not pass changes nothing, and neither do those of other finishes.
#[test]
fn deadlines_end_finishes() {
    for workers in WORKERS {
        let rt = start(workers);
        let never = Ddf::<u32>::new();
        let hour = Duration::from_secs(3600);
        assert_eq!(rt.run_within(hour, |cx| cx.join(|_| 1, |_| 2)), Ok((1, 2)));
        let begin = Instant::now();
        let outcome = rt.run(|cx| {
            let deadline = Deadline::after(hour);
            cx.finish_until(&deadline, |cx| {
                let deadline = Deadline::after(SOON);
                let inner = cx.finish_until(&deadline, |cx| {
                    cx.spawn_when(&never, |_, _| unreachable!());
                    cx.spawn_async(|_| async { _ = never.wait().await });
                    cx.spawn(|cx| {
                        while cx.cancelled().is_none() {
                            thread::yield_now()
                        }
                    });
                    // Never done by tasks that do not poll.
                    fn spawn_for_ever(cx: &mut Cx) {
                        cx.spawn(spawn_for_ever);
                    }
                    spawn_for_ever(cx);
                });
                assert_eq!(inner.unwrap_err().reason, Reason::Deadline);
            })
        });
        assert_eq!(outcome, Ok(()));
        assert!(begin.elapsed() >= SOON);
        let passed = rt.run_within(Duration::ZERO, |_| panic_any("not called"));
        assert_eq!(
            passed.map_err(|cancelled| cancelled.reason),
            Err::<(), _>(Reason::Deadline)
        );
        let in_async = rt.block_on(async |task: TaskCx| {
            let deadline = Deadline::after(SOON);
            task.finish_until(&deadline, |_| async { _ = Ddf::<u32>::new().wait().await })
                .await
        });
        assert_eq!(
            in_async.map_err(|c| c.reason),
            Err::<(), _>(Reason::Deadline)
        );
    }
}

/// Deadlines pass in the order of their times, whatever the order of their creation.
#[test]
fn deadlines_pass_in_order() {
    let order = Mutex::new(Vec::new());
    thread::scope(|threads| {
        for after in [120, 20, 70] {
            let order = &order;
            let deadline = Deadline::after(Duration::from_millis(after));
            threads.spawn(move || {
                let begin = Instant::now();
                while deadline.cancelled().is_none() {
                    thread::yield_now();
                }
                order.lock().unwrap().push(after);
                assert!(begin.elapsed() < Duration::from_secs(60));
            });
        }
    });
    assert_eq!(order.into_inner().unwrap(), [20, 70, 120]);
}

/// The program of a lock held over a fork: with `join`, the wait may run a task that locks; with
/// `join_with` it does not.
#[test]
fn a_lock_held_over_join_with_does_not_deadlock() {
    let rt = start(2);
    let total = Mutex::new(0);
    let busy = |n: u64| std::hint::black_box((0..n).fold(0, |a: u64, b| a ^ b.wrapping_mul(a | 1)));
    rt.run(|cx| {
        for _ in 0..500 {
            let total = &total;
            cx.spawn(move |cx| {
                let mut total = total.lock().unwrap();
                cx.join_with(Wait::Own, |_| busy(200), |_| busy(2000));
                *total += 1;
            });
        }
    });
    assert_eq!(total.into_inner().unwrap(), 500);
}

/// The runtime of the process is one, from whichever thread it is called first.
#[test]
fn there_is_one_global_runtime() {
    let seen: Vec<_> = thread::scope(|threads| {
        let threads: Vec<_> = (0..4)
            .map(|_| threads.spawn(|| tautline::global().unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(seen.iter().all(|rt| std::ptr::eq(*rt, seen[0])));
    let ran = AtomicBool::new(false);
    seen[0].run(|cx| cx.spawn(|_| ran.store(true, SeqCst)));
    assert!(ran.into_inner());
    let task = tautline::global().unwrap().spawn(|_| 1);
    assert_eq!(task.join().unwrap(), 1);
    fn is_sent<T: Future + Send + 'static>(future: T) -> T {
        future
    }
    assert_eq!(block_on(is_sent(seen[0].run_async(|_| 1))).unwrap(), 1);
}

/// The thread that runs tasks from outside is started as the workers are: with hooks, a name, and
/// the stack.
#[test]
fn the_thread_of_tasks_from_outside_is_a_started_one() {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let count = |of: &Arc<AtomicUsize>| {
        let of = Arc::clone(of);
        move || _ = of.fetch_add(1, SeqCst)
    };
    let builder = Runtime::builder().workers(1).pinned(false);
    let builder = builder.thread_name("own").on_thread_start(count(&begun));
    let rt = builder.on_thread_stop(count(&ended)).build().unwrap();
    assert_eq!(begun.load(SeqCst), 0);
    for _ in 0..2 {
        let name = rt.spawn(|_| thread::current().name().map(str::to_owned));
        assert_eq!(name.join().unwrap().as_deref(), Some("own-spawn"));
        assert_eq!(begun.load(SeqCst), 1);
    }
    drop(rt);
    assert_eq!(ended.load(SeqCst), 1);
}
