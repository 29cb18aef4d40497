//! Declarations with which loops cannot run concurrently.

use super::declared::Name;
use crate::loops::raw::Array;
use alloc::boxed::Box;
use core::fmt;
use core::ops::Range;

/// The accesses of an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) name: Name,
    pub(super) iteration: usize,
    pub(super) is_write: bool,
    pub(super) columns: Range<usize>,
}

/// The reason why the loops of a scope cannot run as declared; displayed as one line that names the
/// loops and the columns. No iteration was run.
///
/// ```
/// # use tautline_core::{port::Host, task::Cx};
/// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
/// let (mut q, mut sum) = ([1; 8], [0; 8]);
/// let ran = cx.concurrent(|loops| {
///     let (q, sum) = (loops.columns("q", &mut q, 1), loops.columns("sum", &mut sum, 1));
///     loops.par_for(0..8).named("A").writes(&q, |c| c..c + 1).run(|c, (mut q,)| q[c][0] = c);
///     let b = loops.par_for(0..8).named("B").reads(&q, |_| 0..8).writes(&sum, |c| c..c + 1);
///     b.run(|c, (q, mut sum)| sum[c][0] = (0..c).map(|at| q[at][0]).sum());
/// });
/// let line = "loops `A` and `B` run concurrently, but `A` writes and `B` reads columns 0..8 of `q`: let `B` come after `A`";
/// assert_eq!(ran.unwrap_err().to_string(), line);
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopConflict(Box<Kind>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Outside {
        touch: Touch,
        array: &'static str,
        count: usize,
    },
    Within {
        touch: Touch,
        other: Touch,
        array: &'static str,
    },
    Between {
        first: (Name, bool),
        second: (Name, bool),
        columns: Range<usize>,
        array: &'static str,
    },
}

impl LoopConflict {
    pub(super) fn outside(touch: Touch, array: Array) -> Self {
        let Array { name: array, count } = array;
        Self(Box::new(Kind::Outside {
            touch,
            array,
            count,
        }))
    }

    pub(super) fn within(touch: Touch, other: Touch, array: Array) -> Self {
        let array = array.name;
        Self(Box::new(Kind::Within {
            touch,
            other,
            array,
        }))
    }

    pub(super) fn between(
        first: (Name, bool),
        second: (Name, bool),
        columns: Range<usize>,
        array: Array,
    ) -> Self {
        let array = array.name;
        Self(Box::new(Kind::Between {
            first,
            second,
            columns,
            array,
        }))
    }
}

fn verb(is_write: bool) -> &'static str {
    if is_write { "writes" } else { "reads" }
}

impl fmt::Display for LoopConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Kind::Outside {
                touch,
                array,
                count,
            } => {
                let (name, at, columns) = (touch.name, touch.iteration, &touch.columns);
                let verb = verb(touch.is_write);
                write!(
                    f,
                    "loop {name}: iteration {at} {verb} columns {columns:?} of `{array}`, which has 0..{count}"
                )
            }
            Kind::Within {
                touch,
                other,
                array,
            } => {
                let (name, at, columns) = (touch.name, touch.iteration, &touch.columns);
                let (verb, others) = (verb(touch.is_write), &other.columns);
                let by = other.iteration;
                write!(
                    f,
                    "loop {name}: iteration {at} {verb} columns {columns:?} of `{array}`, of which iteration {by} writes \
                     {others:?}: only one access of one iteration may reach a column that is written"
                )
            }
            Kind::Between {
                first,
                second,
                columns,
                array,
            } => {
                let (a, b) = (first.0, second.0);
                let (does_a, does_b) = (verb(first.1), verb(second.1));
                write!(
                    f,
                    "loops {a} and {b} run concurrently, but {a} {does_a} and {b} {does_b} columns {columns:?} of `{array}`: let \
                     {b} come after {a}"
                )
            }
        }
    }
}

impl core::error::Error for LoopConflict {}
