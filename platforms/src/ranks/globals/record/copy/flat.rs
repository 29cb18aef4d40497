//! Types whose values lie in the word of a copy: numbers.

use std::any::{Any, TypeId};
use std::array;

/// Machine words of a flat value.
pub(super) const WORDS: usize = size_of::<u64>() / size_of::<usize>();

#[inline(always)]
fn words(bits: u64) -> [usize; WORDS] {
    array::from_fn(|at| (bits >> (at as u32 * usize::BITS)) as usize)
}

#[inline(always)]
fn bits(words: [usize; WORDS]) -> u64 {
    let place = |(at, word): (usize, usize)| (word as u64) << (at as u32 * usize::BITS);
    words.into_iter().enumerate().map(place).sum()
}

macro_rules! flat {
    ($($type:ty: $to_bits:expr, $of_bits:expr;)*) => {
        /// Whether values of `T` are flat. Known when the program is compiled.
        #[inline(always)]
        pub(super) fn is_flat<T: 'static>() -> bool {
            $(TypeId::of::<T>() == TypeId::of::<$type>())||*
        }

        /// Returns the words of a flat value.
        #[inline(always)]
        pub(super) fn to_words<T: 'static>(value: &T) -> [usize; WORDS] {
            let value: &dyn Any = value;
            $(if let Some(value) = value.downcast_ref::<$type>() {
                return words($to_bits(*value));
            })*
            unreachable!("it is flat")
        }

        /// Returns the flat value with these words.
        #[inline(always)]
        pub(super) fn of_words<T: Clone + 'static>(words: [usize; WORDS]) -> T {
            $(if TypeId::of::<T>() == TypeId::of::<$type>() {
                let value: $type = $of_bits(bits(words));
                let value: &dyn Any = &value;
                return value.downcast_ref::<T>().expect("the same type").clone();
            })*
            unreachable!("it is flat")
        }
    };
}

flat! {
    u8: u64::from, |bits| bits as u8;
    u16: u64::from, |bits| bits as u16;
    u32: u64::from, |bits| bits as u32;
    u64: u64::from, |bits| bits;
    usize: |value| value as u64, |bits| bits as usize;
    i8: |value| value as u64, |bits| bits as i8;
    i16: |value| value as u64, |bits| bits as i16;
    i32: |value| value as u64, |bits| bits as i32;
    i64: |value| value as u64, |bits| bits as i64;
    isize: |value| value as u64, |bits| bits as isize;
    f32: |value: f32| u64::from(value.to_bits()), |bits| f32::from_bits(bits as u32);
    f64: f64::to_bits, f64::from_bits;
    bool: u64::from, |bits| bits != 0;
    char: u64::from, |bits| char::from_u32(bits as u32).expect("it was a character");
}

#[cfg(test)]
mod tests {
    use super::{is_flat, of_words, to_words};
    use std::fmt::Debug;

    fn comes_back<T: Clone + PartialEq + Debug + 'static>(values: &[T]) {
        assert!(is_flat::<T>());
        for value in values {
            assert_eq!(of_words::<T>(to_words(value)), *value);
        }
    }

    #[test]
    fn flat_values_come_back() {
        comes_back(&[0u8, 1, u8::MAX]);
        comes_back(&[0u16, 1, u16::MAX]);
        comes_back(&[0u32, 1, u32::MAX]);
        comes_back(&[0u64, 1, 1 << 40, u64::MAX]);
        comes_back(&[0usize, 1, usize::MAX]);
        comes_back(&[0i8, -1, i8::MIN, i8::MAX]);
        comes_back(&[0i16, -1, i16::MIN, i16::MAX]);
        comes_back(&[0i32, -1, i32::MIN, i32::MAX]);
        comes_back(&[0i64, -1, i64::MIN, i64::MAX]);
        comes_back(&[0isize, -1, isize::MIN, isize::MAX]);
        comes_back(&[0f32, -0.5, f32::MIN, f32::INFINITY]);
        comes_back(&[0f64, -0.5, f64::MIN, f64::INFINITY]);
        comes_back(&[false, true]);
        comes_back(&['a', '\u{10ffff}']);
        assert_eq!(
            to_words(&-0.0f64),
            to_words(&of_words::<f64>(to_words(&-0.0f64)))
        );
        assert!(!is_flat::<[u8; 1]>() && !is_flat::<()>() && !is_flat::<String>());
    }
}
