//! A copy of an object of any type: its word has the address of a node.
//!
//! # Algorithm
//! A node is not written once it is in the word: a write replaces it by a changed clone, under the
//! lock bit. So readers never wait. A read hit loads the word, stores the node in a slot of its
//! seat, and loads the word again.
//!
//! # Words
//! `word`: the address of the node, or null in `Invalid`, and the bits of [`Word`]: state, lock
//! bit, counted accesses. Written as the word of a flat copy; the thread that replaces the node
//! retires it. `wanted`: see its module.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BC1 | `Locked` stores `word` | `read` loads it again | the node | `directory_view_*` in `verify/tests/directory.rs` |
//! | BC2 | `Locked` stores `word` | `lock` sets the lock bit | the node, to the next writer, to `recall`, and to the thread that reclaims it | `directory_view_*` |
//! | BC3 | `write` or `install` stores `word`, then fences (full) | another thread does so for another object, then reads this one | of two writes, each before a read of the other object, one to the read of the other thread | `directory_view_store_buffering*` |
//!
//! A node is reclaimed only after the views that have it (guards.GU1, guards.GU2).

use super::guards::{Guards, Held, Seat};
use super::node::{Counted, Node, Retired};
use crate::directory::flat::Recalled;
use crate::directory::wanted::{By, Wanted};
use crate::directory::word::{State, Word};
use crate::port::{Fence, Relax};
use crate::sync::{AtomicPtr, Ordering, full_fence};
use alloc::sync::Arc;
use core::ops::Deref;
use core::ptr::NonNull;
use core::{fmt, ptr};

/// The copy of an object at one rank.
///
/// Any thread may call any operation: each is atomic. [`read`](Self::read) and
/// [`write`](Self::write) are for workers; the others change the state, and are for the thread that
/// delivers the messages of the protocol for this object, one at a time.
///
/// ```
/// use std::sync::Arc;
/// use tautline_core::directory::{BoxedCopy, Counted, Guards, State};
/// use tautline_core::port::{Fence, Spin};
///
/// struct Port;
/// // SAFETY: the provided methods are full fences.
/// unsafe impl Fence for Port {}
///
/// let guards = Arc::new(Guards::new(Port, 2)); // of two workers
/// let copy = BoxedCopy::new(&guards);
/// let seat = guards.seat(0).unwrap(); // this worker's
/// assert!(copy.read(&seat).is_none()); // a miss: a message is to request the value
///
/// copy.install(&Spin, Counted::new(String::from("north")), State::Modified); // the answer
/// let view = copy.read(&seat).unwrap();
/// assert!(copy.write(&Spin, |text| text.push_str("east")).is_ok());
/// assert_eq!(*view, "north"); // a value of the past, which blocks nothing
/// assert_eq!(*copy.read(&seat).unwrap(), "northeast");
///
/// let recalled = copy.recall(&Spin, State::Invalid).unwrap(); // another rank writes
/// assert_eq!(*recalled.value, "northeast");
/// assert!(copy.read(&seat).is_none());
/// ```
pub struct BoxedCopy<T: Send + Sync + 'static, P: Fence> {
    word: AtomicPtr<Node<T>>,
    wanted: Wanted,
    guards: Arc<Guards<P>>,
}

/// A value of a copy that was current at some moment of the read. It blocks no thread, and stays as
/// it is while the copy changes. It stays at its thread, and may outlive the seat.
pub struct View<'g, T> {
    node: NonNull<Node<T>>,
    /// Keeps the node.
    _kept: Kept<'g, T>,
}

/// The reason for which the node of a view is not freed.
enum Kept<'g, T> {
    Held(#[expect(dead_code, reason = "clears the slot")] Held<'g>),
    Counted(#[expect(dead_code, reason = "gives up the reference")] Counted<T>),
}

/// The lock bit of a copy; dropped, it stores the word that releases it.
struct Locked<'a, T> {
    word: &'a AtomicPtr<Node<T>>,
    next: *mut Node<T>,
}

impl<T> Drop for Locked<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in read (BC1) and lock (BC2): the node is written.
        self.word.store(self.next, Ordering::Release);
    }
}

/// The bits below an address.
fn bits<T>(word: *mut Node<T>) -> Word {
    Word(word.addr() & Word::BITS)
}

/// The node of a word, or null.
#[inline(always)]
fn node<T>(word: *mut Node<T>) -> *mut Node<T> {
    word.map_addr(|address| address & !Word::BITS)
}

/// The word of a node and its bits.
fn word<T>(node: *mut Node<T>, bits: Word) -> *mut Node<T> {
    node.map_addr(|address| address | bits.0)
}

fn allocate<T>(value: T) -> *mut Node<T> {
    Arc::into_raw(Arc::new(Node(value))).cast_mut()
}

