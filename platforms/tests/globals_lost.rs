//! Shared objects of ranks that continue without a lost one: each access ends, by its value or by
//! an error that names the lost rank, and no value is stale.

mod cut;
mod ranks;

use cut::cuttable;
use ranks::{delay, mixed, runtime};
use std::future::poll_fn;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;
use std::thread;
use tautline::globals::{Global, Operation, Protocol};
use tautline::prelude::*;
use tautline::world::{Rank, RankErrorKind, World};

const RANKS: u32 = 4;
const PROTOCOLS: [Protocol; 3] = [Protocol::Home, Protocol::Directory, Protocol::Migratory];

/// An object at one rank, and the least value that it can have.
struct Number<'a> {
    global: Global<u64>,
    add: &'a Operation<u64, u64, u64>,
    least: u64,
    is_lost: bool,
}

impl Number<'_> {
    /// Makes a random access. Returns whether it has changed the number.
    fn access(&mut self, cx: &mut Cx<'_, '_>, lost: u32, random: u64) -> bool {
        let kind = random >> 8 & 3;
        let ended = match kind {
            0 | 1 => self.global.get(cx),
            2 => self.global.update(cx, self.add, 1),
            _ => self.global.modify(cx, |number| {
                *number += 1;
                *number
            }),
        };
        match ended {
            Ok(number) => {
                assert!(!self.is_lost, "{:?} has come back", self.global);
                let least = self.least + u64::from(kind > 1);
                assert!(
                    number >= least,
                    "{:?}: {number} after {}",
                    self.global,
                    self.least
                );
                self.least = number;
                kind > 1
            }
            Err(tautline::Error::Rank(error)) => {
                let named = (error.kind(), error.rank());
                assert_eq!(named, (RankErrorKind::Lost, Rank(lost)), "{error}");
                self.is_lost = true;
                false
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns how often an object was found lost.
fn lose(lost: u32, protocol: Protocol, seed: u64) -> u64 {
    let (links, cuts) = cuttable(RANKS);
    let (begun, cut) = (Barrier::new(RANKS as usize), AtomicU64::new(0));
    let missed = AtomicU64::new(0);
    let changes = [(); 2].map(|()| [(); RANKS as usize].map(|()| AtomicU64::new(0)));
    let [changes, changes_of_lost] = &changes;
    let ended = World::builder().links(links, |world: &World| {
        world.tolerate_losses();
        begun.wait();
        let here = world.rank().0;
        let mut globals = world.globals();
        let homes = (0..RANKS).map(Rank);
        let objects: Vec<_> = homes
            .map(|home| globals.create_as(protocol, home, || 0))
            .collect();
        let add = globals.operation(|number: &mut u64, by: u64| {
            *number += by;
            *number
        });
        let mut numbers: Vec<_> = objects
            .into_iter()
            .map(|global| Number {
                global,
                add: &add,
                least: 0,
                is_lost: false,
            })
            .collect();
        runtime(world, 1).run(|cx| {
            let mut team = world.team();
            let left = (here != lost).then_some(());
            let left = team.split(left.map(|()| 0)).wait(cx).expect("all live");
            for step in 0..200 {
                let random = mixed(seed + u64::from(here), step);
                if here == lost && step == 60 + seed % 60 {
                    cut.fetch_add(1, Relaxed);
                    return cuts[lost as usize].store(true, Relaxed);
                }
                delay(random >> 20);
                let at = (random % u64::from(RANKS)) as usize;
                if numbers[at].access(cx, lost, random) {
                    let changes = if here == lost {
                        changes_of_lost
                    } else {
                        changes
                    };
                    changes[at].fetch_add(1, Relaxed);
                }
            }
            // The lost rank would miss ranks that end before.
            cx.block_on(poll_fn(|context| {
                if cut.load(Relaxed) == 1 {
                    return Poll::Ready(());
                }
                thread::yield_now();
                context.waker().wake_by_ref();
                Poll::Pending
            }));
            let mut left = left.expect("a team");
            left.barrier().wait(cx).expect("all of it live");
            for (at, number) in numbers.iter_mut().enumerate() {
                if !number.access(cx, lost, 0) && !number.is_lost {
                    // The last change of the lost rank may have been lost with it, or have been
                    // performed without having returned.
                    let least = changes[at].load(Relaxed);
                    let of_lost = changes_of_lost[at].load(Relaxed);
                    let range = least + of_lost.saturating_sub(1)..=least + of_lost + 1;
                    assert!(
                        range.contains(&number.least),
                        "{} of {range:?}",
                        number.least
                    );
                }
                missed.fetch_add(u64::from(number.is_lost), Relaxed);
            }
            left.barrier().wait(cx).expect("all of it live");
        });
    });
    assert_eq!((ended.len(), cut.into_inner()), (RANKS as usize, 1));
    missed.into_inner()
}

#[test]
fn accesses_end_without_a_lost_rank() {
    for lost in 0..RANKS {
        for protocol in PROTOCOLS {
            let missed: u64 = (0..4)
                .map(|seed| lose(lost, protocol, 1000 * seed + 7))
                .sum();
            assert!(missed > 0, "{protocol:?} without {lost}");
        }
    }
}
