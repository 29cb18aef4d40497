//! The order in which a worker searches the others.

use crate::hierarchy::Hierarchy;
use crate::id::WorkerId;
use alloc::boxed::Box;
use alloc::{vec, vec::Vec};

/// The victims of one seat, the nearest first, in groups at equal distances. A group contains its
/// victims twice, so that a rotation of it is a slice.
pub(super) struct Victims(Box<[Box<[WorkerId]>]>);

impl Victims {
    /// Returns the victims of seat `me`, where `positions` are the seats' workers in the tree.
    pub(super) fn new(tree: &Hierarchy, positions: &[u32], me: usize) -> Self {
        // By distance, of which there are few.
        let mut groups: Vec<(u32, Vec<WorkerId>)> = Vec::new();
        for other in (1..positions.len()).map(|d| (me + d) % positions.len()) {
            let distance = tree.distance(positions[me], positions[other]);
            let victim = WorkerId(other as u32);
            match groups.binary_search_by_key(&distance, |group| group.0) {
                Ok(at) => groups[at].1.push(victim),
                Err(at) => groups.insert(at, (distance, vec![victim])),
            }
        }
        let twice = |(_, group): (u32, Vec<WorkerId>)| [&group[..], &group[..]].concat().into();
        Self(groups.into_iter().map(twice).collect())
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
