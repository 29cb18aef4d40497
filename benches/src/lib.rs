//! The harness of the tables that compare Tautline with its peers, on the same work. The measured
//! programs are in `examples`, and what they share that is measured is in `common`.
//!
//! | module | content |
//! |---|---|
//! | [`samples`] | rounds in which the contenders take turns, and their figures |
//! | [`figures`] | stored figures of machines |
//! | [`stored`] | the options on them, and what a [`Table`](stored::Table) is |
//! | [`markdown`] | tables and verdicts |
//! | [`machine`] | the machine and the conditions of a run |
//! | [`pools`] | pinned threads |
//! | [`launched`] | tables of rows that are measured by ranks, and judged by bounds |
//! | [`programs`] | programs of peers, and measurements in processes of their own |
//! | `ranks` | pairs of ranks of MPI |
#![forbid(unsafe_code)]

pub mod figures;
pub mod launched;
pub mod machine;
pub mod markdown;
pub mod pools;
pub mod programs;
#[cfg(feature = "mpi")]
pub mod ranks;
pub mod samples;
pub mod stored;
