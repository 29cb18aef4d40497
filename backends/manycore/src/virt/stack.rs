//! Stacks: one of its own for each hart, further pieces from the heap.

use super::{MOST_HARTS, STACK_SHIFT, hart};
use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::arch::asm;
use core::sync::atomic::{AtomicUsize, Ordering};

/// A further piece of stack. It has no page that traps.
const PIECE: Layout = match Layout::from_size_align(256 << 10, 16) {
    Ok(layout) => layout,
    Err(_) => panic!("16 is a power of two"),
};

/// What is kept free below the deepest fork, for what it calls, in bytes.
const RESERVE_BYTES: usize = 32 << 10;

/// Where the piece begins that a hart is on, its own; 0 if it is on its own stack.
static PIECES: [AtomicUsize; MOST_HARTS] = [const { AtomicUsize::new(0) }; MOST_HARTS];

unsafe extern "C" {
    /// From the linker script: where the stacks begin; after them, all memory is free.
    static __stacks: u8;
}

/// The lowest address of a hart's own stack.
pub(super) fn lowest(hart: usize) -> usize {
    (&raw const __stacks).addr() + (hart << STACK_SHIFT)
}

/// The lowest address that calls may reach.
pub(super) fn floor() -> usize {
    let hart = hart::number();
    // ORDERING: Relaxed: the hart's own.
    let start = match PIECES[hart].load(Ordering::Relaxed) {
        0 => lowest(hart),
        piece => piece,
    };
    start + RESERVE_BYTES
}

/// Calls `body` on a piece of its own, if there is memory for it.
pub(super) fn on_more(mut body: &mut dyn FnMut()) {
    // SAFETY: the layout is not empty.
    let piece = unsafe { alloc(PIECE) };
    if piece.is_null() {
        return;
    }
    let mine = &PIECES[hart::number()];
    // ORDERING: Relaxed: the hart's own.
    let before = mine.load(Ordering::Relaxed);
    // ORDERING: Relaxed: the hart's own.
    mine.store(piece.addr(), Ordering::Relaxed);
    // SAFETY: the top is aligned as calls want it, and the piece is this call's alone; the stack pointer is put back from a
    // register that calls preserve; nothing unwinds here.
    unsafe {
        asm!("mv s2, sp", "mv sp, {top}", "jalr {call}", "mv sp, s2",
            top = in(reg) piece.add(PIECE.size()),
            call = in(reg) call as extern "C" fn(&mut &mut dyn FnMut()),
            in("a0") &raw mut body,
            out("s2") _,
            clobber_abi("C"));
    }
    // ORDERING: Relaxed: the hart's own.
    mine.store(before, Ordering::Relaxed);
    // SAFETY: it came from there, and nobody is on it any more.
    unsafe { dealloc(piece, PIECE) };
}

extern "C" fn call(body: &mut &mut dyn FnMut()) {
    body();
}
