//! The end of a world: what it waits for, what it refuses, and what the other ranks learn.
#![cfg(feature = "serde")]

use std::collections::VecDeque;
use std::sync::mpsc::channel;
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tautline::comm::{Comm, Error, Tag};
use tautline::world::{self, ProgressMode, Rank, World};

const TAG: Tag = Tag(7);
const LONG: Duration = Duration::from_secs(60);

/// Runs `program` at two ranks, which communicate in both ways.
fn two<T: Send>(program: impl Fn(&World, &Comm, Rank) -> T + Sync) -> [Vec<T>; 2] {
    [ProgressMode::Cooperative, ProgressMode::Dedicated].map(|progress| {
        world::loopback(2, |world| {
            world.wait_at_most(LONG);
            world.progress(progress);
            program(world, &world.comm(), Rank(1 - world.rank().0))
        })
    })
}

/// Runs `act` on a dedicated thread, as it may not end, and returns its result.
fn in_time<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (put, got) = channel();
    thread::spawn(move || put.send(act()));
    got.recv_timeout(LONG / 3).expect("it ends")
}

/// Returns the messages of the library in this process from now on.
fn hooked() -> &'static Mutex<Vec<String>> {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let put = |line: &str| LINES.lock().expect("not poisoned").push(line.into());
    tautline::messages::set_hook(put);
    &LINES
}

/// More than is sent before there are receives, by a rank whose program has ended; its requests
/// were dropped.
#[test]
fn what_was_sent_arrives_after_the_end_of_the_program() {
    const MESSAGES: u8 = 20;
    let has_ended = Barrier::new(2);
    two(|world, comm, other| {
        if world.is_home() {
            for number in 0..MESSAGES {
                drop(comm.isend(&vec![number; 100_000], other, TAG));
            }
            has_ended.wait();
            return;
        }
        has_ended.wait();
        for number in 0..MESSAGES {
            let received = comm.recv::<Vec<u8>>(other, TAG).expect("received");
            assert_eq!(received.value, vec![number; 100_000]);
        }
    });
}

/// Two ranks that leave wait for none of the other's receives, and state what was not received: one
/// of them, for a message that its sender takes for sent.
#[test]
fn what_nobody_receives_is_reported() {
    let lines = hooked();
    let have_sent = Barrier::new(2);
    two(|_, comm, other| {
        let tag = Tag(900 + comm.rank().0);
        for bytes in [1 << 20, 10, 1 << 20] {
            drop(comm.isend(&vec![0u8; bytes], other, tag));
        }
        // A receive that no message ends is no error.
        drop(comm.irecv::<()>(other, TAG));
        have_sent.wait();
    });
    let lines = lines.lock().expect("not poisoned");
    let count = |line: &str| lines.iter().filter(|own| own.starts_with(line)).count();
    for here in 0..2 {
        let other = 1 - here;
        let tag = format!("tag 90{here}");
        let own = format!(
            "tautline: rank {here}: 2 messages to rank {other}, the first with {tag}, did not arrive: "
        );
        let short = [
            format!(
                "tautline: rank {here}: a message to rank {other} with {tag} was not received: its "
            ),
            format!(
                "tautline: rank {other}: a message of rank {here} with {tag} was not received: this "
            ),
        ];
        // In each of two worlds.
        let numbers = [count(&own), short.iter().map(|line| count(line)).sum()];
        assert_eq!(numbers, [2, 2], "{lines:?}");
    }
}

/// A rank without others.
#[test]
fn what_it_has_sent_to_itself_is_reported() {
    let since = Instant::now();
    let lines = hooked();
    let world = World::alone();
    let comm = world.comm();
    for bytes in [1, 10, 1 << 20] {
        drop(comm.isend(&vec![0u8; bytes], world.rank(), Tag(905)));
    }
    drop((comm, world));
    let lines = lines.lock().expect("not poisoned");
    let own: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("tag 905"))
        .collect();
    let expected = [
        "tautline: rank 0: 2 messages to rank 0, the last with tag 905, were not received: its program has ended",
        "tautline: rank 0: a message to rank 0 with tag 905 did not arrive: rank 0 was lost, noticed while sending to it, whose program has ended",
    ];
    assert_eq!(own, expected);
    assert!(since.elapsed() < LONG / 3);
}

