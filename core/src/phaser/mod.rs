//! Phasers: barriers, point-to-point synchronization and reductions in one construct, for groups of
//! tasks whose membership changes.
//!
//! A task holds a [`Registration`], whose [`Mode`] determines what the task may do. In each phase
//! it signals, waits, or both. A wait for a phase returns only after every task that signals has
//! signalled the phase or has deregistered. A registered task may register others at any time;
//! dropping a registration deregisters its task. Three ways to wait are equivalent: blocking a
//! thread (`*_blocking`, which spins and yields as the port defines; `*_while`, for a bounded
//! time), parked until a waker is called ([`Registration::poll_wait`]), and as a future
//! ([`Registration::next`]). Where a port has barrier lines, each phase may be carried by one.
//!
//! # Algorithm
//! Chatterjee 2013, chapter 6; the heads of `tree`, `tree::values` and `line::window` state what
//! differs.
//!
//! # Files
//! Each file owns its atomic words and their table of orderings. From the bottom up: `mode`,
//! `config`, `error`, `value` (elements, operators, cells), `word` (the current phase), `single`
//! (the statement that runs once between two phases), `tree` (gathering of signals), `line` (phases
//! carried by barrier lines), `shared` (the end of a phase, which combines these), `registration`
//! (one task's view), `handle`. Imports between files form no cycle.
//!
//! A sleeper is independent of the nodes below which it wakes (`Sleeper<D>` is generic over its
//! duty), a reduction is a fold independent of nodes, and the tree reports that it is complete
//! instead of ending the phase itself. Decisions 22 and 23 in `docs/decisions` have the
//! alternatives.
//!
//! # Proved
//! By loom, for two to four tasks: phase order and termination under registration, growth, drops,
//! crossed phasers, split phases, parking; each value counted once; the window. By random
//! schedules, for up to 16 tasks. See `verify/MODELS.md`.
//!
//! # Not proved
//! Loom does not explore load buffering.

mod config;
mod error;
mod handle;
mod line;
mod mode;
mod registration;
mod shared;
mod single;
mod tree;
mod value;
mod word;

pub use config::{Census, Config, Phase};
pub use error::PhaserError;
pub use handle::{Accumulator, Phaser};
pub use mode::Mode;
pub use registration::Registration;
pub use registration::next::Next;
#[doc(hidden)]
pub use single::{Begin, Single};
pub use value::operator::{At, Element, Op};
