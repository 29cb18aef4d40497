//! Processor time that a run lost to other programs.
//!
//! # Algorithm
//! All threads that exist before the run are observed, without their help
//! (`/proc/self/task/*/schedstat`), and what other programs used while the threads slept is no
//! loss. And whether the workers are where they were pinned to: whatever rewrites the processors of
//! a control group, as managers of containers do, sets the masks of all its threads.
#![forbid(unsafe_code)]

use super::{Doubt, Spent, Watch, status};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

/// The part of the time that may be lost without notice.
const LOST_MOST: f64 = 0.05;
/// The time that is insignificant: some wake-ups, and one turn of another thread.
const LOST_LEAST: Duration = Duration::from_millis(10);

/// Observes the threads of this process and their processors during a run.
pub(crate) struct Observed {
    threads: BTreeMap<OsString, Spent>,
    host: Watch,
    /// The processors that the calling thread may use, if it is pinned.
    allowed: Option<String>,
}

impl Observed {
    /// Starts observing all threads of this process, pinned to the processors `pinned` if there are
    /// any.
    pub(crate) fn start(pinned: &[usize]) -> Self {
        Self {
            threads: threads(),
            host: Watch::start(pinned),
            allowed: allowed().filter(|_| !pinned.is_empty()),
        }
    }

    /// Returns by what the run of `workers` on `processors` was disturbed; empty if by nothing, or
    /// if the system does not report it. Called by the thread that has started the observation.
    pub(crate) fn doubts(&self, workers: usize, processors: usize) -> Vec<Doubt> {
        // A change of the processors that a control group may use replaces the masks of its
        // threads.
        let is_moved = self.allowed.is_some() && self.allowed != allowed();
        let moved = is_moved.then_some(Doubt::Unpinned).into_iter();
        moved.chain(self.lost(workers, processors)).collect()
    }

    fn lost(&self, workers: usize, processors: usize) -> Vec<Doubt> {
        // Workers that share processors wait for each other: waits for other programs cannot be
        // distinguished.
        if workers > processors {
            return Vec::new();
        }
        let waited = lost(&self.threads, &threads()).map(Doubt::Waited);
        let host = self.host.doubts(workers, processors);
        let stolen = host
            .into_iter()
            .filter(|doubt| matches!(doubt, Doubt::Stolen(_)));
        waited.into_iter().chain(stolen).collect()
    }
}

/// Returns the processors that the calling thread may use, as the system lists them.
fn allowed() -> Option<String> {
    status("Cpus_allowed_list:")
}

/// Returns the time of each thread of this process so far, as far as the system reports it.
fn threads() -> BTreeMap<OsString, Spent> {
    let tasks = fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let spent = tasks.filter_map(|task| Some((task.file_name(), Spent::of(&task.path())?)));
    spent.collect()
}

/// Returns the part of the time between two observations that the threads of the first one were
/// ready and did not run, if that is significant.
fn lost(before: &BTreeMap<OsString, Spent>, after: &BTreeMap<OsString, Spent>) -> Option<f64> {
    let mut sum = Spent::default();
    for (thread, then) in before {
        let now = after.get(thread)?;
        sum.ran += now.ran.saturating_sub(then.ran);
        sum.waited += now.waited.saturating_sub(then.waited);
    }
    let share = sum.waited.as_secs_f64() / (sum.ran + sum.waited).as_secs_f64();
    (sum.waited >= LOST_LEAST && share > LOST_MOST).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(threads: &[(&str, u64, u64)]) -> BTreeMap<OsString, Spent> {
        let spent = |ran, waited| Spent {
            ran: Duration::from_millis(ran),
            waited: Duration::from_millis(waited),
        };
        let seen = threads
            .iter()
            .map(|&(name, ran, waited)| (name.into(), spent(ran, waited)));
        seen.collect()
    }

    #[test]
    fn a_loss_must_be_clear() {
        let before = seen(&[("7", 1000, 500), ("8", 0, 0)]);
        for (after, expected) in [
            // Of 400 ms, 100 were lost.
            ([("7", 1100, 550), ("8", 200, 50)], Some(0.25)),
            ([("7", 1200, 500), ("8", 800, 40)], None),
            ([("7", 1001, 505), ("8", 1, 4)], None),
            ([("7", 1000, 500), ("8", 0, 0)], None),
        ] {
            assert_eq!(lost(&before, &seen(&after)), expected, "{after:?}");
        }
        // A thread of the run itself, which began later, is not among those observed.
        let after = seen(&[("7", 1100, 500), ("8", 0, 0), ("9", 0, 900)]);
        assert_eq!(lost(&before, &after), None);
        // Of a thread that has ended, the time is unknown.
        assert_eq!(lost(&before, &seen(&[("7", 1100, 900)])), None);
    }

    #[test]
    fn workers_that_share_processors_are_no_disturbance() {
        let mut observed = Observed::start(&[]);
        for spent in observed.threads.values_mut() {
            *spent = Spent::default();
        }
        assert_eq!(observed.doubts(3, 2), []);
    }
}
