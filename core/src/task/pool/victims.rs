//! The order in which a worker searches the others.

use crate::hierarchy::Hierarchy;
use crate::id::WorkerId;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The victims of one seat, the nearest first, in groups at equal distances. A group contains its victims twice, so that a
/// rotation of it is a slice.
pub(super) struct Victims(Box<[Box<[WorkerId]>]>);

impl Victims {
    /// Returns the victims of seat `me`, where `positions` are the seats' workers in the tree.
    pub(super) fn new(tree: &Hierarchy, positions: &[u32], me: usize) -> Self {
        let mut groups: BTreeMap<u32, Vec<WorkerId>> = BTreeMap::new();
        for other in (1..positions.len()).map(|d| (me + d) % positions.len()) {
            let distance = tree.distance(positions[me], positions[other]);
            let group = groups.entry(distance).or_default();
            group.push(WorkerId(other as u32));
        }
        let twice = |group: Vec<WorkerId>| [&group[..], &group[..]].concat().into();
        Self(groups.into_values().map(twice).collect())
    }

    /// Returns the victims; of those at equal distances, the first is the one of number `turn`.
    pub(super) fn from(&self, turn: usize) -> impl Iterator<Item = WorkerId> {
        self.0.iter().flat_map(move |group| {
            let size = group.len() / 2;
            let first = turn % size;
            group[first..first + size].iter().copied()
        })
    }

    /// Returns the victims, always in the same order.
    pub(super) fn nearest(&self) -> impl Iterator<Item = WorkerId> {
        let groups = self.0.iter();
        groups.flat_map(|group| group[..group.len() / 2].iter().copied())
    }
}
