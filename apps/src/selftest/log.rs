//! Records of a rank, with times that those of other ranks of the machine can be compared with.

use super::program::Failure;
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds of the clock of the machine.
pub(super) type Time = u64;

/// Something that has happened in a finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) number: u64,
    /// The number of its finish.
    pub(super) finish: u64,
}

/// Records of a rank, in the order in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// The machine, if it is known and its clock has not been set since the first record.
    pub(super) machine: Option<String>,
    pub(super) events: Vec<(Event, Time)>,
    /// The returns of finishes here, with their times and failures.
    pub(super) ends: Vec<(u64, Time, Option<Failure>)>,
    /// Calls that synchronise: the times of their entries and returns, and their values.
    pub(super) calls: Vec<(u64, [Time; 2], u64)>,
    /// The times at which activities began and ended.
    pub(super) activities: Vec<[Time; 2]>,
    /// Promises that were seen to be broken.
    pub(super) broken: Vec<String>,
}

impl Recorded {
    pub(super) fn events(&self) -> u64 {
        self.events.len() as u64
    }
}

/// The records of a rank while its program runs.
pub(super) struct Log {
    began: (Instant, SystemTime),
    recorded: Mutex<Recorded>,
}

impl Default for Log {
    fn default() -> Self {
        let began = (Instant::now(), SystemTime::now());
        let recorded = Mutex::default();
        Self { began, recorded }
    }
}

/// The least time by which a clock has been set, since two clocks are not read at once.
const SET: Duration = Duration::from_millis(1);

impl Log {
    pub(super) fn event(&self, number: u64, finish: u64) {
        if number.is_multiple_of(32) {
            // A sleep, for orders that a free processor would not show.
            thread::sleep(Duration::from_micros(number % 64));
        }
        let time = now();
        self.with(|it| it.events.push((Event { number, finish }, time)));
    }

    pub(super) fn end(&self, finish: u64, failure: Option<Failure>) {
        let time = now();
        self.with(|it| it.ends.push((finish, time, failure)));
    }

    pub(super) fn call(&self, number: u64, entered: Time, value: u64) {
        let returned = now();
        self.with(|it| it.calls.push((number, [entered, returned], value)));
    }

    pub(super) fn activity(&self, began: Time) {
        let ended = now();
        self.with(|it| it.activities.push([began, ended]));
    }

    pub(super) fn broken(&self, line: String) {
        self.with(|it| it.broken.push(line));
    }

    fn with(&self, record: impl FnOnce(&mut Recorded)) {
        // A panic leaves it as it was.
        record(&mut self.recorded.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns the records.
    pub(super) fn recorded(self) -> Recorded {
        let (ran, by_clock) = (self.began.0.elapsed(), self.began.1.elapsed());
        let is_set = by_clock.map_or(true, |clock| clock.abs_diff(ran) > SET);
        let recorded = self.recorded.into_inner();
        Recorded {
            machine: machine().filter(|_| !is_set),
            ..recorded.unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// Returns the number of activities that began while one of another rank of the machine ran.
pub(super) fn overlaps(all: &[Recorded]) -> u64 {
    let of = |rank: usize| {
        let activities = all[rank].activities.iter();
        activities.map(move |[began, ended]| (*began, *ended, rank))
    };
    let mut activities: Vec<_> = (0..all.len()).flat_map(of).collect();
    activities.sort_unstable();
    let overlap = |pair: &&[(Time, Time, usize)]| {
        let [(_, ended, rank), (began, _, other)] = **pair else {
            return false;
        };
        began < ended && rank != other && is_comparable(&all[rank], &all[other])
    };
    activities.windows(2).filter(overlap).count() as u64
}

/// Whether times of two ranks are by one clock.
pub(super) fn is_comparable(one: &Recorded, other: &Recorded) -> bool {
    one.machine.is_some() && one.machine == other.machine
}

/// Returns the time.
pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Returns a name of this machine that no other one has, where the system has one.
fn machine() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()
}
