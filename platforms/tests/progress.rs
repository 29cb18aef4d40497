//! Threads that communicate: which they are, and code of the program that they run.
#![cfg(feature = "serde")]

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::future::{Future, IntoFuture};
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;
use tautline::comm::{self, Comm, Received, Request, Tag};
use tautline::prelude::*;
use tautline::world::{self, Bell, Link, Lost, ProgressMode, Rank, World};
use tautline_node::Loopback;

const TAG: Tag = Tag(7);
const LONG: Duration = Duration::from_secs(60);

/// The panics of these tests are not printed.
const QUIET: &str = "on purpose";

fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&QUIET) {
                before(info);
            }
        }));
    });
}

/// Runs `program` at two ranks, which communicate in both ways.
fn two<T: Send>(program: impl Fn(&World, &Comm, Rank) -> T + Sync) -> [Vec<T>; 2] {
    quiet();
    [ProgressMode::Cooperative, ProgressMode::Dedicated].map(|progress| {
        world::loopback(2, |world| {
            world.wait_at_most(LONG);
            world.progress(progress);
            program(world, &world.comm(), Rank(1 - world.rank().0))
        })
    })
}

/// A waker that runs `act` once it is called, and reports that it was.
struct Act<F>(Mutex<Option<F>>, Mutex<Sender<()>>);

impl<F: FnOnce() + Send> Wake for Act<F> {
    fn wake(self: Arc<Self>) {
        let act = self.0.lock().expect("not poisoned").take();
        self.1.lock().expect("not poisoned").send(()).ok();
        act.into_iter().for_each(|act| act());
    }
}

type Pending<T> = Pin<Box<dyn Future<Output = comm::Result<Received<T>>> + Send>>;

/// Lets `act` run when the request ends.
fn upon<T, F>(request: Request<T>, act: F) -> (Pending<T>, Receiver<()>)
where
    T: Send + Sync + 'static,
    F: FnOnce() + Send + 'static,
{
    let (woken, wakes) = channel();
    let mut future = request.into_future();
    let waker = Waker::from(Arc::new(Act(Mutex::new(Some(act)), Mutex::new(woken))));
    let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending(), "the other rank has not sent");
    (future, wakes)
}

fn ready<T>(mut future: Pending<T>) -> comm::Result<Received<T>> {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(ended) => ended,
        Poll::Pending => panic!("it was woken"),
    }
}

#[test]
fn wakers_that_panic_end_no_later_operation() {
    for values in two(|world, comm, other| {
        let mut values = Vec::new();
        for number in 0..5u32 {
            if world.is_home() {
                comm.recv::<()>(other, TAG).expect("it waits");
                comm.send(&number, other, TAG).expect("sent");
            } else {
                let request = comm.irecv::<u32>(other, TAG);
                let (future, woken) = upon(request, || panic::panic_any(QUIET));
                comm.send(&(), other, TAG).expect("sent");
                woken.recv_timeout(LONG).expect("woken");
                values.push(ready(future).expect("received").value);
            }
        }
        world.barrier().expect("both ranks live");
        values
    }) {
        assert_eq!(values, [vec![], vec![0, 1, 2, 3, 4]]);
    }
}

/// The hold of an operation whose waker panics is released, and other waiters of the same cell are
/// woken.
#[test]
fn a_waker_that_panics_keeps_no_scope() {
    for values in two(|world, comm, other| {
        if world.is_home() {
            comm.recv::<()>(other, TAG).expect("it waits");
            comm.send(&5u32, other, TAG).expect("sent");
            return 5;
        }
        let rt = Runtime::builder().workers(1).pinned(false).build();
        rt.expect("a runtime").run(|cx| {
            let mut sum = 0;
            let received = cx.scope(|cx| {
                let request = comm.irecv::<u32>(other, TAG).hold(cx.hold());
                for _ in 0..2 {
                    let waker = Waker::from(Arc::new(Act(
                        Mutex::new(Some(|| panic::panic_any(QUIET))),
                        Mutex::new(channel().0),
                    )));
                    let mut wait = Box::pin(async { _ = request.cell().wait().await });
                    let polled = wait.as_mut().poll(&mut Context::from_waker(&waker));
                    assert!(polled.is_pending());
                    // Its waker stays.
                    std::mem::forget(wait);
                }
                comm.send(&(), other, TAG).expect("sent");
                request
            });
            cx.scope(|cx| {
                cx.spawn_when(received.cell(), |ended, _| {
                    sum += ended.as_ref().expect("received").value;
                });
            });
            sum
        })
    }) {
        assert_eq!(values, [5, 5]);
    }
}

