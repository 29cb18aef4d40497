//! The words of a shared object's copy at one rank.
//!
//! A shared object has a home, a rank whose directory knows the ranks that have copies. The copies
//! are kept coherent by messages: many ranks may read, or one may write. This module has the part
//! that workers reach without a lock: the state of a copy, its lock bit and its value. An access
//! that finds the state that it requires is a hit, and sends no message. Any other access is a
//! miss, which the protocol must serve.
//!
//! | part | kind | where |
//! |---|---|---|
//! | [`FlatCopy`] | word | plain data of a few machine words: a hit copies them |
//! | [`State`], [`COUNTED`] | bits | the right that a rank has; accesses that are counted |
#![forbid(unsafe_code)]

mod flat;
mod word;

pub use flat::{FlatCopy, Recalled};
pub use word::{COUNTED, State};
