//! Messages and collective operations as tasks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use tautline::comm::{Comm, Error, Received, Request, Tag, wait_all_blocking, wait_any_blocking};
use tautline::prelude::*;
use tautline::world::{self, Bell, Bulk, Link, Lost, ProgressMode, Rank, World};
use tautline_node::Loopback;

const TAG: Tag = Tag(7);

fn runtime(workers: usize) -> Runtime {
    let builder = Runtime::builder().workers(workers).pinned(false);
    builder.build().expect("a runtime")
}

/// Runs `program` at two ranks, each with a communicator.
fn two<T: Send>(program: impl Fn(&World, &Comm, Rank) -> T + Sync) -> Vec<T> {
    world::loopback(2, |world| {
        program(world, &world.comm(), Rank(1 - world.rank().0))
    })
}

/// Chatterjee, acceptance fact 17: 100,000 messages take as many tasks as are outstanding.
#[test]
fn tasks_are_recycled() {
    const MESSAGES: u32 = 100_000;
    let slots = two(|_, comm, other| {
        for number in 0..MESSAGES / 10 {
            let received: Vec<_> = (0..5).map(|_| comm.irecv::<u32>(other, TAG)).collect();
            let sent: Vec<_> = (0..5).map(|_| comm.isend(&number, other, TAG)).collect();
            wait_all_blocking(sent).expect("sent");
            for received in wait_all_blocking(received).expect("received") {
                assert_eq!(received.value, number);
            }
        }
        comm.slots()
    });
    assert!(slots.iter().all(|slots| *slots <= 16), "{slots:?}");
}

/// Chatterjee, acceptance fact 18: a scope ends only when its operations have, a send among them;
/// with one worker, other tasks run until then: one of a scope around it sends what it waits for,
/// or receives what it sends.
#[test]
fn a_scope_waits_for_its_operations() {
    const SENDS: u8 = 20;
    // Too long to be sent before the other rank receives.
    let value = |number| vec![number; 100_000];
    for workers in [1, 2] {
        two(|_, comm, other| {
            runtime(workers).run(|cx| {
                cx.scope(|cx| {
                    cx.spawn(|_| {
                        comm.isend(&value(SENDS), other, TAG);
                    });
                    let received = cx.scope(|cx| comm.irecv::<Vec<u8>>(other, TAG).hold(cx.hold()));
                    let received = received.test().expect("the scope has ended");
                    assert_eq!(received.as_ref().expect("received").value, value(SENDS));
                });
                for number in 0..SENDS {
                    let mut received = None;
                    cx.scope(|cx| {
                        cx.spawn(|_| received = Some(comm.irecv::<Vec<u8>>(other, TAG)));
                        let value = value(number);
                        let sent = cx.scope(|cx| comm.isend(&value, other, TAG).hold(cx.hold()));
                        let sent = sent.test().expect("the scope has ended");
                        assert!(sent.is_ok(), "{sent:?}");
                    });
                    let received = received.expect("the task has run").wait_blocking();
                    assert_eq!(received.expect("received").value, value(number));
                }
            });
        });
    }
}

/// Chatterjee, acceptance fact 19: a task that waits for a request starts after the message, and
/// sees its status.
#[test]
fn a_task_starts_when_its_message_has_arrived() {
    let bytes = two(|_, comm, other| {
        let received = comm.irecv::<Bulk<f64>>(other, TAG);
        let mut seen = None;
        runtime(1).run(|cx| {
            cx.scope(|cx| {
                cx.spawn_when(received.cell(), |message, _| {
                    let message = message.as_ref().expect("received");
                    seen = Some((message.value.0.clone(), message.status));
                });
                comm.isend(&Bulk(vec![1.5; 80]), other, TAG).hold(cx.hold());
            });
        });
        let (values, status) = seen.expect("the task has run");
        assert_eq!(values, [1.5; 80]);
        assert_eq!((status.source, status.tag), (Some(other), Some(TAG)));
        status.bytes
    });
    assert!(
        bytes.iter().all(|bytes| (640..660).contains(bytes)),
        "{bytes:?}"
    );
}

