//! Collective operations over the ranks of a program, as state machines without I/O.
//!
//! # Algorithm
//! The ranks form a tree ([`Branch`]) whose subtrees are ranges of consecutive ranks. Values travel
//! up; a rank combines its own value with those of its children in the order of ranks, whichever
//! came first. Results travel down. So the operator need not be commutative, and its result has the
//! same bits in every run.
//!
//! | operation | up | down |
//! |---|---|---|
//! | [`Barrier`] | nothing | nothing |
//! | [`Reduce`], [`Gather`] | combined values | |
//! | [`Broadcast`], [`Scatter`] | | a value, or one for each rank of the subtree |
//! | [`AllReduce`], [`AllGather`] | combined values | the result |
//! | [`Scan`] | combined values | what the ranks before the subtree combine to |
//! | [`Pairs`] | as [`AllReduce`], without a tree: combined values, between pairs of ranks | |
//! | [`ForAll`] | as [`Pairs`] where ranks are few, else as [`AllReduce`] | |
//! | [`AllToAll`] | directly, from each rank to each other | |
//! | [`Quiesce`] | messages sent and received by all | whether they are quiescent: none is in flight |
//!
//! A [`Machine`](crate::machine::Machine) is one operation at one rank. Its messages are delivered
//! to the same operation at the other ranks; how operations are distinguished is the caller's
//! business: a [`sequence`] numbers them. Messages may overtake each other.
#![forbid(unsafe_code)]

mod all_to_all;
mod branch;
mod for_all;
mod operation;
mod pairs;
mod quiesce;
pub mod sequence;
mod wave;

pub use all_to_all::AllToAll;
pub use branch::{Branch, radix};
pub use for_all::{ForAll, InForAll};
pub use operation::{
    AllGather, AllReduce, Barrier, Broadcast, Collect, CollectForAll, Combine, CombineBefore,
    CombineForAll, Copies, Deal, Gather, Meet, Reduce, Scan, Scatter,
};
pub use pairs::{Paired, Pairs};
pub use quiesce::{Counts, InRound, Quiesce, Verdict};
pub use wave::{Message, Operation, Stray, Wave};
