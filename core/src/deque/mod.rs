//! Work-stealing deques.

#[cfg(feature = "alloc")]
mod inbox;

#[cfg(feature = "alloc")]
pub use inbox::Inbox;
