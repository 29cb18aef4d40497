//! Further pieces of stack, which a thread keeps for their next use.
//!
//! # Algorithm
//! A deep recursion returns through many waits near the end of its stack, each of which may need a
//! further piece. So a thread keeps the pieces that it has used while it runs on one, and one of
//! them until the thread ends: a wait maps nothing unless it is a piece deeper than those before
//! it. The crate `psm` switches stacks, as for [`stacker::grow`], which maps a new stack in each
//! call.
//!
//! `stacker` does not know of these pieces: it takes the difference of the stack pointer and the
//! limit of the previous stack for the room that is left. Pieces are at lower addresses than that
//! limit, so that no room seems to be left, and a task that calls `stacker` on a piece gets a stack
//! from it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};

/// The bytes of a piece. Only touched pages take memory.
pub(super) const PIECE_BYTES: usize = 64 << 20;

/// The number of places below a stack at which a piece is tried.
const PLACES: usize = 64;

/// A mapped piece of stack, with a guard page at its low end.
struct Piece {
    mapped: NonNull<u8>,
    guard_bytes: usize,
}

/// The piece that a thread runs on.
#[derive(Clone, Copy)]
struct Current {
    low: usize,
    end: usize,
    /// The limit of the stack that `stacker` knows, if it does.
    limit: Option<usize>,
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
    /// Pieces that are not in use. Inaccessible while the thread ends: then each use maps one.
    static SPARES: RefCell<Vec<Piece>> = const { RefCell::new(Vec::new()) };
}

/// Returns the piece that contains the address `here` of the calling thread's stack, if one does.
fn current(here: usize) -> Option<Current> {
    CURRENT
        .get()
        .filter(|current| (current.low..current.end).contains(&here))
}

/// Returns the bytes of stack below this address of the calling thread, if they are known.
pub(super) fn left_below(here: usize) -> Option<usize> {
    match current(here) {
        Some(current) => Some(here - current.low),
        None => stacker::remaining_stack(),
    }
}

/// Calls `body` on a further piece of stack, and returns true; so it does without the call if there
/// is no memory for a piece. Returns false, without the call, if no piece below the present stack
/// was found.
pub(super) fn on_piece(body: &mut dyn FnMut()) -> bool {
    let local = 0_u8;
    let here = ptr::from_ref(&local).addr();
    let limit = match current(here) {
        Some(current) => current.limit,
        None => stacker::remaining_stack().map(|left| here - left),
    };
    let is_below = |piece: &Piece| limit.is_none_or(|limit| piece.end() <= limit);
    let spare = SPARES.try_with(|spares| spares.borrow_mut().pop());
    let piece = match spare.ok().flatten().filter(is_below) {
        Some(piece) => piece,
        None => match places(limit)
            .map(Piece::map)
            .find(|piece| piece.as_ref().is_none_or(is_below))
        {
            Some(Some(piece)) => {
                #[cfg(test)]
                tests::MAPS.set(tests::MAPS.get() + 1);
                piece
            }
            Some(None) => return true,
            None => return false,
        },
    };
    let (low, end) = (piece.low().addr(), piece.end());
    let outer = CURRENT.replace(Some(Current { low, end, limit }));
    // SAFETY: the piece is mapped until after the call, and used by no other one, since it is not
    // among the spare ones until then.
    let panic = unsafe { on_stack(piece.low(), body) };
    CURRENT.set(outer);
    // If they are inaccessible, the piece is dropped with the closure.
    _ = SPARES.try_with(move |spares| {
        let mut spares = spares.borrow_mut();
        spares.push(piece);
        if outer.is_none() {
            spares.truncate(1);
        }
    });
    if let Some(payload) = panic {
        resume_unwind(payload);
    }
    true
}

/// Returns the addresses at which a piece below `limit` is tried: that which the system chooses,
/// which is above if memory was freed there, then those below the limit.
fn places(limit: Option<usize>) -> impl Iterator<Item = usize> {
    let below = move |number: usize| limit?.checked_sub(2 * number * PIECE_BYTES);
    iter::once(0).chain((1..=PLACES).map_while(below))
}

type Payload = Box<dyn Any + Send>;

psm::psm_stack_manipulation! {
    yes {
        /// Calls `body` on the stack from `low` on, and returns its panic.
        ///
        /// # Safety
        /// The caller must ensure that [`PIECE_BYTES`] from `low` on are mapped until this returns,
        /// and in use by nothing else.
        unsafe fn on_stack(low: *mut u8, body: &mut dyn FnMut()) -> Option<Payload> {
            // No panic leaves the new stack.
            let caught = || catch_unwind(AssertUnwindSafe(body)).err();
            // SAFETY: the caller ensures that the memory is usable; `low` and the length are
            // multiples of the page size; the closure does not unwind.
            unsafe { psm::on_stack(low, PIECE_BYTES, caught) }
        }
    }
    no {
        /// Calls `body` on the present stack, as `stacker` does here, and returns its panic.
        unsafe fn on_stack(_low: *mut u8, body: &mut dyn FnMut()) -> Option<Payload> {
            catch_unwind(AssertUnwindSafe(body)).err()
        }
    }
}

