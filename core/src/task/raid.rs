//! Raids: a worker that finds nothing publishes what the others keep private, where their owners compute for long.
//!
//! One heavy fence serves all victims ([`Fence`](crate::port::Fence::heavy_fence)): it is dear, for them too, so a worker raids once
//! before it gives up its search, if it sees private tasks, and once more when it has announced its sleep. A worker
//! that sleeps thus knows that a fork pushed later is published, and that its owner then sees the announcement.
//! An owner that answers a request itself publishes half of its tasks, and wakes no sleeper while another worker searches.
//! So the worker that requested searches again: it alone may know of the other half.

use super::worker::Worker;
use crate::deque::split::Refused;
use crate::port::Host;
use crate::sync::CachePadded;

impl<P: Host> Worker<P> {
    /// Requests the private tasks of `victims`, of all of them or of those that seem to have some, and publishes them if the
    /// machine has a heavy fence; else their owners do so at their next fork or join. True if there are public tasks now, or
    /// were: their owner may have taken them back by now, and then owes no answer.
    pub(super) fn raid(&self, victims: &[CachePadded<Self>], all: bool) -> bool {
        self.raid_rest(victims, all).0
    }

    /// As [`raid`](Self::raid); also whether the fence was executed, which is one for all.
    fn raid_rest(&self, victims: &[CachePadded<Self>], all: bool) -> (bool, bool) {
        let Some((victim, rest)) = victims.split_first() else {
            // ORDERING: SeqCst, pairs with the light fences of the victims' pushes and pops (S8 of the split deque);
            // no mutant: the models of that deque break it.
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

    /// Whether another worker seems to keep tasks private.
    pub(super) fn sees_private(&self) -> bool {
        let others = self.pool().workers().iter().filter(|w| w.id() != self.id());
        others.into_iter().any(|w| w.tasks.has_private())
    }
}
