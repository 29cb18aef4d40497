//! One hart: its number, its clock, its sleep.

use core::arch::asm;

/// Bits of the registers `mie` and `mip`.
const SOFTWARE: usize = 1 << 3;
const TIMER: usize = 1 << 7;

/// The number of this hart, which the entry has put into the thread pointer.
#[inline(always)]
pub(super) fn number() -> usize {
    let number;
    // SAFETY: reads a register that nobody writes after the entry.
    unsafe { asm!("mv {}, tp", out(reg) number, options(pure, nomem, nostack, preserves_flags)) }
    number
}

/// The machine's timer, by the register that shows it.
#[inline(always)]
pub(super) fn time() -> u64 {
    let time;
    // SAFETY: reads a register.
    unsafe { asm!("rdtime {}", out(reg) time, options(nomem, nostack, preserves_flags)) }
    time
}

/// Orders memory and devices, all before against all after.
pub(super) fn order_devices() {
    // SAFETY: a fence. It counts as touching memory, so that the compiler moves none across.
    unsafe { asm!("fence iorw, iorw", options(nostack, preserves_flags)) }
}

/// Sleeps until a software interrupt is pending, or the timer's if it counts; says whether it was the former.
pub(super) fn wait(timer_counts: bool) -> bool {
    let ends = if timer_counts {
        SOFTWARE | TIMER
    } else {
        SOFTWARE
    };
    let pending: usize;
    // SAFETY: interrupts are off (`mstatus.MIE`), so that one that is pending ends the `wfi` and does nothing else.
    unsafe {
        asm!("csrw mie, {ends}", "wfi", "csrr {pending}, mip",
            ends = in(reg) ends, pending = lateout(reg) pending, options(nostack, preserves_flags));
    }
    pending & SOFTWARE != 0
}
