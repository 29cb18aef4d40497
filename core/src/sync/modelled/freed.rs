//! A pointer of which loom also checks the end: freeing it is a write to it.
//!
//! Loom alone does not notice an access to a word that was freed. It does not see the order that an
//! `Arc` gives, so the words in one cannot be checked like this.

use super::AtomicPtr;
use core::ops::Deref;

/// An `AtomicPtr` that its owner frees as soon as its value permits.
#[derive(Debug)]
pub struct FreedPtr<T>(AtomicPtr<T>);

impl<T> FreedPtr<T> {
    /// Creates one with `value`.
    #[track_caller]
    pub fn new(value: *mut T) -> Self {
        Self(AtomicPtr::new(value))
    }
}

impl<T> Deref for FreedPtr<T> {
    type Target = AtomicPtr<T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> Drop for FreedPtr<T> {
    fn drop(&mut self) {
        // A second panic would abort, and hide the first.
        if !std::thread::panicking() {
            self.0.with_mut(|_| ());
        }
    }
}
