//! Messages between places: the same work, counted exactly, under every setting that a backend
//! offers.
//!
//! A backend calls [`balances`] from its `tests/conform.rs`. Whatever it lends the core (threads,
//! ranks, virtual time), a port that loses, doubles or forgets anything counts wrong or never ends.

#[cfg(feature = "std")]
use crate::threads::joins;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use tautline_core::glb::{Bag, Config, Fairness, Grain, Share, Steal};
use tautline_core::lifeline::Graph;

/// A tree whose shape follows from its root: every node has 0 to 3 children.
#[derive(Clone, Debug)]
pub struct Tree {
    todo: Vec<u64>,
    done: Done,
}

/// A checksum of the tasks done: equal for two runs only if both did the same tasks equally often,
/// but for chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The number of tasks.
    pub tasks: u64,
    /// The sum of their numbers, scrambled.
    pub sum: u64,
}

/// Depth to which every node has 3 children: the least that keeps a few places busy.
const BUSHY: u64 = 6;
/// Depth at which every walk ends.
const DEEPEST: u64 = 60;

fn scramble(node: u64) -> u64 {
    (node ^ (node >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A node's upper byte is its depth.
fn children(node: u64) -> impl Iterator<Item = u64> {
    let (depth, mixed) = (node >> 56, scramble(node));
    let count = match depth {
        0..BUSHY => 3,
        BUSHY..=DEEPEST => [0, 0, 1, 2, 0, 2, 1, 1][(mixed >> 60) as usize & 7],
        _ => 0,
    };
    (0..count).map(move |i| {
        ((depth + 1) << 56) | ((mixed.wrapping_add(i * 0x5851_f42d) >> 8) & ((1 << 56) - 1))
    })
}

impl Tree {
    /// The whole tree with this root.
    pub fn root(seed: u32) -> Self {
        Self {
            todo: vec![u64::from(seed)],
            done: Done::default(),
        }
    }

    /// No work.
    pub fn empty() -> Self {
        Self {
            todo: Vec::new(),
            done: Done::default(),
        }
    }

    /// The expected result of a run.
    pub fn all(mut self) -> Done {
        self.process(usize::MAX, &());
        self.done
    }
}

impl Bag for Tree {
    type Shared = ();
    type Output = Done;

    fn process(&mut self, n: usize, (): &()) -> usize {
        for i in 0..n {
            let Some(node) = self.todo.pop() else {
                return i;
            };
            self.done.tasks += 1;
            self.done.sum = self.done.sum.wrapping_add(scramble(node));
            self.todo.extend(children(node));
        }
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let n = share.of(self.todo.len());
        (n > 0).then(|| Self {
            todo: self.todo.drain(..n).collect(),
            done: Done::default(),
        })
    }

    fn merge(&mut self, other: Self) {
        self.todo.splice(0..0, other.todo);
        self.done.tasks += other.done.tasks;
        self.done.sum = self.done.sum.wrapping_add(other.done.sum);
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn submit(self, output: &mut Done) {
        assert!(self.todo.is_empty(), "submitted with work left");
        output.tasks += self.done.tasks;
        output.sum = output.sum.wrapping_add(self.done.sum);
    }
}

/// The requests to a backend.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Places.
    pub places: &'a [u32],
    /// Workers a place.
    pub workers: &'a [usize],
    /// The threads that serve messages.
    pub fairness: &'a [Fairness],
}

/// Every configuration that `offer` allows: places × workers × fairness × lifelines, each under
/// several ways to steal.
pub fn configurations(offer: Offer<'_>) -> Vec<Config> {
    let mut all = Vec::new();
    let graphs = [
        Graph::Ring,
        Graph::Hypercube { radix: 2 },
        Graph::Hypercube { radix: 3 },
        Graph::Full,
    ];
    let ways = [
        (0, Steal::Half, Grain::Fixed(1)),
        (1, Steal::Count(7), Grain::Fixed(511)),
        (4, Steal::Count(1), Grain::default()),
    ];
    for &places in offer.places {
        for &workers in offer.workers {
            for &fairness in offer.fairness {
                for lifelines in graphs {
                    for (random_steals, steal, grain) in ways {
                        all.push(Config {
                            places,
                            workers,
                            random_steals,
                            lifelines,
                            steal,
                            grain,
                            fairness,
                            seed: all.len() as u64,
                            ..Config::default()
                        });
                    }
                }
            }
        }
    }
    all
}

/// `run` must process the whole tree under each configuration, exactly, and must end. It is called
/// on a new thread each time; without feature `std`, on the calling thread, with no limit of time.
///
/// # Panics
/// If the backend does not conform, or offers nothing.
pub fn balances(offer: Offer<'_>, run: impl Fn(&Config, Tree) -> Done + Send + Sync + 'static) {
    let trees: BTreeMap<u32, Done> = [1, 2, 7].map(|s| (s, Tree::root(s).all())).into();
    assert!(trees.values().all(|done| done.tasks > 1000), "{trees:?}");
    let configurations = configurations(offer);
    assert!(!configurations.is_empty(), "a backend offers something");
    let run = Arc::new(run);
    let done = |config: Config, tree: Tree| {
        let run = Arc::clone(&run);
        joins(&format!("{config:?}"), move || run(&config, tree))
    };
    for (i, config) in configurations.into_iter().enumerate() {
        let (seed, all) = trees.iter().nth(i % trees.len()).expect("three trees");
        assert_eq!(done(config, Tree::root(*seed)), *all, "{config:?}");
        if i % 10 == 0 {
            let none = Done::default();
            assert_eq!(done(config, Tree::empty()), none, "{config:?}");
        }
    }
}

#[cfg(not(feature = "std"))]
fn joins<R>(_: &str, body: impl FnOnce() -> R) -> R {
    body()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer<'static> = Offer {
        places: &[2],
        workers: &[1],
        fairness: &[Fairness::Inline],
    };

    #[test]
    fn a_right_backend_passes() {
        balances(OFFER, |_, tree| tree.all());
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn a_lost_task_is_seen() {
        balances(OFFER, |_, mut tree| {
            tree.process(100, &());
            let _ = tree.split(Share::Count(1));
            tree.all()
        });
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn a_doubled_task_is_seen() {
        balances(OFFER, |_, mut tree| {
            tree.process(100, &());
            let twin = tree.clone().split(Share::Count(1));
            tree.merge(twin.unwrap_or_else(Tree::empty));
            tree.all()
        });
    }
}
