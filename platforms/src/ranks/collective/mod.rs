//! Calls that all ranks of a group make together: [`Running`] for callers that wait.

pub(crate) mod calls;
mod mailbox;
mod rooted;
mod running;
mod slice;

pub(crate) use calls::Call;
pub(crate) use running::{Running, abandon, step, unexpected};
pub(crate) use slice::elementwise;
