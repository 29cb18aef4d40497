//! The heap on a board whose harts are threads.

mod board;

use board::{Threads, be};
use std::alloc::{GlobalAlloc, Layout};
use std::mem::MaybeUninit;
use std::slice;
use std::sync::Mutex;
use std::thread;
use tautline_manycore::Heap;

const HARTS: usize = 4;
const ARENA_BYTES: usize = 1 << 20;

fn heap() -> &'static Heap<Threads> {
    let memory = vec![MaybeUninit::uninit(); HARTS * ARENA_BYTES].leak();
    let heap = Box::leak(Box::new(Heap::new(Threads::new(HARTS))));
    heap.give(memory, HARTS);
    heap
}

/// A block, full of a byte.
struct Block {
    at: usize,
    layout: Layout,
    byte: u8,
}

impl Block {
    fn new(heap: &Heap<Threads>, layout: Layout, byte: u8) -> Option<Self> {
        // SAFETY: no layout here is empty.
        let memory = unsafe { heap.alloc(layout) };
        if memory.is_null() {
            return None;
        }
        assert_eq!(memory.addr() % layout.align(), 0);
        // SAFETY: the block is that long and belongs to the caller.
        unsafe { memory.write_bytes(byte, layout.size()) };
        Some(Self {
            at: memory.expose_provenance(),
            layout,
            byte,
        })
    }

    fn memory(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.at)
    }

    fn is_whole(&self, bytes: usize) -> bool {
        // SAFETY: the block was written when it was made, and belongs to the caller.
        let seen = unsafe { slice::from_raw_parts(self.memory(), bytes) };
        seen.iter().all(|&byte| byte == self.byte)
    }

    fn resize(&mut self, heap: &Heap<Threads>, size: usize) {
        // SAFETY: the block is the heap's, with this layout; the size is small and not 0.
        let memory = unsafe { heap.realloc(self.memory(), self.layout, size) };
        assert!(!memory.is_null());
        self.at = memory.expose_provenance();
        assert!(self.is_whole(size.min(self.layout.size())));
        self.layout = Layout::from_size_align(size, self.layout.align()).unwrap();
        // SAFETY: the block is that long and belongs to the caller.
        unsafe { memory.write_bytes(self.byte, size) };
    }

    fn free(self, heap: &Heap<Threads>) {
        assert!(
            self.is_whole(self.layout.size()),
            "another owner wrote here"
        );
        // SAFETY: the block is the heap's, with this layout.
        unsafe { heap.dealloc(self.memory(), self.layout) };
    }
}

fn bytes(size: usize) -> Layout {
    Layout::from_size_align(size, 16).unwrap()
}

#[test]
fn nothing_can_be_had_before_memory_is_given() {
    let heap = Heap::new(Threads::new(1));
    assert!(Block::new(&heap, bytes(1), 0).is_none());
}

#[test]
#[should_panic(expected = "memory is given once")]
fn memory_is_given_once() {
    heap().give(vec![MaybeUninit::uninit(); 4096].leak(), 1);
}

#[test]
#[should_panic(expected = "3 bytes for 4 arenas")]
fn arenas_without_a_byte() {
    let heap = Box::leak(Box::new(Heap::new(Threads::new(HARTS))));
    heap.give(vec![MaybeUninit::uninit(); 3].leak(), HARTS);
}

/// Each call has another geometry: with parts of both, a block would return to a wrong arena.
#[test]
fn of_calls_at_once_one_gives_memory() {
    for _ in 0..200 {
        let heap = Heap::new(Threads::new(HARTS));
        let parts: Vec<_> = (1..=HARTS)
            .map(|_| vec![MaybeUninit::uninit(); 4 * 4096].leak())
            .collect();
        let given = thread::scope(|scope| {
            let heap = &heap;
            let calls: Vec<_> = (1..)
                .zip(parts)
                .map(|(arenas, part)| scope.spawn(move || heap.give(part, arenas)))
                .collect();
            let ended = calls.into_iter().map(|call| call.join());
            ended.filter(Result::is_ok).count()
        });
        assert_eq!(given, 1);
        be(0);
        let blocks: Vec<_> = std::iter::from_fn(|| Block::new(&heap, bytes(1024), 7)).collect();
        assert!((8..=16).contains(&blocks.len()), "{}", blocks.len());
        blocks.into_iter().for_each(|block| block.free(&heap));
    }
}

#[test]
fn a_full_arena_is_helped_by_the_others_and_nothing_is_lost() {
    let heap = heap();
    be(2);
    for _ in 0..3 {
        let blocks: Vec<_> = std::iter::from_fn(|| Block::new(heap, bytes(64 << 10), 7)).collect();
        assert!(blocks.len() > 14 * HARTS, "{} blocks", blocks.len());
        assert!(Block::new(heap, bytes(ARENA_BYTES / 2), 7).is_none());
        blocks.into_iter().for_each(|block| block.free(heap));
        let large = Block::new(heap, bytes(ARENA_BYTES / 2), 7);
        large.expect("all was given back").free(heap);
    }
}

/// Blocks of any size, freed and resized by other threads than those that allocated them.
#[test]
fn blocks_are_nobody_elses() {
    let heap = heap();
    let shared: Mutex<Vec<Block>> = Mutex::default();
    thread::scope(|scope| {
        for hart in 0..HARTS {
            let shared = &shared;
            scope.spawn(move || {
                be(hart);
                let mut dice = hart as u64 + 1;
                for turn in 0..20_000u32 {
                    dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let (size, shift) = (1 + (dice >> 52) as usize, dice >> 40 & 7);
                    let layout = Layout::from_size_align(size, 1 << shift).unwrap();
                    let mine = Block::new(heap, layout, turn as u8).expect("there is enough");
                    let other = {
                        let mut all = shared.lock().unwrap();
                        all.push(mine);
                        let at = dice as usize % all.len();
                        (all.len() > 200).then(|| all.swap_remove(at))
                    };
                    if let Some(mut other) = other {
                        other.resize(heap, 1 + size / 2);
                        other.free(heap);
                    }
                }
            });
        }
    });
    shared
        .into_inner()
        .unwrap()
        .into_iter()
        .for_each(|block| block.free(heap));
}
