//! The operations that have not ended, and the ranks that have not begun them.

use super::{Entry, Operating, State};
use crate::group::GroupId;
use crate::id::Rank;
use crate::service::operations::call::OperationCounts;
use crate::service::operations::open::OpenOperation;
use crate::wire::{BegunCall, Cause, Error};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

impl State {
    /// Returns the error of the ranks that have not begun an operation for which this one waits.
    pub(in crate::service::operations) fn absent(&self) -> Option<Error> {
        self.groups.iter().find_map(|(id, operating)| {
            let (number, ranks) = operating.sequence.absent()?;
            let mut ranks = ranks.into_iter().map(|rank| operating.group.member(rank));
            let (peer, within) = (ranks.next()?, None);
            let (others, call) = (ranks.collect(), self.begun(*id, number));
            Some(Error {
                here: self.here,
                peer,
                channel: Some(self.name(*id, number)),
                cause: Cause::Absent {
                    others,
                    within,
                    call,
                },
            })
        })
    }

    /// Returns the call of an operation that has not ended, with the ranks that have begun it.
    pub(super) fn begun(&self, id: GroupId, number: u64) -> Option<Box<BegunCall>> {
        let Operating {
            group, sequence, ..
        } = self.groups.get(&id)?;
        let call = sequence.open_calls().find(|call| call.number == number)?;
        let others = call.begun.into_iter().map(|rank| group.member(rank));
        Some(Box::new(BegunCall {
            site: call.call.site,
            others: others.collect(),
        }))
    }

    /// Returns the counts of a group, or the sums of all.
    pub(in crate::service::operations) fn counts(&self, of: Option<GroupId>) -> OperationCounts {
        if let Some(id) = of {
            return self
                .groups
                .get(&id)
                .map(|group| group.counts)
                .unwrap_or_default();
        }
        let counts = self.groups.values().map(|group| group.counts);
        counts.fold(OperationCounts::default(), OperationCounts::plus)
    }

    /// Adds the names of the operations that have not ended to `names`.
    pub(in crate::service::operations) fn open_names(&self, names: &mut Vec<(GroupId, u64)>) {
        let groups = self.groups.iter();
        let open = groups.flat_map(|(id, it)| it.sequence.open_numbers().map(|n| (*id, n)));
        names.extend(open);
    }

    /// Returns the operations that have not ended.
    pub(in crate::service::operations) fn open_operations(&self) -> Vec<OpenOperation> {
        let mut open = Vec::new();
        for (
            id,
            Operating {
                group,
                sequence,
                receivers,
                ..
            },
        ) in &self.groups
        {
            let members = |ranks: Vec<Rank>| ranks.into_iter().map(|rank| group.member(rank));
            open.extend(sequence.open_calls().map(|call| OpenOperation {
                name: self.name(*id, call.number),
                id: (*id, call.number),
                group: group.clone(),
                kind: call.call.kind,
                site: call.call.site,
                absent: members(call.absent).collect(),
                begun: members(call.begun).collect(),
                receiver: match receivers.get(call.number) {
                    Some(Entry::Open(receiver)) => Some(Arc::clone(receiver)),
                    _ => None,
                },
            }));
        }
        open
    }
}
