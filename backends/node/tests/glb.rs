//! The balancer on threads.

use tautline_core::PlaceId;
use tautline_core::glb::{Bag, Config, Control, Fairness, Share, Steal};
use tautline_core::lifeline::Graph;
use tautline_node::run;

/// A tree whose shape follows from its seed: every node has 0 to 3 children.
struct Tree {
    todo: Vec<u64>,
    done: u64,
}

fn children(node: u64) -> impl Iterator<Item = u64> {
    let depth = node >> 56;
    let mixed = (node ^ (node >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let count = if depth > 60 {
        0
    } else if depth < 6 {
        3
    } else {
        [0, 0, 1, 2, 0, 2, 1, 1][(mixed >> 60) as usize & 7]
    };
    (0..count).map(move |i| {
        ((depth + 1) << 56) | ((mixed.wrapping_add(i * 0x5851_f42d) >> 8) & ((1 << 56) - 1))
    })
}

impl Bag for Tree {
    type Shared = ();
    type Output = u64;
    fn process(&mut self, n: usize, (): &()) -> usize {
        for i in 0..n {
            let Some(node) = self.todo.pop() else {
                return i;
            };
            self.done += 1;
            self.todo.extend(children(node));
        }
        n
    }
    fn split(&mut self, share: Share) -> Option<Self> {
        let n = share.of(self.todo.len());
        (n > 0).then(|| Tree {
            todo: self.todo.drain(..n).collect(),
            done: 0,
        })
    }
    fn merge(&mut self, other: Self) {
        self.todo.splice(0..0, other.todo);
        self.done += other.done;
    }
    fn len(&self) -> usize {
        self.todo.len()
    }
    fn submit(self, output: &mut u64) {
        *output += self.done;
    }
}

fn count(config: &Config) -> u64 {
    let root = Tree {
        todo: vec![1],
        done: 0,
    };
    let run = run(
        config,
        &[],
        root,
        |_: PlaceId| (),
        0,
        &Control::new(),
        |_, _| (),
    )
    .expect("threads start");
    assert!(run.complete);
    run.output
}

#[test]
fn every_configuration_counts_the_same_tree() {
    let expected = count(&Config::default());
    assert!(expected > 1000, "{expected}");
    for places in [1, 2, 3, 5, 8] {
        for workers in [1, 2, 3] {
            for fairness in [
                Fairness::Inline,
                Fairness::Yield,
                Fairness::OneCoreFree,
                Fairness::Never,
            ] {
                for lifelines in [
                    Graph::Ring,
                    Graph::Hypercube { radix: 2 },
                    Graph::Hypercube { radix: 3 },
                    Graph::Full,
                ] {
                    for (random_steals, steal, grain) in [
                        (0, Steal::Half, 1),
                        (1, Steal::Count(7), 10),
                        (4, Steal::Count(1), 511),
                    ] {
                        let config = Config {
                            places,
                            workers,
                            random_steals,
                            lifelines,
                            steal,
                            grain,
                            fairness,
                            seed: 7,
                        };
                        assert_eq!(count(&config), expected, "{config:?}");
                    }
                }
            }
        }
    }
}
