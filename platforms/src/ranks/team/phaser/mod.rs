//! Phasers and accumulators of the tasks or the threads of all ranks.

mod carrier;
mod exchange;
mod part;
mod tasks;
mod threads;

pub use tasks::{TeamAccumulator, TeamPhaser};
pub use threads::{ThreadAccumulator, ThreadRegistration};

use super::Team;
