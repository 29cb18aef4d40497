//! The core-local interruptor: a software interrupt and a timer for each hart.
//!
//! Source: the SiFive FU540 manual, chapter "Core-Local Interruptor"; QEMU's `virt` has the same.

use super::Register;
use core::ptr::NonNull;

const SOFTWARE: usize = 0;
const TIMER: usize = 0x4000;

/// The interruptor at an address.
#[derive(Clone, Copy, Debug)]
pub struct Clint(NonNull<u8>);

impl Clint {
    /// The interruptor at `base`.
    ///
    /// # Safety
    /// Its registers are there, for every hart that the methods are asked for, and nobody else uses them.
    pub const unsafe fn at(base: NonNull<u8>) -> Self {
        Self(base)
    }

    /// Sets or takes back the software interrupt of a hart.
    pub fn set_software(&self, hart: usize, pending: bool) {
        // SAFETY: promised to `at`.
        let register = unsafe { Register::<u32>::at(self.0, SOFTWARE + 4 * hart) };
        register.write(u32::from(pending));
    }

    /// The timer interrupt of a hart is pending from `time` on, in ticks of the board's clock.
    pub fn set_timer(&self, hart: usize, time: u64) {
        // SAFETY: promised to `at`.
        let register = unsafe { Register::<u64>::at(self.0, TIMER + 8 * hart) };
        register.write(time);
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
        let clint = unsafe { Clint::at(NonNull::from(&mut memory).cast()) };
        clint.set_software(2, true);
        clint.set_timer(2, 77);
        let at = |memory: &[u64], index: usize| memory[index];
        assert_eq!((at(&memory, 1), at(&memory, 0x4000 / 8 + 2)), (1, 77));
        clint.set_software(2, false);
        assert!(memory[..0x4000 / 8 + 2].iter().all(|&word| word == 0));
    }
}
