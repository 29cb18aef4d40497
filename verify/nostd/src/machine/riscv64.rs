//! Entry and system calls on 64-bit RISC-V. The compiler's library brings the memory functions.

use core::arch::{asm, global_asm};

global_asm!(
    ".globl _start",
    "_start:",
    ".option push",
    ".option norelax",
    "la gp, __global_pointer$",
    ".option pop",
    "mv a0, sp",
    "andi sp, sp, -16",
    "call {entry}",
    "ebreak",
    entry = sym super::entry,
);

/// Ends the process.
pub fn exit(status: i32) -> ! {
    // SAFETY: exit_group (94) does not return and touches no memory of ours.
    unsafe { asm!("ecall", in("a7") 94, in("a0") status, options(noreturn)) }
}

/// Writes to standard error.
pub(super) fn write_error(text: &str) {
    // SAFETY: write (64) reads `text.len()` bytes at `text`, which is borrowed until then; the
    // kernel changes no register but a0.
    unsafe {
        asm!("ecall", in("a7") 64, inlateout("a0") 2usize => _, in("a1") text.as_ptr(),
            in("a2") text.len(), options(nostack, readonly));
    }
}
