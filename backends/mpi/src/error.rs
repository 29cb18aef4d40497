//! Errors, each reported in one line.
#![forbid(unsafe_code)]

use std::fmt;

/// The reason why this process was not connected.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The library was started and ended before: it cannot be started again.
    Ended,
    /// A link exists already.
    Connected,
    /// The library permits fewer calls of threads than are needed.
    Threads {
        /// The level that it granted, as in "MPI_THREAD_FUNNELED".
        granted: &'static str,
    },
    /// The launcher started more ranks than the library knows.
    Launcher {
        /// This process and the launch, as its launcher states them.
        launched: (u32, Option<u32>),
        /// The same as the library states them.
        joined: (u32, u32),
        /// The library, as it names itself.
        library: String,
    },
    /// A number of ranks that the program does not have.
    Ranks {
        /// The requested number.
        ranks: u32,
        /// The number of ranks of the program.
        all: u32,
    },
    /// A call that has failed.
    Call(Failed),
}

/// A call of MPI that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The function, as in "MPI_Comm_dup".
    pub call: &'static str,
    /// The library's text for it.
    pub text: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.text)
    }
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Self {
        Self::Call(failed)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => {
                f.write_str("MPI has ended in this process, and cannot be started twice")
            }
            Self::Connected => f.write_str("this process has a link over MPI: one at a time"),
            Self::Threads { granted } => write!(
                f,
                "the MPI library granted {granted}; at least MPI_THREAD_SERIALIZED is needed, as threads take turns"
            ),
            Self::Launcher {
                launched: (rank, ranks),
                joined: (own, all),
                library,
            } => write!(
                f,
                "launched as rank {rank}{}, but rank {own} of {all} to the MPI library of this program, {library}; \
                 use the launcher of that library, or build the program with the one of this launcher",
                ranks.map_or_else(String::new, |ranks| format!(" of {ranks}"))
            ),
            Self::Ranks { ranks, all } => write!(f, "ranks {ranks}: from 1 to {all}"),
            Self::Call(failed) => failed.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