/// Chatterjee, acceptance fact 20: waits for one, for all, for any with its index; in tasks,
/// threads and async code.
#[test]
fn requests_are_waited_for() {
    two(|world, comm, other| {
        match world.is_home() {
            true => wait_in_all_ways(comm, other),
            false => {
                for tag in [0, 1, 2, 3, 4, 5, 9] {
                    comm.send(&tag, other, Tag(tag)).expect("sent");
                }
            }
        }
        // The end of rank 1 would end the receives that are pending.
        world.barrier().expect("both ranks");
    });
}

fn wait_in_all_ways(comm: &Comm, other: Rank) {
    let receive = |tag| comm.irecv::<u32>(other, Tag(tag));
    let value = |received: Result<Received<u32>, Error>| received.expect("received").value;
    assert_eq!(value(receive(2).wait_blocking()), 2);
    let both = wait_all_blocking([receive(1), receive(0)]).expect("received");
    assert_eq!(both.map_values(), [1, 0]);
    // Of these, the last one alone ends.
    let mut many: Vec<_> = [70, 71, 9].into_iter().map(receive).collect();
    let (at, ended) = wait_any_blocking(&mut many);
    assert_eq!((at, value(ended), many.len()), (2, 9, 2));
    for pending in &many {
        assert!(pending.test().is_none());
        pending.cancel();
    }
    for pending in many {
        assert_eq!(pending.wait_blocking(), Err(Error::Cancelled));
    }
    let rt = runtime(1);
    assert_eq!(rt.run(|cx| value(receive(3).wait(cx))), 3);
    assert_eq!(rt.block_on(async |_| value(receive(4).await)), 4);
    assert_eq!(value(comm.recv(None, None)), 5);
}

trait Values {
    fn map_values(self) -> Vec<u32>;
}

impl Values for Vec<Received<u32>> {
    fn map_values(self) -> Vec<u32> {
        self.into_iter().map(|received| received.value).collect()
    }
}

/// Chatterjee, acceptance fact 21: messages of one task with one tag are received in its order,
/// short and long ones.
#[test]
fn messages_arrive_in_order() {
    two(|_, comm, other| {
        let long = |number: usize| vec![number as u32; number * number * 7 % 70_000];
        let sent: Vec<_> = (0..200)
            .map(|number| comm.isend(&long(number), other, TAG))
            .collect();
        for number in 0..200 {
            let received = comm.recv::<Vec<u32>>(other, TAG).expect("received");
            assert_eq!(received.value, long(number));
        }
        wait_all_blocking(sent).expect("sent");
    });
}

/// Chatterjee, acceptance fact 22: what is spawned before a barrier may overlap it; what follows
/// comes after all ranks. Messages pass during the barrier.
#[test]
fn a_barrier_orders_what_follows() {
    static BEFORE: AtomicU32 = AtomicU32::new(0);
    two(|world, comm, other| {
        runtime(1).run(|cx| {
            cx.scope(|cx| {
                let spawned = AtomicBool::new(false);
                cx.scope(|cx| {
                    cx.spawn(|_| spawned.store(true, Ordering::SeqCst));
                    BEFORE.fetch_add(1, Ordering::SeqCst);
                    let barrier = comm.barrier();
                    // Rank 0 has a message of rank 1 in a barrier that it has not begun to wait
                    // for.
                    let received = comm.irecv::<u8>(other, TAG);
                    comm.isend(&1u8, other, TAG).hold(cx.hold());
                    assert_eq!(received.wait(cx).expect("received").value, 1);
                    barrier.wait(cx).expect("all ranks");
                });
                assert_eq!(BEFORE.load(Ordering::SeqCst), 2);
                assert!(spawned.load(Ordering::SeqCst));
            });
        });
        assert_eq!(world.ranks(), comm.ranks());
    });
}

/// Chatterjee, acceptance fact 23: a scope whose last event is a message is continued by a worker.
#[test]
fn a_message_ends_a_scope_whose_workers_sleep() {
    two(|_, comm, other| {
        let rt = runtime(2);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                // A sleep, since the workers of the other rank are to sleep by then.
                std::thread::sleep(Duration::from_millis(50));
                comm.send(&1u8, other, TAG).expect("sent");
            });
            rt.run(|cx| cx.scope(|cx| drop(comm.irecv::<u8>(other, TAG).hold(cx.hold()))));
        });
    });
}

