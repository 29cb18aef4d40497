//! State shared by all threads: ends that no turn has seen yet, and the counter of announcements.

use super::any_end::AnyEnd;
use super::{Cause, Error, Fault, Limits, Name};
use crate::id::Rank;
use crate::port::{Bell, Relax};
use crate::sync::{AtomicBool, AtomicUsize, Lock, Ordering, full_fence};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(super) struct Shared {
    pub(super) here: Rank,
    pub(super) ranks: u32,
    pub(super) limits: Limits,
    relax: Box<dyn Relax + Send + Sync>,
    bell: Arc<dyn Bell>,
    /// The number of messages sent, channels opened and channels closed: a turn polls all ends if
    /// it has changed.
    news: AtomicUsize,
    /// Whether a thread waits for the bell.
    sleeps: AtomicBool,
    /// Threads that run turns while they compute.
    attendants: AtomicUsize,
    /// Whether the channels have failed.
    is_dead: AtomicBool,
    opened: Lock<Opened>,
}

struct Opened {
    next: u32,
    /// Ends that no turn has seen yet.
    fresh: Vec<Arc<dyn AnyEnd>>,
}

impl Shared {
    pub(super) fn new(
        here: Rank,
        ranks: u32,
        limits: Limits,
        relax: Box<dyn Relax + Send + Sync>,
        bell: Arc<dyn Bell>,
    ) -> Self {
        Self {
            here,
            ranks,
            limits,
            relax,
            bell,
            news: AtomicUsize::new(0),
            sleeps: AtomicBool::new(false),
            attendants: AtomicUsize::new(0),
            is_dead: AtomicBool::new(false),
            opened: Lock::new(Opened {
                next: 0,
                fresh: Vec::new(),
            }),
        }
    }

    pub(super) fn relax(&self) -> &(dyn Relax + Send + Sync) {
        &*self.relax
    }

    pub(super) fn error(&self, peer: Rank, channel: Option<Name>, cause: Cause) -> Error {
        Error {
            here: self.here,
            peer,
            channel,
            cause,
        }
    }

    /// Returns the error of a channel's receiver.
    pub(super) fn error_of(&self, from: Rank, channel: Name, fault: Fault) -> Error {
        let Fault { peer, name, cause } = fault;
        self.error(peer.unwrap_or(from), name.or(Some(channel)), cause)
    }

    /// Enters the end of the next channel, which `make` makes for its ordinal.
    pub(super) fn open<T: AnyEnd + 'static>(&self, make: impl FnOnce(u32) -> Arc<T>) -> Arc<T> {
        let mut opened = self.opened.lock(&self.relax());
        let end = make(opened.next);
        opened.next += 1;
        opened.fresh.push(end.clone());
        drop(opened);
        self.announce();
        end
    }

    /// Takes the ends that no turn has seen, in the order of their ordinals.
    pub(super) fn fresh(&self) -> Vec<Arc<dyn AnyEnd>> {
        core::mem::take(&mut self.opened.lock(&self.relax()).fresh)
    }

    /// Makes the next turn poll all ends, and ends a wait.
    pub(super) fn announce(&self) {
        // ORDERING: Release, pairs with Acquire in news (wire.X1): a turn that sees the
        // announcement counts the message.
        self.news.fetch_add(1, Ordering::Release);
        // ORDERING: SeqCst, pairs with the fence of recent_news (wire.X2): a turn that ends
        // observes the announcement, or the caller observes that the link is free; likewise for a
        // thread that will wait, and for the last attendant that leaves (wire.X3).
        full_fence();
        if !self.is_attended() {
            self.wake();
        }
    }

    /// Ends the wait of a thread.
    pub(super) fn wake(&self) {
        // ORDERING: Relaxed: a fence orders it after the event that the thread is woken for
        // (wire.X2, wire.X3).
        if self.sleeps.load(Ordering::Relaxed) {
            self.bell.ring();
        }
    }

    /// Ends the present or the next wait for the bell.
    pub(super) fn ring(&self) {
        self.bell.ring();
    }

    /// Waits for the bell.
    pub(super) fn wait(&self, ticks: u64) {
        self.bell.wait(ticks);
    }

    /// Enters a thread that runs turns.
    pub(super) fn attend(&self) {
        // ORDERING: Relaxed: a hint for threads that send; those that rely on it fence.
        self.attendants.fetch_add(1, Ordering::Relaxed);
    }

    /// Removes a thread that ran turns; the last one wakes the thread that waits, which may have
    /// relied on it.
    pub(super) fn retire(&self) {
        // ORDERING: Relaxed: the fence below orders it before the load of `sleeps` (wire.X3).
        if self.attendants.fetch_sub(1, Ordering::Relaxed) == 1 {
            // ORDERING: SeqCst, pairs with the fences of recent_news and announce (wire.X3): a
            // thread that saw an attendant is observed to wait, or its announcement is.
            full_fence();
            self.wake();
        }
    }

    /// Whether threads run turns while they compute. After a fence, the last of them wakes a thread
    /// that waits.
    pub(super) fn is_attended(&self) -> bool {
        // ORDERING: Relaxed: the fences of announce and recent_news order it after what the caller
        // stored (wire.X3).
        self.attendants.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of announcements.
    pub(super) fn news(&self) -> usize {
        // ORDERING: Acquire, pairs with Release in announce (wire.X1).
        self.news.load(Ordering::Acquire)
    }

    /// Returns the number of announcements, not older than what a thread had announced that has
    /// since found the link taken.
    pub(super) fn recent_news(&self) -> usize {
        // ORDERING: SeqCst, pairs with the fence of announce (wire.X2).
        full_fence();
        self.news()
    }

    /// States that the caller will wait for the bell. Returns false if another thread does.
    pub(super) fn begin_sleep(&self) -> bool {
        // ORDERING: Relaxed: the fence of recent_news orders it before the next poll (wire.X2).
        !self.sleeps.swap(true, Ordering::Relaxed)
    }

    /// States that the caller waits no longer.
    pub(super) fn end_sleep(&self) {
        // ORDERING: Relaxed: a hint that a thread waits for the bell.
        self.sleeps.store(false, Ordering::Relaxed);
    }

    /// States that the channels have failed, so that nothing more is sent.
    pub(super) fn set_dead(&self) {
        // ORDERING: Relaxed: a hint; a message that is sent concurrently stays in its outbox.
        self.is_dead.store(true, Ordering::Relaxed);
    }

    /// Whether the channels have failed, as a hint.
    pub(super) fn is_dead(&self) -> bool {
        // ORDERING: Relaxed: a hint.
        self.is_dead.load(Ordering::Relaxed)
    }
}
