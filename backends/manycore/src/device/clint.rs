//! The core-local interruptor: a software interrupt and a timer for each hart.
//!
//! Source: the SiFive FU540 manual, chapter "Core-Local Interruptor"; QEMU's `virt` has the same.

use super::Register;
use core::ptr::NonNull;

const SOFTWARE: usize = 0;
const TIMER: usize = 0x4000;

/// The interruptor at an address.
#[derive(Clone, Copy, Debug)]
pub struct Clint {
    base: NonNull<u8>,
    harts: usize,
}

impl Clint {
    /// Returns the interruptor at `base`, for the harts below `harts`.
    ///
    /// # Safety
    /// The caller must ensure that the registers of the harts below `harts` exist as long as this
    /// value or a copy of it is used, and that memory safety depends on none of them: any copy may
    /// write them at any time.
    pub const unsafe fn at(base: NonNull<u8>, harts: usize) -> Self {
        Self { base, harts }
    }

    /// Sets or clears the software interrupt of a hart.
    ///
    /// # Panics
    /// If there is no such hart.
    pub fn set_software(&self, hart: usize, pending: bool) {
        self.check(hart);
        // SAFETY: the register of a hart below `harts` exists, as the caller of `at` ensures.
        let register = unsafe { Register::<u32>::at(self.base, SOFTWARE + 4 * hart) };
        register.write(u32::from(pending));
    }

    /// Makes the timer interrupt of a hart pending from `time` on, in ticks of the board's clock.
    ///
    /// # Panics
    /// If there is no such hart.
    pub fn set_timer(&self, hart: usize, time: u64) {
        self.check(hart);
        // SAFETY: the register of a hart below `harts` exists, as the caller of `at` ensures.
        let register = unsafe { Register::<u64>::at(self.base, TIMER + 8 * hart) };
        register.write(time);
    }

    #[inline]
    fn check(&self, hart: usize) {
        assert!(hart < self.harts, "hart {hart} of {}", self.harts);
    }
}

#[cfg(test)]
mod tests {
    use super::Clint;
    use core::ptr::NonNull;

    #[test]
    fn each_hart_has_its_registers() {
        let mut memory = [0u64; 0x4000 / 8 + 3];
        // SAFETY: the memory is as long as three harts' registers.
        let clint = unsafe { Clint::at(NonNull::from(&mut memory).cast(), 3) };
        clint.set_software(2, true);
        clint.set_timer(2, 77);
        let at = |memory: &[u64], index: usize| memory[index];
        assert_eq!((at(&memory, 1), at(&memory, 0x4000 / 8 + 2)), (1, 77));
        clint.set_software(2, false);
        assert!(memory[..0x4000 / 8 + 2].iter().all(|&word| word == 0));
    }

    #[test]
    #[should_panic(expected = "hart 3 of 3")]
    fn a_hart_that_is_not_there_has_none() {
        let mut memory = [0u64; 2];
        // SAFETY: nothing is written: the hart is refused.
        let clint = unsafe { Clint::at(NonNull::from(&mut memory).cast(), 3) };
        clint.set_software(3, true);
    }

    #[test]
    #[should_panic(expected = " of 3")]
    fn nor_has_one_whose_offset_wraps() {
        let mut memory = [0u64; 2];
        // SAFETY: nothing is written: the hart is refused.
        let clint = unsafe { Clint::at(NonNull::from(&mut memory).cast(), 3) };
        clint.set_timer(usize::MAX, 1);
    }
}
