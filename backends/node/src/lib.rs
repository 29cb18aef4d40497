//! Tautline on one shared-memory node: places are groups of threads of this process.

mod fence;
pub mod machine;
mod park;
mod phaser;
pub mod pool;
mod run;

pub use machine::Machine;
pub use park::wakes;
pub use phaser::{Sleeps, SpinThenYield, Waiter};
pub use run::{PlaceRun, Run, run};
