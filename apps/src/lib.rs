//! The applications of the command `tautline`: bags of work, and tasks with messages, with
//! published or independently computed results.
//!
//! They are examples of the [balancer](tautline::balance) and measure it; programs depend on the
//! crate [`tautline`], and on this one only for a command line: [`program`] gives them the options
//! and results of the command.
//!
//! | module | application |
//! |---|---|
//! | [`uts`] | counts the nodes of unbalanced trees |
//! | [`nqueens`], [`pentomino`] | count the solutions of puzzles by [backtracking](tautline::balance::backtrack) |
//! | [`tsp`] | searches a shortest tour, with a bound that all workers share |
//! | [`bc`] | computes the betweenness centrality of a graph |
//! | [`stencil`] | computes heat on a plate, by tasks and messages of ranks |
//! | [`smith_waterman`] | aligns two sequences, by tiles that wait for each other |
//! | `cholesky` | factorizes a dense matrix, by tiles in place (feature `dense`) |
//! | [`gups`] | updates random words of a distributed table (HPCC RandomAccess) |
//! | [`bfs`] | searches R-MAT graphs breadth-first, and validates the trees (Graph500) |
//! | [`heat`] | computes heat on a plate until it settles, by steps that the tasks of all ranks take together |
//! | [`selftest`] | random programs over ranks, compared with a sequential interpreter |
//! | [`synthetic`], [`recorded`] | trees of tasks with given costs: drawn at random, recorded from a program |
//! | [`iterations`] | loops with given times, and the policies that divide them |
//! | [`mod@bench`] | measures mechanisms: barriers, steals, forks, messages and others |
//! | [`graph`] | no application: graphs in files of other programs |
//! | [`text`] | no application: inputs, decoded and unpacked |
//! | [`program`] | no application: command lines for other programs |
#![forbid(unsafe_code)]

pub mod bc;
pub mod bench;
pub mod bfs;
#[cfg(feature = "dense")]
pub mod cholesky;
pub mod graph;
pub mod gups;
pub mod heat;
pub mod iterations;
pub mod nqueens;
mod part;
pub mod pentomino;
pub mod program;
mod random;
pub mod recorded;
pub mod selftest;
pub mod smith_waterman;
pub mod stencil;
pub mod synthetic;
pub mod text;
pub mod tsp;
pub mod uts;

/// The version of the keys of JSON documents: another one if a key gets another meaning or is
/// missing. `apps/JSON.md` lists them.
pub const SCHEMA: u32 = 2;

#[cfg(test)]
mod tests {
    use tautline::{Error, Result};

    /// Returns the message, once `?` has converted the error.
    fn line<T>(of: impl FnOnce() -> Result<T>) -> String {
        of().err().expect("a refusal").to_string()
    }

    #[test]
    fn every_error_of_an_application_converts() {
        assert!(line(|| Ok(crate::uts::named::find("T9Z")?)).contains("T9Z"));
        assert!(line(|| Ok(crate::nqueens::Size::new(99)?)).contains("99"));
        fn converts<E: Into<Error>>() {}
        converts::<crate::bc::GraphError>();
        converts::<crate::tsp::InstanceError>();
        converts::<crate::pentomino::BoardError>();
        converts::<crate::synthetic::FormError>();
    }
}
