//! Data-driven cells: a task waits for a value, not for another task.
//!
//! | part | kind | where |
//! |---|---|---|
//! | [`Ddf`] | word | a cell that is put once and then shared by its readers |
//! | [`Node`], [`Waiter`] | word | a waiter, one allocation, called back on the thread of the put |
//! | [`when_all`], [`Inputs`] | protocol | AND: ready when all cells are full, one node in all |
//! | [`CellRef`] | word | a cell, borrowed or owned, kept alive while a wait registers with it |
//! | [`when_any`] | protocol | OR: ready when one cell is full, one token |
//! | [`DdfList`] | protocol | either, over a list built while the program runs |
//! | [`wait`](Ddf::wait), [`wait_all`], [`wait_any`] | futures | the same for `async` code |
//!
//! This module is independent of tasks and workers, and nothing blocks: a [`put`](Ddf::put) calls
//! [`Waiter::released`] for each waiter that it releases, on its own thread. A waiter that puts
//! further cells in this call recurses, to the depth of the longest chain of cells.
//!
//! # A protocol with `unsafe`
//! A full cell is read by many threads without a lock, and its waiters are nodes owned by the
//! thread that took them out of a list: no safe type expresses either.
//!
//! # Lifetimes
//! A waiter stays in a cell until the cell is put or dropped, which no borrow of the cell bounds.
//! So the safe functions take waiters that are `'static`. Their `_scoped` variants are `unsafe` and
//! for callers that bound the life of every waiter, as a finish does: what a waiter borrows must
//! live until the waiter was released or dropped.
//!
//! # Not proved
//! A wrapper of [`when_any`] stays in a cell that is never put until that cell is dropped, some 50
//! bytes each.

#[cfg(feature = "alloc")]
mod all;
#[cfg(feature = "alloc")]
mod any;
mod ddf;
mod latch;
#[cfg(feature = "alloc")]
mod list;
#[cfg(feature = "alloc")]
mod node;
#[cfg(feature = "alloc")]
mod reference;
#[cfg(feature = "alloc")]
mod wait;

#[cfg(feature = "alloc")]
pub use all::{All, Inputs, OneInput, Ready, walk, when_all, when_all_scoped};
#[cfg(feature = "alloc")]
pub use any::{EmptyAny, when_any, when_any_scoped};
pub use ddf::{AlreadyFull, Ddf, NotReady};
pub use latch::{End, Latch, Link, Waiters};
#[cfg(feature = "alloc")]
pub use list::{DdfList, Fired, NoIndex};
#[cfg(feature = "alloc")]
pub use node::{Node, NodeBox, Waiter};
#[cfg(feature = "alloc")]
pub use reference::CellRef;
#[cfg(feature = "alloc")]
pub use wait::{Wait, WaitAll, WaitAny, wait_all, wait_any};
