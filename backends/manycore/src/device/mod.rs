//! Devices of boards: the meaning of their registers, at any address.

mod clint;
mod finisher;
mod uart;

pub use clint::Clint;
pub use finisher::Finisher;
pub use uart::Uart;

use core::ptr::NonNull;

/// A register of a device.
struct Register<T>(NonNull<T>);

impl<T: Copy> Register<T> {
    /// Returns the register `offset` bytes after `base`.
    ///
    /// # Safety
    /// The caller must ensure that the register exists, is aligned for a `T`, and may be read and
    /// written at any time by any hart.
    unsafe fn at(base: NonNull<u8>, offset: usize) -> Self {
        // SAFETY: inside the device, as the caller ensures.
        Self(unsafe { base.add(offset) }.cast())
    }

    fn read(&self) -> T {
        // SAFETY: the register exists, as the caller of `at` ensures.
        unsafe { self.0.read_volatile() }
    }

    fn write(&self, value: T) {
        // SAFETY: the register exists, as the caller of `at` ensures.
        unsafe { self.0.write_volatile(value) }
    }
}
