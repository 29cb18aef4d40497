//! Tautline on one shared-memory node: places are groups of threads of this process.

mod park;
mod run;

pub use run::{PlaceRun, Run, run};
