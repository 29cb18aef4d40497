//! Processing a recorded tree.

use super::Tree;
use serde::{Deserialize, Serialize};
use std::hint::spin_loop;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tautline::balance::{self, Local, Share};

/// State shared by the workers of a place.
#[derive(Clone, Debug)]
pub struct Work {
    /// The tree.
    pub tree: Arc<Tree>,
    /// Whether every nanosecond really passes, which virtual time does not require.
    pub spins: bool,
}

impl Work {
    /// Returns the initial bag, which contains all roots.
    pub fn bag(&self) -> Bag {
        let roots = self.tree.roots().map(|task| Node::new(task, &self.tree));
        Bag {
            todo: roots.collect(),
            found: Found::default(),
        }
    }
}

/// Results of the tasks: the same however the tasks were divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Tasks that were finished.
    pub tasks: u64,
    /// Nanoseconds that were processed, those of unfinished tasks included. A task of 0 ns counts
    /// as 1 ns.
    pub ns: u64,
}

impl Found {
    /// Adds the result of another part of the computation.
    fn add(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.ns += other.ns;
    }
}

/// A task, or the rest of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Node {
    task: u32,
    /// Nanoseconds, at least 1.
    left: u64,
}

impl Node {
    fn new(task: u32, tree: &Tree) -> Self {
        let left = tree.ns_of(task).max(1);
        Self { task, left }
    }
}

/// Tasks to do and the results of those done. Thieves get the oldest.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Bag {
    todo: Local<Node>,
    found: Found,
}

/// Spins for `ns` nanoseconds.
fn spin(ns: u64) {
    let (start, time) = (Instant::now(), Duration::from_nanos(ns));
    while start.elapsed() < time {
        spin_loop();
    }
}

impl balance::Bag for Bag {
    type Shared = Work;
    type Output = Found;

    fn process(&mut self, n: usize, work: &Work) -> usize {
        let (all, mut left) = (n as u64, n as u64);
        while left > 0 {
            let Some(mut node) = self.todo.pop() else {
                break;
            };
            let now = node.left.min(left);
            node.left -= now;
            left -= now;
            if node.left > 0 {
                self.todo.push(node);
                continue;
            }
            self.found.tasks += 1;
            let children = work.tree.children(node.task).iter();
            children.for_each(|&child| self.todo.push(Node::new(child, &work.tree)));
        }
        let done = all - left;
        if work.spins {
            spin(done);
        }
        self.found.ns += done;
        done as usize
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        (taken > 0).then(|| Self {
            todo: self.todo.steal(taken).into(),
            found: Found::default(),
        })
    }

    fn merge(&mut self, other: Self) {
        self.todo.append(other.todo.into());
        self.found.add(other.found);
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn drop_tasks(&mut self) {
        self.todo = Local::new();
    }

    fn submit(self, output: &mut Found) {
        output.add(self.found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Input;
    use tautline::balance::Bag as _;

    #[test]
    fn long_tasks_are_done_in_parts() {
        let file = b"parent,ns\n,10\n0,0\n0,25\n";
        let tree = Tree::read(Input::new("t.csv", file).unwrap()).unwrap();
        let work = Work {
            tree: tree.into(),
            spins: false,
        };
        let mut bag = work.bag();
        assert_eq!(bag.process(4, &work), 4);
        assert_eq!((bag.found.tasks, bag.len()), (0, 1));
        assert_eq!(bag.process(6, &work), 6);
        assert_eq!((bag.found.tasks, bag.len()), (1, 2));
        assert_eq!(bag.process(1000, &work), 26);
        assert_eq!(bag.process(1000, &work), 0);
        assert_eq!((bag.found, bag.len()), (Found { tasks: 3, ns: 36 }, 0));
    }
}
