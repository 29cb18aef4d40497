//! Phasers: barriers, point-to-point synchronization and reductions in one construct, for groups of tasks that change.
//!
//! A task holds a [`Registration`], which says by its [`Mode`] what it may do. In each phase it signals, waits, or both; nobody leaves
//! the wait of a phase before everybody who signals has signalled it or is gone. A registered task registers others, at any time; who
//! drops its registration is no longer waited for. Three ways to wait mean the same: on a thread (`*_blocking`, which spins and
//! yields as the port says; `*_while`, for so long), asleep until woken ([`Registration::poll_wait`] with any waker), and as a future
//! ([`Registration::next`]). Where a port has barrier lines, it is decided for each phase whether a line carries it.
//!
//! # Algorithm
//! Chatterjee 2013, chapter 6; the heads of `tree`, `accumulator` and `window` say what differs.
//!
//! # Proved
//! By loom, for two to four tasks: phase order and termination under registration, growth, drops, crossed phasers, split phases,
//! sleep; values counted once; the window. By random schedules, for up to 16 tasks. See `verify/MODELS.md`.
//!
//! # Not proved
//! Loom does not explore load buffering.
#![allow(unreachable_pub, reason = "the module is being divided anew")]

mod accumulator;
pub mod baseline;
mod collective;
mod error;
mod mode;
mod next;
mod registration;
mod shared;
mod tree;
mod window;

pub use accumulator::{At, Element, Op};
pub use collective::{Begin, Collective};
pub use error::PhaserError;
pub use mode::Mode;
pub use next::Next;
pub use registration::Registration;
pub use shared::{Accumulator, Census, Config, Phase, Phaser};
pub use window::{Carrier, State, Window};
