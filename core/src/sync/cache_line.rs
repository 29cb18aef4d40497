//! Values that do not share their cache line.
#![forbid(unsafe_code)]

use core::ops::Deref;

/// A value alone on its cache line.
///
/// `crossbeam_utils::CachePadded` takes two lines on x86-64, since some processors fetch them in pairs. This takes one:
/// for values there are very many of.
#[cfg_attr(target_arch = "powerpc64", repr(align(128)))]
#[cfg_attr(not(target_arch = "powerpc64"), repr(align(64)))]
#[derive(Debug, Default)]
pub struct CacheLine<T>(pub T);

impl<T> Deref for CacheLine<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}
