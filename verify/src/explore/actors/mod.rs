//! The protocols of the core as actors over a [`Network`](super::Network).

mod begun;
mod closing;
mod collective;
mod compared;
mod deferred;
mod epochs;
mod finish;
mod gossip;
mod leaving;
mod ledger;
mod opening;
mod quiesce;
mod search;

pub use begun::Forecast;
pub use closing::{ClosingSlip, Closings};
pub use collective::{Collective, Kind, Mistake};
pub use compared::{Compared, ComparedSlip};
pub use deferred::{DeferSlip, Deferring, Effects};
pub use epochs::{EpochSlip, SelfScheduled};
pub use finish::{Activities, Break};
pub use gossip::{Gossip, Slip};
pub use leaving::{Leaving, LeavingSlip, Program};
pub use ledger::Ledgers;
pub use opening::{Opening, OpeningSlip};
pub use quiesce::Tokens;
pub use search::Search;
