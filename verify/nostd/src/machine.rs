//! What a machine without an operating system's libraries must bring: entry, exit, panic, memory.

use core::arch::{asm, global_asm};

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
compile_error!("entry and system calls are written for x86_64 Linux");

global_asm!(
    ".globl _start",
    "_start: xor ebp, ebp",
    "and rsp, -16",
    "call {entry}",
    "ud2",
    entry = sym entry,
);

extern "C" fn entry() -> ! {
    crate::probe()
}

/// Ends the process.
pub fn exit(status: i32) -> ! {
    // SAFETY: exit_group (231) does not return and touches no memory of ours.
    unsafe { asm!("syscall", in("rax") 231, in("rdi") status, options(noreturn)) }
}

/// Writes to standard error; what cannot be written is lost.
pub fn say(text: &str) {
    // SAFETY: write (1) reads `text.len()` bytes at `text`, which is borrowed meanwhile; the kernel
    // clobbers rcx and r11.
    unsafe {
        asm!("syscall", inlateout("rax") 1usize => _, in("rdi") 2, in("rsi") text.as_ptr(),
            in("rdx") text.len(), out("rcx") _, out("r11") _, options(nostack, readonly));
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    say("panic\n");
    exit(1)
}

// The compiled core library's unwind tables name it; with panic = "abort" it is never called.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

// The compiler calls these by name. In assembly, because it would compile a loop into a call of the
// very function it is in.

// SAFETY (all five): the caller meets the requirements of the C function; `rep` accesses those
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