/// Each hold of a request keeps its scope open until the operation has ended; one that comes after
/// the end is released at once.
#[test]
fn a_request_takes_several_holds_and_late_ones() {
    two(|_, comm, other| {
        let (rt, holds) = (runtime(2), std::sync::mpsc::channel());
        let request = std::sync::RwLock::new(None);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                let (rt, request, put) = (&rt, &request, holds.0.clone());
                threads.spawn(move || {
                    rt.run(|cx| cx.scope(|cx| put.send(cx.hold()).expect("taken below")));
                    let request = request.read().expect("no panic");
                    let request: Option<&Request<u8>> = request.as_ref();
                    assert!(
                        request.is_some_and(|request| request.test().is_some()),
                        "a scope has ended early"
                    );
                });
            }
            let [one, another] = [(); 2].map(|()| holds.1.recv().expect("given above"));
            let received = comm.irecv::<u8>(other, TAG).hold(one).hold(another);
            *request.write().expect("no panic") = Some(received);
            // A sleep, since the scopes are to wait by then.
            std::thread::sleep(Duration::from_millis(20));
            comm.send(&1u8, other, TAG).expect("sent");
        });
        rt.run(|cx| {
            cx.scope(|cx| {
                let sent = comm.isend(&2u8, other, Tag(9));
                while sent.test().is_none() {
                    std::thread::yield_now();
                }
                assert!(sent.hold(cx.hold()).test().is_some());
            });
        });
        assert_eq!(comm.recv::<u8>(other, Tag(9)).expect("sent").value, 2);
    });
}

/// Chatterjee, acceptance fact 24: collective operations have the results that are computed one
/// after the other, for all types and operators.
#[test]
fn operations_of_all_ranks_are_exact() {
    for ranks in 1..=5 {
        let all = world::loopback(ranks, |world| {
            operations(&world.comm(), world.rank().0, ranks)
        });
        assert_eq!(all.len(), ranks as usize);
    }
}

fn operations(comm: &Comm, here: u32, ranks: u32) {
    macro_rules! numbers {
        ($($type:ty),+) => {$(
            let of = |rank: u32| (rank * 7 % 5 + 1) as $type;
            let operators: [fn($type, $type) -> $type; 4] = [
                |a, b| if a > b { a } else { b },
                |a, b| if a < b { a } else { b },
                |a, b| a + b,
                |a, b| a * b,
            ];
            for operator in operators {
                reduced(comm, here, ranks, of, operator);
            }
        )+};
    }
    macro_rules! bits {
        ($($type:ty),+) => {$(
            let of = |rank: u32| (rank * 11 + 3) as $type;
            let operators: [fn($type, $type) -> $type; 3] = [|a, b| a & b, |a, b| a | b, |a, b| a ^ b];
            for operator in operators {
                reduced(comm, here, ranks, of, operator);
            }
        )+};
    }
    numbers!(i8, i16, i32, i64, u16, u32, u64, f32, f64);
    bits!(u8, i16, i32, i64, u16, u32, u64);
    let logical: [fn(bool, bool) -> bool; 3] = [|a, b| a && b, |a, b| a || b, |a, b| a != b];
    for operator in logical {
        reduced(comm, here, ranks, |rank| rank % 3 == 1, operator);
    }
    // The greatest and the least value, and the first rank that has it.
    let at = |rank: u32| (i64::from(rank * 7 % 5), rank);
    reduced(comm, here, ranks, at, |a, b| if b.0 > a.0 { b } else { a });
    reduced(comm, here, ranks, at, |a, b| if b.0 < a.0 { b } else { a });

    let value = |request: Request<_>| request.wait_blocking().expect("all ranks").value;
    comm.barrier().wait_blocking().expect("all ranks");
    assert_eq!(
        comm.broadcast(here + 40)
            .wait_blocking()
            .expect("all ranks")
            .value,
        40
    );
    let scattered = (0..ranks).map(|rank| rank * 2).collect();
    assert_eq!(
        comm.scatter(scattered)
            .wait_blocking()
            .expect("all ranks")
            .value,
        here * 2
    );
    let names: Vec<_> = (0..ranks).map(|rank| rank.to_string()).collect();
    let gathered = comm
        .gather(here.to_string())
        .wait_blocking()
        .expect("all ranks")
        .value;
    assert_eq!(gathered, (here == 0).then(|| names.clone()));
    assert_eq!(value(comm.all_gather(here.to_string())), names);
    let exchanged = (0..ranks).map(|to| (here, to)).collect();
    let exchanged = comm
        .all_to_all(exchanged)
        .wait_blocking()
        .expect("all ranks")
        .value;
    assert_eq!(
        exchanged,
        (0..ranks).map(|from| (from, here)).collect::<Vec<_>>()
    );
}

