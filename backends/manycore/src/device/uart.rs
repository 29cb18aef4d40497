//! The serial line: a 16550 whose speed has been set.

use super::Register;
use core::fmt;
use core::hint::spin_loop;
use core::ptr::NonNull;

const DATA: usize = 0;
const STATUS: usize = 5;
const MAY_SEND: u8 = 1 << 5;

/// The serial line at an address.
#[derive(Debug)]
pub struct Uart(NonNull<u8>);

// SAFETY: the registers are the same for every hart.
unsafe impl Send for Uart {}

impl Uart {
    /// Returns the serial line at `base`.
    ///
    /// # Safety
    /// The caller must ensure that its registers exist, one byte apart.
    pub const unsafe fn at(base: NonNull<u8>) -> Self {
        Self(base)
    }
}

impl fmt::Write for Uart {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: the registers exist, as the caller of `at` ensures.
        let (data, status) = unsafe {
            (
                Register::<u8>::at(self.0, DATA),
                Register::<u8>::at(self.0, STATUS),
            )
        };
        for byte in text.bytes() {
            while status.read() & MAY_SEND == 0 {
                spin_loop();
            }
            data.write(byte);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{MAY_SEND, STATUS, Uart};
    use core::fmt::Write;
    use core::ptr::NonNull;

    #[test]
    fn bytes_go_to_the_data_register() {
        let mut registers = [0u8; 8];
        registers[STATUS] = MAY_SEND;
        // SAFETY: the memory is the registers.
        let mut uart = unsafe { Uart::at(NonNull::from(&mut registers).cast()) };
        assert_eq!(uart.write_str("no"), Ok(()));
        assert_eq!(registers[0], b'o');
        assert_eq!(registers[1..STATUS], [0; STATUS - 1]);
    }
}