impl Piece {
    /// Maps a piece, if the system has the memory; at `place` if nothing is there.
    fn map(place: usize) -> Option<Self> {
        // SAFETY: a query.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let guard_bytes = usize::try_from(page).ok()?;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_NORESERVE;
        // SAFETY: requests new memory; without `MAP_FIXED` the address is a hint.
        let mapped = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(place),
                guard_bytes + PIECE_BYTES,
                libc::PROT_NONE,
                kind,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let mapped = NonNull::new(mapped.cast::<u8>())?;
        let piece = Self {
            mapped,
            guard_bytes,
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the range is that of the mapping above the guard page, which nothing uses yet.
        let refused = unsafe { libc::mprotect(piece.low().cast(), PIECE_BYTES, access) };
        (refused == 0).then_some(piece)
    }

    /// Returns the lowest address that calls may reach.
    fn low(&self) -> *mut u8 {
        // SAFETY: the guard page is part of the mapping.
        unsafe { self.mapped.add(self.guard_bytes) }.as_ptr()
    }

    /// Returns the address after the highest one.
    fn end(&self) -> usize {
        self.low().addr() + PIECE_BYTES
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: mapped in `map`, with this length; a piece that is dropped is not in use.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.guard_bytes + PIECE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    thread_local! {
        /// The pieces that were mapped for use by the calling thread, without those that the system
        /// put above its stack.
        pub(super) static MAPS: Cell<usize> = const { Cell::new(0) };
    }

    fn here() -> usize {
        ptr::from_ref(&black_box(0_u8)).addr()
    }

    fn kept() -> usize {
        SPARES.with(|spares| spares.borrow().len())
    }

    /// Uses some stack, calls on further pieces up to a depth, and returns the sum of what each
    /// call has added.
    fn nested(depth: u64) -> u64 {
        let used = black_box([depth; 4096]);
        let mut sum = 0;
        if depth > 0 {
            assert!(on_piece(&mut || sum = nested(depth - 1)));
        }
        sum + used.iter().sum::<u64>() / 4096
    }

    /// A thread maps as many pieces as are in use at the same time and keeps one; each has its own
    /// bounds.
    #[test]
    fn a_piece_is_mapped_once() {
        for _ in 0..1000 {
            assert_eq!(nested(1), 1);
        }
        assert_eq!(MAPS.get(), 1);
        assert_eq!(nested(3), 6);
        assert_eq!((MAPS.get(), kept()), (3, 1));
        // On one piece, others are kept.
        assert!(on_piece(
            &mut || (0..100).for_each(|_| assert_eq!(nested(2), 3))
        ));
        assert_eq!((MAPS.get(), kept()), (5, 1));
        let mut inside = None;
        assert!(on_piece(&mut || inside = left_below(here())));
        let (inside, outside) = (inside.unwrap(), left_below(here()).unwrap());
        assert!(inside < PIECE_BYTES && inside > PIECE_BYTES - 4096);
        assert!(outside < PIECE_BYTES / 2, "the stack of a test: {outside}");
    }

    /// A panic leaves a piece, which is used again.
    #[test]
    fn a_panic_leaves_a_piece() {
        for number in 0..100_u32 {
            let mut panics = || resume_unwind(Box::new(number));
            let payload = catch_unwind(AssertUnwindSafe(|| on_piece(&mut panics))).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&number));
            assert!(CURRENT.get().is_none());
        }
        assert_eq!((MAPS.get(), kept()), (1, 1));
    }

    /// A task on a piece that grows its stack by `stacker` gets one, and its own bounds there.
    #[test]
    fn stacker_grows_on_a_piece() {
        let mut bounds = (0, Some(0));
        let mut grow = || {
            bounds.0 = stacker::remaining_stack().unwrap();
            stacker::maybe_grow(1 << 20, 8 << 20, || bounds.1 = left_below(here()));
        };
        assert!(on_piece(&mut grow));
        let (seen, grown) = bounds;
        assert_eq!(seen, 0);
        assert!(grown.is_some_and(|left| left > 7 << 20 && left <= 8 << 20));
    }

    /// Pretends that a stack with this limit is in use.
    fn pretend(limit: usize) {
        CURRENT.set(Some(Current {
            low: 0,
            end: usize::MAX,
            limit: Some(limit),
        }));
    }

    /// Pieces are below the present stack even if the system gives memory above it, as it does
    /// after some was freed there.
    #[test]
    fn a_piece_is_below_the_stack() {
        let limit = Piece::map(0).unwrap().low().addr();
        pretend(limit);
        for _ in 0..100 {
            let mut inside = usize::MAX;
            assert!(on_piece(&mut || inside = here()));
            assert!(inside < limit);
        }
        CURRENT.set(None);
        assert!(MAPS.get() <= 2 + PLACES, "{}", MAPS.get());
    }

    /// Without a place below the known limit, none is used.
    #[test]
    fn a_piece_above_the_limit_is_not_used() {
        pretend(0);
        assert!(!on_piece(&mut || unreachable!()));
        CURRENT.set(None);
        assert_eq!(kept(), 0);
    }
}
