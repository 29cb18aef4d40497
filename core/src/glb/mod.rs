//! Global load balancing: a program gives a [`Bag`], the runtime keeps everybody busy.
#![forbid(unsafe_code)]

mod bag;
mod protocol;

pub use bag::{Bag, Share};
pub use protocol::{Actions, Message, Protocol};
