//! Blocks of spawned tasks: each is returned once, and is not reused before its last reader has
//! finished.

use super::machine::Cell;
use loom::thread;
use std::ptr::NonNull;
use std::sync::Arc;
use tautline_core::WorkerId;
use tautline_core::task::{Block, Blocks};
use tautline_verify::model::Model;

/// In a model a worker makes at most four blocks, and returns two at once.
const BLOCKS: usize = 4;

/// Workers, the first of which makes blocks, and what is stored in each of them.
struct Scene {
    workers: Vec<Blocks>,
    spaces: [Cell; BLOCKS],
}

/// A block and its index, in the order in which blocks were first taken.
#[derive(Clone, Copy)]
struct Taken(NonNull<Block>, usize);

// SAFETY: blocks are not tied to a thread.
unsafe impl Send for Taken {}

impl Scene {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            workers: (0..workers as u32)
                .map(|w| Blocks::new(WorkerId(w)))
                .collect(),
            spaces: Default::default(),
        })
    }

    /// All blocks of the first worker, with something stored in them.
    fn take_all(&self) -> [Taken; BLOCKS] {
        std::array::from_fn(|index| {
            // SAFETY: no other thread exists yet.
            let block = unsafe { self.workers[0].take() };
            self.spaces[index].set(1);
            Taken(block.expect("one more block"), index)
        })
    }

    /// Reads the contents of the block and returns it, from that worker.
    fn give(&self, worker: usize, taken: Taken) {
        assert_eq!(self.spaces[taken.1].get(), 1);
        // SAFETY: each worker is used by one thread, and gives only blocks that were passed to it.
        unsafe { self.workers[worker].give(taken.0, |home| &self.workers[home.index()]) };
    }

    /// Takes a returned block, if there is one, and overwrites it.
    fn take_again(&self, all: &[Taken], times: &mut [usize]) -> bool {
        // SAFETY: the first worker's thread makes the call.
        let Some(block) = (unsafe { self.workers[0].take() }) else {
            return false;
        };
        let known = all.iter().find(|t| t.0 == block);
        let index = known.expect("no other block can be made").1;
        self.spaces[index].set(2);
        times[index] += 1;
        assert_eq!(times[index], 1, "taken twice");
        true
    }
}

/// Two workers return the blocks of a third, which takes blocks concurrently: it gets each once,
/// after the giver has read it.
#[test]
fn blocks_return() {
    Model::new("blocks_return").floor(300).check(|| {
        let scene = Scene::new(3);
        let all = scene.take_all();
        let givers = [1, 2].map(|worker| {
            let (scene, first) = (Arc::clone(&scene), 2 * (worker - 1));
            let given = [all[first], all[first + 1]];
            thread::spawn(move || given.into_iter().for_each(|t| scene.give(worker, t)))
        });
        let mut times = [0; BLOCKS];
        _ = scene.take_again(&all, &mut times);
        givers.into_iter().for_each(|g| g.join().unwrap());
        while scene.take_again(&all, &mut times) {}
        assert_eq!(times, [1; BLOCKS]);
    });
}

/// The home recycles blocks itself while another worker returns some: its list and the returned one
/// stay apart.
#[test]
fn blocks_both_ways() {
    Model::new("blocks_both_ways").floor(6).check(|| {
        let scene = Scene::new(2);
        let all = scene.take_all();
        let theirs = Arc::clone(&scene);
        let given = [all[2], all[3]];
        let giver = thread::spawn(move || given.into_iter().for_each(|t| theirs.give(1, t)));
        let mut times = [0; BLOCKS];
        scene.give(0, all[0]);
        scene.give(0, all[1]);
        for _ in 0..3 {
            _ = scene.take_again(&all, &mut times);
        }
        giver.join().unwrap();
        while scene.take_again(&all, &mut times) {}
        assert_eq!(times, [1; BLOCKS]);
    });
}