/// The future of a request is polled inside of the wake, as some executors do.
#[test]
fn a_waker_may_poll() {
    struct Inline {
        future: Mutex<Option<Pending<u32>>>,
        ended: Mutex<Sender<comm::Result<Received<u32>>>>,
    }
    impl Wake for Inline {
        fn wake(self: Arc<Self>) {
            let future = self.future.lock().expect("not poisoned").take();
            let Some(mut future) = future else { return };
            let waker = Waker::from(Arc::clone(&self));
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(ended) => self.ended.lock().unwrap().send(ended).expect("it waits"),
                Poll::Pending => *self.future.lock().unwrap() = Some(future),
            }
        }
    }
    for values in two(|world, comm, other| {
        if world.is_home() {
            comm.recv::<()>(other, TAG).expect("it waits");
            comm.send(&5u32, other, TAG).expect("sent");
            return 5;
        }
        let future = comm.irecv::<u32>(other, TAG).into_future();
        let (ended, end) = channel();
        let inline = Arc::new(Inline {
            future: Mutex::new(Some(future)),
            ended: Mutex::new(ended),
        });
        inline.wake();
        comm.send(&(), other, TAG).expect("sent");
        let ended = end.recv_timeout(LONG).expect("woken");
        ended.expect("received").value
    }) {
        assert_eq!(values, [5, 5]);
    }
}

/// A value whose drop panics, with a payload whose drop panics.
#[derive(Serialize, Deserialize)]
struct Fragile(u32);

impl Drop for Fragile {
    fn drop(&mut self) {
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                panic::panic_any(QUIET);
            }
        }
        if !thread::panicking() {
            panic::resume_unwind(Box::new(Payload));
        }
    }
}

/// A received value that no request takes is dropped by the thread that has decoded it.
#[test]
fn values_whose_drop_panics_end_nothing() {
    for values in two(|world, comm, other| {
        if world.is_home() {
            comm.recv::<()>(other, TAG).expect("it waits");
            for number in 0..3 {
                comm.send(&number, other, TAG).expect("sent");
            }
            comm.send(&5u32, other, Tag(1)).expect("sent");
        } else {
            for _ in 0..3 {
                drop(comm.irecv::<Fragile>(other, TAG));
            }
            comm.send(&(), other, TAG).expect("sent");
            let received = comm.recv::<u32>(other, Tag(1)).expect("received");
            assert_eq!(received.value, 5);
        }
        world.barrier().expect("both ranks live");
        5
    }) {
        assert_eq!(values, [5, 5]);
    }
}

/// An operator that panics ends the operation at its rank, and the next one at all, whichever
/// thread has run it, and unwinds none of them.
#[test]
fn an_operator_that_panics_is_an_error_at_all_ranks() {
    for ended in two(|world, comm, _| {
        let home = world.is_home();
        let sum = comm.all_reduce(1u32, move |_, _| match home {
            true => panic::panic_any(QUIET),
            false => 2,
        });
        let sum = panic::catch_unwind(AssertUnwindSafe(|| sum.wait_blocking()));
        let sum = sum.expect("not unwound").map(|sum| sum.value);
        (sum, comm.barrier().wait_blocking())
    }) {
        // Rank 1 has combined the values itself.
        assert!(ended[0].0.is_err(), "{ended:?}");
        assert!(ended.iter().all(|(_, next)| next.is_err()), "{ended:?}");
    }
}

