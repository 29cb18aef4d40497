//! The values that a bound can have, and their keys.

use super::cell::{Cell, Wide};
use crate::sync::AtomicUsize;
use core::cmp::Reverse;

/// The key of a value in its cell.
type KeyOf<T> = <<T as Bounding>::Cell as Cell>::Key;

/// A type whose values a [`Bound`](super::Bound) can have: integers, floating-point numbers, and
/// any of these in [`Reverse`]. Implemented in this crate only.
///
/// Floating-point numbers have their total order (IEEE 754-2008, 5.10), in which -0 is below 0.
pub trait Bounding: Copy + Send + private::Sealed {
    /// The storage of the key.
    #[doc(hidden)]
    type Cell: Cell;

    /// The value that every other one improves.
    const WORST: Self;
    /// The value that none improves.
    const BEST: Self;

    /// Returns the key, which is in the same order as the value.
    #[doc(hidden)]
    fn key(self) -> KeyOf<Self>;

    /// Returns the value with this key.
    #[doc(hidden)]
    fn of(key: KeyOf<Self>) -> Self;

    /// Returns whether the value may be a bound.
    #[doc(hidden)]
    #[inline(always)]
    fn is_ordered(self) -> bool {
        true
    }
}

mod private {
    /// Closes [`Bounding`](super::Bounding).
    pub trait Sealed {}
}

/// Implements [`Bounding`] for integers. Signed ones are moved by half of their range, by `$flip`.
macro_rules! integers {
    ($cell:ty: $($int:ty as $unsigned:ty, $flip:expr);+) => {$(
        impl private::Sealed for $int {}

        impl Bounding for $int {
            type Cell = $cell;
            const WORST: Self = <$int>::MAX;
            const BEST: Self = <$int>::MIN;

            #[inline(always)]
            fn key(self) -> KeyOf<Self> {
                (self as $unsigned ^ ($flip)) as KeyOf<Self>
            }

            #[inline(always)]
            fn of(key: KeyOf<Self>) -> Self {
                (key as $unsigned ^ ($flip)) as Self
            }
        }
    )+};
}

#[cfg(target_pointer_width = "64")]
type Cell64 = AtomicUsize;
#[cfg(not(target_pointer_width = "64"))]
type Cell64 = Wide;

integers!(AtomicUsize: usize as usize, 0; isize as usize, 1 << (usize::BITS - 1); u32 as u32, 0; i32 as u32, 1 << 31);
integers!(Cell64: u64 as u64, 0; i64 as u64, 1 << 63);
integers!(Wide: u128 as u128, 0; i128 as u128, 1 << 127);

impl private::Sealed for f64 {}

impl Bounding for f64 {
    type Cell = Cell64;
    const WORST: Self = Self::INFINITY;
    const BEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn key(self) -> KeyOf<Self> {
        // Negative numbers are in the reverse order of their bits, and below all others.
        let bits = self.to_bits();
        let flip = ((bits as i64 >> 63) as u64) | 1 << 63;
        (bits ^ flip) as KeyOf<Self>
    }

    #[inline(always)]
    fn of(key: KeyOf<Self>) -> Self {
        let key = key as u64;
        let flip = ((!key as i64 >> 63) as u64) | 1 << 63;
        Self::from_bits(key ^ flip)
    }

    #[inline(always)]
    fn is_ordered(self) -> bool {
        !self.is_nan()
    }
}

impl<T: Bounding> private::Sealed for Reverse<T> {}

impl<T: Bounding> Bounding for Reverse<T> {
    type Cell = T::Cell;
    const WORST: Self = Self(T::BEST);
    const BEST: Self = Self(T::WORST);

    #[inline(always)]
    fn key(self) -> KeyOf<Self> {
        !self.0.key()
    }

    #[inline(always)]
    fn of(key: KeyOf<Self>) -> Self {
        Self(T::of(!key))
    }

    #[inline(always)]
    fn is_ordered(self) -> bool {
        self.0.is_ordered()
    }
}
