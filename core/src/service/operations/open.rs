//! Operations that have not ended, and counts, for reports.

use super::{Calls, Joined, Kind, OperationCounts, Operations};
use crate::group::{Group, GroupId};
use crate::id::Rank;
use crate::watch::{Outstanding, Site};
use crate::wire::{Name, Receiver};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// An operation of a group that has not ended at this rank.
pub struct OpenOperation {
    /// Its name in messages.
    pub name: Name,
    /// Its group, and its number among those of the group.
    pub id: (GroupId, u64),
    /// The ranks that take part.
    pub group: Group,
    /// The kind of the call.
    pub kind: Kind,
    /// The call.
    pub site: Site,
    /// The ranks of the program that were asked about it, since it takes long, and have not begun
    /// it. Of more than 32 ranks, only the next ones in a tree are known.
    pub absent: Vec<Rank>,
    /// The ranks of the program that are known to have begun it.
    pub begun: Vec<Rank>,
    pub(super) receiver: Option<Arc<dyn Receiver>>,
}

impl fmt::Debug for OpenOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.name, self.site)
    }
}

impl OpenOperation {
    /// Returns what it waits for at ranks that have begun it, by their ranks in the group; `None`
    /// if its receiver waits for nothing more. Takes locks of the receiver.
    pub fn outstanding(&mut self) -> Option<Vec<Outstanding>> {
        // Kept, it would keep the messages of the operation.
        let receiver = self.receiver.take();
        receiver.map_or(Some(Vec::new()), |receiver| receiver.outstanding())
    }
}

impl Calls {
    /// Returns the counts of the group.
    ///
    /// ```
    /// # use std::panic::Location;
    /// # use std::sync::Arc;
    /// # use tautline_core::port::{Alone, Spin};
    /// # use tautline_core::service::Operations;
    /// # use tautline_core::wire::Exchange;
    /// let exchange = Exchange::new(Alone, Spin);
    /// let all = Operations::open(&exchange, Spin).all();
    /// let take = Arc::new(|_, _, _: &[u8]| Ok(()));
    /// drop(all.begin::<String>(Location::caller(), "greeting", take));
    /// assert_eq!(all.counts().begun, 1);
    /// ```
    pub fn counts(&self) -> OperationCounts {
        let Joined { operations, id, .. } = &*self.0;
        operations.state().counts(Some(*id))
    }
}

impl Operations {
    /// Returns the sums of the counts of all groups.
    pub fn counts(&self) -> OperationCounts {
        self.state().counts(None)
    }

    /// Replaces `names` by the groups and numbers of the operations that have not ended.
    pub fn open_names(&self, names: &mut Vec<(GroupId, u64)>) {
        names.clear();
        self.state().open_names(names);
    }

    /// Returns the operations that have not ended.
    ///
    /// ```
    /// use std::panic::Location;
    /// use std::sync::Arc;
    /// use tautline_core::port::{Alone, Spin};
    /// use tautline_core::service::Operations;
    /// use tautline_core::wire::Exchange;
    ///
    /// let exchange = Exchange::new(Alone, Spin);
    /// let operations = Operations::open(&exchange, Spin);
    /// let all = operations.all();
    /// let take = Arc::new(|_, _, _: &[u8]| Ok(()));
    /// let greeting = all.begin::<String>(Location::caller(), "greeting", take);
    /// let [open] = &operations.open_operations()[..] else { panic!("it has not ended") };
    /// assert_eq!((open.kind.name(), open.site.file()), ("greeting", file!()));
    /// drop(greeting);
    /// assert!(operations.open_operations().is_empty());
    /// ```
    pub fn open_operations(&self) -> Vec<OpenOperation> {
        self.state().open_operations()
    }
}