/// The last owner of a world drops it in a waker, on the thread that communicates: the other rank
/// learns that it has left.
#[test]
fn a_world_dropped_in_a_turn_leaves() {
    quiet();
    let mut links = Loopback::new(2)
        .into_iter()
        .map(|link| World::builder().link(link).unwrap());
    let (home, other) = (links.next().expect("one"), links.next().expect("another"));
    let [comm, others] = [&home, &other].map(|world| world.comm());
    let ended = thread::scope(|scope| {
        let ended = scope.spawn(|| {
            others.recv::<()>(Rank(0), TAG).expect("it waits");
            others.send(&5u32, Rank(0), TAG).expect("sent");
            // It has left, so this ends.
            others.recv::<()>(Rank(0), TAG).map(|_| ())
        });
        let request = comm.irecv::<u32>(Rank(1), TAG);
        let last = comm.irecv::<u32>(Rank(1), Tag(1));
        comm.send(&(), Rank(1), TAG).expect("sent");
        let (future, woken) = upon(request, move || drop(home));
        woken.recv_timeout(LONG).expect("woken");
        assert_eq!(ready(future).expect("received").value, 5);
        assert!(last.wait_blocking().is_err(), "the world has ended");
        ended.join().expect("not unwound")
    });
    let error = ended.expect_err("it has left").to_string();
    assert!(error.contains("which has left"), "{error}");
}

/// A link that records which threads enter it.
struct Watched<L> {
    link: L,
    threads: Arc<Mutex<BTreeSet<String>>>,
}

impl<L: Link> Watched<L> {
    fn enter(&self) {
        let thread = thread::current();
        let thread = format!("{:?} {:?}", thread.name(), thread.id());
        self.threads.lock().expect("not poisoned").insert(thread);
    }
}

impl<L: Link> Link for Watched<L> {
    fn here(&self) -> Rank {
        self.link.here()
    }

    fn ranks(&self) -> u32 {
        self.link.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.link.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.enter();
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        self.enter();
        self.link.poll(take)
    }

    fn arm(&mut self) -> bool {
        self.enter();
        self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}

/// Chatterjee, acceptance fact 16: only one thread of a rank ever enters the transport, with
/// [`ProgressMode::Dedicated`].
#[test]
fn one_thread_enters_the_link() {
    const THREADS: u32 = 4;
    let threads = [(); 2].map(|()| Arc::<Mutex<BTreeSet<String>>>::default());
    let links = Loopback::new(2).into_iter().zip(&threads);
    let links = links.map(|(link, threads)| Watched {
        link,
        threads: Arc::clone(threads),
    });
    let sums = World::builder().links(links.collect::<Vec<_>>(), |world| {
        world.progress(ProgressMode::Dedicated);
        let (comm, other) = (world.comm(), Rank(1 - world.rank().0));
        let exchanged = |tag| {
            let tag = Tag(tag);
            let numbers = 0..100u32;
            let sums = numbers.map(|number| {
                let received = comm.irecv::<u32>(other, tag);
                comm.isend(&number, other, tag)
                    .wait_blocking()
                    .expect("sent");
                received.wait_blocking().expect("received").value
            });
            sums.sum::<u32>()
        };
        let sums = thread::scope(|scope| {
            let start = |tag| scope.spawn(move || exchanged(tag));
            let sums: Vec<_> = (0..THREADS).map(start).collect();
            sums.into_iter().map(|sum| sum.join().expect("a sum")).sum()
        });
        let all = comm.all_reduce(sums, |one, other| one + other);
        let all: u32 = all.wait_blocking().expect("both ranks").value;
        world.barrier().expect("both ranks");
        all
    });
    assert_eq!(sums, [2 * THREADS * 4950; 2]);
    for (rank, threads) in threads.iter().enumerate() {
        let threads = threads.lock().expect("not poisoned");
        let is_own = |thread: &String| thread.contains(&format!("tautline-link-{rank}"));
        assert!(
            threads.len() == 1 && threads.iter().all(is_own),
            "{threads:?}"
        );
    }
}

/// Runs `act` on a dedicated thread, as it may not end, and returns its result.
fn in_time<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (put, got) = channel();
    thread::spawn(move || put.send(act()));
    got.recv_timeout(LONG / 3).expect("it ends")
}

