//! The rows of the table: the measurement, the contenders and the bounds.

use crate::forks::{Calls, Chili, Rayon, Runtime, Tautline};
use crate::measure::{self as m, Better, Case, Sample};
use crate::rivals::{Crossbeam, Fixed, Growable, Rival, Split, St3};
use tautline_bench::figures::is_named;

/// Of each worker's processor, if all are busy all the time.
const BUSY: f64 = 0.85;

/// A measurement by one contender.
pub(crate) type Way = fn(&Case) -> Sample;

/// Our name in reports.
pub(crate) const OURS: &str = Tautline::NAME;

/// A row of the table.
pub(crate) struct Row {
    pub name: &'static str,
    pub what: &'static str,
    pub unit: &'static str,
    pub workers: usize,
    /// The full one and the quick one.
    pub sizes: [&'static str; 2],
    pub ways: &'static [(&'static str, Way)],
    pub better: Better,
    pub wanted: &'static [Wanted],
    /// Whether all workers are busy all the time. One alone is then measured by its processor time;
    /// several must have had their processors; otherwise it is ignored.
    pub busy: bool,
}

impl Row {
    /// Whether other programs disturbed a measurement that used this many processors.
    pub(crate) fn is_disturbed(&self, processors: f64) -> bool {
        self.busy && self.workers > 1 && processors < BUSY * self.workers as f64
    }

    /// Whether the verdict depends on that peer.
    pub(crate) fn depends_on(&self, contender: &str) -> bool {
        let is = |wanted: &Wanted| matches!(wanted, Beats(peer) | Within(peer, _) if is_named(contender, peer));
        self.wanted.iter().any(is)
    }
}

