//! Point to point: each task goes on when its left neighbour has come.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::yield_now;
use tautline::bench::{Barrier, Episodes, Kind};
use tautline_core::sync::CachePadded;

/// As of the central counter.
const LOOKS: u32 = 100;

/// All ways, ours first.
pub fn kinds() -> Vec<Kind> {
    vec![Kind::new("a flag a task", Flags::new)]
}

/// A counter of episodes for each task, on a line of its own: the least that can be written and read.
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
