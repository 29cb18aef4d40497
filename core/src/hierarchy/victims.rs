//! The order in which a worker visits its victims: nearest first.
#![forbid(unsafe_code)]

use super::{Domain, Hierarchy, Path};
use core::ops::Range;

/// The workers that one domain on the path adds to those of the domain below it: all at the same
/// distance.
///
/// They form a ring that begins directly after the domain below; each worker of that domain enters
/// it at a different point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The smallest domain that serves them and the worker.
    pub domain: Domain,
    /// The workers, in this order: at most three ranges that are not empty.
    pub ranges: [Range<u32>; 3],
}

impl Group {
    /// Creates the group of the workers of `whole` that are not in `inner`, for worker number `own`
    /// of `inner`.
    fn ring(domain: Domain, whole: Range<u32>, inner: Range<u32>, own: u32) -> Self {
        let (after, before) = (whole.end - inner.end, inner.start - whole.start);
        let turned = own.checked_rem(after + before).unwrap_or(0);
        let ranges = match turned.checked_sub(after) {
            None => [
                inner.end + turned..whole.end,
                whole.start..inner.start,
                inner.end..inner.end + turned,
            ],
            Some(skipped) => [
                whole.start + skipped..inner.start,
                inner.end..whole.end,
                whole.start..whole.start + skipped,
            ],
        };
        Self { domain, ranges }
    }

    /// Returns its workers, in order.
    pub fn workers(&self) -> impl Iterator<Item = u32> + use<> {
        self.ranges.clone().into_iter().flatten()
    }

    /// Whether the group has no worker.
    pub fn is_empty(&self) -> bool {
        self.ranges.iter().all(Range::is_empty)
    }
}

/// All workers except the thief, in the order in which it visits them. See [`Hierarchy::victims`].
#[derive(Clone, Debug)]
pub struct Victims<'a> {
    tree: &'a Hierarchy,
    worker: u32,
    path: Path<'a>,
    /// The workers already visited, and the thief itself.
    inner: Range<u32>,
    ranges: [Range<u32>; 3],
}

impl<'a> Victims<'a> {
    pub(super) fn new(tree: &'a Hierarchy, worker: u32) -> Self {
        Self {
            tree,
            worker,
            path: tree.path(worker),
            inner: worker..worker + 1,
            ranges: Default::default(),
        }
    }

    /// Returns the workers that the next domain on the path adds, skipping domains that add none;
    /// the rest of the previous group is skipped.
    pub fn next_group(&mut self) -> Option<Group> {
        loop {
            let domain = self.path.next()?;
            let whole = self.tree.subtree(domain);
            let own = self.worker - self.inner.start;
            let group = Group::ring(domain, whole.clone(), self.inner.clone(), own);
            self.inner = whole;
            if !group.is_empty() {
                return Some(group);
            }
        }
    }
}

impl Iterator for Victims<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(victim) = self.ranges.iter_mut().find_map(Iterator::next) {
                return Some(victim);
            }
            self.ranges = self.next_group()?.ranges;
        }
    }
}
