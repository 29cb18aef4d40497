//! Point-to-point synchronization: each task continues once its left neighbour has signalled.

use crate::barriers::DEGREES;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;
use tautline::phaser::{Mode, Registration};
use tautline_cli::bench::{Barrier, Episodes, Kind, help_after, tree};
use tautline_core::sync::CachePadded;

/// As of the central counter.
const LOOKS: u32 = 100;

/// All ways, ours first.
pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        Kind::placed("a phaser a task", |plan| Ring {
            tasks: plan.cpus.len(),
            help_after: help_after(plan),
        }),
        Kind::new("a flag a task", Flags::new),
    ]
}

/// A phaser for each task: signalled by it, waited for by its right neighbour.
struct Ring {
    tasks: usize,
    help_after: u32,
}

impl Barrier for Ring {
    type Party<'a> = AtRing;

    fn parties(&self) -> Vec<AtRing> {
        let pair = |_| {
            let mut first = tree(DEGREES[0], self.help_after);
            [Mode::Signal, Mode::Wait].map(|mode| first.register(mode).expect("less than it has"))
        };
        let (own, mut left): (Vec<_>, Vec<_>) = (0..self.tasks)
            .map(pair)
            .map(|[own, left]| (own, left))
            .unzip();
        left.rotate_right(1);
        let all = own.into_iter().zip(left);
        all.map(|(own, left)| AtRing { own, left }).collect()
    }
}

struct AtRing {
    own: Registration,
    left: Registration,
}

impl Episodes for AtRing {
    fn wait(&mut self) {
        self.own.signal().expect("phases to come");
        self.left.wait_blocking().expect("phases to come");
    }
}

/// A counter of episodes for each task, on a line of its own: the least that can be written and
/// read.
struct Flags(Vec<CachePadded<AtomicU64>>);

impl Flags {
    fn new(tasks: usize) -> Self {
        Self((0..tasks).map(|_| AtomicU64::new(0).into()).collect())
    }
}

impl Barrier for Flags {
    type Party<'a> = AtFlags<'a>;

    fn parties(&self) -> Vec<AtFlags<'_>> {
        let count = self.0.len();
        let party = |task: usize| AtFlags {
            own: &self.0[task],
            left: &self.0[(task + count - 1) % count],
            episode: 0,
        };
        (0..count).map(party).collect()
    }
}

struct AtFlags<'a> {
    own: &'a AtomicU64,
    left: &'a AtomicU64,
    episode: u64,
}

impl Episodes for AtFlags<'_> {
    fn wait(&mut self) {
        self.episode += 1;
        self.own.store(self.episode, Ordering::Release);
        let mut looks = 0;
        while self.left.load(Ordering::Acquire) < self.episode {
            looks += 1;
            if looks > LOOKS {
                yield_now();
            }
        }
    }
}
