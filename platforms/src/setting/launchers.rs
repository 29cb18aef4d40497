//! Detection, from the environment, of a launcher that has started this process with others.
#![forbid(unsafe_code)]

use super::{RANK, RANKS, environment};
use crate::{Error, Result};
use std::borrow::Cow;

/// The variables of the rank and of the number of ranks, by the launchers that set both: those of
/// MPI that are known, Slurm, and Flux. `PMI_RANK` is set by MPICH, Intel MPI and others of their
/// family.
const COUNTED: [[&str; 2]; 6] = [
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    ["PMI_RANK", "PMI_SIZE"],
    // Not SLURM_NTASKS, which a batch script has, too.
    [SLURM_RANK, "SLURM_STEP_NUM_TASKS"],
    ["FLUX_TASK_RANK", "FLUX_JOB_SIZE"],
    ["JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"],
    ["MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"],
];

/// A batch script has it, too: it shows a launcher only together with the number of ranks.
const SLURM_RANK: &str = "SLURM_PROCID";

/// The variables of the rank of launchers that set no number of ranks.
const UNCOUNTED: [&str; 4] = [
    "PALS_RANKID",
    "ALPS_APP_PE",
    "PMIX_RANK",
    // A number on its machine.
    "MPI_LOCALRANKID",
];

/// The processes by which launchers start ranks on a machine, by the beginnings of their names.
/// Processes that they start have variables of their own.
#[cfg(feature = "process")]
const PROGRAMS: [&str; 11] = [
    "flux-shell",
    "hydra_pmi_proxy",
    "jsmd",
    "mpiexec",
    "mpirun",
    "orted",
    "orterun",
    "palsd",
    "prted",
    "prterun",
    "slurmstepd",
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
    /// The number of ranks, if the launcher states it.
    pub(crate) ranks: Option<u32>,
}

/// Returns the rank of this process, as a text for the names of files; `None` if no launcher has
/// started it.
///
/// # Errors
/// As [`launched`].
pub(crate) fn rank() -> Result<Option<String>> {
    let own = environment::text(RANK.variable)?;
    match own.filter(|_| !is_started_by_rank(RANK.variable)) {
        Some(rank) => Ok(Some(rank)),
        None => Ok(launched()?.map(|launched| launched.rank.to_string())),
    }
}

/// Returns the rank of this process, as a text for people: `rank 1 of 4`. `None` if no launcher
/// has started it.
///
/// # Errors
/// As [`launched`].
pub(crate) fn rank_of_all() -> Result<Option<String>> {
    let Some(rank) = rank()? else {
        return Ok(None);
    };
    let own = environment::text(RANK.variable)?.filter(|own| *own == rank);
    let ranks = match own {
        Some(_) => environment::text(RANKS.variable)?,
        None => launched()?.and_then(|launched| Some(launched.ranks?.to_string())),
    };
    Ok(Some(match ranks {
        Some(ranks) => format!("rank {rank} of {ranks}"),
        None => format!("rank {rank}"),
    }))
}

/// Whether this process has `variable` from a rank that has started it.
#[cfg(feature = "process")]
fn is_started_by_rank(variable: &str) -> bool {
    let launchers = match variable == RANK.variable {
        true => &[][..],
        false => &PROGRAMS,
    };
    tautline_process::is_started_by_rank(variable, launchers)
}

/// No rank is joined without the feature.
#[cfg(not(feature = "process"))]
fn is_started_by_rank(_: &str) -> bool {
    false
}

/// Returns the data of the first known launcher; `None` if none has started this process:
/// also if it has the variables from a rank that has started it.
///
/// # Errors
/// A variable that is not a number, or a rank that is not below the number of ranks.
pub(crate) fn launched() -> Result<Option<Launched>> {
    let counted = COUNTED.map(|[rank, ranks]| (rank, Some(ranks)));
    let lone = COUNTED.into_iter().map(|[rank, _]| rank);
    let lone = lone.filter(|rank| *rank != SLURM_RANK).chain(UNCOUNTED);
    let lone = lone.map(|rank| (rank, None));
    for (rank, ranks) in counted.into_iter().chain(lone) {
        let all = ranks.map(|ranks| environment::number_in(ranks, 1, MOST));
        let all = all.transpose()?.flatten();
        if ranks.is_some() && all.is_none() {
            continue;
        }
        let Some(own) = environment::number_in(rank, 0, MOST)? else {
            continue;
        };
        if let (Some(all), Some(ranks)) = (all.filter(|all| own >= *all), ranks) {
            return Err(Error::Setting {
                setting: rank,
                value: own.to_string(),
                allowed: Cow::from(format!(
                    "a rank below {all}, the number of ranks in {ranks}"
                )),
            });
        }
        let launched = Launched {
            variable: rank,
            rank: own as u32,
            ranks: all.map(|all| all as u32),
        };
        return Ok(Some(launched).filter(|_| !is_started_by_rank(rank)));
    }
    Ok(None)
}
