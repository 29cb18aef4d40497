//! Devices of boards: what their registers mean, wherever they lie.

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
    /// The register `offset` bytes behind `base`.
    ///
    /// # Safety
    /// It is there, is aligned for a `T`, and may be read and written at any time by any hart.
    unsafe fn at(base: NonNull<u8>, offset: usize) -> Self {
        // SAFETY: inside the device, as the caller promises.
        Self(unsafe { base.add(offset) }.cast())
    }

    fn read(&self) -> T {
        // SAFETY: promised to `at`.
        unsafe { self.0.read_volatile() }
    }

    fn write(&self, value: T) {
        // SAFETY: promised to `at`.
        unsafe { self.0.write_volatile(value) }
    }
}
