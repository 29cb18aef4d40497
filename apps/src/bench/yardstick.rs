//! Barriers of fixed membership for comparison.
#![forbid(unsafe_code)]

use super::{Barrier, Episodes};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::yield_now;
use tautline_core::sync::CachePadded;

/// Polls of a waiter before it yields after each: a few round trips of a cache line, so that
/// threads with dedicated processors rarely yield and threads that share one soon do.
const LOOKS: u32 = 100;

/// A central counter with a sense that is reversed at every episode.
///
/// # Algorithm
/// J. M. Mellor-Crummey, M. L. Scott, Algorithms for scalable synchronization on shared-memory
/// multiprocessors, TOCS 1991, section 3.1.
#[derive(Debug)]
pub struct Central {
    tasks: usize,
    missing: CachePadded<AtomicUsize>,
    sense: CachePadded<AtomicBool>,
}

impl Central {
    /// Creates the counter for `tasks` tasks, at least one.
    pub fn new(tasks: usize) -> Self {
        Self {
            tasks,
            missing: AtomicUsize::new(tasks).into(),
            sense: AtomicBool::new(false).into(),
        }
    }

    /// Returns whether the caller is the last of this episode, in which case the counter is reset
    /// for the next one.
    fn is_last(&self) -> bool {
        // ORDERING: AcqRel: what each task did before it arrived is acquired by the last, which
        // releases it with the sense; no mutant: a yardstick, after which nothing is read.
        let last = self.missing.fetch_sub(1, Ordering::AcqRel) == 1;
        if last {
            // ORDERING: Relaxed: released with the sense.
            self.missing.store(self.tasks, Ordering::Relaxed);
        }
        last
    }

    fn let_go(&self, sense: bool) {
        // ORDERING: Release, pairs with Acquire in await_sense; no mutant: a yardstick.
        self.sense.store(sense, Ordering::Release);
    }

    fn await_sense(&self, sense: bool) {
        let mut looks = 0;
        // ORDERING: Acquire, pairs with Release in let_go; no mutant: a yardstick.
        while self.sense.load(Ordering::Acquire) != sense {
            looks += 1;
            if looks > LOOKS {
                yield_now();
            }
        }
    }
}

/// A task at a [`Central`] counter.
#[derive(Debug)]
pub struct AtCentral<'a> {
    at: &'a Central,
    sense: bool,
}

impl Barrier for Central {
    type Party<'a> = AtCentral<'a>;

    fn parties(&self) -> Vec<AtCentral<'_>> {
        let party = |_| AtCentral {
            at: self,
            sense: false,
        };
        (0..self.tasks).map(party).collect()
    }
}

impl Episodes for AtCentral<'_> {
    fn wait(&mut self) {
        self.sense = !self.sense;
        match self.at.is_last() {
            true => self.at.let_go(self.sense),
            false => self.at.await_sense(self.sense),
        }
    }
}

/// Central counters as the nodes of a tree: the last task at a node continues at the one above, and
/// wakes those of its node when it returns.
///
/// # Algorithm
/// P.-C. Yew, N.-F. Tzeng, D. H. Lawrie, Distributing hot-spot addressing in large-scale
/// multiprocessors, IEEE TC 1987, as Mellor-Crummey and Scott 1991, section 3.2, make a barrier of
/// it; the way back is by the tree here.
#[derive(Debug)]
pub struct CombiningTree {
    tasks: usize,
    degree: usize,
    /// Level by level, the leaves first, the root last.
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    meets: Central,
    above: Option<usize>,
}

impl CombiningTree {
    /// Creates the tree for `tasks` tasks, at least one, with at most `degree` tasks or nodes at a
    /// node, at least two.
    pub fn new(tasks: usize, degree: usize) -> Self {
        assert!(tasks > 0 && degree > 1, "{tasks} tasks, degree {degree}");
        let (mut nodes, mut below) = (Vec::new(), tasks);
        loop {
            let width = below.div_ceil(degree);
            let first_above = nodes.len() + width;
            nodes.extend((0..width).map(|at| Node {
                meets: Central::new(degree.min(below - at * degree)),
                above: (width > 1).then_some(first_above + at / degree),
            }));
            if width == 1 {
                break;
            }
            below = width;
        }
        Self {
            tasks,
            degree,
            nodes,
        }
    }

