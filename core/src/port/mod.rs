//! The capabilities that the core requires of a machine, one topic a file.
//!
//! Required methods are the port: a backend that implements only those is complete and correct.
//!
//! [`Fence`], [`Thread`] and [`Unwind`] are unsafe to implement, since the pool's memory safety
//! depends on them. The other traits affect progress only: an implementation that panics inside a
//! wait of the pool aborts the process.
#![deny(unsafe_code)]

mod barrier;
#[allow(unsafe_code, reason = "an unsafe trait; nothing unsafe is done")]
mod fence;
#[cfg(feature = "alloc")]
mod link;
mod park;
mod relax;
#[allow(unsafe_code, reason = "an unsafe trait; nothing unsafe is done")]
mod thread;
mod transport;

pub use crate::watch::Watch;
pub use barrier::{Barrier, Line};
pub use fence::Fence;
#[cfg(feature = "alloc")]
pub use link::{Bell, Link, Lost};
pub use park::{Clock, Park, Unpark};
pub use relax::{Relax, Spin};
pub use thread::{Thread, Unwind};
pub use transport::Transport;

/// The capabilities of one place of a computation whose messages are `M`. No method blocks: the
/// driver of a worker decides what a worker without work does.
pub trait Port<M>: Clock + Relax + Transport<M> + Unpark {}

impl<M, P: Clock + Relax + Transport<M> + Unpark> Port<M> for P {}

/// The capabilities required by the workers of one pool of tasks.
pub trait Host: Clock + Fence + Park + Relax + Thread + Unwind + Watch + Sync + 'static {}

impl<P: Clock + Fence + Park + Relax + Thread + Unwind + Watch + Sync + 'static> Host for P {}
