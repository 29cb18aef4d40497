//! Parts of the library that a process has once: messages, deadlines, interrupts; and code that
//! depends on nothing here.
#![forbid(unsafe_code)]

#[cfg(feature = "serde")]
pub(crate) mod clock;
pub(crate) mod contain;
pub(crate) mod deadline;
#[cfg(all(unix, feature = "signals"))]
pub(crate) mod interrupt;
pub mod messages;
pub(crate) mod order;
