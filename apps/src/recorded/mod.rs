//! Recorded trees of tasks: the parent and the own duration of each task.
//!
//! A program runs once under a [`Recorder`], one task after the other, which yields its tree. Any
//! number of places can then process the tree, in real or in virtual time: `tautline recorded
//! FILE`, `tautline simulate recorded FILE`.
//!
//! # Format
//! Comma-separated values. The first line is `parent,ns`. Each further line is a task, numbered
//! from 0: the number of its parent, which precedes it, or nothing for a root; and its own
//! nanoseconds, those of its children not included.
//!
//! ```
//! use tautline::prelude::*;
//! use tautline_cli::recorded::{Found, Recorder, Tree, Work};
//!
//! let mut recorder = Recorder::new();
//! recorder.root(|task| {
//!     task.child(|task| task.child(|_| ()));
//!     task.child(|_| ());
//! });
//! let mut file = Vec::new();
//! recorder.tree().write(&mut file)?;
//!
//! let tree = Tree::read(&String::from_utf8(file)?)?;
//! let work = Work { tree: tree.into(), spins: true };
//! let run = Glb::new().run(work.bag(), |_| work.clone(), Found::default())?;
//! assert_eq!(run.output.tasks, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bag;
mod recorder;

pub use bag::{Bag, Found, Work};
pub use recorder::{Recorder, Task};

use std::io::{self, Write};
use thiserror::Error;

const HEAD: &str = "parent,ns";

/// A file that is not a recorded tree.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: `{found}`: expected {expected}")]
pub struct TreeError {
    /// The line, from 1.
    pub line: usize,
    /// The text found there.
    pub found: String,
    /// The text expected there.
    pub expected: String,
}

/// A tree of tasks, or several side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// By task: its parent.
    parents: Vec<Option<u32>>,
    /// By task: its own nanoseconds.
    ns: Vec<u64>,
    /// By task, and one more: where its children begin in `children`.
    first: Vec<u32>,
    children: Vec<u32>,
}

impl Tree {
    /// Creates the tree of recorded tasks, in which every parent precedes its children.
    fn new(parents: Vec<Option<u32>>, ns: Vec<u64>) -> Self {
        let mut first = vec![0; parents.len() + 1];
        for parent in parents.iter().flatten() {
            first[*parent as usize + 1] += 1;
        }
        for task in 0..parents.len() {
            first[task + 1] += first[task];
        }
        let mut next = first.clone();
        let mut children = vec![0; parents.iter().flatten().count()];
        for (task, parent) in parents.iter().enumerate() {
            if let Some(parent) = parent {
                let place = &mut next[*parent as usize];
                children[*place as usize] = task as u32;
                *place += 1;
            }
        }
        Self {
            parents,
            ns,
            first,
            children,
        }
    }

