//! Termination detection: the end of all activities, and its outcome.
//!
//! | part | kind | where |
//! |---|---|---|
//! | [`Counter`] | word | inside one memory: one atomic count |
//! | [`Ledger`], [`Home`] | protocol | over places: vector counts, reported when a place is quiet |
//! | [`Finishes`] | protocol | one place's part in many finishes: any home, nested, with an [`Outcome`] |
//! | [`Credit`] | protocol | bounds on activities in flight between two ranks |
//!
//! # Algorithm
//! Vector counts after Mattern 1987 and Saraswat 2011: a place counts +1 at \[q\] for each activity
//! it spawned at q and -1 at itself for each that ended there; when quiet it sends the change since
//! its last report to the home, which is done when all components are zero.
//!
//! What differs: a report carries its number, and the home is done only when no report is missing
//! in between. Without that the sums can be zero too early if a later report overtakes an earlier
//! one: the home p spawns w at q and ends; w spawns y at p and ends, and q's first report is
//! delayed; y spawns x at q, x ends, and q's second report cancels p's count of w while y still
//! runs. `verify/tests/explore.rs` finds such histories when the numbers are ignored.
//!
//! Inside a place the [`Counter`] of the finish's scope counts; the place's part in the protocol is
//! informed only of activities that leave or arrive, and of the counter's zero. A finish that
//! spawns nothing elsewhere has no [`FinishId`] and costs one counter.
//!
//! *Reports* travel up a tree of the places, rotated so that the home is its root. A place adds the
//! reports from below to its own and forwards the sum, with the numbers of all reports in it, when
//! its own activities have ended: before that the finish cannot end.
//!
//! *Cancellation* follows the spawns: each place that took part passes it on to the places that it
//! spawned at, once, and refuses to spawn afterwards. A cancellation is counted as an activity, so
//! that none is in flight after the end.
//!
//! *The balancer keeps a [`Ledger`] and a [`Home`]* instead of one of the [`Finishes`]: it has one
//! finish, whose home is its home, so its reports need no name of the finish and go there at once.
//! Those of a [`Finishes`] go up the tree, with the numbers of all reports in them: they are
//! longer, and the end comes as many messages later as the tree is deep, which would change every
//! simulated figure of the balancer.
//!
//! *After a loss* of a place the counts of that place cannot be completed. The home repeats the
//! count: each surviving place reports, when quiet, all activities that it ever exchanged with
//! surviving places, and the home waits for a report of each of them. Activities that arrive later
//! from the lost place are dropped. This part requires what a [`Link`](crate::port::Link)
//! guarantees, messages in order between two places; all others hold for any order.
//!
//! Messages of peers are checked (names, path in the tree, numbers, order, sums), and refused with
//! an error that names the peer. Decision 27 in `docs/decisions` has the alternatives.
//!
//! # Proved
//! [`Counter`] by loom (`verify/tests/finish.rs`); the protocols over every delivery order of small
//! configurations (`verify/tests/explore.rs`, `verify/tests/explore/finish.rs`): exactly once,
//! never early, with the right outcome, and nothing is kept afterwards.
//!
//! # Not proved
//! That an activity is not delivered twice: a link's promise. A report delivered twice is detected.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "distributed"),
    allow(dead_code, reason = "only `Finishes` uses it")
)]

#[cfg(feature = "distributed")]
mod branch;
mod counter;
#[cfg(feature = "distributed")]
mod credit;
#[cfg(feature = "alloc")]
mod ledger;
#[cfg(feature = "alloc")]
mod message;
mod outcome;
#[cfg(feature = "distributed")]
mod route;
#[cfg(feature = "distributed")]
mod table;

pub use counter::{Counter, End};
#[cfg(feature = "distributed")]
pub use credit::{Credit, CreditEvent, Ungranted};
#[cfg(feature = "alloc")]
pub use ledger::{Home, Ledger, Report};
#[cfg(feature = "alloc")]
pub use message::{Combined, Effect, Event, FinishId, Message, Refusal};
#[cfg(feature = "alloc")]
pub use outcome::Outcome;
pub use outcome::Reason;
#[cfg(feature = "distributed")]
pub use table::{Arrival, Finishes, Spawn};
