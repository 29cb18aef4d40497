//! Waiters: a node of one allocation, in one list at a time.
//!
//! # Aliasing
//! Two threads may access a node at the same time: the put that walks with it, and an owner of its
//! waiter that keeps a pointer to it, as the scope of a data-driven task does. So a node is owned
//! by a [`NodeBox`], a pointer that, unlike a `Box`, asserts no exclusive access when it is moved.
//! Both sides access fields through pointers derived from the allocation, and no reference covers
//! more than the fields that its side may access.

use super::ddf::Ddf;
use super::latch::{End, Latch, Link};
use alloc::boxed::Box;
use core::mem::{self, offset_of};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

/// A callback of a put.
///
/// A waiter whose cell is dropped empty is dropped.
pub trait Waiter: Send + Sized {
    /// Continues after the wait. Called once, by the put that fills the cell with which the node
    /// was registered, on its thread. The node may then be registered with another cell.
    fn released(node: NodeBox<Self>);
}

/// A waiter and its link, in one allocation.
///
/// The link is the first field, so lists refer to a node by a thin pointer, regardless of its type.
#[derive(Debug)]
#[repr(C)]
pub struct Node<W> {
    link: Link,
    /// The callback.
    pub waiter: W,
}

/// An owned [`Node`] that is in no list.
#[derive(Debug)]
pub struct NodeBox<W>(NonNull<Node<W>>);

impl<W: Waiter> NodeBox<W> {
    /// Allocates a node that is in no list.
    pub fn new(waiter: W) -> Self {
        let link = Link::new(finish::<W>);
        let node = Box::into_raw(Box::new(Node { link, waiter }));
        // SAFETY: the pointer comes from a box.
        Self(unsafe { NonNull::new_unchecked(node) })
    }
}

impl<W> NodeBox<W> {
    /// Returns a pointer to the waiter, whose address is stable until the node is dropped or
    /// opened. The pointer has provenance over the whole node, and creating it accesses nothing.
    pub fn pointer(&self) -> NonNull<W> {
        // SAFETY: the node is allocated; only an address is computed.
        unsafe { NonNull::new_unchecked(&raw mut (*self.0.as_ptr()).waiter) }
    }

    /// Frees the node and returns the waiter.
    pub fn into_waiter(self) -> W {
        // SAFETY: the node comes from a box, and `self` owns it.
        let node = unsafe { Box::from_raw(self.into_node().as_ptr()) };
        node.waiter
    }

    /// As [`pointer`](Self::pointer), and gives up the ownership of the node until
    /// [`from_raw`](Self::from_raw).
    pub fn into_raw(self) -> NonNull<W> {
        let waiter = self.pointer();
        mem::forget(self);
        waiter
    }

    /// Takes over the ownership of a node.
    ///
    /// # Safety
    /// The caller must have `waiter` from [`into_raw`](Self::into_raw) of the same type, or from
    /// [`pointer`](Self::pointer) of a node that was forgotten, and call this once for each such
    /// node.
    pub unsafe fn from_raw(waiter: NonNull<W>) -> Self {
        // SAFETY: the waiter is at this offset in its node.
        Self(unsafe { waiter.byte_sub(offset_of!(Node<W>, waiter)).cast() })
    }

    fn into_node(self) -> NonNull<Node<W>> {
        mem::ManuallyDrop::new(self).0
    }
}

impl<W> Deref for NodeBox<W> {
    type Target = Node<W>;

    fn deref(&self) -> &Node<W> {
        // SAFETY: `self` owns the node.
        unsafe { self.0.as_ref() }
    }
}

impl<W> DerefMut for NodeBox<W> {
    fn deref_mut(&mut self) -> &mut Node<W> {
        // SAFETY: `self` owns the node.
        unsafe { self.0.as_mut() }
    }
}

impl<W> Drop for NodeBox<W> {
    fn drop(&mut self) {
        // SAFETY: the node comes from a box, and `self` owns it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Ends the wait of a node.
///
/// # Safety
/// The caller must own the node, `link` must come from a `NodeBox<W>`, and the caller must not
/// access it afterwards.
unsafe fn finish<W: Waiter>(link: NonNull<Link>, end: End) {
    // The link is the first field of the node.
    let node = NodeBox::<W>(link.cast());
    match end {
        End::Released => W::released(node),
        End::Dropped => drop(node),
    }
}

impl Latch {
    /// Registers the node as a waiter of this cell.
    ///
    /// # Errors
    /// If the cell is full: returns the node, which is not released.
    pub fn register<W>(&self, node: NodeBox<W>) -> Result<(), NodeBox<W>>
    where
        W: Waiter + 'static,
    {
        // SAFETY: the waiter is `'static`, and the borrow keeps the cell alive.
        unsafe { Self::register_scoped(NonNull::from(self), node) }
    }

    /// As [`register`](Self::register), for a waiter that borrows, or whose release may free the
    /// cell before this returns; see [`register_link`](Self::register_link).
    ///
    /// # Errors
    /// If the cell is full: returns the node, which is not released.
    ///
    /// # Safety
    /// The caller must keep what the waiter borrows alive until the waiter was released or dropped,
    /// and the cell until the node is registered.
    pub unsafe fn register_scoped<W>(
        this: NonNull<Self>,
        node: NodeBox<W>,
    ) -> Result<(), NodeBox<W>>
    where
        W: Waiter,
    {
        let node = node.into_node();
        // SAFETY: the node was owned and is given up, its waiter is Send, and what it borrows and
        // the cell live long enough, as the caller ensures.
        if unsafe { Self::register_link(this, node.cast()) } {
            return Ok(());
        }
        // The registration failed, so the node is still owned here.
        Err(NodeBox(node))
    }
}

impl<T> Ddf<T> {
    /// Registers the node as a waiter of this cell.
    ///
    /// # Errors
    /// If the cell is full: returns the node, which is not released.
    pub fn register<W>(&self, node: NodeBox<W>) -> Result<(), NodeBox<W>>
    where
        W: Waiter + 'static,
    {
        self.latch().register(node)
    }
}
