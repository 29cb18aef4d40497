//! Recorded trees of tasks: the parent and the own duration of each task.
//!
//! A program runs once under a [`Recorder`], one task after the other, which yields its tree. Any
//! number of places can then process the tree, in real or in virtual time: `tautline recorded
//! FILE`, `tautline simulate recorded FILE`.
//!
//! # Format
//! Comma-separated values. The first line is `parent,ns`. Each further line is a task, numbered
//! from 0: the number of its parent, which precedes it, or nothing for a root; and its own
//! nanoseconds, those of its children not included. Lines that begin with `#` are comments.
//!
//! ```
//! use tautline::prelude::*;
//! use tautline_cli::recorded::{Found, Recorder, Tree, Work};
//! use tautline_cli::text::Input;
//!
//! let mut recorder = Recorder::new();
//! recorder.root(|task| {
//!     task.child(|task| task.child(|_| ()));
//!     task.child(|_| ());
//! });
//! let mut file = Vec::new();
//! recorder.tree().write(&mut file)?;
//!
//! let tree = Tree::read(Input::new("tree.csv", &file)?)?;
//! let work = Work { tree: tree.into(), spins: true };
//! let run = tautline::balancer().run(work.bag(), |_| work.clone(), Found::default())?;
//! assert_eq!(run.output.tasks, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bag;
mod recorder;

pub use bag::{Bag, Found, Work};
pub use recorder::{Recorder, Task};

use crate::text::Input;
use std::io::{self, Write};
use tautline::FileError;

const HEAD: &str = "parent,ns";
/// The longest time of all tasks together: 146 years.
const NS_MAX: u64 = 1 << 62;

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
    /// The first line that is wrong, with file, line and column.
    pub fn read(input: Input) -> Result<Self, FileError> {
        let text = input.into_text(is_comment)?;
        let wrong = |part: &str, expected: &str| {
            let shown = part.trim();
            text.error(part, format!("`{shown}`: expected {expected}"))
        };
        let mut lines = text.lines().filter(|line| !is_comment(line));
        let head = lines.next().unwrap_or_default();
        let names = fields(head).map(|names| names.map(bare));
        if names != fields(HEAD) {
            return Err(wrong(head, &format!("the head `{HEAD}`")));
        }
        let (mut parents, mut all) = (Vec::new(), Vec::new());
        let mut sum = 0_u64;
        for line in lines {
            let above = parents.len();
            let [parent, ns] = fields(line).ok_or_else(|| wrong(line, &format!("`{HEAD}`")))?;
            parents.push(match bare(parent) {
                "" => None,
                number => {
                    let number = whole(number).filter(|number| *number < above as u64);
                    let expected = match above.checked_sub(1) {
                        None => "nothing, as the first task is a root".to_owned(),
                        Some(last) => format!("a task above, 0 to {last}, or nothing for a root"),
                    };
                    Some(number.ok_or_else(|| wrong(parent, &expected))? as u32)
                }
            });
            let time = whole(bare(ns)).ok_or_else(|| wrong(ns, "whole nanoseconds"))?;
            let added = sum.checked_add(time).filter(|sum| *sum <= NS_MAX);
            sum = added.ok_or_else(|| wrong(ns, &format!("at most {NS_MAX} ns of all tasks")))?;
            all.push(time);
            if u32::try_from(parents.len()).is_err() {
                return Err(wrong(line, &format!("at most {} tasks", u32::MAX)));
            }
        }
        if parents.is_empty() {
            return Err(text.error_at_end("expected a task"));
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

fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

/// Returns the fields of a line, if there are two.
fn fields(line: &str) -> Option<[&str; 2]> {
    let (parent, ns) = line.split_once(',')?;
    (!ns.contains(',')).then_some([parent, ns])
}

/// Returns a field without blanks and quotes around it.
fn bare(field: &str) -> &str {
    let field = field.trim();
    let quoted = field
        .strip_prefix('"')
        .and_then(|field| field.strip_suffix('"'));
    quoted.unwrap_or(field)
}

/// Parses a whole number; programs whose columns are real numbers write `1.0`.
fn whole(text: &str) -> Option<u64> {
    const EXACT_MAX: f64 = (1_u64 << 53) as f64;
    let real = || text.parse().ok().filter(|x| (0.0..=EXACT_MAX).contains(x));
    let rounded = || real().filter(|x| x.fract() == 0.0).map(|x| x as u64);
    text.parse().ok().or_else(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl AsRef<[u8]>) -> Result<Tree, String> {
        let tree = Input::new("t.csv", text.as_ref()).and_then(Tree::read);
        tree.map_err(|error| error.to_string())
    }

    const FILE: &str = "parent,ns\n,10\n0,20\n0,5\n1,7\n,3\n";

    #[test]
    fn what_is_written_is_what_was_read() {
        let tree = read(FILE).unwrap();
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
    fn files_of_other_programs_are_read() {
        for text in [
            FILE.replace('\n', "\r\n"),
            format!("\u{feff}{FILE}"),
            format!("{FILE}\n\n"),
            format!(
                "# caf\u{e9}\n{}# end",
                FILE.replace("0,5", "# a, b\n 0 , 5 ")
            ),
            FILE.trim_end().to_owned(),
            FILE.replace("parent,ns", "\"parent\", \"ns\""),
            FILE.replace("0,20", "0.0,2e1").replace("1,7", "1.0,7.0"),
        ] {
            assert_eq!(read(&text), read(FILE), "{text}");
        }
        let latin = [b"# caf\xe9\n", FILE.as_bytes()].concat();
        assert_eq!(read(latin), read(FILE));
    }

    #[test]
    fn the_first_line_that_is_wrong_is_named() {
        let most = NS_MAX;
        for (text, said) in [
            ("", "1:1: ``: expected the head `parent,ns`"),
            ("ns,parent\n", "1:1: `ns,parent`: expected the head"),
            ("parent,ns\n", "2:1: expected a task"),
            ("parent,ns\n0,1\n", "2:1: `0`: expected nothing, as"),
            (
                "parent,ns\n,1\n1,1\n",
                "3:1: `1`: expected a task above, 0 to 0",
            ),
            ("parent,ns\n,1\n-1,1\n", "3:1: `-1`: expected"),
            (
                "parent,ns\n,1.5\n",
                "2:2: `1.5`: expected whole nanoseconds",
            ),
            (
                "parent,ns\n,nan\n",
                "2:2: `nan`: expected whole nanoseconds",
            ),
            ("parent,ns\n,1\n7\n", "3:1: `7`: expected `parent,ns`"),
            ("parent,ns\n,1\n\n0,1\n", "3:1: ``: expected `parent,ns`"),
            (
                "parent,ns\n,1\n0,1,2\n",
                "3:1: `0,1,2`: expected `parent,ns`",
            ),
            (
                &format!("parent,ns\n,{most}\n0,1\n"),
                &format!("3:3: `1`: expected at most {most} ns of all tasks"),
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.starts_with(&format!("t.csv:{said}")),
                "{text:?}: {error}"
            );
        }
        let latin = read(b"parent,ns\n,1\xe9\n").unwrap_err();
        assert!(
            latin.starts_with("t.csv:2:3: byte 0xE9: not UTF-8"),
            "{latin}"
        );
    }
}
