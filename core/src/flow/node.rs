//! Waiters: a node of one allocation, in one list at a time.
//!
//! # Aliasing
//! A node may be reached by two at a time: by the put that walks with it, and by an owner of its waiter that has kept a
//! pointer to it, as the scope of a data-driven task does. So it is held by [`NodeBox`], a pointer that, unlike a `Box`,
//! claims no exclusive access when it is moved; both sides access fields through pointers that were derived from the
//! allocation, and no reference covers more than the fields that its side may touch.

use super::{Ddf, End, Latch, Link};
use alloc::boxed::Box;
use core::mem::{self, offset_of};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// What a put calls back.
///
/// A waiter whose cell is dropped empty is dropped itself.
pub trait Waiter: Send + Sized {
    /// The cell that the node was registered with is full. Called once, by the put, on its thread; the node may be
    /// registered again, with another cell.
    fn released(node: NodeBox<Self>);
}

/// A waiter and the link that lists hold it by, in one allocation.
///
/// The link comes first, so lists know a node by a thin pointer, whatever waits in it.
#[derive(Debug)]
#[repr(C)]
pub struct Node<W> {
    link: Link,
    /// What is called back.
    pub waiter: W,
}

/// Owns a [`Node`], which is in no list.
#[derive(Debug)]
pub struct NodeBox<W>(NonNull<Node<W>>);

impl<W: Waiter> NodeBox<W> {
    /// A node in no list. One allocation.
    pub fn new(waiter: W) -> Self {
        let link = Link::new(finish::<W>);
        let node = Box::into_raw(Box::new(Node { link, waiter }));
        // SAFETY: the pointer comes from a box.
        Self(unsafe { NonNull::new_unchecked(node) })
    }
}

impl<W> NodeBox<W> {
    /// A pointer to the waiter, which stays where it is until the node is dropped or opened. It reaches over the whole node,
    /// and creating it accesses nothing.
    pub fn pointer(&self) -> NonNull<W> {
        // SAFETY: the node is there; a place is computed, nothing is read.
        unsafe { NonNull::new_unchecked(&raw mut (*self.0.as_ptr()).waiter) }
    }

    /// The waiter alone.
    pub fn into_waiter(self) -> W {
        // SAFETY: it comes from a box, and is the caller's alone.
        let node = unsafe { Box::from_raw(self.into_node().as_ptr()) };
        node.waiter
    }

    /// As [`pointer`](Self::pointer), for whoever keeps the node by other means for a while; what the waiter begins with can
    /// be reached through it. [`from_raw`](Self::from_raw) undoes it.
    pub fn into_raw(self) -> NonNull<W> {
        let waiter = self.pointer();
        mem::forget(self);
        waiter
    }

    /// The node that was made a pointer of.
    ///
    /// # Safety
    /// The caller must have `waiter` from [`into_raw`](Self::into_raw) of the same type, or from
    /// [`pointer`](Self::pointer) of a node that was forgotten, and call this once for each such node.
    pub unsafe fn from_raw(waiter: NonNull<W>) -> Self {
        // SAFETY: the waiter lies that far behind the beginning of its node.
        Self(unsafe { waiter.byte_sub(offset_of!(Node<W>, waiter)).cast() })
    }

    fn into_node(self) -> NonNull<Node<W>> {
        mem::ManuallyDrop::new(self).0
    }
}

impl<W> Deref for NodeBox<W> {
    type Target = Node<W>;

    fn deref(&self) -> &Node<W> {
        // SAFETY: owned by this.
        unsafe { self.0.as_ref() }
    }
}

impl<W> DerefMut for NodeBox<W> {
    fn deref_mut(&mut self) -> &mut Node<W> {
        // SAFETY: owned by this.
        unsafe { self.0.as_mut() }
    }
}

impl<W> Drop for NodeBox<W> {
    fn drop(&mut self) {
        // SAFETY: it comes from a box, and is owned by this.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// # Safety
/// The caller must have `link` from a `NodeBox<W>` that was given up for it, and not use it again.
unsafe fn finish<W: Waiter>(link: NonNull<Link>, end: End) {
    // The link comes first in the node.
    let node = NodeBox::<W>(link.cast());
    match end {
        End::Released => W::released(node),
        End::Dropped => drop(node),
    }
}

impl Latch {
    /// Puts the node among those who wait for this cell.
    ///
    /// # Errors
    /// If the cell is full: gives the node back, unreleased.
    pub fn register<W>(&self, node: NodeBox<W>) -> Result<(), NodeBox<W>>
    where
        W: Waiter + 'static,
    {
        // SAFETY: the waiter borrows nothing.
        unsafe { self.register_scoped(node) }
    }

    /// [`register`](Self::register) for a waiter that borrows.
    ///
    /// # Errors
    /// If the cell is full: gives the node back, unreleased.
    ///
    /// # Safety
    /// The caller must keep what the waiter borrows alive until the waiter was released or dropped.
    pub unsafe fn register_scoped<W>(&self, node: NodeBox<W>) -> Result<(), NodeBox<W>>
    where
        W: Waiter,
    {
        let node = node.into_node();
        // SAFETY: the node was owned and is given up, its waiter is Send, and lives long enough by promise.
        if unsafe { self.register_link(node.cast()) } {
            return Ok(());
        }
        // Refused, so it is still owned here.
        Err(NodeBox(node))
    }
}

impl<T> Ddf<T> {
    /// Puts the node among those who wait for this cell.
    ///
    /// # Errors
    /// If the cell is full: gives the node back, unreleased.
    pub fn register<W>(&self, node: NodeBox<W>) -> Result<(), NodeBox<W>>
    where
        W: Waiter + 'static,
    {
        self.latch().register(node)
    }
}