fn reduced<T>(comm: &Comm, here: u32, ranks: u32, of: impl Fn(u32) -> T, operator: fn(T, T) -> T)
where
    T: world::Portable + Copy + Sync + PartialEq + std::fmt::Debug + 'static,
{
    let before = |rank: u32| (0..rank).map(&of).reduce(operator);
    let all = before(ranks).expect("a rank");
    let requests = (
        comm.all_reduce(of(here), operator),
        comm.reduce(of(here), operator),
        comm.scan(of(here), operator),
    );
    assert_eq!(requests.0.wait_blocking().expect("all ranks").value, all);
    assert_eq!(
        requests.1.wait_blocking().expect("all ranks").value,
        (here == 0).then_some(all)
    );
    assert_eq!(
        requests.2.wait_blocking().expect("all ranks").value,
        before(here)
    );
}

/// Each misuse is an error that names the value and what is allowed.
#[test]
fn misuse_is_refused() {
    two(|world, comm, other| {
        let line = |ended: Result<(), Error>| ended.unwrap_err().to_string();
        assert_eq!(
            line(comm.send(&1u8, Rank(2), TAG)),
            "there is no rank 2: ranks are from 0 to 1"
        );
        let tag = Tag(u32::MAX);
        let text = line(comm.send(&1u8, other, tag));
        assert!(
            text.contains("4294967295") && text.contains("2147483647"),
            "{text}"
        );
        comm.send(&vec![1u8; 50], other, TAG).expect("sent");
        let truncated = comm
            .irecv_at_most::<Vec<u8>>(other, TAG, 20)
            .wait_blocking();
        let text = truncated.unwrap_err().to_string();
        assert!(
            text.contains(&other.to_string()) && text.contains("51") && text.contains("20"),
            "{text}"
        );
        comm.send("text", other, TAG).expect("sent");
        let malformed = comm.recv::<Vec<String>>(other, TAG).map(|_| ());
        assert!(line(malformed).starts_with(&format!("a message of {other} with tag 7: ")));
        let freed = comm.dup();
        let pending = freed.irecv::<u8>(other, TAG);
        freed.free();
        assert_eq!(pending.wait_blocking(), Err(Error::Freed));
        assert_eq!(freed.send(&1u8, other, TAG), Err(Error::Freed));
        let probed = comm.probe(None, None);
        comm.send(&8u8, other, Tag(8)).expect("sent");
        assert_eq!(
            probed.wait_blocking().expect("a message").status.tag,
            Some(Tag(8))
        );
        assert_eq!(comm.recv::<u8>(None, None).expect("received").value, 8);
        world.barrier().expect("both ranks");
    });
}

/// A request whose world has ended is not waited for for ever.
#[test]
fn operations_end_with_the_world() {
    let pending = {
        let world = World::alone();
        world.comm().irecv::<u8>(None, None)
    };
    assert_eq!(pending.wait_blocking(), Err(Error::Closed));
    // Rank 1 never comes to the first barrier; the second one begins after the end.
    let barriers = two(|world, comm, _| world.is_home().then(|| (comm.clone(), comm.barrier())));
    for (comm, barrier) in barriers.into_iter().flatten() {
        let error = barrier.wait_blocking().unwrap_err();
        assert!(matches!(error, Error::Rank(_)), "{error}");
        let error = comm.barrier().wait_blocking().unwrap_err();
        assert!(matches!(error, Error::Rank(_)), "{error}");
        let sent = comm.send(&1u8, Rank(1), TAG);
        assert!(
            matches!(sent, Err(Error::Rank(_) | Error::Closed)),
            "{sent:?}"
        );
    }
    let lost = two(|world, comm, other| {
        if !world.is_home() {
            return None;
        }
        let received = comm.irecv::<u8>(other, TAG);
        Some(received.wait_blocking())
    });
    assert!(matches!(&lost[0], Some(Err(Error::Rank(_)))), "{lost:?}");
}

