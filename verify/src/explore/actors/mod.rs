//! The protocols of the core as actors over a [`Network`](super::Network).

mod closing;
mod collective;
mod epochs;
mod finish;
mod ledger;
mod opening;
mod quiesce;

pub use closing::{ClosingSlip, Closings};
pub use collective::{Collective, Kind, Mistake};
pub use epochs::{EpochSlip, SelfScheduled};
pub use finish::{Activities, Break};
pub use ledger::Ledgers;
pub use opening::{Opening, OpeningSlip};
pub use quiesce::Tokens;
