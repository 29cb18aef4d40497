//! Errors, each reported in one line.
#![forbid(unsafe_code)]

use std::fmt;
use std::io;

/// The reason why processes were not launched, or not connected.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A variable of a launched rank that does not fit this process.
    Variable {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// The violated rule, and the allowed values.
        reason: String,
    },
    /// A setting of the launch outside its bounds.
    Setting {
        /// The setting, named as the method of [`Launch`](crate::Launch).
        setting: &'static str,
        /// The requested value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A program that cannot be started.
    Program {
        /// Its name or path.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// A rank for which the system has no room.
    Rank {
        /// The rank.
        rank: u32,
        /// The requested number.
        ranks: u32,
        /// The limit that is met, and how it is read.
        limit: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The system's refusal.
    System {
        /// The attempted action, as in "create the shared segment".
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Lines of ranks that could not be passed on. All ranks have ended.
    Output {
        /// The system's error.
        source: io::Error,
    },
    /// Another system than Linux.
    Unsupported {
        /// The request, as in "4 ranks of ./program".
        what: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable {
                name,
                value,
                reason,
            } => write!(f, "{name} {value}: {reason}"),
            Self::Setting {
                setting,
                value,
                allowed,
            } => write!(f, "{setting} {value}: {allowed}"),
            Self::Program { program, source } => {
                write!(f, "{program}: cannot be started: {source}")
            }
            Self::Rank {
                rank,
                ranks,
                limit,
                source,
            } => write!(f, "cannot start rank {rank} of {ranks}: {source}; {limit}"),
            Self::System { doing, source } => write!(f, "cannot {doing}: {source}"),
            Self::Output { source } => {
                write!(f, "cannot write the output of the ranks: {source}")
            }
            Self::Unsupported { what } => {
                write!(
                    f,
                    "{what}: processes of one machine are implemented on Linux only"
                )
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Program { source, .. }
            | Self::Rank { source, .. }
            | Self::Output { source }
            | Self::System { source, .. } => Some(source),
            _ => None,
        }
    }
}
