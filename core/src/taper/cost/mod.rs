//! The work distribution cache: the times of a loop's iterations in its earlier executions.
//!
//! | part | what it is |
//! |---|---|
//! | [`Coherence`], [`Class`] | how alike two executions are |
//! | [`CostFunction`], [`Samples`] | the time of any range of iterations, from samples |
//! | `scaled` | transfers of equal predicted work instead of an equal count |
//! | [`Sites`], [`Site`] | the cost functions of a program's loops, by call site |
//! | [`Trail`] | the enclosing loops, which distinguish executions of one call site |
//!
//! # Algorithm
//! Lucco 1995, section 2.4 (spec 2.7-2.11).

mod coherence;
mod function;
mod scaled;
mod sites;
mod trail;

pub use coherence::{Class, Coherence};
pub use function::{CostFunction, Samples};
pub use scaled::is_admitted;
pub use sites::{Site, Sites, Slot};
pub use trail::Trail;
