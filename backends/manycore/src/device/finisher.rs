//! The device that ends the machine.
//!
//! Source: QEMU, the device `sifive_test`.

use super::Register;
use core::ptr::NonNull;

const PASS: u32 = 0x5555;
const FAIL: u32 = 0x3333;

/// The finisher at an address.
#[derive(Clone, Copy, Debug)]
pub struct Finisher(NonNull<u8>);

impl Finisher {
    /// Returns the finisher at `base`.
    ///
    /// # Safety
    /// The caller must ensure that its register exists and has no other user.
    pub const unsafe fn at(base: NonNull<u8>) -> Self {
        Self(base)
    }

    /// Ends the machine with this exit code; the caller may run on for a moment.
    pub fn end(&self, code: u16) {
        // SAFETY: the register exists and has no other user, as the caller of `at` ensures.
        let register = unsafe { Register::<u32>::at(self.0, 0) };
        register.write(match code {
            0 => PASS,
            code => u32::from(code) << 16 | FAIL,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::Finisher;
    use core::ptr::NonNull;

    #[test]
    fn codes_are_above_the_command() {
        let mut word = 0u32;
        // SAFETY: the word is the register.
        let finisher = unsafe { Finisher::at(NonNull::from(&mut word).cast()) };
        finisher.end(0);
        assert_eq!(word, 0x5555);
        finisher.end(3);
        assert_eq!(word, 0x0003_3333);
    }
}
