//! Concurrent loops: `cx.concurrent`.
//!
//! | part | what it is |
//! |---|---|
//! | [`LoopScope`], [`ConcurrentLoop`] | the loops of a scope, and what each declares |
//! | `declared`, [`LoopConflict`], `check` | the declarations; what is wrong with them; which iterations wait for which |
//! | [`Dispatcher`], [`Sharing`] | which chunk of which loop a worker runs next: a state machine |
//! | `node` | a loop of the dispatcher |
//! | `run` | the loops as tasks |
//!
//! # Algorithm
//! Lucco 1995, 003:760-868; spec 2.13 and 2.14. All is declared first, so the columns that each
//! iteration accesses are known when the first one runs: loops that may not run as declared are
//! refused, and a split loop is a number of counters. The dispatcher is guarded by one lock, taken
//! once before and once after a chunk, which also orders what one iteration writes before another
//! one reads it; so no further word is shared. Workers that find nothing to take leave, and a
//! worker that completes what others wait for spawns tasks in which they join again: no worker
//! waits for a loop.
//!
//! The tasks are spawned in the scope that the loops run in, so a panic ends as in other scopes; a
//! cancellation unwinds out of `concurrent` to the finish. `check` compares each loop with itself
//! and with the others column by column; a test compares it with all pairs of iterations. Decision
//! 21 in `docs/decisions` has the measured gain over a barrier.
//!
//! The views of an iteration are in [`raw`](super::raw): unsafe code which relies on `check` and on
//! the dispatcher.

mod check;
mod conflict;
mod declared;
mod dispatcher;
mod node;
mod run;
mod scope;

pub(super) use check::check;
pub use conflict::LoopConflict;
pub(super) use declared::{Declared, Name, Outline};
pub use dispatcher::{Dispatched, Dispatcher, Sharing};
pub use scope::{ConcurrentLoop, LoopId, LoopScope};