/// A rank of which a single thread communicates exchanges the same messages, and may change its
/// mind.
#[test]
fn a_dedicated_thread_communicates() {
    let sums = two(|world, comm, other| {
        let mut sum = 0;
        for progress in [
            ProgressMode::Dedicated,
            ProgressMode::Cooperative,
            ProgressMode::Dedicated,
        ] {
            world.progress(progress);
            let rt = Runtime::builder().workers(2).pinned(false).world(world);
            sum += rt.build().expect("a runtime").run(|cx| {
                let mut sum = 0;
                for number in 0..200u64 {
                    cx.scope(|cx| _ = comm.isend(&number, other, TAG).hold(cx.hold()));
                    let received = comm.irecv::<u64>(other, TAG).wait(cx);
                    sum += received.expect("sent").value;
                }
                sum
            });
            comm.barrier().wait_blocking().expect("both live");
        }
        sum
    });
    assert_eq!(sums, [3 * 19_900; 2]);
}

/// A link over which nothing arrives while it is closed.
struct Gated<L> {
    link: L,
    is_closed: Arc<AtomicBool>,
}

impl<L: Link> Link for Gated<L> {
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
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        if self.here() == Rank(1) && self.is_closed.load(Ordering::SeqCst) {
            return Ok(false);
        }
        self.link.poll(take)
    }

    fn arm(&mut self) -> bool {
        !self.is_closed.load(Ordering::SeqCst) && self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}

/// More messages than the communication worker takes in one step arrive in one turn of the progress
/// thread, and none afterwards.
#[test]
fn messages_that_arrive_at_once_are_all_taken() {
    const MESSAGES: u32 = 1000;
    let (is_closed, step) = (Arc::new(AtomicBool::new(false)), Barrier::new(2));
    let gated = |link| Gated {
        link,
        is_closed: Arc::clone(&is_closed),
    };
    let received = World::builder().links(Loopback::new(2).into_iter().map(gated), |world| {
        let comm = world.comm();
        world.barrier().expect("two ranks");
        let mut values = Vec::new();
        if world.rank() == Rank(0) {
            step.wait();
            let send = |number| comm.isend(&number, Rank(1), TAG);
            wait_all_blocking((0..MESSAGES).map(send)).expect("there is room");
            step.wait();
        } else {
            is_closed.store(true, Ordering::SeqCst);
            step.wait();
            step.wait();
            let receive = |_| comm.irecv::<u32>(Rank(0), TAG);
            let requests: Vec<_> = (0..MESSAGES).map(receive).collect();
            is_closed.store(false, Ordering::SeqCst);
            // A thread that waits would communicate.
            let due = Instant::now() + Duration::from_secs(20);
            while requests.iter().any(|request| request.test().is_none()) && Instant::now() < due {
                thread::yield_now();
            }
            let value = |request: &Request<u32>| Some(request.test()?.as_ref().ok()?.value);
            values.extend(requests.iter().map_while(value));
        }
        world.barrier().expect("two ranks");
        values
    });
    assert_eq!(received[1], (0..MESSAGES).collect::<Vec<_>>());
}

/// A receive that waits ends with the error with which the channels have ended, although no news
/// arrives.
#[test]
fn a_receive_ends_with_its_channel() {
    let step = Barrier::new(2);
    let ended = two(|world, comm, other| {
        let ended = world.is_home().then(|| {
            let received = comm.irecv::<u8>(other, TAG);
            world.wait_at_most(Duration::from_millis(20));
            world.barrier().expect_err("rank 1 does not come");
            let due = Instant::now() + Duration::from_secs(20);
            while received.test().is_none() && Instant::now() < due {
                thread::yield_now();
            }
            matches!(received.test(), Some(Err(Error::Rank(_))))
        });
        step.wait();
        ended
    });
    assert_eq!(ended[0], Some(true));
}
