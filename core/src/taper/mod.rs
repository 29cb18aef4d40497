//! Adaptive division of a parallel loop into chunks, which processors take one at a time.
//!
//! | part | what it is |
//! |---|---|
//! | [`Policy`], [`Taper`] | the next chunk from the remaining iterations: pure, integers only |
//! | [`Instance`], [`Overhead`] | the loop: its size, processors, minimum chunk |
//! | [`Estimate`], [`Summary`] | the mean and variation of the times of its iterations |
//! | [`CostFunction`], [`Sites`], [`Trail`] | the times of earlier executions, by call site and enclosing loops |
//! | [`Claim`] | the shared counter from which threads take the chunks |
//! | [`DryRun`], [`Lag`] | the chunks of a policy without a loop; the unevenness they leave |
//! | [`Allocator`], [`Demand`] | processors for concurrent loops; when a loop ends |
//! | [`Division`] | static divisions: blocked, cyclic, random |
//!
//! # Algorithm
//! Lucco 1995, section 4, with the corrections of spec 2.3 and 2.4. All policies are functions of
//! the number of remaining iterations, those of factoring and of trapezoid self-scheduling too, so
//! that the shared word is a bare counter, and any thread may join or leave a loop.
//!
//! TAPER is cautious while it has no samples (σ/μ = 3). In simulations of a queue without
//! contention (`core/tests/taper/shared_queue.rs`) it is not the best for every loop, but near the
//! best for all, which no other policy is.
#![forbid(unsafe_code)]

mod claim;
mod cost;
mod division;
mod fixed;
mod lag;
mod policy;
mod share;
mod summary;

pub use claim::Claim;
pub use cost::{Class, Coherence, CostFunction, Samples, Site, Sites, Slot, Trail, is_admitted};
pub use division::{Division, Share, blocked};
pub use fixed::Q16;
pub use lag::{Fill, Lag};
pub use policy::{DryRun, Instance, Overhead, Policy, Taper};
pub use share::{Allocation, Allocator, Demand, FinishTime};
pub use summary::{CV_START, Estimate, SAMPLES_MIN, Summary};
