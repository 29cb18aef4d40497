//! Costs of mechanisms on this machine, as figures that can be kept and compared.
//!
//! # Algorithm
//! The overhead of a barrier is measured as the EPCC suite does (J. M. Bull, Measuring
//! synchronisation and scheduling overheads in OpenMP, EWOMP 1999): a loop with the barrier minus
//! the same loop without, by the number of turns. One such difference is a sample. What differs:
//! every sample is taken by new threads, so that the barriers can be measured in turn and a drift
//! of the machine affects all of them alike; and [`Watch`] counts what other programs used in that
//! time.
//!
//! Every measurement ends soon after its [`Control`](tautline::balance::Control) is stopped, on a
//! busy machine too: a sample is then cut off and discarded.
#![forbid(unsafe_code)]

mod against;
mod comparison;
mod distance;
#[cfg(feature = "rivals")]
mod hurdles;
mod kinds;
mod mechanism;
mod meeting;
mod page;
mod ping_pong;
mod program;
mod record;
mod spread;
mod team;
mod watch;
mod yardstick;

pub use against::{Against, Change, LEAST, Refusal};
pub use comparison::{Comparison, RoundTrip, RoundTrips, Row, Setting, Verdict};
pub use distance::{Distance, pairs};
#[cfg(feature = "rivals")]
pub use hurdles::{AtHurdles, Hurdles};
pub use kinds::{flat, help_after, kinds, phasers, tiered, tree};
pub use mechanism::{
    CLOCK_READINGS, Exchange, MECHANISMS, Mechanism, PARKED_WORKER, Threads, check_clock, step,
};
pub use meeting::{AtMeeting, Meeting};
pub use ping_pong::{Lines, ping_pong};
pub use record::{Build, Figure, Identity, Pair, Place, Record, Shared};
pub use spread::Spread;
pub use team::{Barrier, Episodes, Kind, Plan, delay_turns};
pub(crate) use watch::Observed;
pub use watch::{Doubt, Sample, Taken, Watch};
pub use yardstick::{Central, CombiningTree};
