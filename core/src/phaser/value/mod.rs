//! The values of accumulators: elements and operators, cells, and the reduction as a fold.
//!
//! Independent of the tree; `tree::values` applies a reduction to nodes.

pub(crate) mod cell;
pub(crate) mod operator;
pub(crate) mod reduction;
