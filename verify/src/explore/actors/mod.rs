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
pub use closing::{ClosingFault, Closings};
pub use collective::{Collective, CollectiveFault, Kind};
pub use compared::{Compared, ComparedFault};
pub use deferred::{DeferFault, Deferring, Effects};
pub use epochs::{EpochFault, SelfScheduled};
pub use finish::{Activities, FinishFault};
pub use gossip::{Gossip, GossipFault};
pub use leaving::{Leaving, LeavingFault, Program};
pub use ledger::Ledgers;
pub use opening::{Opening, OpeningFault};
pub use quiesce::Tokens;
pub use search::Search;
