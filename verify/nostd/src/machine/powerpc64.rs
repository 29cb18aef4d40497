//! Entry and system calls on POWER, little-endian. The compiler's library brings the memory
//! functions.

use core::arch::{asm, global_asm};

// The kernel starts a program with its entry's address in r12, from which the table of contents is
// found, and leaves the words at r1.
global_asm!(
    ".globl _start",
    "_start:",
    "addis 2, 12, .TOC.-_start@ha",
    "addi 2, 2, .TOC.-_start@l",
    "mr 3, 1",
    "rldicr 1, 1, 0, 59",
    "li 0, 0",
    "stdu 0, -32(1)",
    "bl {entry}",
    "nop",
    "trap",
    entry = sym super::entry,
);

/// Ends the process.
pub fn exit(status: i32) -> ! {
    // SAFETY: exit_group (234) does not return and touches no memory of ours.
    unsafe { asm!("sc", in("r0") 234, in("r3") status, options(noreturn)) }
}

/// Writes to standard error.
pub(super) fn write_error(text: &str) {
    // SAFETY: write (4) reads `text.len()` bytes at `text`, which is borrowed until then; the
    // kernel may change the registers that a call may.
    unsafe {
        asm!("sc", inlateout("r0") 4usize => _, inlateout("r3") 2usize => _,
            inlateout("r4") text.as_ptr() => _, inlateout("r5") text.len() => _,
            out("r6") _, out("r7") _, out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            out("r12") _, out("cr0") _, out("ctr") _, out("xer") _,
            options(nostack, readonly));
    }
}
