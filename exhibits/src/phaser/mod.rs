//! Reference phasers for comparison with the tree of `tautline_core::phaser`, with blocking waits
//! only.
//!
//! # Algorithm
//! The two phasers of Habanero Java (Chatterjee 2013, 6.2.3, after Shirako, Peixotto, Sarkar,
//! Scherer 2008 and Shirako, Sarkar 2010): see [`Flat`] and [`Tiered`].
//!
//! # Proved
//! By loom, for two or three tasks: phase order and termination under registration and drops. By
//! random schedules, in the programs that run on the tree, too.

mod error;
mod flat;
mod list;
mod member;
mod node;
mod shape;
mod tiered;

pub use error::BaselineError;
pub use flat::Flat;
pub use member::Member;
pub use shape::Tiers;
pub use tiered::Tiered;
