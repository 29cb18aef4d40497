//! Loopback links: conformance, and channels over them.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Weak};
use tautline_conform::links::Delayed;
use tautline_conform::{carries, loses, waits};
use tautline_core::port::Link;
use tautline_core::wire::{Channel, Exchange, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_node::{Loopback, SpinThenYield};

#[test]
fn loopback_links_conform() {
    carries(Loopback::new);
    loses(Loopback::new);
    waits(Loopback::new);
}

/// Rings of 64 bytes: each parcel is sent in many pieces, and the rings are always full.
#[test]
fn loopback_links_of_short_rings_conform() {
    let short = |ranks| Loopback::with_rings(ranks, 8);
    carries(short);
    loses(short);
    waits(short);
}

#[test]
fn delayed_loopback_links_conform() {
    let delayed = |ranks| {
        let links = Loopback::new(ranks).into_iter();
        links.map(|link| Delayed::new(link, 3, 7)).collect()
    };
    carries(delayed);
    loses(delayed);
    waits(delayed);
}

/// A walk: it continues while it has steps left, each to a place that follows from its number.
#[derive(Debug, Serialize, Deserialize)]
struct Walk {
    number: u64,
    steps: u32,
    /// Makes some messages longer than a ring.
    load: Vec<u8>,
}

impl Walk {
    fn next(self, places: u32) -> (PlaceId, Self) {
        let number = self
            .number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let load = vec![number as u8; if number >> 60 == 0 { 50_000 } else { 3 }];
        let next = Self {
            number,
            steps: self.steps - 1,
            load,
        };
        (PlaceId((number >> 33) as u32 % places), next)
    }
}

/// One rank of [`walks_end`]: `threads` threads take turns or wait, until the rank has seen the
/// walks of all ranks end.
fn rank<L: Link + Send>(link: L, threads: u32, walks: u32) -> u64 {
    const PLACES: u32 = 2;
    let exchange = Exchange::new(link, SpinThenYield { spins: 10 });
    let (here, ranks) = (exchange.here(), exchange.ranks());
    let done = Arc::new(AtomicU64::new(0));
    let channel = Arc::new_cyclic(|this: &Weak<Channel<Walk>>| {
        let (this, done) = (this.clone(), done.clone());
        exchange.open("walks", PLACES, move |_, to, body: &[u8]| {
            let walk: Walk = unpack(body)?;
            if walk.steps == 0 {
                done.fetch_add(1, SeqCst);
            } else if let Some(channel) = this.upgrade() {
                let (next, walk) = walk.next(PLACES * ranks);
                channel.send(to, next, walk);
            }
            Ok(())
        })
    });
    let ends = exchange.open::<(bool, u64)>("ends", 1, {
        let ended = Arc::new(AtomicU64::new(0));
        let (all, done) = (u64::from(ranks * walks), done.clone());
        move |_, _, body: &[u8]| {
            let (is_home, count) = unpack(body)?;
            // The home adds, and then sends the sum to all.
            let sum = ended.fetch_add(count, SeqCst) + count;
            if is_home || sum == all {
                done.store(DONE, SeqCst);
            }
            Ok(())
        }
    });
    for i in 0..walks {
        let number = u64::from(here.0 * walks + i) << 7;
        let walk = Walk {
            number,
            steps: 40 + i,
            load: Vec::new(),
        };
        channel.send(PlaceId(here.0 * PLACES), PlaceId(here.0 * PLACES), walk);
    }
    let told = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (exchange, ends, done, told) = (&exchange, &ends, &done, &told);
            scope.spawn(move || {
                loop {
                    let some = done.load(SeqCst);
                    if some >= DONE {
                        break;
                    }
                    let before = told.fetch_max(some, SeqCst);
                    if some > before {
                        ends.send(PlaceId(here.0), PlaceId::HOME, (false, some - before));
                    }
                    let turn = if thread == 0 {
                        exchange.wait(1_000_000)
                    } else {
                        exchange.turn()
                    };
                    turn.expect("all ranks live");
                }
            });
        }
    });
    if here == Rank(0) {
        (1..ranks).for_each(|r| ends.send(PlaceId(0), PlaceId(r), (true, 0)));
    }
    while !exchange.leave().expect("all ranks live") {
        exchange.wait(1_000_000).expect("all ranks live");
    }
    channel.traffic().received
}

/// A count beyond all.
const DONE: u64 = 1 << 40;

/// Walks wander over the places of all ranks, each of which has several threads, until the last one
/// has ended.
fn walks_end<L: Link + Send>(links: Vec<L>, threads: u32) {
    const WALKS: u32 = 20;
    let ranks = links.len() as u64;
    let received: u64 = std::thread::scope(|scope| {
        let start = |link| scope.spawn(move || rank(link, threads, WALKS));
        let all: Vec<_> = links.into_iter().map(start).collect();
        all.into_iter()
            .map(|rank| rank.join().expect("a rank ends"))
            .sum()
    });
    let steps = (0..WALKS).map(|i| u64::from(41 + i)).sum::<u64>();
    assert_eq!(received, ranks * steps);
}

#[test]
fn channels_work_over_1_to_8_ranks_of_several_threads() {
    for ranks in [1, 2, 3, 5, 8] {
        for threads in [1, 2, 3] {
            walks_end(Loopback::new(ranks), threads);
        }
    }
}

#[test]
fn channels_work_with_delays_and_short_rings() {
    for seed in 0..4 {
        let links = Loopback::with_rings(3, 64).into_iter();
        let delayed = links.map(|link| Delayed::new(link, 4, seed));
        walks_end(delayed.collect(), 2);
    }
}

/// A rank that ends by a panic is named by the others.
#[test]
fn a_rank_that_panics_is_lost_or_leaves() {
    let [zero, one] = Loopback::all::<2>();
    let other = std::thread::spawn(move || {
        let _link = one;
        panic!("as intended");
    });
    assert!(other.join().is_err());
    let exchange = Exchange::new(zero, SpinThenYield { spins: 10 });
    let error = loop {
        if let Err(error) = exchange.wait(1_000_000_000) {
            break error;
        }
    };
    assert_eq!(
        error.to_string(),
        "rank 0: rank 1 was lost, noticed while receiving from it"
    );
}
