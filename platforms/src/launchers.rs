//! How a process learns from its environment that a launcher has started it together with others.
#![forbid(unsafe_code)]

use crate::{Error, Result, environment};
use std::borrow::Cow;

/// The variable with the rank of a process that this project's own launcher has started.
const RANK_VARIABLE: &str = "TAUTLINE_RANK";

/// The variables of a launcher: that of the rank, and that of the number of ranks.
struct Launcher {
    rank: &'static str,
    ranks: &'static str,
}

/// The launchers of MPI that are known, and Slurm's and Flux's. `PMI_RANK` is set by MPICH, Intel MPI and others of their family.
const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: "OMPI_COMM_WORLD_SIZE",
    },
    Launcher {
        rank: "PMI_RANK",
        ranks: "PMI_SIZE",
    },
    // Not SLURM_NTASKS, which a batch script has, too.
    Launcher {
        rank: "SLURM_PROCID",
        ranks: "SLURM_STEP_NUM_TASKS",
    },
    Launcher {
        rank: "FLUX_TASK_RANK",
        ranks: "FLUX_JOB_SIZE",
    },
    Launcher {
        rank: "JSM_NAMESPACE_RANK",
        ranks: "JSM_NAMESPACE_SIZE",
    },
];

/// The most ranks that a launcher starts.
const MOST: usize = i32::MAX as usize;

/// This process among those that a launcher has started.
#[cfg_attr(
    not(feature = "process"),
    allow(dead_code, reason = "read where ranks are joined")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    /// The variable that has the rank.
    pub(crate) variable: &'static str,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
}

/// Returns the rank of this process, as a text for the names of files; `None` if no launcher has started it.
///
/// # Errors
/// As [`launched`].
pub(crate) fn rank() -> Result<Option<String>> {
    match environment::text(RANK_VARIABLE)? {
        Some(rank) => Ok(Some(rank)),
        None => Ok(launched()?.map(|launched| launched.rank.to_string())),
    }
}

/// Returns what the first launcher that is known states; `None` if none has started this process.
///
/// # Errors
/// A variable that is not a number, or a rank that is not below the number of ranks.
pub(crate) fn launched() -> Result<Option<Launched>> {
    for Launcher { rank, ranks } in LAUNCHERS {
        let Some(all) = environment::number(ranks, 1, MOST)? else {
            continue;
        };
        let Some(own) = environment::number(rank, 0, MOST)? else {
            continue;
        };
        if own >= all {
            return Err(Error::Setting {
                setting: rank,
                value: own.to_string(),
                allowed: Cow::from(format!(
                    "a rank below {all}, the number of ranks in {ranks}"
                )),
            });
        }
        return Ok(Some(Launched {
            variable: rank,
            rank: own as u32,
            ranks: all as u32,
        }));
    }
    Ok(None)
}
