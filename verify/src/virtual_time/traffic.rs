//! Reads and writes of threads, line by line.

use std::collections::{BTreeSet, HashMap};
use tautline_core::sync::Access;

/// Bytes that are counted together: a line of most machines, and what most words of the core have
/// to themselves.
const LINE_BYTES: usize = 64;

/// The reads and writes of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Fences.
    pub fences: u64,
    /// Each line that was touched, in the order of the first touches.
    pub lines: Vec<Line>,
}

impl Traffic {
    /// The lines' counts together; the sets of writers and readers are not added up.
    pub fn sum(&self) -> Line {
        self.lines.iter().fold(Line::default(), |sum, line| Line {
            loads: sum.loads + line.loads,
            stores: sum.stores + line.stores,
            updates: sum.updates + line.updates,
            ..sum
        })
    }
}

/// The accesses to one line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Reads.
    pub loads: u64,
    /// Writes.
    pub stores: u64,
    /// Undivided reads and writes.
    pub updates: u64,
    /// The number of threads that have read it and not written it.
    pub readers: usize,
    /// The number of threads that have written it.
    pub writers: usize,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    fences: u64,
    stopped: bool,
    order: Vec<usize>,
    lines: HashMap<usize, Touches>,
}

#[derive(Debug, Default)]
struct Touches {
    line: Line,
    readers: BTreeSet<usize>,
    writers: BTreeSet<usize>,
}

impl Counts {
    pub(super) fn count(&mut self, thread: usize, address: usize, access: Access) {
        if self.stopped {
            return;
        }
        if access == Access::Fence {
            self.fences += 1;
            return;
        }
        let number = address / LINE_BYTES;
        let touches = self.lines.entry(number).or_insert_with(|| {
            self.order.push(number);
            Touches::default()
        });
        let (count, threads) = match access {
            Access::Load => (&mut touches.line.loads, &mut touches.readers),
            Access::Store => (&mut touches.line.stores, &mut touches.writers),
            Access::Update | Access::Fence => (&mut touches.line.updates, &mut touches.writers),
        };
        *count += 1;
        threads.insert(thread);
    }

    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    pub(super) fn counted(&self) -> Traffic {
        let line = |number: &usize| {
            let touches = &self.lines[number];
            Line {
                readers: touches.readers.difference(&touches.writers).count(),
                writers: touches.writers.len(),
                ..touches.line
            }
        };
        Traffic {
            fences: self.fences,
            lines: self.order.iter().map(line).collect(),
        }
    }
}
