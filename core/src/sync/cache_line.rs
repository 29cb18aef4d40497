//! Values that do not share their cache line.
#![forbid(unsafe_code)]

use core::ops::Deref;

/// A value alone on its cache line.
///
/// `crossbeam_utils::CachePadded` takes two lines on x86-64, since some processors fetch them in
/// pairs. This takes one: for values there are very many of.
// POWER and Apple's processors have lines of 128 bytes, mainframes of 256.
#[cfg_attr(
    any(
        target_arch = "powerpc64",
        all(target_arch = "aarch64", target_vendor = "apple")
    ),
    repr(align(128))
)]
#[cfg_attr(target_arch = "s390x", repr(align(256)))]
#[cfg_attr(
    not(any(
        target_arch = "powerpc64",
        all(target_arch = "aarch64", target_vendor = "apple"),
        target_arch = "s390x"
    )),
    repr(align(64))
)]
#[derive(Debug, Default)]
pub struct CacheLine<T>(pub T);

impl<T> Deref for CacheLine<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
