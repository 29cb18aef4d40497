//! Copies of objects of any type: a node behind a pointer, which readers protect.
//!
//! # A folder with `unsafe`
//! A view refers to a node without a lock and without a reference count, so that a hit writes no
//! line that another thread reads. That the node is not freed meanwhile follows from hazard
//! pointers ([`guards`]), which no safe type expresses. A node that a view protects is reclaimed
//! after the view.

mod copy;
mod guards;
mod node;

pub use copy::{BoxedCopy, View};
pub use guards::{Guards, Reclaimed, Seat};
pub use node::{Counted, Retired};
