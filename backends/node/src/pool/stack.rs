//! Further stack for a thread that has little left.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

/// Bytes kept free below the deepest fork, for the functions that it calls.
const RESERVE_BYTES: usize = 128 << 10;

/// A further piece of stack, in bytes. Only touched pages take memory.
const PIECE_BYTES: usize = 64 << 20;

/// Returns the lowest address that calls may reach here; 0 if the limit is unknown.
pub(super) fn floor() -> usize {
    let local = 0_u8;
    let here = ptr::from_ref(&local).addr();
    stacker::remaining_stack().map_or(0, |left| here - left + RESERVE_BYTES.min(left / 2))
}

/// Calls `body` on a further piece of stack, unless there is no memory for one.
pub(super) fn on_more(body: &mut dyn FnMut()) {
    if !is_room_for(PIECE_BYTES) {
        return;
    }
    let mut begun = false;
    let grown = catch_unwind(AssertUnwindSafe(|| {
        stacker::grow(PIECE_BYTES, || {
            begun = true;
            body();
        });
    }));
    match grown {
        Err(payload) if begun => resume_unwind(payload),
        // Refused nevertheless: another thread was faster.
        _ => {}
    }
}

/// Returns whether the system has this much memory for the process, without a guarantee: [`stacker::grow`] panics
/// otherwise, and the message would reach the user.
#[cfg(unix)]
fn is_room_for(bytes: usize) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: requests new memory, at any address.
    let piece = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    if piece == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: mapped above, and not in use.
    unsafe { libc::munmap(piece, bytes) };
    true
}

#[cfg(not(unix))]
fn is_room_for(_bytes: usize) -> bool {
    true
}
