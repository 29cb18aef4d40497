//! Raids: a worker that finds no work publishes the private tasks of workers that run long leaves.
//!
//! One heavy fence serves all victims ([`Fence`](crate::port::Fence::heavy_fence)). It is
//! expensive, for the victims too, so a worker raids once before it stops searching, if it sees
//! private tasks, and once more after it has announced its sleep. A fork that is pushed after the
//! second raid is published, and its owner then observes the announcement. An owner that answers a
//! request itself publishes half of its tasks, and wakes no sleeper while another worker searches.
//! So the requesting worker searches again: no other worker may have observed that half.
//!
//! Of each victim, with the others' words unconcerned: its push or pop observes the request, or the
//! raid its item (`split.S8`); and a victim that answers observes the sleep that preceded the
//! request (`split.S3`).

use super::Worker;
use crate::deque::split::Refused;
use crate::port::Host;
use crate::sync::CachePadded;

impl<P: Host> Worker<P> {
    /// Requests the private tasks of `victims`, of `all` or of those that seem to have some, and
    /// publishes them if the machine has a heavy fence; else their owners do so at their next fork
    /// or join. Returns whether there are, or were, public tasks: if their owner has reclaimed
    /// them, it owes no answer.
    pub(super) fn raid(&self, victims: &[CachePadded<Self>], all: bool) -> bool {
        self.raid_rest(victims, all).0
    }

    /// As [`raid`](Self::raid). Also returns whether the fence, one for all victims, was executed.
    fn raid_rest(&self, victims: &[CachePadded<Self>], all: bool) -> (bool, bool) {
        let Some((victim, rest)) = victims.split_first() else {
            // ORDERING: SeqCst, pairs with the light fences of the victims' pushes and pops
            // (`split.S8`).
            return (false, self.pool().port().heavy_fence());
        };
        if victim.id() == self.id() || !all && !victim.tasks.has_private() {
            return self.raid_rest(rest, all);
        }
        let request = victim.tasks.request();
        let (public, fenced) = self.raid_rest(rest, all);
        let here = match request {
            // SAFETY: the fence was executed inside the call above, after the request.
            Ok(request) => fenced && unsafe { request.settle() },
            Err(refused) => refused == Refused::Public,
        };
        (public || here, fenced)
    }

    /// Returns whether another worker seems to have private tasks.
    pub(super) fn sees_private(&self) -> bool {
        let others = self.pool().workers().iter().filter(|w| w.id() != self.id());
        others.into_iter().any(|w| w.tasks.has_private())
    }
}
