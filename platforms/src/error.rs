//! What can go wrong before a computation starts.

use std::borrow::Cow;

/// A computation that could not be started. Once started it ends with its result or with the panic of
/// one of its tasks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting outside its bounds.
    #[error("{setting} {value}: {allowed}")]
    Setting {
        /// The setting, named as the builder's method.
        setting: &'static str,
        /// What was asked for.
        value: String,
        /// What is allowed, as a sentence.
        allowed: Cow<'static, str>,
    },
    /// The system would not start so many threads.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many were needed.
        threads: usize,
        /// What the system said.
        source: std::io::Error,
    },
    /// A misuse of a phaser.
    #[error(transparent)]
    Phaser(#[from] tautline_core::phaser::PhaserError),
    /// A tree of memories that cannot be built.
    #[error(transparent)]
    Hierarchy(#[from] tautline_core::hierarchy::Fault),
    /// A file that does not describe a machine or a platform.
    #[error(transparent)]
    File(#[from] crate::FileError),
    /// A malformed list of places for workers.
    #[error(transparent)]
    Places(#[from] crate::pinning::ListError),
    /// The parameters of a tree of the UTS benchmark are out of bounds.
    #[error(transparent)]
    Tree(#[from] crate::uts::ParamError),
    /// A graph that cannot be made.
    #[error(transparent)]
    Graph(#[from] crate::bc::GraphError),
    /// A set of cities that cannot be read or made.
    #[error(transparent)]
    Instance(#[from] crate::tsp::InstanceError),
    /// A board of pentominoes that cannot be filled.
    #[error(transparent)]
    Board(#[from] crate::pentomino::BoardError),
    /// A chessboard of a size that is not searched.
    #[error(transparent)]
    Size(#[from] crate::nqueens::SizeError),
    /// A malformed distribution of a synthetic workload.
    #[error(transparent)]
    Form(#[from] crate::synthetic::FormError),
}

/// What the facade's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// The message, once `?` has converted the error.
    fn line<T>(of: impl FnOnce() -> Result<T>) -> String {
        of().err().expect("a refusal").to_string()
    }

    #[test]
    fn every_error_of_the_library_converts() {
        use crate::{Platform, bc, machines, nqueens, pentomino, pinning, synthetic, tsp, uts};
        for (message, expected) in [
            (line(|| Ok(machines::find("nowhere")?)), "nowhere: no such"),
            (line(|| Ok(Platform::from_file("/no.xml")?)), "/no.xml: "),
            (
                line(|| Ok("{".parse::<pinning::PlaceList>()?)),
                "at character 2",
            ),
            (line(|| Ok(uts::named::find("T9Z")?)), "T9Z"),
            (line(|| Ok(crate::hierarchy::Hierarchy::single(0)?)), "0 "),
            (line(|| Ok(nqueens::Size::new(99)?)), "99"),
        ] {
            assert!(message.contains(expected), "{message}");
        }
        fn converts<E: Into<Error>>() {}
        converts::<bc::GraphError>();
        converts::<tsp::InstanceError>();
        converts::<pentomino::BoardError>();
        converts::<synthetic::FormError>();
        converts::<tautline_core::phaser::PhaserError>();
    }
}
