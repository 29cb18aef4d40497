//! Declarations of a loop: its name, its predecessors, and the columns that its iterations access.

use super::super::settings::Schedule;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// The columns of one array that the iterations of a loop access. Computed once, so that a function
/// that returns something else the second time changes nothing.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(super) array: usize,
    pub(super) is_write: bool,
    table: Table,
}

/// Columns by iteration, counted from the first one of the loop.
#[derive(Debug, PartialEq)]
enum Table {
    /// Each accesses the same ones.
    Same(Range<usize>),
    /// Each accesses the one that has its number plus this, modulo the width of the number.
    Own(usize),
    Each(Vec<Range<usize>>),
}

impl Declared {
    /// Computes the columns of `iterations`.
    pub(crate) fn new(
        array: usize,
        is_write: bool,
        iterations: Range<usize>,
        of: impl Fn(usize) -> Range<usize>,
    ) -> Self {
        let mut columns = iterations.map(of);
        let mut table = match columns.next() {
            Some(first) if first.len() == 1 => Table::Own(first.start),
            first => Table::Same(first.unwrap_or(0..0)),
        };
        for (at, next) in (1..).zip(columns) {
            let fits = |expected: Range<usize>| expected == next;
            let is_alike = match &mut table {
                Table::Same(same) => fits(same.clone()),
                Table::Own(first) => fits(first.wrapping_add(at)..first.wrapping_add(at + 1)),
                Table::Each(each) => {
                    each.push(next);
                    continue;
                }
            };
            // One column for each of two iterations may be the same one.
            if at == 1 && table == Table::Own(next.start) && next.len() == 1 {
                table = Table::Same(next);
            } else if !is_alike {
                let before = Self {
                    array,
                    is_write,
                    table,
                };
                let mut each: Vec<_> = (0..at).map(|at| before.columns(at)).collect();
                each.push(next);
                table = Table::Each(each);
            }
        }
        Self {
            array,
            is_write,
            table,
        }
    }

    /// Returns the columns of the iteration `at`, counted from the first one.
    #[inline]
    pub(crate) fn columns(&self, at: usize) -> Range<usize> {
        match &self.table {
            Table::Same(columns) => columns.clone(),
            Table::Own(first) => first.wrapping_add(at)..first.wrapping_add(at).wrapping_add(1),
            Table::Each(each) => each[at].clone(),
        }
    }
}

/// The name of a loop, or its number in its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(super) given: Option<&'static str>,
    pub(super) number: usize,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.given {
            Some(name) => write!(f, "`{name}`"),
            None => write!(f, "{}", self.number),
        }
    }
}

/// A loop without its body.
#[derive(Debug)]
pub(crate) struct Outline {
    pub(super) name: Name,
    pub(super) range: Range<usize>,
    /// The iterations that are run, counted from the first one; all if `None`.
    pub(super) active: Option<Vec<usize>>,
    pub(super) after: Vec<usize>,
    pub(super) is_split: bool,
    pub(super) schedule: Schedule,
}

impl Outline {
    /// Returns the number of positions.
    pub(crate) fn len(&self) -> usize {
        self.active.as_ref().map_or(self.range.len(), Vec::len)
    }

    /// Returns the iteration at a position, counted from the first one.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> usize {
        self.active.as_ref().map_or(position, |all| all[position])
    }

    /// Returns the index that the body receives for an iteration.
    #[inline]
    pub(crate) fn index(&self, at: usize) -> usize {
        self.range.start + at
    }

    pub(crate) fn name(&self) -> &Name {
        &self.name
    }
}
