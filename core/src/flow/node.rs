//! Who waits: a node of one allocation, in one list at a time.

use super::{Ddf, End, Latch, Link};
use alloc::boxed::Box;
use core::mem::offset_of;
use core::ptr::NonNull;

/// What a put calls back.
///
/// A waiter whose cell is dropped empty is dropped itself.
pub trait Waiter: Send + Sized {
    /// The cell that the node was registered with is full. Called once, by the put, on its thread; the node may be
    /// registered again, with another cell.
    fn released(node: Box<Node<Self>>);
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

impl<W: Waiter> Node<W> {
    /// A node in no list.
    pub fn new(waiter: W) -> Self {
        let link = Link::new(finish::<W>);
        Self { link, waiter }
    }
}

impl<W> Node<W> {
    /// The waiter alone.
    pub fn into_waiter(self) -> W {
        self.waiter
    }

    /// The node as a thin pointer to its waiter, for whoever keeps it by other means for a while; what the waiter begins
    /// with can be reached through it. [`from_raw`](Self::from_raw) undoes it.
    pub fn into_raw(self: Box<Self>) -> NonNull<W> {
        let node = Box::into_raw(self);
        // SAFETY: the pointer comes from a box; it keeps its reach over the whole node.
        unsafe { NonNull::new_unchecked(&raw mut (*node).waiter) }
    }

    /// The node that was made a pointer of.
    ///
    /// # Safety
    /// `waiter` comes from [`into_raw`](Self::into_raw) of the same type, and each such pointer comes back once.
    pub unsafe fn from_raw(waiter: NonNull<W>) -> Box<Self> {
        // SAFETY: the waiter lies so far behind the beginning of its node, which came from a box.
        unsafe {
            let node = waiter.byte_sub(offset_of!(Self, waiter));
            Box::from_raw(node.cast().as_ptr())
        }
    }
}

/// # Safety
/// `link` is the head of a boxed `Node<W>` that nobody else has.
unsafe fn finish<W: Waiter>(link: NonNull<Link>, end: End) {
    // SAFETY: promised by the caller; the link comes first in the node.
    let node = unsafe { Box::from_raw(link.cast::<Node<W>>().as_ptr()) };
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
    pub fn register<W>(&self, node: Box<Node<W>>) -> Result<(), Box<Node<W>>>
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
    /// What the waiter borrows lives until the waiter was released or dropped.
    pub unsafe fn register_scoped<W>(&self, node: Box<Node<W>>) -> Result<(), Box<Node<W>>>
    where
        W: Waiter,
    {
        let node = Box::into_raw(node);
        // SAFETY: from a box.
        let link = unsafe { NonNull::new_unchecked(node.cast::<Link>()) };
        // SAFETY: the node is a box that nobody else has, its waiter is Send, and lives long enough by promise.
        if unsafe { self.register_link(link) } {
            return Ok(());
        }
        // SAFETY: refused, so it is still ours alone.
        Err(unsafe { Box::from_raw(node) })
    }
}

impl<T> Ddf<T> {
    /// Puts the node among those who wait for this cell.
    ///
    /// # Errors
    /// If the cell is full: gives the node back, unreleased.
    pub fn register<W>(&self, node: Box<Node<W>>) -> Result<(), Box<Node<W>>>
    where
        W: Waiter + 'static,
    {
        self.latch().register(node)
    }
}
