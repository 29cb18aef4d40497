//! Nodes: values that are immutable once they are published.

use alloc::sync::Arc;
use core::ops::Deref;
use core::ptr::NonNull;

/// A value of an object. The address leaves the low bits of a word to the state of the copy.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Node<T>(pub(super) T);

/// A value of an object, kept by a reference count: it may be sent, and kept as long as required.
#[derive(Debug)]
pub struct Counted<T>(pub(super) Arc<Node<T>>);

impl<T> Counted<T> {
    /// Allocates a value.
    ///
    /// # Panics
    /// If there is no memory.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(Arc::new(Node(value)))
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.0
    }
}

/// A node that no copy has any more, with the reference count of the copy. Dropped, it gives up
/// that reference.
#[derive(Debug)]
pub struct Retired {
    node: NonNull<()>,
    release: unsafe fn(NonNull<()>),
}

// SAFETY: made of nodes of types that are Send and Sync (`of`), so another thread may release them.
unsafe impl Send for Retired {}

impl Retired {
    /// Retires a node, whose reference was that of a copy.
    pub(super) fn of<T: Send + Sync + 'static>(node: Arc<Node<T>>) -> Self {
        let node = Arc::into_raw(node).cast_mut();
        Self {
            // SAFETY: the pointer of an `Arc` is not null.
            node: unsafe { NonNull::new_unchecked(node) }.cast(),
            release: release::<T>,
        }
    }

    /// Returns the address, by which guards name it.
    pub(super) fn address(&self) -> usize {
        self.node.addr().get()
    }
}

impl Drop for Retired {
    fn drop(&mut self) {
        // SAFETY: `of` has stored the function for this type, and the reference is given up once.
        unsafe { (self.release)(self.node) };
    }
}

/// # Safety
/// The caller must pass a pointer from `Arc::into_raw` of a node of `T`, and give up its reference.
unsafe fn release<T>(node: NonNull<()>) {
    // SAFETY: the caller gives up the reference of this pointer.
    drop(unsafe { Arc::from_raw(node.as_ptr().cast::<Node<T>>()) });
}