impl<T: Send + Sync + 'static, P: Fence> BoxedCopy<T, P> {
    /// Creates a copy without a value, whose views have slots of `guards`.
    #[must_use]
    pub fn new(guards: &Arc<Guards<P>>) -> Self {
        Self::of(ptr::null_mut(), State::Invalid, guards)
    }

    /// Creates a copy with a value, as at the home of a new object. In `Invalid` it has none.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn with_value(value: T, state: State, guards: &Arc<Guards<P>>) -> Self {
        match state {
            State::Invalid => Self::new(guards),
            _ => Self::of(allocate(value), state, guards),
        }
    }

    fn of(node: *mut Node<T>, state: State, guards: &Arc<Guards<P>>) -> Self {
        Self {
            word: AtomicPtr::new(word(node, Word::new(state))),
            wanted: Wanted::new(),
            guards: Arc::clone(guards),
        }
    }

    /// Returns a view of the value, or `None` if the copy has none: a miss. Lock-free: it waits for
    /// no writer, and tries again only if another thread has replaced the value.
    ///
    /// A seat has seven views; each further one counts a reference.
    ///
    /// # Panics
    /// If the seat is not one of this copy's guards.
    #[inline]
    pub fn read<'g>(&self, seat: &Seat<'g, P>) -> Option<View<'g, T>> {
        assert!(seat.is_of(&self.guards), "a seat of other guards");
        // ORDERING: Relaxed: a guess, which the load below checks.
        let mut seen = self.word.load(Ordering::Relaxed);
        if node(seen).is_null() {
            return None;
        }
        if bits(seen).is_to_count() {
            self.count(seen);
        }
        let (held, is_to_keep) = seat.slot();
        let found = loop {
            let guess = NonNull::new(node(seen))?;
            seat.protect(&held, guess.as_ptr().cast());
            // ORDERING: Acquire, pairs with Release in Locked (BC1): the node is visible. After the
            // light fence (guards.GU1): if the node is still there, it is not reclaimed.
            seen = self.word.load(Ordering::Acquire);
            if node(seen) == guess.as_ptr() {
                break guess;
            }
        };
        let kept = match is_to_keep {
            true => Kept::Held(held),
            // SAFETY: the slot protects the node, so the copy's reference is not given up yet; one
            // more is counted for the view.
            false => Kept::Counted(unsafe { count(found.as_ptr()) }),
        };
        Some(View {
            node: found,
            _kept: kept,
        })
    }

    /// Counts an access, unless the word has changed.
    #[cold]
    fn count(&self, seen: *mut Node<T>) {
        let counted = word(node(seen), bits(seen).counted());
        // ORDERING: Relaxed both ways: nothing is read; the exchange continues the release of the
        // word (BC1, BC2).
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        _ = self.word.compare_exchange(seen, counted, success, failure);
    }

    /// Returns the value, or `None` if the copy has none: a read of a thread without a seat. Waits
    /// while another thread writes.
    pub fn counted(&self, relax: &impl Relax) -> Option<Counted<T>> {
        let (mut locked, was) = self.lock(relax, By::Worker, Word::is_readable)?;
        locked.next = word(node(was), bits(was).counted());
        // SAFETY: readable, so the copy has a node, and this thread has the lock bit: the copy's
        // reference is not given up yet.
        Some(unsafe { count(node(was)) })
    }

    /// Calls `f` with a clone of the value, which then replaces the value. The calls of all threads
    /// come one after the other, and each observes the one before. Later reads of other copies by
    /// this thread come after the write in the order that all threads of this rank observe.
    ///
    /// `f` runs while other writers and the thread that delivers messages wait: it must be short,
    /// and must not write this copy. If it panics, the value is unchanged.
    ///
    /// # Errors
    /// Returns `f` if the copy is not [`Modified`](State::Modified): a miss.
    pub fn write<R, F>(&self, relax: &impl Relax, f: F) -> Result<R, F>
    where
        T: Clone,
        F: FnOnce(&mut T) -> R,
    {
        let Some((mut locked, was)) = self.lock(relax, By::Worker, Word::is_writable) else {
            return Err(f);
        };
        // SAFETY: a copy in `Modified` has a node, whose reference is given up only by a thread
        // that has replaced it under the lock bit, which this thread has.
        let mut value = unsafe { &*node(was) }.0.clone();
        let result = f(&mut value);
        locked.next = word(allocate(value), bits(was).counted());
        drop(locked);
        // ORDERING: SeqCst, pairs with itself and with install (BC3): the write precedes the later
        // reads of this thread.
        full_fence();
        self.retire(node(was));
        Ok(result)
    }

    /// Makes `value` the value of this copy, in `state`: the answer to a request. In `Invalid` the
    /// value is dropped.
    pub fn install(&self, relax: &impl Relax, value: Counted<T>, state: State) {
        let new = match state {
            State::Invalid => ptr::null_mut(),
            _ => Arc::into_raw(value.0).cast_mut(),
        };
        let was = self.replace(relax, |_| true, |_, _| word(new, Word::new(state)));
        debug_assert!(was.is_some(), "locked in every state");
        // ORDERING: SeqCst, pairs with itself and with write (BC3): the value precedes the later
        // reads of this thread.
        full_fence();
    }

    /// Gives this copy, which has the value, the right to write it: the answer to a request without
    /// a value. Returns false if it has no value; then nothing changes.
    pub fn upgrade(&self, relax: &impl Relax) -> bool {
        let next = |node, bits: Word| word(node, bits.with_state(State::Modified));
        self.replace(relax, Word::is_readable, next).is_some()
    }

    /// Takes the value away from readers and writers. Returns the counted accesses of the tenure,
    /// or `None` if the copy had no value.
    ///
    /// After it has returned, a read of a thread that observes what this thread does later is a
    /// miss, until the next value is installed. Views stay as they are.
    pub fn invalidate(&self, relax: &impl Relax) -> Option<u8> {
        let next = |_, _| word(ptr::null_mut(), Word::new(State::Invalid));
        let was = self.replace(relax, Word::is_readable, next)?;
        Some(was.hits())
    }

    /// Returns the value, with all writes, and lowers the state to `to`; a lower state stays.
    /// Returns `None` if the copy has no value.
    ///
    /// A write either precedes, and is in the value, or is a miss.
    pub fn recall(&self, relax: &impl Relax, to: State) -> Option<Recalled<Counted<T>>> {
        let mut value = None;
        let next = |node: *mut Node<T>, bits: Word| {
            // SAFETY: readable, so the copy has a node, and this thread has the lock bit: the
            // copy's reference is not given up yet.
            value = Some(unsafe { count(node) });
            match to.min(bits.state()) {
                State::Invalid => word(ptr::null_mut(), Word::new(State::Invalid)),
                state => word(node, bits.with_state(state)),
            }
        };
        let hits = self.replace(relax, Word::is_readable, next)?.hits();
        value.map(|value| Recalled { value, hits })
    }

    /// Returns the state, which may change at any time.
    pub fn state(&self) -> State {
        // ORDERING: Relaxed: a number for reports; `read` and `write` find out for themselves.
        bits(self.word.load(Ordering::Relaxed)).state()
    }

    /// Replaces a word of which `may` holds by what `next` returns for its node and bits, and
    /// retires the node if the next word has another one. Returns the bits from before.
    fn replace(
        &self,
        relax: &impl Relax,
        may: impl Fn(Word) -> bool,
        next: impl FnOnce(*mut Node<T>, Word) -> *mut Node<T>,
    ) -> Option<Word> {
        let (mut locked, was) = self.lock(relax, By::Deliverer, may)?;
        locked.next = next(node(was), bits(was));
        let is_replaced = node(locked.next) != node(was);
        drop(locked);
        if is_replaced {
            self.retire(node(was));
        }
        Some(bits(was))
    }

    /// Retires a node that this thread has replaced in the word.
    fn retire(&self, node: *mut Node<T>) {
        if !node.is_null() {
            // SAFETY: from `allocate`; the copy's reference is given up once, by the thread that
            // has replaced the node.
            let node = unsafe { Arc::from_raw(node) };
            self.guards
                .retire(Retired::of(node), ptr::from_ref(self).addr());
        }
    }

    /// Takes the lock bit in a word of which `may` holds. Returns that word, or `None` if it does
    /// not hold.
    fn lock(
        &self,
        relax: &impl Relax,
        by: By,
        may: impl Fn(Word) -> bool,
    ) -> Option<(Locked<'_, T>, *mut Node<T>)> {
        let mut patience = self.wanted.patience(by);
        // ORDERING: Relaxed: a guess, which the exchange checks.
        let mut seen = self.word.load(Ordering::Relaxed);
        loop {
            if !may(bits(seen)) {
                return None;
            }
            if bits(seen).is_locked() || patience.is_to_yield() {
                patience.wait(relax);
                // ORDERING: Relaxed: as above.
                seen = self.word.load(Ordering::Relaxed);
                continue;
            }
            let locked = word(seen, bits(seen).locked());
            // ORDERING: success Acquire, pairs with Release in Locked (BC2): the node is visible.
            // ORDERING: failure Relaxed: nothing is read.
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            let word = &self.word;
            match word.compare_exchange_weak(seen, locked, success, failure) {
                Ok(_) => return Some((Locked { word, next: seen }, seen)),
                Err(now) => seen = now,
            }
        }
    }
}

/// Counts one more reference of a node.
///
/// # Safety
/// The caller must pass a node from `allocate` of which a reference is not given up during the
/// call.
unsafe fn count<T>(node: *mut Node<T>) -> Counted<T> {
    // SAFETY: the caller passes a pointer from an `Arc` that is alive.
    unsafe {
        Arc::increment_strong_count(node);
        Counted(Arc::from_raw(node))
    }
}

impl<T: Send + Sync + 'static, P: Fence> Drop for BoxedCopy<T, P> {
    fn drop(&mut self) {
        // Views may outlive the copy.
        // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the copy.
        let word = self.word.load(Ordering::Relaxed);
        self.retire(node(word));
    }
}

// SAFETY: shared, it only gives shared references to its value. It is dropped by its own thread, as
// it is not `Send`.
unsafe impl<T: Send + Sync> Sync for View<'_, T> {}

impl<T> Deref for View<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the node is kept by a slot or a reference, and is not written: it was published.
        unsafe { &self.node.as_ref().0 }
    }
}

impl<T: fmt::Debug> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Send + Sync + 'static, P: Fence> fmt::Debug for BoxedCopy<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("BoxedCopy")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}
