//! One hart: its number, its clock, its sleep.

use core::arch::asm;

/// Bits of the registers `mie` and `mip`.
const SOFTWARE: usize = 1 << 3;
const TIMER: usize = 1 << 7;

/// Returns the number of this hart, which the entry has stored in the thread pointer.
#[inline(always)]
pub(super) fn number() -> usize {
    let number;
    // SAFETY: reads a register that is not written after the entry.
    unsafe { asm!("mv {}, tp", out(reg) number, options(pure, nomem, nostack, preserves_flags)) }
    number
}

/// Returns the machine's timer.
#[inline(always)]
pub(super) fn time() -> u64 {
    let time;
    // SAFETY: reads a register.
    unsafe { asm!("rdtime {}", out(reg) time, options(nomem, nostack, preserves_flags)) }
    time
}

/// Orders all earlier accesses to memory and devices before all later ones.
pub(super) fn order_devices() {
    // SAFETY: a fence. It is declared to access memory, so that the compiler moves no access across
    // it.
    unsafe { asm!("fence iorw, iorw", options(nostack, preserves_flags)) }
}

/// Sleeps until a software interrupt is pending, or the timer interrupt if it is enabled; returns
/// whether it was the former.
pub(super) fn wait(timer_counts: bool) -> bool {
    let ends = if timer_counts {
        SOFTWARE | TIMER
    } else {
        SOFTWARE
    };
    let pending: usize;
    // SAFETY: interrupts are off (`mstatus.MIE`), so that a pending one ends the `wfi` and has no
    // other effect.
    unsafe {
        asm!("csrw mie, {ends}", "wfi", "csrr {pending}, mip",
            ends = in(reg) ends, pending = lateout(reg) pending, options(nostack, preserves_flags));
    }
    pending & SOFTWARE != 0
}
