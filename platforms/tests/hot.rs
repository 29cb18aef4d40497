//! Ranks that do much at the same time: messages of all lengths between several threads, vectors,
//! tasks that communicate, and with them a balanced computation, collective operations, and
//! communicators that come and go. Run under ThreadSanitizer, too.
#![cfg(feature = "serde")]

use std::thread;
use std::time::Duration;
use tautline::comm::{Comm, Tag};
use tautline::prelude::*;
use tautline::world::{self, ProgressMode, Rank, World};

const RANKS: u32 = 3;
const LONG: Duration = Duration::from_secs(120);
const ROUNDS: u64 = 60;

/// Lengths of messages in bytes: in one line, in several, beyond what is copied, and beyond the
/// room of a sender.
const LENGTHS: [usize; 4] = [1, 300, 9_000, 300_000];

fn neighbours(comm: &Comm) -> (Rank, Rank) {
    let (here, ranks) = (comm.rank().0, comm.ranks());
    (Rank((here + 1) % ranks), Rank((here + ranks - 1) % ranks))
}

/// Sends the messages of one thread around the ring, by requests and by calls in turns; each is
/// received once, in order.
fn messages(comm: &Comm, thread: u64) {
    let (next, before) = neighbours(comm);
    let tag = Tag(thread as u32);
    for round in 0..ROUNDS {
        let length = LENGTHS[(round + thread) as usize % LENGTHS.len()];
        let value = vec![round + thread; length / 8 + 1];
        let sent = comm.isend(&value, next, tag);
        if round % 2 == 0 {
            sent.wait_blocking().expect("the next rank receives it");
            let got = comm.recv::<Vec<u64>>(before, tag).expect("it was sent");
            assert_eq!(got.value, value);
        } else {
            let got = comm.irecv::<Vec<u64>>(before, tag);
            assert_eq!(got.wait_blocking().expect("it was sent").value, value);
            sent.wait_blocking().expect("the next rank receives it");
        }
    }
}

/// Vectors that are moved, and come back.
fn vectors(comm: &Comm) {
    let (next, before) = neighbours(comm);
    for round in 0..ROUNDS {
        let tag = Tag(50);
        let sent = comm.isend_vec(vec![round; 2000], next, tag);
        let got = comm.irecv_vec(vec![0; 2000], before, tag);
        assert_eq!(
            got.wait_blocking().expect("it was sent").value,
            vec![round; 2000]
        );
        sent.wait_blocking().expect("the next rank receives it");
    }
}

/// Tasks that wait for messages, each with its tag.
fn tasks(comm: &Comm) {
    let rt = Runtime::builder().workers(2).pinned(false);
    let rt = rt.build().expect("threads start");
    let (next, before) = neighbours(comm);
    let sum = rt.run(|cx| {
        cx.scope(|cx| {
            for n in 0..ROUNDS {
                let comm = comm.clone();
                cx.spawn(move |_| {
                    let sent = comm.isend(&n, next, Tag(100 + n as u32));
                    sent.wait_blocking().expect("the next rank receives it");
                });
            }
        });
        let mut sum = 0;
        for n in 0..ROUNDS {
            let received = comm.irecv::<u64>(before, Tag(100 + n as u32));
            sum += received.wait(cx).expect("it was sent").value;
        }
        sum
    });
    assert_eq!(sum, ROUNDS * (ROUNDS - 1) / 2);
}

/// Collective operations of the world, and of communicators of their own.
fn collectives(world: &World) {
    for round in 0..ROUNDS {
        let here = u64::from(world.rank().0);
        world.barrier().expect("all ranks are there");
        let sum = world.all_reduce(round + here, |a, b| a + b);
        assert_eq!(sum.expect("all ranks are there"), 3 * round + 3);
        if round % 8 == 0 {
            let own = world.comm().dup();
            let all = own.all_gather(here).wait_blocking();
            assert_eq!(all.expect("all ranks are there").value, [0, 1, 2]);
            let (next, before) = neighbours(&own);
            own.send(&round, next, Tag(1)).expect("it is received");
            let got = own.recv::<u64>(before, Tag(1)).expect("it was sent");
            assert_eq!(got.value, round);
        }
    }
}

fn balanced(world: &World) {
    let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
    let balancer = rt.balancer().across(world);
    let run = balancer
        .sum([12_u64], |depth: u64, todo| {
            if depth > 0 {
                todo.push(depth - 1);
                todo.push(depth - 1);
            }
            1_u64
        })
        .expect("all ranks are there");
    assert_eq!((run.output, run.complete), ((1 << 13) - 1, true));
}

#[test]
fn all_at_once() {
    for progress in [ProgressMode::Cooperative, ProgressMode::Dedicated] {
        world::loopback(RANKS, |world| {
            world.wait_at_most(LONG);
            world.progress(progress);
            let comm = &world.comm();
            thread::scope(|threads| {
                for thread in 1..3 {
                    threads.spawn(move || messages(comm, thread));
                }
                threads.spawn(move || tasks(comm));
                threads.spawn(move || vectors(comm));
                balanced(world);
                collectives(world);
            });
        });
    }
}