    fn meet(&self, at: usize, sense: bool) {
        let node = &self.nodes[at];
        if node.meets.is_last() {
            if let Some(above) = node.above {
                self.meet(above, sense);
            }
            node.meets.let_go(sense);
        } else {
            node.meets.await_sense(sense);
        }
    }
}

/// A task at a leaf of a [`CombiningTree`].
#[derive(Debug)]
pub struct AtLeaf<'a> {
    tree: &'a CombiningTree,
    leaf: usize,
    sense: bool,
}

impl Barrier for CombiningTree {
    type Party<'a> = AtLeaf<'a>;

    fn parties(&self) -> Vec<AtLeaf<'_>> {
        let party = |task| AtLeaf {
            tree: self,
            leaf: task / self.degree,
            sense: false,
        };
        (0..self.tasks).map(party).collect()
    }
}

impl Episodes for AtLeaf<'_> {
    fn wait(&mut self) {
        self.sense = !self.sense;
        self.tree.meet(self.leaf, self.sense);
    }
}

/// With the number of its parties, which the trait does not report.
impl Barrier for (std::sync::Barrier, usize) {
    type Party<'a> = &'a std::sync::Barrier;

    fn parties(&self) -> Vec<&std::sync::Barrier> {
        vec![&self.0; self.1]
    }
}

impl Episodes for &std::sync::Barrier {
    fn wait(&mut self) {
        std::sync::Barrier::wait(self);
    }
}

#[cfg(test)]
mod tests {
    use super::super::team::together;
    use super::super::{Meeting, flat, kinds, tiered, tree};
    use super::*;

    /// No task is an episode ahead of another: each finds the counts of all at its own or one
    /// further.
    fn holds(barrier: &impl Barrier) {
        const EPISODES: usize = 200;
        let parties = barrier.parties();
        let counts: Vec<AtomicUsize> = parties.iter().map(|_| AtomicUsize::new(0)).collect();
        let counts = &counts;
        let bodies = parties.into_iter().enumerate().map(|(task, mut party)| {
            move || {
                for episode in 1..=EPISODES {
                    counts[task].store(episode, Ordering::Relaxed);
                    party.wait();
                    for count in counts {
                        let seen = count.load(Ordering::Relaxed);
                        assert!(
                            seen == episode || seen == episode + 1,
                            "{seen} in {episode}"
                        );
                    }
                }
            }
        });
        together(bodies.collect()).expect("a few threads");
    }

    #[test]
    fn nobody_leaves_before_all_have_come() {
        holds(&(std::sync::Barrier::new(3), 3));
        for tasks in 1..=7 {
            holds(&Central::new(tasks));
            for degree in 2..=4 {
                holds(&CombiningTree::new(tasks, degree));
                for help_after in [0, 10] {
                    holds(&Meeting::new(tasks, || tiered(tasks, degree, help_after)));
                    holds(&Meeting::new(tasks, || tree(degree, help_after)));
                }
            }
            holds(&Meeting::new(tasks, || flat(0)));
        }
    }

    #[test]
    fn a_tree_has_as_many_nodes_as_its_degree_asks_for() {
        for (tasks, degree, nodes) in [
            (1, 2, 1),
            (2, 2, 1),
            (3, 2, 3),
            (8, 2, 7),
            (8, 4, 3),
            (9, 3, 4),
        ] {
            let tree = CombiningTree::new(tasks, degree);
            assert_eq!(tree.nodes.len(), nodes, "{tasks} tasks, degree {degree}");
            let roots = tree.nodes.iter().filter(|node| node.above.is_none());
            assert_eq!(roots.count(), 1);
        }
    }

    #[test]
    fn every_kind_can_be_sampled() {
        let plan = super::super::Plan {
            cpus: vec![0, 0, 0],
            iterations: 50,
            delay: 10,
            stop: Default::default(),
        };
        for kind in kinds(&[2, 3]) {
            let sample = kind.sample(&plan).expect("three threads");
            // Three threads on one processor: an episode cannot be free.
            assert!(sample.ns > 1.0, "{kind:?} {sample:?}");
        }
    }
}
