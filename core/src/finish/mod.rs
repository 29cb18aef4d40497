//! Termination detection: whether all activities have ended.
//!
//! | part | kind | where |
//! |---|---|---|
//! | [`Counter`] | word | inside one memory: one atomic count |
//! | [`Ledger`], [`Home`] | protocol | over places: vector counts, reported when a place is quiet |
//!
//! # Algorithm
//! Vector counts after Saraswat 2011: a place counts +1 at \[q\] for each activity it spawned at q
//! and -1 at itself for each that ended there; when quiet it sends the change since its last report
//! to the home, which is done when all components are zero.
//!
//! What differs: a report carries its number, and the home is done only when no report is missing
//! in between. Without that the sums can be zero too early if a later report overtakes an earlier
//! one: the home p spawns w at q and ends; w spawns y at p and ends, and q's first report is
//! delayed; y spawns x at q, x ends, and q's second report cancels p's count of w while y still
//! runs. `verify/tests/explore.rs` finds such histories when the numbers are ignored.
//!
//! # Proved
//! [`Counter`] by loom (`verify/tests/finish.rs`); the protocol over every delivery order of small
//! configurations (`verify/tests/explore.rs`): exactly once, never early.
#![forbid(unsafe_code)]

mod counter;
#[cfg(feature = "alloc")]
mod ledger;
mod reason;

pub use counter::{Counter, End};
#[cfg(feature = "alloc")]
pub use ledger::{Home, Ledger, Report};
pub use reason::Reason;
