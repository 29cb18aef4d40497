//! Stacks: one for each hart, further pieces from the heap.
//!
//! # Algorithm
//! Below each stack lie [`GUARD_BYTES`] that trap. Those of a hart's own stack are locked by the
//! first entry of its physical memory protection, permanently. Those of the piece that it currently
//! uses are in the second entry, which changes with the piece and so is not locked. An unlocked
//! entry does not apply to machine mode, except where loads and stores have the rights of user mode
//! (`mstatus.MPRV`): the entry code sets that, and gives user mode all other memory by the third
//! entry. A trap returns to the rights of machine mode, so the message about it can be written.

use super::{MOST_HARTS, STACK_SHIFT, hart};
use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::arch::asm;
use core::ops::Range;
use tautline_core::sync::{AtomicUsize, Ordering};

/// The lowest bytes of a stack, which trap: a power of two. A function with larger locals could
/// step over them.
pub(super) const GUARD_BYTES: usize = 32 << 10;

/// A further piece of stack.
const PIECE: Layout = match Layout::from_size_align(256 << 10, GUARD_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

/// Bytes kept free above the guard below the deepest fork, for the functions that it calls.
const RESERVE_BYTES: usize = 32 << 10;

/// Configuration of a physical-memory-protection entry that denies all access to a naturally
/// aligned range.
const NO_ACCESS: usize = 0x18;

/// The beginning of the piece that a hart uses, private to the hart; 0 if it uses its own stack.
static PIECES: [AtomicUsize; MOST_HARTS] = [const { AtomicUsize::new(0) }; MOST_HARTS];

unsafe extern "C" {
    /// From the linker script: where the stacks begin; after them, all memory is free.
    static __stacks: u8;
}

/// Returns the lowest address of a hart's own stack.
pub(super) fn lowest(hart: usize) -> usize {
    (&raw const __stacks).addr() + (hart << STACK_SHIFT)
}

/// Returns the lowest address of the stack that a hart uses.
fn start(hart: usize) -> usize {
    // ORDERING: Relaxed: private to the hart.
    match PIECES[hart].load(Ordering::Relaxed) {
        0 => lowest(hart),
        piece => piece,
    }
}

/// Returns the addresses that trap below the stack that a hart uses.
pub(super) fn guard(hart: usize) -> Range<usize> {
    let start = start(hart);
    start..start + GUARD_BYTES
}

/// Returns the lowest address that calls may reach.
pub(super) fn floor() -> usize {
    guard(hart::number()).end + RESERVE_BYTES
}

/// Makes the guard of `piece` trap on this hart, in place of the previous one; 0 for none.
fn protect(piece: usize) {
    let (none, on) = (0xff_usize << 8, NO_ACCESS << 8);
    // SAFETY: only stacks are forbidden, and of these only what no live frame uses. The entry is
    // off while the address changes; the last instruction makes later accesses observe it.
    unsafe {
        asm!("csrc pmpcfg0, {none}", "sfence.vma", none = in(reg) none, options(nostack));
        if piece != 0 {
            let address = piece >> 2 | (GUARD_BYTES / 8 - 1);
            asm!("csrw pmpaddr1, {address}", "csrs pmpcfg0, {on}", "sfence.vma",
                address = in(reg) address, on = in(reg) on, options(nostack));
        }
    }
}

/// Calls `body` on a further piece of stack, if there is memory for it.
pub(super) fn on_more(mut body: &mut dyn FnMut()) {
    // SAFETY: the layout is not empty.
    let piece = unsafe { alloc(PIECE) };
    if piece.is_null() {
        return;
    }
    let mine = &PIECES[hart::number()];
    // ORDERING: Relaxed: private to the hart.
    let before = mine.load(Ordering::Relaxed);
    // ORDERING: Relaxed: private to the hart.
    mine.store(piece.addr(), Ordering::Relaxed);
    protect(piece.addr());
    // SAFETY: the top is aligned as calls require, and the piece belongs to this call alone; the
    // stack pointer is restored from a register that calls preserve; nothing unwinds here.
    unsafe {
        asm!("mv s2, sp", "mv sp, {top}", "jalr {call}", "mv sp, s2",
            top = in(reg) piece.add(PIECE.size()),
            call = in(reg) call as extern "C" fn(&mut &mut dyn FnMut()),
            in("a0") &raw mut body,
            out("s2") _,
            clobber_abi("C"));
    }
    protect(before);
    // ORDERING: Relaxed: private to the hart.
    mine.store(before, Ordering::Relaxed);
    // SAFETY: the piece was allocated above with this layout, no frame is on it any more, and its
    // guard is off.
    unsafe { dealloc(piece, PIECE) };
}

extern "C" fn call(body: &mut &mut dyn FnMut()) {
    body();
}
