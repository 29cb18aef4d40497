//! The capabilities that the core requires of a machine, one topic a file.
//!
//! Required methods are the port: a backend that implements only those is complete and correct.
//!
//! [`Fence`], [`Thread`] and [`Unwind`] are unsafe to implement, since the pool's memory safety
//! depends on them. The other traits affect progress only: an implementation that panics inside a
//! wait of the pool aborts the process.
//!
//! The safe traits are implemented for references too, [`Link`] for mutable ones. The unsafe ones
//! are not: a pool owns its [`Host`], and this module makes no promise on behalf of an implementor.
//! With [`Thread`] for references, safe code could give one port to two pools. A thread that is
//! worker 0 of one of them would be taken for worker 0 of the other, whose queue would then have
//! two owners.
//!
//! ```compile_fail,E0277
//! # use tautline_core::{port::Host, task::Pool};
//! fn two_pools<P: Host>(port: &'static P) -> [Pool<&'static P>; 2] {
//!     [Pool::new(port, 1), Pool::new(port, 1)]
//! }
//! ```
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
pub use link::{Alone, Bell, Link, Lost};
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
