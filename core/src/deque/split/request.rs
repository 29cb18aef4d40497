//! Requests: a thief publishes the owner's private items without the owner's help.

use super::{Index, LOW, NonNullWord, Shared, SplitDeque, ahead};
use crate::sync::Ordering;

/// A request for private items, which the owner's next pop or push also answers.
///
/// If dropped unsettled, it stands until the owner answers it, or a later request.
pub struct Request<'a, T: NonNullWord, const N: usize> {
    deque: &'a SplitDeque<T, N>,
    word: Shared,
}

/// The reason why a request was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Public items exist.
    Public,
    /// Another thread is requesting or settling.
    Requesting,
}

impl<T: NonNullWord, const N: usize> SplitDeque<T, N> {
    /// Requests the private items.
    ///
    /// The owner answers at its next push or pop that observes the request: it publishes, and
    /// observes what the caller did before. If that may take long, execute a heavy fence
    /// ([`port::Fence`](crate::port::Fence)) and call [`Request::settle`].
    ///
    /// # Errors
    /// If there are public items, or another thread has a request.
    pub fn request(&self) -> Result<Request<'_, T, N>, Refused> {
        let public = &self.public;
        // ORDERING: Acquire, pairs with Release in Request::drop (split.S9): the last request was
        // settled before, so its compare-and-swap cannot succeed on this request's word.
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let claim = public
            .requesting
            .compare_exchange(false, true, success, failure);
        claim.map_err(|_| Refused::Requesting)?;
        // ORDERING: Relaxed: a guess, which the compare-and-swap checks.
        let mut seen = self.shared(Ordering::Relaxed);
        let word = loop {
            if seen.public() > 0 {
                break None;
            }
            let word = seen.request(N);
            // Also if a request stands: the owner that answers it must observe what this thread did
            // before. ORDERING: success Release, pairs with AcqRel in move_split, offer and reclaim
            // (split.S3). ORDERING: failure Relaxed: nothing is read.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            match public
                .shared
                .compare_exchange_weak(seen.0, word.0, success, failure)
            {
                Ok(_) => break Some(word),
                Err(now) => seen = Shared(now),
            }
        };
        let Some(word) = word else {
            // ORDERING: Release, pairs with Acquire above (split.S9).
            public.requesting.store(false, Ordering::Release);
            return Err(Refused::Public);
        };
        // ORDERING: Release, pairs with Acquire in admit (split.S6): a push that raises it again
        // observes the request.
        public.limit.swap(LOW, Ordering::Release);
        Ok(Request { deque: self, word })
    }
}

impl<T: NonNullWord, const N: usize> Request<'_, T, N> {
    /// Publishes all items. Returns false if the deque has no items; the request then stands.
    ///
    /// Also returns true if the owner has answered in the meantime. It may have published only some
    /// of its items, and other thieves may have taken these since, so a thief that then finds
    /// nothing must request again before it parks.
    ///
    /// # Safety
    /// The caller must have executed a heavy fence since the request was made, which pairs with the
    /// owner's light fences: [`light_fence`](crate::sync::light_fence) in an
    /// [`Owner`](super::Owner)'s pushes and pops.
    pub unsafe fn settle(self) -> bool {
        let deque = self.deque;
        // The heavy fence (split.S8): a pop that has not observed the request has lowered `bottom`
        // before this load. A later one observes the request and changes `shared`, so that the
        // compare-and-swap below fails.
        // ORDERING: Acquire, pairs with Release in put (split.S7): the slots below it are written.
        let bottom = deque.own.bottom.load(Ordering::Acquire) as Index;
        let top = self.word.top();
        if ahead(top, bottom) <= 0 {
            return false;
        }
        let open = Shared::new(top, bottom);
        // ORDERING: success Release, pairs with Acquire in steal (split.S1): thieves observe the
        // slots that this thread observes.
        // ORDERING: failure Relaxed: nothing is read; the owner has answered.
        let (success, failure) = (Ordering::Release, Ordering::Relaxed);
        let shared = &deque.public.shared;
        _ = shared.compare_exchange(self.word.0, open.0, success, failure);
        true
    }
}

impl<T: NonNullWord, const N: usize> Drop for Request<'_, T, N> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in request (split.S9).
        self.deque.public.requesting.store(false, Ordering::Release);
    }
}
