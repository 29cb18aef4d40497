//! The reaction of a runtime to a deadlock.

use crate::Result;
use crate::process::deadline::is_one_pending;
use crate::process::messages;
use crate::setting::{STALLED, environment};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tautline_core::watch::Stall;
use tautline_node::pool::{StallWatch, Stalling};
use tautline_node::process::PerProcess;

/// The time between two checks of a wait. A report takes four of them after the deadlock, or five.
const LIMIT: Duration = Duration::from_secs(1);

/// The age of a wait for other ranks that is reported: below four checks, as in one process the
/// runtimes of several ranks may report each other's.
const OLD: Duration = Duration::from_millis(3500);

/// The reaction of a runtime to a deadlock, in which all workers are parked, and tasks wait for
/// cells that are not put, for phases that do not end, or for each other. Only another thread of
/// the program, which has such a cell, could continue it.
///
/// Found some seconds after a deadlock, by the threads that wait; a runtime without a wait is not
/// woken for it. The waiting tasks are polled once more, to learn what they wait for, and from
/// which call on. A task that waits for a future of another library, for a timer or for another
/// rank may be woken from outside, so nothing is ended while there is one, nor while a
/// [`Deadline`](crate::runtime::Deadline) of the process is pending. While a
/// [`Hold`](crate::runtime::Hold) is not released, a line names the calls that took such holds, and
/// nothing is ended. A task that blocks its thread, in a lock or a blocking wait for a phase,
/// counts as running.
///
/// If a rank of several whose tasks wait has nothing to run for so long, it prints a line for each
/// [open calls](crate::world::World::open_calls) over ranks, unless this is
/// [`Ignore`](Self::Ignore): where the call is, and which ranks it waits for with how many
/// activities. It continues to wait, for at most the limit of
/// [`World::wait_at_most`](crate::world::World::wait_at_most) if ranks have not made the call. A
/// line is repeated when what it states has changed, and ever more rarely.
///
/// ```
/// use std::panic::{AssertUnwindSafe, catch_unwind};
/// use tautline::prelude::*;
/// use tautline::watch::Stalled;
///
/// let rt = Runtime::builder().stalled(Stalled::Panic).build()?;
/// let never = Ddf::<u32>::new();
/// let run = AssertUnwindSafe(|| rt.run(|cx| cx.spawn_when(&never, |_, _| unreachable!())));
/// let message = catch_unwind(run).unwrap_err();
/// assert!(message.downcast_ref::<String>().unwrap().contains("1 wait for a cell at "));
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stalled {
    /// Prints one line to standard error, once, and continues to wait: another thread may put the
    /// cell.
    #[default]
    Report,
    /// Ends every wait with a panic that states the waits, which reaches the caller of
    /// [`run`](crate::Runtime::run).
    Panic,
    /// Prints the line and aborts the process.
    Abort,
    /// Waits without end.
    Ignore,
}

/// An event source that may end a wait although no task runs.
pub(crate) trait Awaiting: Send + Sync {
    /// Whether such an event may still come.
    fn is_awaiting(&self) -> bool;

    /// Returns a line for each wait that has lasted for `least`, unless it was returned before.
    fn report(&self, least: Duration) -> Vec<String>;
}

static AWAITING: PerProcess<Mutex<Vec<Weak<dyn Awaiting>>>> = PerProcess::empty();

fn awaiting() -> MutexGuard<'static, Vec<Weak<dyn Awaiting>>> {
    let awaiting = AWAITING.get_or_init(Mutex::default);
    // It is consistent between any two statements that change it.
    awaiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers `source`, which is queried before a deadlock is reported.
#[cfg(feature = "serde")]
pub(crate) fn add_awaiting(source: Weak<dyn Awaiting>) {
    let mut all = awaiting();
    all.retain(|source| source.strong_count() > 0);
    all.push(source);
}

fn sources() -> Vec<Arc<dyn Awaiting>> {
    awaiting().iter().filter_map(Weak::upgrade).collect()
}

/// Whether a message or another rank may still end a wait.
fn is_one_awaiting() -> bool {
    sources().iter().any(|source| source.is_awaiting())
}

/// Reports the waits for other ranks that have lasted for some time, of all ranks of this process,
/// unless the same line was reported last.
fn report_ranks() {
    for line in sources().iter().flat_map(|source| source.report(OLD)) {
        messages::send(&format!("tautline: {line}"));
    }
}

impl Stalled {
    /// Returns the set value; else that of the environment, if it applies; else the default.
    pub(crate) fn or_environment(set: Option<Self>, applies: bool) -> Result<Self> {
        match set {
            None if applies => Ok(Self::from_environment()?.unwrap_or_default()),
            set => Ok(set.unwrap_or_default()),
        }
    }

    fn from_environment() -> Result<Option<Self>> {
        environment::parsed(STALLED.variable, |word| {
            Self::named(word).ok_or_else(|| STALLED.allowed())
        })
    }

    /// Returns the value of the word, if it is one.
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "report" => Self::Report,
            "panic" => Self::Panic,
            "abort" => Self::Abort,
            "ignore" => Self::Ignore,
            _ => return None,
        })
    }

    /// Returns the function to call upon a deadlock.
    pub(crate) fn watch(self) -> Option<StallWatch> {
        let act: fn(&Stall) -> Stalling = match self {
            Self::Report => |stall: &Stall| {
                messages::send(&format!(
                    "tautline: {stall} ({}=panic ends such a run)",
                    STALLED.variable
                ));
                Stalling::Reported
            },
            Self::Panic => |_: &Stall| Stalling::End,
            Self::Abort => |stall: &Stall| {
                messages::send(&format!("tautline: {stall}"));
                process::abort()
            },
            Self::Ignore => return None,
        };
        let may_continue =
            |stall: &Stall| stall.has_unknown() || is_one_pending() || is_one_awaiting();
        let act = move |stall: &Stall| match may_continue(stall) {
            true => {
                report_ranks();
                Stalling::Awaited
            }
            // Neither a panic nor another wait ends one for a hold, which may be released later.
            false if stall.has_holds() => {
                messages::send(&format!("tautline: {stall}"));
                Stalling::Reported
            }
            false => act(stall),
        };
        Some(StallWatch::new(LIMIT, act))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Kind;

    #[test]
    fn every_word_of_the_table_has_a_value() {
        let Kind::Word(words) = STALLED.kind else {
            panic!("{STALLED:?}");
        };
        let values: Vec<_> = words.iter().map(|word| Stalled::named(word)).collect();
        let all = [
            Stalled::Report,
            Stalled::Panic,
            Stalled::Abort,
            Stalled::Ignore,
        ];
        assert_eq!(values, all.map(Some));
    }
}
