//! Entry and system calls on aarch64. The compiler's library brings the memory functions.

use core::arch::{asm, global_asm};

global_asm!(
    ".globl _start",
    "_start: mov x29, #0",
    "mov x30, #0",
    "mov x0, sp",
    "bl {entry}",
    "brk #1",
    entry = sym super::entry,
);

/// Ends the process.
pub fn exit(status: i32) -> ! {
    // SAFETY: exit_group (94) does not return and touches no memory of ours.
    unsafe { asm!("svc #0", in("x8") 94, in("x0") status, options(noreturn)) }
}

/// Writes to standard error.
pub(super) fn write_error(text: &str) {
    // SAFETY: write (64) reads `text.len()` bytes at `text`, which is borrowed until then; the
    // kernel changes no register but x0.
    unsafe {
        asm!("svc #0", in("x8") 64, inlateout("x0") 2usize => _, in("x1") text.as_ptr(),
            in("x2") text.len(), options(nostack, readonly));
    }
}
