//! Values of the systems above a pool, which it keeps for them without knowledge of their types.

use super::Pool;
use crate::port::Host;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::any::{Any, TypeId};

/// The values, at most one of a type.
pub(super) struct Extensions(Vec<(TypeId, Box<dyn Any + Send + Sync>)>);

impl Extensions {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets the value of type `T`, in place of the one before.
    fn set<T: Any + Send + Sync>(&mut self, value: T) {
        let id = TypeId::of::<T>();
        self.0.retain(|(before, _)| *before != id);
        self.0.push((id, Box::new(value)));
    }

    /// Returns the value of type `T`. There are few, so a search compares a few words.
    fn get<T: Any>(&self) -> Option<&T> {
        let (_, value) = self.0.iter().find(|(id, _)| *id == TypeId::of::<T>())?;
        value.downcast_ref()
    }
}

impl<P: Host> Pool<P> {
    /// Keeps a value for the system whose type it is: settings, or what its tasks share. Replaces
    /// the value of that type, if there is one.
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Pool};
    /// # fn f<P: Host>(pool: Pool<P>) {
    /// struct Depth(u32);
    ///
    /// let pool = pool.with_extension(Depth(3));
    /// assert!(pool.extension::<Depth>().is_some_and(|depth| depth.0 == 3));
    /// # }
    /// ```
    #[must_use]
    pub fn with_extension<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.set(value);
        self
    }

    /// Returns the value of type `T` that was [set](Self::with_extension). Meant for the start of
    /// an operation, not for each of its tasks.
    pub fn extension<T: Any>(&self) -> Option<&T> {
        self.extensions.get()
    }
}

#[cfg(all(test, not(any(tautline_loom, tautline_shuttle))))]
mod tests {
    use super::Extensions;

    /// A type has one value, the last one, whatever other types have.
    #[test]
    fn a_type_has_one_value() {
        let mut extensions = Extensions::new();
        assert_eq!(extensions.get::<u32>(), None);
        extensions.set(1u32);
        extensions.set("other");
        extensions.set(2u32);
        assert_eq!(extensions.get::<u32>(), Some(&2));
        assert_eq!(extensions.get::<&str>(), Some(&"other"));
        assert_eq!(extensions.get::<u64>(), None);
    }
}
