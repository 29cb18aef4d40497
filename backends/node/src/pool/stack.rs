//! The stack of a thread: its remaining bytes, and further pieces of it.

use std::ptr;

/// Bytes kept free below the deepest fork, for the functions that it calls.
const RESERVE_BYTES: usize = 128 << 10;

/// Returns the lowest address that calls may reach here; 0 if the limit is unknown.
pub(super) fn floor() -> usize {
    let local = 0_u8;
    let here = ptr::from_ref(&local).addr();
    left_below(here).map_or(0, |left| here - left + RESERVE_BYTES.min(left / 2))
}

#[cfg(all(feature = "deep-recursion", unix))]
use super::pieces::left_below;

/// Returns the bytes of stack below this address of the calling thread, if they are known.
#[cfg(all(feature = "deep-recursion", not(unix)))]
fn left_below(_here: usize) -> Option<usize> {
    stacker::remaining_stack()
}

#[cfg(all(not(feature = "deep-recursion"), target_os = "linux"))]
fn left_below(here: usize) -> Option<usize> {
    thread_local! {
        /// The lowest address, measured once: for the first thread the system reads a file.
        static LOWEST: Option<usize> = lowest();
    }
    LOWEST.with(|lowest| here.checked_sub((*lowest)?))
}

#[cfg(not(any(feature = "deep-recursion", target_os = "linux")))]
fn left_below(_here: usize) -> Option<usize> {
    None
}

/// Returns the lowest address of the calling thread's stack.
#[cfg(all(not(feature = "deep-recursion"), target_os = "linux"))]
fn lowest() -> Option<usize> {
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut lowest, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: the calling thread exists; the call initializes the attributes if it returns 0.
    if unsafe { libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: initialized above; the results are written to locals.
    let is_known = unsafe {
        libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut lowest, &raw mut bytes) == 0
    };
    // SAFETY: initialized above, and not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    is_known.then(|| lowest.addr())
}

/// Calls `body` on a further piece of stack, unless there is no memory for one.
#[cfg(feature = "deep-recursion")]
pub(super) fn on_more(body: &mut dyn FnMut()) {
    #[cfg(unix)]
    if super::pieces::on_piece(body) {
        return;
    }
    further::on_new(body);
}

#[cfg(feature = "deep-recursion")]
mod further {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    #[cfg(unix)]
    use std::ptr;

    /// A new stack, in bytes. Only touched pages take memory.
    const BYTES: usize = 64 << 20;

    /// Calls `body` on a stack that is mapped for the call, unless there is no memory for one.
    pub(super) fn on_new(body: &mut dyn FnMut()) {
        if !is_room_for(BYTES) {
            return;
        }
        let mut begun = false;
        let grown = catch_unwind(AssertUnwindSafe(|| {
            stacker::grow(BYTES, || {
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

    /// Returns whether the system has this much memory for the process, without a guarantee:
    /// [`stacker::grow`] panics otherwise, and the message would reach the user.
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
}
