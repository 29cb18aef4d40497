//! Bounds of all types of values, and their keys.

use std::cmp::Reverse;
use std::fmt::Debug;
use tautline_core::lifeline::{AnyBound, Bound, Bounding};

/// Improves a bound by values from the worst to the best, each of which but repeated ones improves
/// it, and by their keys.
fn descends<T: Bounding + PartialEq + Debug>(values: &[T]) {
    let (bound, other): (Bound<T>, Bound<T>) = (Bound::default(), Bound::default());
    let mut keys = vec![u128::from(bound.key())];
    for (at, &value) in values.iter().enumerate() {
        assert!(bound.improve(value), "{value:?}");
        assert_eq!(bound.get(), value);
        for &worse in &values[..=at] {
            assert!(!bound.improve(worse), "{worse:?} after {value:?}");
        }
        // Another place applies the key.
        other.improve_to(bound.key().into());
        assert_eq!((other.get(), other.key()), (value, bound.key()));
        keys.push(bound.key().into());
    }
    assert!(keys.is_sorted_by(|a, b| a > b), "{keys:?}");
    for &key in keys.iter().rev() {
        bound.improve_to(key);
    }
    assert_eq!(bound.get(), *values.last().unwrap());
}

/// The values of `T` in reverse.
fn reversed<T: Copy>(values: &[T]) -> Vec<Reverse<T>> {
    values.iter().rev().copied().map(Reverse).collect()
}

/// A bound of any type of values takes each better one, minimised and maximised, and another place
/// takes it by its key.
#[test]
fn bounds_of_all_types() {
    macro_rules! check {
        ($($int:ty),*) => {$({
            let (most, least) = (<$int>::MAX, <$int>::MIN);
            let middle = [most - 1, most / 2 + 1, most / 2, 7, 1, 0];
            let below: &[$int] = if least == 0 { &[] } else { &[(0 as $int).wrapping_sub(1), least + 1, least] };
            let values = [&middle[..], below].concat();
            descends(&values);
            descends(&reversed(&[&[most], &values[..values.len() - 1]].concat()));
        })*};
    }
    check!(usize, isize, u32, i32, u64, i64, u128, i128);
    let tiny = f64::from_bits(1);
    let floats = [
        f64::MAX,
        1e300,
        1.5,
        1.0,
        f64::MIN_POSITIVE,
        tiny,
        0.0,
        -0.0,
        -tiny,
        -1.0,
        f64::MIN,
    ];
    descends(&[&floats[..], &[f64::NEG_INFINITY]].concat());
    descends(&reversed(&[&[f64::INFINITY], &floats[..]].concat()));
}

/// Without a value a bound prunes nothing; not-a-number is no value, nor is a number that is no key
/// of the type.
#[test]
fn a_bound_without_a_value() {
    assert_eq!(Bound::<usize>::default().get(), usize::MAX);
    assert_eq!(Bound::<Reverse<u128>>::default().get(), Reverse(0));
    assert_eq!(Bound::<Reverse<i64>>::default().get(), Reverse(i64::MIN));
    let cost = Bound::<f64>::default();
    let gain = Bound::<Reverse<f64>>::default();
    for nan in [f64::NAN, -f64::NAN] {
        assert!(!cost.improve(nan) && !gain.improve(Reverse(nan)));
    }
    cost.improve_to(0);
    gain.improve_to(0);
    assert_eq!(
        (cost.get(), gain.get().0),
        (f64::INFINITY, f64::NEG_INFINITY)
    );
    let small = Bound::<u32>::new(9);
    for key in [1 << 32, u128::MAX] {
        small.improve_to(key);
        assert_eq!(small.get(), 9);
    }
}