/// The bound of ours.
pub(crate) enum Wanted {
    /// No worse than this.
    Bound(f64),
    /// Better than that peer.
    Beats(&'static str),
    /// No worse than this multiple of that peer.
    Within(&'static str, f64),
    /// Better than that row by this factor.
    Scales(&'static str, f64),
}

use Better::{Less, More};
use Wanted::{Beats, Bound, Scales, Within};

/// The row of that name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Each runtime of forks doing the same.
macro_rules! all {
    ($what:ident) => {
        &[
            (OURS, m::$what::<Tautline>),
            (Rayon::NAME, m::$what::<Rayon>),
            (Chili::NAME, m::$what::<Chili>),
        ]
    };
    (calls $what:ident) => {
        &[
            (OURS, m::$what::<Tautline>),
            (Calls::NAME, m::$what::<Calls>),
            (Rayon::NAME, m::$what::<Rayon>),
            (Chili::NAME, m::$what::<Chili>),
        ]
    };
}

/// Those whose scopes spawn.
macro_rules! spawning {
    ($what:ident) => {
        &[
            (OURS, m::$what::<Tautline>),
            (Rayon::NAME, m::$what::<Rayon>),
        ]
    };
}

macro_rules! deques {
    ($what:ident, $ours:ident) => {
        &[
            (OURS, m::$what::<$ours>),
            (Crossbeam::NAME, m::$what::<Crossbeam>),
            (St3::NAME, m::$what::<St3>),
        ]
    };
}

#[rustfmt::skip] // A table.
pub(crate) const ROWS: &[Row] = &[
    Row { name: "fib/1", what: "fib(40), a fork", unit: "ns", workers: 1, sizes: ["40", "22"], ways: all!(calls fib), better: Less, busy: true,
        wanted: &[Bound(3.0), Beats("rayon"), Beats("chili"), Beats("forte"), Within("Lace", 1.8), Within("Lace", 1.5)] },
    Row { name: "fib/2", what: "fib(40), a fork", unit: "ns", workers: 2, sizes: ["40", "22"], ways: all!(fib), better: Less, busy: true,
        wanted: &[Bound(1.6), Beats("rayon"), Beats("chili"), Beats("forte"), Within("Lace", 1.8), Within("Lace", 1.5), Scales("fib/1", 1.8)] },
    Row { name: "queens/1", what: "14 queens", unit: "s", workers: 1, sizes: ["14", "9"], ways: all!(calls queens), better: Less, busy: true,
        wanted: &[Beats("rayon"), Beats("chili")] },
    Row { name: "queens/2", what: "14 queens", unit: "s", workers: 2, sizes: ["14", "9"], ways: all!(queens), better: Less, busy: true,
        wanted: &[Beats("rayon"), Beats("chili"), Scales("queens/1", 1.8)] },
    Row { name: "T1L/1", what: "UTS T1L, a fork a child", unit: "Mnodes/s", workers: 1, sizes: ["T1L", "D8"], ways: &[(OURS, m::search::<Tautline>), (Calls::NAME, m::search::<Calls>)], better: More, busy: true,
        wanted: &[] },
    Row { name: "T1L/2", what: "UTS T1L, a fork a child", unit: "Mnodes/s", workers: 2, sizes: ["T1L", "D8"], ways: all!(search), better: More, busy: true,
        wanted: &[Beats("rayon"), Beats("chili"), Beats("forte"), Scales("T1L/1", 1.8)] },
    Row { name: "T3L/1", what: "UTS T3L, a fork a child", unit: "Mnodes/s", workers: 1, sizes: ["T3L", "T3"], ways: &[(OURS, m::search::<Tautline>), (Calls::NAME, m::search::<Calls>)], better: More, busy: true,
        wanted: &[] },
    Row { name: "T3L/2", what: "UTS T3L, a fork a child", unit: "Mnodes/s", workers: 2, sizes: ["T3L", "T3"], ways: all!(search), better: More, busy: true,
        wanted: &[Beats("rayon"), Beats("chili"), Beats("forte"), Scales("T3L/1", 1.8)] },
    Row { name: "empty/1", what: "fork of nothing, from a root", unit: "ns", workers: 1, sizes: ["10000", "1000"], ways: all!(empty), better: Less, busy: true,
        wanted: &[Beats("rayon"), Beats("chili")] },
    Row { name: "spawn/1", what: "spawn, 100 a scope", unit: "ns", workers: 1, sizes: ["100", "100"], ways: spawning!(spawn), better: Less, busy: true,
        wanted: &[Beats("rayon"), Within("rayon", 0.5)] },
    Row { name: "spawn/2", what: "spawn, 100 a scope", unit: "ns", workers: 2, sizes: ["100", "100"], ways: spawning!(spawn), better: Less, busy: true,
        wanted: &[Beats("rayon"), Within("rayon", 0.5)] },
    Row { name: "flood/1", what: "spawn, 10 000 a scope", unit: "ns", workers: 1, sizes: ["10000", "10000"], ways: spawning!(spawn), better: Less, busy: true,
        wanted: &[Beats("rayon"), Within("rayon", 0.5)] },
    Row { name: "flood/2", what: "spawn, 10 000 a scope", unit: "ns", workers: 2, sizes: ["10000", "10000"], ways: spawning!(spawn), better: Less, busy: true,
        wanted: &[Beats("rayon"), Within("rayon", 0.5)] },
    Row { name: "region/2", what: "start and join on both workers", unit: "us", workers: 2, sizes: ["200", "20"], better: Less, busy: true,
        ways: &[(OURS, m::region::<Tautline>), (Rayon::NAME, m::region::<Rayon>), ("rayon broadcast", m::broadcast)],
        wanted: &[Bound(0.5), Beats("rayon"), Beats("rayon broadcast")] },
    Row { name: "enter/2", what: "from outside and back", unit: "us", workers: 2, sizes: ["100", "10"], ways: all!(enter), better: Less, busy: false,
        wanted: &[Beats("rayon"), Beats("chili")] },
    Row { name: "private", what: "split deque, push and pop", unit: "ns", workers: 1, sizes: ["1000", "1000"], ways: deques!(push_pop, Split), better: Less, busy: true,
        wanted: &[Bound(1.5), Beats("crossbeam"), Beats("st3")] },
    Row { name: "chase-lev", what: "Chase-Lev deque, push and pop", unit: "ns", workers: 1, sizes: ["1000", "1000"], ways: deques!(push_pop, Growable), better: Less, busy: true,
        wanted: &[Bound(7.0), Beats("crossbeam"), Within("crossbeam", 1.05), Beats("st3")] },
    Row { name: "steal/split", what: "split deque, push and steal, one thread", unit: "ns", workers: 1, sizes: ["1000", "1000"], ways: deques!(push_steal, Split), better: Less, busy: true,
        wanted: &[Beats("crossbeam"), Beats("st3")] },
    Row { name: "steal/chase-lev", what: "Chase-Lev deque, push and steal, one thread", unit: "ns", workers: 1, sizes: ["1000", "1000"], ways: deques!(push_steal, Fixed), better: Less, busy: true,
        wanted: &[Beats("crossbeam"), Beats("st3")] },
    Row { name: "stolen/split", what: "split deque, an item stolen from another, busy processor", unit: "ns", workers: 2, sizes: ["0", "0"], ways: deques!(stolen, Split), better: Less, busy: true,
        wanted: &[Beats("crossbeam"), Beats("st3")] },
    Row { name: "stolen/chase-lev", what: "Chase-Lev deque, an item stolen from another, busy processor", unit: "ns", workers: 2, sizes: ["0", "0"], ways: deques!(stolen, Growable), better: Less, busy: true,
        wanted: &[Beats("crossbeam"), Beats("st3")] },
    Row { name: "pushed/split", what: "split deque, a push and half a pop beside a thief", unit: "ns", workers: 2, sizes: ["0", "0"], ways: deques!(pushed, Split), better: Less, busy: true,
        wanted: &[Beats("crossbeam"), Beats("st3")] },
    Row { name: "pushed/chase-lev", what: "Chase-Lev deque, a push and half a pop beside a thief", unit: "ns", workers: 2, sizes: ["0", "0"], ways: deques!(pushed, Growable), better: Less, busy: true,
        wanted: &[Beats("crossbeam"), Beats("st3")] },
    Row { name: "allocations/fork", what: "allocations a fork", unit: "", workers: 1, sizes: ["20", "20"], ways: all!(fork_allocations), better: Less, busy: false,
        wanted: &[Bound(0.0)] },
    Row { name: "allocations/spawn", what: "allocations a spawn", unit: "", workers: 1, sizes: ["10000", "10000"], ways: spawning!(spawn_allocations), better: Less, busy: false,
        wanted: &[Bound(1.0)] },
    Row { name: "instructions/fork", what: "instructions a fork", unit: "", workers: 1, sizes: ["", ""], ways: &[], better: Less, busy: false,
        wanted: &[] },
    Row { name: "locked/fork", what: "locked instructions a fork", unit: "", workers: 1, sizes: ["", ""], ways: &[], better: Less, busy: false,
        wanted: &[Bound(0.0)] },
    Row { name: "instructions/spawn", what: "instructions a spawn", unit: "", workers: 1, sizes: ["", ""], ways: &[], better: Less, busy: false,
        wanted: &[] },
    Row { name: "locked/spawn", what: "locked instructions a spawn", unit: "", workers: 1, sizes: ["", ""], ways: &[], better: Less, busy: false,
        wanted: &[] },
    Row { name: "idle/2", what: "processor time of an idle runtime", unit: "ms/s", workers: 2, sizes: ["2000", "100"], ways: all!(idle), better: Less, busy: false,
        wanted: &[Bound(0.1)] },
];