/// The clone of a value panics at the start of a scan, by a waker in the turn that ends a barrier.
#[test]
fn a_panic_in_a_nested_operation_ends_the_channels() {
    #[derive(Serialize, Deserialize)]
    struct Unique;
    impl Clone for Unique {
        fn clone(&self) -> Self {
            panic::panic_any(QUIET)
        }
    }
    let ended = in_time(|| {
        two(|world, comm, other| {
            let barrier = || comm.barrier();
            let inner = comm.clone();
            let scan = move || inner.scan(Unique, |_, last| last);
            if world.is_home() {
                comm.recv::<()>(other, TAG).expect("it waits");
                barrier().wait_blocking().expect("both ranks");
                return scan().wait_blocking().is_err();
            }
            let (started, start) = channel();
            let (future, woken) = upon(barrier(), move || {
                started.send(scan()).expect("open");
            });
            comm.send(&(), other, TAG).expect("sent");
            woken.recv_timeout(LONG).expect("woken");
            ready(future).expect("both ranks");
            let scan = start.recv_timeout(LONG / 6).expect("it returns");
            scan.wait_blocking().is_err()
        })
    });
    assert_eq!(ended, [[true; 2], [true; 2]].map(Vec::from));
}

/// The thread that waits takes the turn in which a waker drops the only rank's world.
#[test]
fn the_only_ranks_world_dropped_in_a_turn_of_a_wait_ends() {
    for _ in 0..200 {
        let world = World::alone();
        let comm = world.comm();
        let waits = comm.clone();
        let request = comm.irecv::<u32>(None, TAG);
        let never = comm.irecv::<u32>(None, Tag(1));
        let (future, woken) = upon(request, move || {
            // The sender returns during the sleep.
            thread::sleep(Duration::from_millis(1));
            drop(world);
        });
        let has_started = Arc::new(AtomicBool::new(false));
        let starts = Arc::clone(&has_started);
        let sends = thread::spawn(move || {
            while !has_started.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            waits.send(&5u32, Rank(0), TAG)
        });
        let ended = in_time(move || {
            starts.store(true, Ordering::Relaxed);
            never.wait_blocking()
        });
        assert!(ended.is_err(), "the world has ended");
        sends.join().expect("not unwound").expect("sent");
        woken.recv_timeout(LONG).expect("woken");
        assert_eq!(ready(future).expect("received").value, 5);
    }
}

/// A node with as many bytes on the stack of each level that is decoded.
#[derive(Serialize, Deserialize)]
struct Node {
    numbers: [[[u64; 32]; 8]; 2],
    next: Option<Box<Node>>,
}

/// About as deep as values may nest: more than a stack of 2 MiB holds.
#[test]
fn the_progress_thread_decodes_large_nodes() {
    const LEVELS: usize = 120;
    let levels = world::loopback(2, |world| {
        world.progress(ProgressMode::Dedicated);
        let (comm, other) = (world.comm(), Rank(1 - world.rank().0));
        let mut chain = None;
        for _ in 0..LEVELS {
            let numbers = [[[7; 32]; 8]; 2];
            let next = chain;
            chain = Some(Box::new(Node { numbers, next }));
        }
        let received = comm.irecv::<Option<Box<Node>>>(other, TAG);
        comm.send(&chain, other, TAG).expect("sent");
        let received = received.wait_blocking().expect("received");
        let first = received.value.as_deref();
        std::iter::successors(first, |node| node.next.as_deref()).count()
    });
    assert_eq!(levels, [LEVELS; 2]);
}
