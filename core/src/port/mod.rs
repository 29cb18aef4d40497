//! What a machine must lend the core: one capability a file.
//!
//! Required methods are the port; a backend that implements only those is complete and correct.
#![deny(unsafe_code)]

mod barrier;
mod clock;
mod fence;
mod park;
mod relax;
mod thread;
mod transport;
mod unwind;

pub use barrier::{Barrier, Line};
pub use clock::Clock;
pub use fence::Fence;
pub use park::Park;
pub use relax::{CROWDED, Relax, Spin};
pub use thread::Thread;
pub use transport::Transport;
pub use unwind::Unwind;

/// All that a machine lends to the workers of a computation whose messages are `M`.
pub trait Port<M>: Clock + Park + Relax + Transport<M> {}

impl<M, P: Clock + Park + Relax + Transport<M>> Port<M> for P {}

/// All that a machine lends to the workers of one pool of tasks.
pub trait Host: Clock + Fence + Park + Relax + Thread + Unwind + Sync + 'static {}

impl<P: Clock + Fence + Park + Relax + Thread + Unwind + Sync + 'static> Host for P {}
