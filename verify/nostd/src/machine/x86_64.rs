//! Entry, system calls and memory functions on x86-64.

use core::arch::{asm, global_asm};

global_asm!(
    ".globl _start",
    "_start: xor ebp, ebp",
    "mov rdi, rsp",
    "and rsp, -16",
    "call {entry}",
    "ud2",
    entry = sym super::entry,
);

/// Ends the process.
pub fn exit(status: i32) -> ! {
    // SAFETY: exit_group (231) does not return and touches no memory of ours.
    unsafe { asm!("syscall", in("rax") 231, in("rdi") status, options(noreturn)) }
}

/// Writes to standard error.
pub(super) fn write_error(text: &str) {
    // SAFETY: write (1) reads `text.len()` bytes at `text`, which is borrowed until then; the
    // kernel clobbers rcx and r11.
    unsafe {
        asm!("syscall", inlateout("rax") 1usize => _, in("rdi") 2, in("rsi") text.as_ptr(),
            in("rdx") text.len(), out("rcx") _, out("r11") _, options(nostack, readonly));
    }
}

// The compiler calls these by name. In assembly, because it would compile a loop into a call of the
// very function it is in.

// SAFETY (all six): the caller meets the requirements of the C function; `rep` accesses those
// bytes only.

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    // SAFETY: as above; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") n => _,
            options(nostack, preserves_flags));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= n {
        // SAFETY: as above; no byte is overwritten before it was read.
        return unsafe { memcpy(to, from, n) };
    }
    // SAFETY: as above, from the end; the direction flag is cleared again.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rdi") to.wrapping_add(n).wrapping_sub(1) => _,
            inout("rsi") from.wrapping_add(n).wrapping_sub(1) => _, inout("rcx") n => _,
            options(nostack));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    // SAFETY: as above; the direction flag is clear by the ABI.
    unsafe {
        asm!("rep stosb", inout("rdi") to => _, in("al") byte as u8, inout("rcx") n => _,
            options(nostack, preserves_flags));
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    let (above, below): (u8, u8);
    // SAFETY: as above. `cmp` first, so that n = 0 leaves the flags at equal.
    unsafe {
        asm!("cmp eax, eax", "repe cmpsb", "seta {above}", "setb {below}", inout("rsi") a => _,
            inout("rdi") b => _, inout("rcx") n => _, above = lateout(reg_byte) above,
            below = lateout(reg_byte) below, in("eax") 0, options(nostack, readonly));
    }
    i32::from(above) - i32::from(below)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the same obligations.
    unsafe { memcmp(a, b, n) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let left: usize;
    // SAFETY: as above; the direction flag is clear by the ABI.
    unsafe {
        asm!("repne scasb", inout("rdi") text => _, inout("rcx") usize::MAX => left, in("al") 0u8,
            options(nostack, readonly));
    }
    // The end was counted, too.
    usize::MAX - left - 1
}
