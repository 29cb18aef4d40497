//! Broken implementations, each of which a suite must find: they show what a green run excludes.
//!
//! | capability | suite | faults |
//! |---|---|---|
//! | `Park` | `parks` | `NotSticky`, `NeedsThread`, `Misdirected`, `Forgetful` |
//! | `Thread` | `seats` | `OneForAll`, `AnyPort`, `NotNested` |
//! | `Thread` | `grows` | `Twice`, `Never`, `Elsewhere`, `FloorTooHigh` |
//! | `Fence` | `fences` | `Neither`, `LightAlone`, `HeavyAlone` |
//! | `Clock` | `ticks` | `RunsBackwards`, `StandsStill` |
//! | `Clock` | `keeps_time` | `WrongRate` |
//! | `Unwind` | `unwinds` | `Unwinds`, `OtherPayload` |
//! | `Barrier` | `meets` | `Early`, `LeaveIgnored`, `ClaimedTwice`, `KeptForEver`, `ForgetsPhases` |
//! | `Barrier` | `blocks` | `Early`, `LeaveIgnored`, `ForgetsPhases`, `Impatient`, `LeaveUnnoticed`, `LostWakeUp`, `NotIncludedAgain` |
//! | `Link` | `carries` | `Lose`, `Double`, `Swap`, `Flip(12)`, `Cut`, `Extend`, `DropEmpty`, `Renamed`, `Overflow`, `Stuck` |
//! | `Link` | `loses` | `HideLoss`, `RepeatLoss`, `LoseLast` |
//! | `Link` | `waits` | `Deaf` |
//! | `comm::PacketLink` | `conveys` | `Loses`, `Doubles`, `Swaps`, `Cuts`, `Renumbers`, `Misdirects`, `ForgetsItself`, `ForgetsEarly`, `StaysOpen`, `KeepsBodies`, `ReturnsTwice`, `CopiesSent`, `CopiesReceived`, `Races`, `Hasty` |
//! | `comm::PacketLink` | `combines` | `EndsEarly`, `EndsTwice`, `NeverEnds`, `Multiplies`, `OneNumber`, `CopiesResults`, `HidesLoss`, `HidesClose` |
//! | `channel::Memory` | `exchanges` | `OtherUnits`, `OtherTaken`, `OtherMarks`, `Overlaps`, `NotZero`, `Recycled`, `OddSize` |
//! | `channel::Roster` | `attends` | `Deaf`, `NotSticky`, `Misdirected`, `Forgetful`, `Patient`, `NeverGone`, `AllGone` |
//! | `Transport` | `delivers` | `Loses`, `Doubles`, `Misdirects`, `Silent`, `ClosesItself`, `ClosesSilently`, `ClosedByMessages` |
//! | messages between places | `balances` | `LosesReports`, `DoublesReports`, `LosesRequests`, `LosesAnswers`, `EmptiesAnswers`, `DoublesAnswers`, `LosesLoot`, `DoublesLoot`, `RepeatsLoot`, `MisdirectsLoot`, `MisdirectsAnswers`, `Anonymous`, `EndsEarly`, `Forgetful` |
//!
//! Each name is that of a variant of `Fault` in one of the modules, which documents it. [`all`]
//! returns the rows of this table with the runs of their suites:
//!
//! ```
//! let all = tautline_conform::faults::all(|_| ());
//! let mut clocks = all.into_iter().filter(|broken| broken.suite == "ticks");
//! assert!(clocks.all(|broken| broken.is_found()));
//! ```

#[allow(unsafe_code, reason = "the trait is unsafe to implement")]
mod fence;
#[allow(unsafe_code, reason = "the traits of threads are unsafe to implement")]
pub mod host;
pub mod lines;
pub mod link;
pub mod packets;
pub mod places;
pub mod ring;
#[allow(unsafe_code, reason = "fences are unsafe to implement")]
pub mod roster;
pub mod transport;

use std::fmt;
use std::thread;

/// A broken implementation, and the suite that must find it.
pub struct Broken {
    /// The capability: a trait of [`tautline_core::port`], or messages between places.
    pub capability: &'static str,
    /// The name of the suite.
    pub suite: &'static str,
    /// The name of the fault.
    pub fault: String,
    judge: Box<dyn FnOnce() + Send>,
}

impl Broken {
    fn new(
        (capability, suite): (&'static str, &'static str),
        fault: impl fmt::Debug,
        judge: impl FnOnce() + Send + 'static,
    ) -> Self {
        Self {
            capability,
            suite,
            fault: format!("{fault:?}"),
            judge: Box::new(judge),
        }
    }

    /// Runs the suite on the implementation.
    ///
    /// # Panics
    /// If the suite does, as it must.
    pub fn judge(self) {
        (self.judge)();
    }

    /// Returns whether the suite finds the fault. It runs on a thread of its own, for up to some
    /// ten seconds where the fault is a wait that does not end.
    pub fn is_found(self) -> bool {
        thread::spawn(self.judge).join().is_err()
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.capability, self.suite, self.fault)
    }
}

/// Returns all broken implementations. `pin` binds the calling thread to one of two processors, 0
/// or 1, for the suite of fences.
pub fn all(pin: impl Fn(usize) + Copy + Send + Sync + 'static) -> Vec<Broken> {
    let parts = [
        host::broken(),
        fence::broken(pin),
        lines::broken(),
        link::broken(),
        packets::broken(),
        ring::broken(),
        roster::broken(),
        transport::broken(),
        places::broken(),
    ];
    parts.into_iter().flatten().collect()
}
