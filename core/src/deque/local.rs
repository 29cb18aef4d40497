//! A deque of one thread: the owner works at the shallow end, loot is taken at the deep end.
//!
//! # Algorithm
//! The task deque of a place (Saraswat 2011): depth-first at the shallow end keeps the cache warm,
//! and the oldest items, at the deep end, are usually the largest, so they are given away. The ring
//! is the standard library's.
#![forbid(unsafe_code)]

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A deque that one thread owns and from which it gives loot away itself.
///
/// ```
/// # use tautline_core::deque::Local;
/// let mut todo: Local<u32> = (1..=5).collect();
/// assert_eq!(todo.pop(), Some(5)); // the owner takes the newest
/// assert_eq!(todo.steal(2), [1, 2]); // a thief the oldest
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Local<T> {
    items: VecDeque<T>,
}

impl<T> Local<T> {
    /// Creates an empty deque. Allocates nothing.
    ///
    /// ```
    /// # use tautline_core::deque::Local;
    /// let todo: Local<u32> = Local::new();
    /// assert!(todo.is_empty());
    /// ```
    pub const fn new() -> Self {
        Self {
            items: VecDeque::new(),
        }
    }

    /// Creates an empty deque with room for `capacity` items.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            items: VecDeque::with_capacity(capacity),
        }
    }

    /// Adds the newest item, at the shallow end.
    ///
    /// ```
    /// # use tautline_core::deque::Local;
    /// let mut todo = Local::new();
    /// todo.push(1);
    /// todo.push(2);
    /// assert_eq!(todo.pop(), Some(2));
    /// ```
    #[inline]
    pub fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    /// Takes the newest item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop_back()
    }

    /// Takes the `k` oldest items, or all if there are fewer: one contiguous batch, oldest first.
    ///
    /// ```
    /// # use tautline_core::deque::Local;
    /// let mut todo: Local<u32> = (1..=5).collect();
    /// assert_eq!((todo.steal(2), todo.len()), (vec![1, 2], 3));
    /// ```
    pub fn steal(&mut self, k: usize) -> Vec<T> {
        let k = k.min(self.items.len());
        self.items.drain(..k).collect()
    }

    /// Adds loot at the shallow end, in its order: the last item of the batch is popped first.
    ///
    /// ```
    /// # use tautline_core::deque::Local;
    /// let mut todo: Local<u32> = Local::from(vec![1]);
    /// todo.append(vec![2, 3]);
    /// assert!(todo.iter().eq(&[1, 2, 3]));
    /// ```
    pub fn append(&mut self, loot: Vec<T>) {
        if self.items.is_empty() {
            self.items = loot.into();
        } else {
            self.items.extend(loot);
        }
    }

    /// Returns the number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns the items, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.items.iter()
    }

    /// Takes all items out, oldest first.
    ///
    /// ```
    /// # use tautline_core::deque::Local;
    /// let mut todo: Local<u32> = (1..=3).collect();
    /// assert!(todo.drain().eq(1..=3) && todo.is_empty());
    /// ```
    pub fn drain(&mut self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator {
        self.items.drain(..)
    }
}

impl<T> Default for Local<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> From<Vec<T>> for Local<T> {
    /// Creates a deque in which the last item of the vector is the newest.
    fn from(items: Vec<T>) -> Self {
        Self {
            items: items.into(),
        }
    }
}

impl<T> From<Local<T>> for Vec<T> {
    /// Returns the items, oldest first.
    fn from(local: Local<T>) -> Self {
        local.items.into()
    }
}

impl<T> Extend<T> for Local<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        self.items.extend(items);
    }
}

impl<T> FromIterator<T> for Local<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self {
            items: items.into_iter().collect(),
        }
    }
}
