//! Values by increasing numbers, in memory that is used again.

use alloc::collections::VecDeque;

/// Entries whose memory is kept for later ones; that of a burst is released.
const KEPT: usize = 64;

/// Values by number, for numbers that mostly increase: insertion at the end and removal at either
/// end take constant time. Several values may have the same number, and stay in the order of
/// insertion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Numbered<T>(VecDeque<(u64, T)>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Numbered<T> {
    /// Inserts a value after those of lower or equal numbers.
    pub(crate) fn insert(&mut self, number: u64, value: T) {
        match self.0.back() {
            Some((last, _)) if *last > number => {
                let at = self.0.partition_point(|(other, _)| *other <= number);
                self.0.insert(at, (number, value));
            }
            _ => self.0.push_back((number, value)),
        }
    }

    /// Returns the position of the only value with this number.
    fn position(&self, number: u64) -> Option<usize> {
        let (first, _) = self.0.front()?;
        // Mostly the only one, or numbers without a gap.
        let guess = usize::try_from(number.checked_sub(*first)?).ok()?;
        match self.0.get(guess) {
            Some((other, _)) if *other == number => Some(guess),
            _ => self
                .0
                .binary_search_by_key(&number, |(other, _)| *other)
                .ok(),
        }
    }

    /// Returns the value with this number, of which there is at most one.
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.0.get(self.position(number)?).map(|(_, value)| value)
    }

    /// As [`get`](Self::get).
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let at = self.position(number)?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Removes the value with this number, of which there is at most one.
    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let at = self.position(number)?;
        let (_, value) = self.0.remove(at)?;
        self.release();
        Some(value)
    }

    /// Removes the first value, if it has this number.
    pub(crate) fn pop(&mut self, number: u64) -> Option<T> {
        let (first, _) = self.0.front()?;
        if *first != number {
            return None;
        }
        let (_, value) = self.0.pop_front()?;
        self.release();
        Some(value)
    }

    /// Releases the memory of a burst that is over.
    fn release(&mut self) {
        let capacity = self.0.capacity();
        if capacity > KEPT && self.0.len() < capacity / 4 {
            self.0.shrink_to(KEPT.max(capacity / 2));
        }
    }

    /// Releases the memory for later values.
    #[cfg(feature = "wire")]
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the numbers and values, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.0.iter().map(|(number, value)| (*number, value))
    }

    /// Returns the values, in order.
    #[cfg(feature = "wire")]
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the values, in order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}
