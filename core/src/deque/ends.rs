//! The deque traits for the Chase-Lev deque.

use super::chase_lev::{Deque, Owner, Thief};
use super::ring::Ring;
use super::{Full, OwnerEnd, Steal, ThiefEnd, Word, WorkDeque};

impl<T: Word, R: Ring> WorkDeque<T> for Deque<T, R> {
    type Owner<'a>
        = Owner<'a, T, R>
    where
        Self: 'a;
    type Thief<'a>
        = Thief<'a, T, R>
    where
        Self: 'a;

    fn owner(&self) -> Option<Owner<'_, T, R>> {
        self.owner()
    }

    #[inline]
    fn thief(&self) -> Thief<'_, T, R> {
        self.thief()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }
}

impl<T: Word, R: Ring> OwnerEnd<T> for Owner<'_, T, R> {
    #[inline]
    fn push(&self, item: T) -> Result<(), Full<T>> {
        self.try_push(item)
    }

    #[inline]
    fn pop(&self) -> Option<T> {
        self.pop()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }
}

impl<T: Word, R: Ring> ThiefEnd<T> for Thief<'_, T, R> {
    #[inline]
    fn steal(&self) -> Steal<T> {
        self.steal()
    }

    #[inline]
    fn len(&self) -> usize {
        self.len()
    }
}
