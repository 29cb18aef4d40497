//! The members of a scope that are in no queue: suspended futures, tasks that wait for a cell, and
//! holds.

use crate::watch::Site;
use alloc::vec::Vec;
use core::iter::repeat_n;
use core::num::NonZero;
use core::ptr::{self, NonNull};
use core::task::Waker;

/// The key of a registered member.
#[derive(Clone, Copy, Debug)]
pub(in crate::task) struct MemberKey(NonZero<u32>);

impl MemberKey {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Returns the key of an index for which [`Registry::add`] has returned one before.
    fn of(index: usize) -> Self {
        Self(NonZero::new(index as u32 + 1).expect("one more than an index"))
    }
}

/// Members of one kind, by key.
struct Registry<T> {
    slots: Vec<Option<T>>,
    free: Vec<MemberKey>,
}

impl<T> Registry<T> {
    const fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    fn add(&mut self, member: T) -> MemberKey {
        if let Some(key) = self.free.pop() {
            self.slots[key.index()] = Some(member);
            return key;
        }
        self.slots.push(Some(member));
        let last = u32::try_from(self.slots.len()).ok().and_then(NonZero::new);
        MemberKey(last.expect("at most 2^32 members of a scope are in no queue"))
    }

    fn remove(&mut self, key: MemberKey) -> Option<T> {
        self.free.push(key);
        self.slots[key.index()].take()
    }
}

/// The members that are in no queue. Futures and tasks must be notified if their scope is aborted.
pub(super) struct Members<W> {
    suspended: Registry<Waker>,
    /// Of holds.
    watches: Registry<Waker>,
    waiting: Registry<NonNull<W>>,
    /// The number of holds by the call that took them, at least 1.
    holds: Vec<(Site, usize)>,
}

impl<W> Members<W> {
    pub(super) const fn new() -> Self {
        Self {
            suspended: Registry::new(),
            watches: Registry::new(),
            waiting: Registry::new(),
            holds: Vec::new(),
        }
    }

    /// Adds the waker of a suspended future.
    pub(super) fn add_suspended(&mut self, waker: Waker) -> MemberKey {
        self.suspended.add(waker)
    }

    pub(super) fn remove_suspended(&mut self, key: MemberKey) -> Option<Waker> {
        self.suspended.remove(key)
    }

    /// Adds a waker for aborts.
    pub(super) fn add_watch(&mut self, waker: Waker) -> MemberKey {
        self.watches.add(waker)
    }

    pub(super) fn remove_watch(&mut self, key: MemberKey) -> Option<Waker> {
        self.watches.remove(key)
    }

    /// Adds a task that waits for a cell.
    pub(super) fn add_waiting(&mut self, task: NonNull<W>) -> MemberKey {
        self.waiting.add(task)
    }

    pub(super) fn remove_waiting(&mut self, key: MemberKey) {
        self.waiting.remove(key);
    }

    /// Counts one more hold that the call at `site` took.
    pub(super) fn add_hold(&mut self, site: Site) {
        match self.at_hold(site) {
            Some(at) => self.holds[at].1 += 1,
            None => self.holds.push((site, 1)),
        }
    }

    /// Removes a hold that [`add_hold`](Self::add_hold) counted.
    pub(super) fn remove_hold(&mut self, site: Site) {
        let at = self.at_hold(site).expect("the hold was counted");
        self.holds[at].1 -= 1;
        if self.holds[at].1 == 0 {
            self.holds.swap_remove(at);
        }
    }

    fn at_hold(&self, site: Site) -> Option<usize> {
        let mut sites = self.holds.iter();
        sites.position(|&(other, _)| ptr::eq(other, site))
    }

    /// Returns the calls that took the holds, one for each hold.
    pub(super) fn holds(&self) -> impl Iterator<Item = Site> {
        let holds = self.holds.iter();
        holds.flat_map(|&(site, count)| repeat_n(site, count))
    }

    /// Returns the wakers of all suspended futures.
    pub(super) fn wakers(&self) -> Vec<Waker> {
        self.suspended.slots.iter().flatten().cloned().collect()
    }

    /// Returns the wakers for aborts: those of all suspended futures, too.
    pub(super) fn abort_wakers(&self) -> Vec<Waker> {
        let watches = self.watches.slots.iter().flatten();
        let suspended = self.suspended.slots.iter().flatten();
        suspended.chain(watches).cloned().collect()
    }

    /// Returns `of` each waiting task.
    pub(super) fn waiting<R>(&self, of: impl Fn(NonNull<W>) -> R) -> Vec<R> {
        self.waiting
            .slots
            .iter()
            .flatten()
            .map(|task| of(*task))
            .collect()
    }

    /// Removes and returns the waiting tasks for which `claim` returns true.
    pub(super) fn claim_waiting(&mut self, claim: impl Fn(NonNull<W>) -> bool) -> Vec<NonNull<W>> {
        let Registry { slots, free } = &mut self.waiting;
        let mut claimed = Vec::new();
        for (index, slot) in slots.iter_mut().enumerate() {
            if let Some(task) = slot.take_if(|task| claim(*task)) {
                claimed.push(task);
                free.push(MemberKey::of(index));
            }
        }
        claimed
    }
}
