//! The memory of a board as the global allocator.
//!
//! # Algorithm
//! Two-level segregated fit (the crate `rlsf`): constant time, so that no hart holds a lock for
//! long. The memory is divided into one arena a hart, each under its lock. A hart allocates from
//! its own arena, and from the others in turn if that is full; memory is returned to the arena that
//! contains it.
//!
//! # Words
//! `given`: set by the one call of `give`. `start`, `bytes`, `count`: written by that call. An
//! arena's lock publishes `start` and `bytes`: they are written before the arena receives its part,
//! and read for memory that came out of one.

use crate::Board;
use crate::line::MOST_HARTS;
use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use rlsf::Tlsf;
use tautline_core::sync::{AtomicBool, AtomicUsize, CachePadded, Lock, Ordering};

/// Doublings of the smallest block, 32 bytes: blocks of up to 256 MB.
const DOUBLINGS: usize = 23;
/// Steps to a doubling.
const STEPS: usize = 16;

struct Arena(Tlsf<'static, u32, u16, DOUBLINGS, STEPS>);

// SAFETY: its pointers lead into memory that belongs to the arena alone.
unsafe impl Send for Arena {}

/// A global allocator over memory that it receives at the start; before, allocation fails.
pub struct Heap<B> {
    board: B,
    arenas: [CachePadded<Lock<Arena>>; MOST_HARTS],
    /// Whether memory has been given.
    given: AtomicBool,
    /// The start of the memory, and the bytes of an arena.
    start: AtomicUsize,
    bytes: AtomicUsize,
    count: AtomicUsize,
}

impl<B: Board> Heap<B> {
    /// Creates a heap without memory.
    pub const fn new(board: B) -> Self {
        Self {
            board,
            arenas: [const { CachePadded::new(Lock::new(Arena(Tlsf::new()))) }; MOST_HARTS],
            given: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
        }
    }

    /// Gives the heap its memory, to be divided into `arenas` arenas. Once, before the first
    /// allocation.
    ///
    /// # Panics
    /// At the second call, also if both run concurrently; with no arena, or more than a word has
    /// bits; with fewer bytes than arenas.
    pub fn give(&self, memory: &'static mut [MaybeUninit<u8>], arenas: usize) {
        assert!(
            (1..=MOST_HARTS).contains(&arenas),
            "{arenas} arenas: 1 to {MOST_HARTS}"
        );
        let bytes = memory.len() / arenas;
        assert!(bytes > 0, "{} bytes for {arenas} arenas", memory.len());
        // ORDERING: Relaxed: a read-modify-write, so that one call only finds it false; nothing is
        // read through it.
        let given = self.given.swap(true, Ordering::Relaxed);
        assert!(!given, "memory is given once");
        // ORDERING: Relaxed: published by the arenas' locks.
        self.start.store(memory.as_ptr().addr(), Ordering::Relaxed);
        // ORDERING: Relaxed: published by the arenas' locks.
        self.bytes.store(bytes, Ordering::Relaxed);
        let parts = memory.chunks_exact_mut(bytes);
        for (arena, part) in self.arenas[..arenas].iter().zip(parts) {
            arena.lock(&self.board).0.insert_free_block(part);
        }
        // ORDERING: Relaxed: an arena that is seen early is empty until its lock publishes its
        // memory.
        self.count.store(arenas, Ordering::Relaxed);
    }

    /// Returns the arenas with memory, the caller's first.
    fn in_turn(&self) -> impl Iterator<Item = &Lock<Arena>> {
        // ORDERING: Relaxed: an arena's memory is under its lock.
        let count = self.count.load(Ordering::Relaxed);
        let first = self.board.hart();
        (0..count).map(move |turn| &*self.arenas[(first + turn) % count])
    }

    /// Returns the arena that contains this memory.
    fn owner(&self, memory: *mut u8) -> &Lock<Arena> {
        // ORDERING: Relaxed: the memory came out of an arena, whose lock published it, and reached
        // this thread from there.
        let start = self.start.load(Ordering::Relaxed);
        // ORDERING: Relaxed: as for `start`.
        let bytes = self.bytes.load(Ordering::Relaxed);
        &self.arenas[(memory.addr() - start) / bytes]
    }
}

// SAFETY: an arena allocates parts of its memory that are not in use, and finds by address the
// arena to which they return.
unsafe impl<B: Board> GlobalAlloc for Heap<B> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let mut arenas = self.in_turn();
        let found = arenas.find_map(|arena| arena.lock(&self.board).0.allocate(layout));
        found.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let arena = self.owner(memory);
        // SAFETY: the caller returns what this arena allocated, with its layout; so the pointer is
        // not null.
        unsafe {
            let memory = NonNull::new_unchecked(memory);
            arena.lock(&self.board).0.deallocate(memory, layout.align());
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller ensures that the new size, rounded up to the alignment, does not
        // overflow.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the pointer and the layout are those of an allocation of this heap, as the caller
        // ensures.
        let same = unsafe {
            let memory = NonNull::new_unchecked(memory);
            let mut arena = self.owner(memory.as_ptr()).lock(&self.board);
            arena.0.reallocate(memory, wanted)
        };
        if let Some(same) = same {
            return same.as_ptr();
        }
        // SAFETY: the layout is valid and not empty, as the caller ensures; old and new memory do
        // not overlap.
        unsafe {
            let other = self.alloc(wanted);
            if !other.is_null() {
                ptr::copy_nonoverlapping(memory, other, layout.size().min(size));
                self.dealloc(memory, layout);
            }
            other
        }
    }
}
