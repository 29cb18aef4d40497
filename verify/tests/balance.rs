//! Models of `tautline_core::balance`: workers of the balancer are futures, and no wake-up of one
//! is lost.
#![cfg(tautline_loom)]

#[path = "task/machine.rs"]
#[allow(dead_code, reason = "shared with the models of tasks")]
mod machine;

use machine::{fail, number_of, with_others};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::PlaceId;
use tautline_core::glb::{Bag, Config, Run, Share};
use tautline_core::lifeline::Graph;
use tautline_verify::model::Model;

/// Numbers to be added up, each of which is one task. One that is 0 panics.
struct Numbers(Vec<usize>, usize);

impl Bag for Numbers {
    type Shared = ();
    type Output = usize;

    fn process(&mut self, n: usize, (): &()) -> usize {
        let done = n.min(self.0.len());
        for number in self.0.drain(self.0.len() - done..) {
            if number == 0 {
                fail(7);
            }
            self.1 += number;
        }
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0.len());
        (taken > 0).then(|| Self(self.0.drain(..taken).collect(), 0))
    }

    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
        self.1 += other.1;
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn submit(self, output: &mut usize) {
        *output += self.1;
    }
}

/// Places of one worker each, which ask along lifelines only.
fn config(places: u32) -> Config {
    Config {
        places,
        random_steals: 0,
        lifelines: Graph::Ring,
        grain: 1.into(),
        ..Config::default()
    }
}

/// The sum of `numbers` at two places, whose workers are futures on two workers of a pool.
fn balanced(numbers: Vec<usize>) -> Result<Run<usize, ()>, usize> {
    let run = with_others(1, |cx| {
        let balancer = cx.balancer().config(config(2));
        balancer.run(Numbers(numbers, 0), |_: PlaceId| (), 0)
    });
    run.map(|run| run.expect("nothing cancels it"))
        .map_err(number_of)
}

/// Two places on two workers: loot goes along the lifeline, its place starts, and both places
/// observe the end.
#[test]
fn balance_two_places() {
    let given = Arc::new(AtomicUsize::new(0));
    let mine = Arc::clone(&given);
    Model::new("balance_two_places")
        .bound(1)
        .floor(29_000)
        .check(move || {
            let run = balanced(vec![1, 2, 4]).expect("nothing panics");
            assert!(run.complete);
            assert_eq!(run.output, 7, "lost or done twice");
            mine.fetch_add(run.places[1].tally.tasks as usize, Relaxed);
        });
    assert!(given.load(Relaxed) > 0, "no loot was ever given");
}

/// A task panics at one of two places: the other is woken, and the panic reaches the owner.
#[test]
fn balance_panics() {
    Model::new("balance_panics")
        .bound(1)
        .floor(15_500)
        .check(|| {
            // The oldest task is given away.
            assert_eq!(balanced(vec![0, 1, 2]).err(), Some(7), "the panic is lost");
        });
}
