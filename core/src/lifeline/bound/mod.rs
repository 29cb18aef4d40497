//! The best solution found so far, as known at this place.
//!
//! Values have keys, which are in the same order: a place's protocol sends the key of an
//! improvement along its lifelines, and applies those that it receives (Finnerty 2022, TSP).
//!
//! # Proved
//! That a place sends every improvement: models `bound_*` in `verify/tests/glb.rs`. That the best
//! bound reaches every place, is sent once along each lifeline, and does not delay termination:
//! over every delivery order, `gossip` in `verify/tests/explore.rs`.

mod cell;
mod value;

pub use value::Bounding;

use cell::Cell;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A bound that only decreases: the cost of the best solution known at a place.
///
/// ```
/// # use tautline_core::lifeline::Bound;
/// let shortest: Bound<f64> = Bound::default(); // infinity
/// assert!(shortest.improve(120.5));
/// assert!(!shortest.improve(130.0));
/// assert_eq!(shortest.get(), 120.5);
/// ```
///
/// To maximise, use values in [`Reverse`](core::cmp::Reverse):
///
/// ```
/// # use tautline_core::lifeline::Bound;
/// use core::cmp::Reverse;
///
/// let richest: Bound<Reverse<u64>> = Bound::default(); // zero
/// assert!(richest.improve(Reverse(7)));
/// assert!(!richest.improve(Reverse(5)));
/// assert_eq!(richest.get().0, 7);
/// ```
///
/// Reading a value that fits into a machine word is one relaxed load. A wider one, as `u128`, is
/// guarded by a lock.
pub struct Bound<T: Bounding = usize> {
    key: T::Cell,
}

// The cell is one number, which is replaced as a whole.
impl<T: Bounding> UnwindSafe for Bound<T> {}
impl<T: Bounding> RefUnwindSafe for Bound<T> {}

/// A [`Bound`] of any type of values, as the protocol sees it.
pub trait AnyBound: Sync {
    /// Returns the key of the best value known here; before the first one, the largest key.
    fn key(&self) -> Key;

    /// Improves the bound by the value with this key; ignores a key without a value.
    fn improve_to(&self, key: u128);
}

/// The position of a value in the order of its type: the smaller, the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Of a type whose values fit into a word.
    Word(usize),
    /// Of a wider type.
    Wide(u128),
}

impl From<Key> for u128 {
    fn from(key: Key) -> Self {
        match key {
            Key::Word(key) => key as Self,
            Key::Wide(key) => key,
        }
    }
}

impl<T: Bounding> Default for Bound<T> {
    /// Creates a bound that every value improves: with the largest integer, or infinity. In
    /// [`Reverse`](core::cmp::Reverse) it is the smallest one.
    fn default() -> Self {
        Self::new(T::WORST)
    }
}

impl<T: Bounding> Bound<T> {
    /// Creates a bound with the initial value `value`.
    pub fn new(value: T) -> Self {
        Self {
            key: Cell::new(value.key()),
        }
    }

    /// Returns the best value known here.
    #[inline]
    pub fn get(&self) -> T {
        T::of(self.key.get())
    }

    /// Improves the bound by a solution of this value. Returns true if it is the best so far.
    /// Not-a-number is ignored.
    #[inline]
    pub fn improve(&self, value: T) -> bool {
        value.is_ordered() && self.key.improve(value.key())
    }
}

impl<T: Bounding> AnyBound for Bound<T> {
    #[inline]
    fn key(&self) -> Key {
        // Without a solution there is nothing to send: the protocol ignores the largest key.
        let key = self.key.get();
        let is_none = key == T::WORST.key();
        T::Cell::wrap(if is_none { T::Cell::NONE } else { key })
    }

    fn improve_to(&self, key: u128) {
        let Some(key) = T::Cell::narrow(key) else {
            return;
        };
        // Other places may be wrong.
        let value = T::of(key);
        if value.key() == key {
            self.improve(value);
        }
    }
}

impl<T: Bounding + fmt::Debug> fmt::Debug for Bound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bound").field(&self.get()).finish()
    }
}