/// A communicator outlives its world, whose thread alone has communicated or has not.
#[test]
fn operations_after_the_end_of_the_world_end() {
    for comms in two(|_, comm, _| comm.clone()) {
        for comm in comms {
            let after = comm.dup();
            in_time(move || {
                assert!(comm.barrier().wait_blocking().is_err());
                assert!(comm.recv::<u32>(None, None).is_err());
            });
            in_time(move || {
                assert!(after.recv::<u32>(None, None).is_err());
                assert!(after.barrier().wait_blocking().is_err());
            });
        }
    }
}

/// Rank 0 has left its program when rank 1 joins the operation.
#[test]
fn collective_operations_that_were_started_end_after_the_end_of_the_program() {
    let has_ended = Barrier::new(2);
    for ended in two(|world, comm, _| {
        let start = || comm.all_reduce(1u32, |a, b| a + b);
        if world.is_home() {
            (0..2).for_each(|_| drop(start()));
            has_ended.wait();
            return Ok(2);
        }
        has_ended.wait();
        thread::sleep(Duration::from_millis(50));
        start().wait_blocking()?;
        start().wait_blocking().map(|sum| sum.value)
    }) {
        assert_eq!(ended, [Ok(2), Ok(2)]);
    }
}

/// Rank 1 leaves without its part of an operation: rank 0, which has left its program, does not
/// wait any longer.
#[test]
fn collective_operations_that_a_rank_does_not_join_keep_no_rank() {
    let start = Instant::now();
    two(|world, comm, _| {
        if world.is_home() {
            drop(comm.barrier());
        } else {
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// Rank 1 lives and comes too late: it has an error, and does not wait for a rank that has left.
#[test]
fn a_collective_operation_that_a_rank_gives_up_ends_at_all() {
    let (ended, end) = channel();
    let end = Mutex::new(end);
    world::loopback(2, |world| {
        let comm = world.comm();
        let start = || comm.barrier();
        if world.is_home() {
            return drop(start());
        }
        thread::sleep(Duration::from_secs(11));
        let barrier = start();
        let ended = ended.clone();
        in_time(move || ended.send(barrier.wait_blocking()).expect("it waits"));
    });
    let ended = end.into_inner().expect("not poisoned");
    let ended = ended.recv().expect("in time");
    ended.expect_err("rank 0 has given up");
}

/// A rank whose threads have left a phaser waits for those of the others as long as they compute.
#[test]
fn a_rank_that_has_left_its_phases_waits_without_limit() {
    world::loopback(2, |world| {
        let mut own = world.team().phaser_for_threads(1).expect("all make it");
        if world.is_home() {
            // Left with a phase in flight.
            own.signal().expect("a phase");
            return;
        }
        own.next_blocking().expect("a phase");
        thread::sleep(Duration::from_secs(11));
        for _ in 0..3 {
            own.next_blocking()
                .expect("rank 0 has left, and takes part");
        }
    });
}

/// Another thread sends while it can, to a rank that receives while it can.
#[test]
fn a_thread_that_sends_on_keeps_no_world() {
    const LIMIT: Duration = Duration::from_secs(10);
    for ended in two(|world, comm, other| {
        if !world.is_home() {
            while comm.recv::<Vec<u8>>(other, TAG).is_ok() {}
            return None;
        }
        let (comm, start) = (comm.clone(), Instant::now());
        let sends = thread::spawn(move || {
            // Each waits for its receive, so that some always do.
            let send = || comm.isend(&vec![0u8; 300_000], other, TAG);
            let mut sent: VecDeque<_> = (0..32).map(|_| send()).collect();
            while start.elapsed() < LIMIT {
                sent.push_back(send());
                sent.pop_front().expect("32 of them").wait_blocking()?;
            }
            Ok::<_, Error>(())
        });
        thread::sleep(Duration::from_millis(50));
        Some(sends)
    }) {
        for sends in ended.into_iter().flatten() {
            let ended = sends.join().expect("not unwound");
            ended.expect_err("the world ends before the last send");
        }
    }
}
