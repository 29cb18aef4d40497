//! Programs over ranks in virtual time, by the machines that ship: the calls of a team, finishes
//! over ranks, phases of the tasks of all ranks.
//!
//! | type | simulates | beside the bound |
//! |---|---|---|
//! | [`Teamed`] | a [call](TeamOp) of all ranks | `2 log_radix P` latencies, or `log2 P` in pairs |
//! | [`Storm`] | activities anywhere under nested finishes | from the last activity to the end: `2 log_radix P` latencies |
//! | [`Hybrid`] | a phase of the tasks of all ranks | the bounds of its local parts and of the exchange |
//!
//! # Example
//! ```
//! use tautline_sim::teams::{TeamCosts, TeamOp, Teamed};
//!
//! let team = Teamed::of(TeamCosts::of(1000));
//! let cost = team.run(TeamOp::Barrier);
//! assert_eq!(cost.messages, 2 * 999);
//! assert!(cost.most_sent <= u64::from(team.radix()) + 1);
//! assert!(cost.ns > cost.bound_ns && cost.ns < 5 * cost.bound_ns);
//! ```

mod call;
mod collective;
mod costs;
mod hybrid;
mod local;
mod member;
mod storm;

pub use call::TeamOp;
pub use collective::{CallCost, Teamed};
pub use costs::TeamCosts;
pub use hybrid::{Hybrid, PhaseCost};
pub use storm::{Storm, StormCost};