    /// Parses a tree in the [format](self) of the module.
    ///
    /// # Errors
    /// [`TreeError`]: the first line that is wrong.
    pub fn read(text: &str) -> Result<Self, TreeError> {
        let wrong = |line: usize, found: &str, expected: String| TreeError {
            line: line + 1,
            found: found.to_owned(),
            expected,
        };
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, HEAD)) => {}
            other => {
                let (line, found) = other.unwrap_or_default();
                return Err(wrong(line, found, format!("the head `{HEAD}`")));
            }
        }
        let (mut parents, mut all) = (Vec::new(), Vec::new());
        for (line, found) in lines {
            let two = found.split_once(',');
            let (parent, ns) = two.ok_or_else(|| wrong(line, found, format!("`{HEAD}`")))?;
            let parent = match (parent.trim(), parents.len()) {
                ("", _) => None,
                (number, above) => {
                    let number = number.parse().ok();
                    let number = number.filter(|number| (*number as usize) < above);
                    let last = above.saturating_sub(1);
                    let expected = || format!("a task above, 0 to {last}, or nothing for a root");
                    Some(number.ok_or_else(|| wrong(line, parent, expected()))?)
                }
            };
            let time = ns.trim().parse();
            all.push(time.map_err(|_| wrong(line, ns, "whole nanoseconds".to_owned()))?);
            parents.push(parent);
            if u32::try_from(parents.len()).is_err() {
                return Err(wrong(line, found, format!("at most {} tasks", u32::MAX)));
            }
        }
        if parents.is_empty() {
            return Err(wrong(1, "", "a task".to_owned()));
        }
        Ok(Self::new(parents, all))
    }

    /// Writes the tree in the format that [`read`](Self::read) parses.
    ///
    /// # Errors
    /// Those of `file`.
    pub fn write(&self, file: &mut impl Write) -> io::Result<()> {
        writeln!(file, "{HEAD}")?;
        for (parent, ns) in self.parents.iter().zip(&self.ns) {
            match parent {
                Some(parent) => writeln!(file, "{parent},{ns}")?,
                None => writeln!(file, ",{ns}")?,
            }
        }
        Ok(())
    }

    /// Returns the number of tasks.
    pub fn tasks(&self) -> u64 {
        self.parents.len() as u64
    }

    /// Returns the sum of all tasks' nanoseconds.
    pub fn ns(&self) -> u64 {
        self.ns.iter().sum()
    }

    /// Returns the nanoseconds of the longest chain of tasks of which each is the parent of the
    /// next: a lower bound on the time for any number of workers.
    pub fn longest_chain_ns(&self) -> u64 {
        let mut ends = self.ns.clone();
        for (task, parent) in self.parents.iter().enumerate() {
            if let Some(parent) = parent {
                ends[task] += ends[*parent as usize];
            }
        }
        ends.into_iter().max().unwrap_or(0)
    }

    fn roots(&self) -> impl Iterator<Item = u32> {
        let roots = self.parents.iter().enumerate();
        roots.filter_map(|(task, parent)| parent.is_none().then_some(task as u32))
    }

    fn children(&self, task: u32) -> &[u32] {
        let task = task as usize;
        &self.children[self.first[task] as usize..self.first[task + 1] as usize]
    }

    fn ns_of(&self, task: u32) -> u64 {
        self.ns[task as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "parent,ns\n,10\n0,20\n0,5\n1,7\n,3\n";

    #[test]
    fn what_is_written_is_what_was_read() {
        let tree = Tree::read(FILE).unwrap();
        let mut file = Vec::new();
        tree.write(&mut file).unwrap();
        assert_eq!(String::from_utf8(file).unwrap(), FILE);
        assert_eq!((tree.tasks(), tree.ns()), (5, 45));
        assert_eq!(tree.longest_chain_ns(), 37);
        assert_eq!(tree.roots().collect::<Vec<_>>(), [0, 4]);
        assert_eq!(tree.children(0), [1, 2]);
        assert_eq!((tree.children(1), tree.children(4)), (&[3][..], &[][..]));
    }

    #[test]
    fn files_of_other_systems_are_read() {
        let text = FILE.replace('\n', "\r\n");
        assert_eq!(Tree::read(&text), Tree::read(FILE));
    }

    #[test]
    fn the_first_line_that_is_wrong_is_named() {
        for (text, said) in [
            ("", "line 1: ``: expected the head `parent,ns`"),
            ("ns,parent\n", "line 1: `ns,parent`: expected the head"),
            ("parent,ns\n", "line 2: ``: expected a task"),
            ("parent,ns\n0,1\n", "line 2: `0`: expected a task above"),
            (
                "parent,ns\n,1\n1,1\n",
                "line 3: `1`: expected a task above, 0 to 0",
            ),
            ("parent,ns\n,1\n-1,1\n", "line 3: `-1`: expected"),
            (
                "parent,ns\n,1.5\n",
                "line 2: `1.5`: expected whole nanoseconds",
            ),
            ("parent,ns\n,1\n7\n", "line 3: `7`: expected `parent,ns`"),
        ] {
            let error = Tree::read(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{text:?}: {error}");
        }
    }
}
