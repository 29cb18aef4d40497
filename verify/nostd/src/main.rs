//! The core where there is nothing else: no std, no libc, stock stable compiler.
//!
//! Feature `tasks` adds an allocator and the checks of [`tasks`]; all others use parts of the core
//! that exist without feature `alloc`. Exits with 0, or names the check that failed and exits with
//! 1.
#![no_std]
#![no_main]

#[cfg(feature = "tasks")]
extern crate alloc;
#[cfg(feature = "leak-std")]
extern crate std;

#[cfg(feature = "tasks")]
mod host;
mod machine;
#[cfg(feature = "tasks")]
mod tasks;

use core::hint::black_box;
use core::ptr::NonNull;
use tautline_core::deque::{FixedDeque, Full, Steal};
use tautline_core::finish::{self, Counter};
use tautline_core::flow::{AlreadyFull, Ddf, End, Latch, Link, NotReady};
use tautline_core::grain::{Gauge, Log, Pace, Rule, Tuner, Tuning};
use tautline_core::lifeline::{Bound, Crew, Gate, Graph, Reserve, Traffic};
use tautline_core::port::Spin;
use tautline_core::sync::{Lock, Permit};
use tautline_core::{PlaceId, WorkerId};

type Check = (&'static str, fn() -> bool);

/// One line for each part of the core.
const CHECKS: &[Check] = &[
    ("memory\n", memory),
    ("sync::Lock\n", lock),
    ("sync::Permit\n", permit),
    ("deque::FixedDeque\n", deque),
    ("finish::Counter\n", counter),
    ("flow::Ddf\n", ddf),
    ("lifeline::Graph\n", graph),
    ("lifeline::Gate\n", gate),
    ("lifeline::Crew\n", crew),
    ("lifeline::Bound\n", bound),
    ("lifeline::Reserve\n", reserve),
    ("grain::Tuner\n", tuner),
    ("grain::Gauge\n", gauge),
    ("grain::Pace\n", pace),
    #[cfg(feature = "tasks")]
    ("task::Cx::join\n", tasks::join),
    #[cfg(feature = "tasks")]
    ("task::Cx::spawn\n", tasks::spawn),
    #[cfg(feature = "tasks")]
    ("task::Cx::spawn_when\n", tasks::spawn_when),
    #[cfg(feature = "tasks")]
    ("task::Cx::block_on\n", tasks::block_on),
];

/// Called by the entry in [`machine`].
fn program(words: machine::Words) -> ! {
    if words.get(1).is_some() {
        machine::say("takes no arguments\n");
        machine::exit(2);
    }
    for (name, check) in CHECKS {
        if !check() {
            machine::say(name);
            machine::exit(1);
        }
    }
    machine::exit(0)
}

/// The memory functions that this program brings itself: an error in them must not pass for one of
/// the core's.
fn memory() -> bool {
    let whole = ..black_box(8);
    let mut bytes = black_box([0u8, 1, 2, 3, 4, 5, 6, 7]);
    bytes.copy_within(black_box(0..6), 2);
    let up = bytes[whole] == black_box([0, 1, 0, 1, 2, 3, 4, 5])[whole];
    bytes.copy_within(black_box(2..8), 0);
    let down = bytes[whole] == black_box([0, 1, 2, 3, 4, 5, 4, 5])[whole];
    bytes[..black_box(3)].fill(black_box(9));
    let above = bytes[whole] > black_box([9, 9, 9, 3, 4, 5, 4, 4])[whole];
    let below = bytes[whole] < black_box([9, 9, 10])[..black_box(3)];
    let none = bytes[..black_box(0)] == black_box([1, 2])[..black_box(0)];
    let other = bytes[whole] != black_box([9, 9, 9, 3, 4, 5, 4, 6])[whole];
    up && down && above && below && none && other
}

fn lock() -> bool {
    let lock = Lock::new([0u64; 64]);
    lock.lock(&Spin)[63] += 1;
    let held = lock.lock(&Spin);
    let refused = lock.try_lock().is_none() && lock.try_lock().is_none();
    drop(held);
    refused && lock.into_inner()[63] == 1
}

fn permit() -> bool {
    let permit = Permit::new();
    let before = permit.try_take();
    permit.give();
    permit.give();
    !before && permit.try_take() && !permit.try_take()
}

fn deque() -> bool {
    let deque = FixedDeque::<usize, 4>::new();
    let thief = deque.thief();
    let Some(owner) = deque.owner() else {
        return false;
    };
    let fits = (0..4).all(|item| owner.push(item).is_ok());
    let full = owner.push(4) == Err(Full(4));
    let taken = owner.pop() == Some(3) && thief.steal() == Steal::Taken(0);
    let rest = owner.pop() == Some(2) && owner.pop() == Some(1) && owner.pop().is_none();
    fits && full && taken && rest && thief.steal() == Steal::Empty
}

fn counter() -> bool {
    let counter = Counter::new();
    counter.spawn();
    let early = counter.end() != finish::End::More;
    !early && !counter.is_done() && counter.end() == finish::End::Last && counter.is_done()
}

/// The cube over 8 places: from place 5 to 4, 7 and 1.
fn graph() -> bool {
    let cube = Graph::Hypercube { radix: 2 };
    let mut seen = [false; 8];
    for place in cube.outgoing(PlaceId(5), 8) {
        seen[place.0 as usize] = true;
    }
    seen == [false, true, false, false, true, false, false, true]
}

fn gate() -> bool {
    let gate = Gate::new();
    let (one, two) = (WorkerId(0), WorkerId(1));
    let held = gate.try_hold(one) && !gate.try_hold(two) && gate.is_held_by(one);
    held && gate.release() == Some(one) && gate.try_hold(two)
}

fn crew() -> bool {
    let crew = Crew::new(2);
    let (one, two) = (WorkerId(0), WorkerId(1));
    let started = crew.claim(two) == Some(two) && crew.claim(two) == Some(one) && crew.is_full();
    started && !crew.leave(two) && crew.any_idle() == Some(two) && crew.leave(one) && crew.is_dry()
}

fn bound() -> bool {
    let bound = Bound::<usize>::default();
    let unknown = bound.get() == usize::MAX;
    unknown && bound.improve(7) && !bound.improve(7) && !bound.improve(9) && bound.get() == 7
}

fn reserve() -> bool {
    let reserve = Reserve::new();
    let add = |there: &mut u32, more| *there += more;
    reserve.feed(2, add, &Spin);
    reserve.feed(3, add, &Spin);
    let part = |pile: &mut u32| Some(core::mem::take(pile) - 1);
    let taken = reserve.take(part, &Spin) == Some(4) && !reserve.is_empty();
    let rest = reserve.take(|_| None, &Spin) == Some(0) && reserve.take(|_| None, &Spin).is_none();
    let happened = Traffic {
        fed: 2,
        split: 2,
        emptied: 1,
    };
    taken && rest && reserve.is_empty() && reserve.into_inner().1 == happened
}

/// Twice too small doubles the grain, twice too large halves it.
fn tuner() -> bool {
    let mut tuner = Tuner::new(Tuning::thesis(Rule::MergeEmpty), 0);
    let mut log = Log::default();
    let mut ends = [0; 4];
    for (at, end) in ends.iter_mut().enumerate() {
        let small = at < 2;
        log.fed += 10;
        log.emptied += if small { 1 } else { 10 };
        log.utilization.full += if small { 1_000_000 } else { 0 };
        tuner.tick(log, (at as u64 + 1) * 1_000_000);
        *end = tuner.grain();
    }
    ends == [10, 20, 20, 10]
}

fn gauge() -> bool {
    let mut gauge = Gauge::default();
    gauge.crew(2, 2, 0);
    gauge.crew(1, 2, 10);
    let (_, utilization) = gauge.read(15);
    (utilization.full, utilization.busy, utilization.idle) == (10, 25, 5)
}

fn pace() -> bool {
    let tuning = Tuning::default();
    let mut pace = Pace::new(&tuning, 0);
    let silent = pace.begin(|| 0).is_none();
    pace.looked(|| 100);
    pace.did(7, false);
    let Some(sample) = pace.begin(|| tuning.interval) else {
        return false;
    };
    let times = (sample.looking, sample.computing);
    silent && times == (100, tuning.interval - 100) && (sample.turns, sample.tasks) == (1, 7)
}

/// A waiter in memory of its own: its list knows it by its head.
#[repr(C)]
struct Bell {
    link: Link,
    rung: Lock<u32>,
}

/// # Safety
/// `link` is the head of a [`Bell`].
unsafe fn ring(link: NonNull<Link>, end: End) {
    // SAFETY: the caller of the registration promised it.
    let bell = unsafe { link.cast::<Bell>().as_ref() };
    *bell.rung.lock(&Spin) += if end == End::Released { 1 } else { 10 };
}

fn ddf() -> bool {
    let bells = [(); 3].map(|()| Bell {
        link: Link::new(ring),
        rung: Lock::new(0),
    });
    let head = |at: usize| NonNull::from(&bells[at]).cast::<Link>();
    let (cell, empty) = (Ddf::new(), Ddf::<u8>::new());
    // SAFETY: the bells outlive both cells, each is registered once, and nothing else is done with
    // them until then.
    let waits = unsafe {
        Latch::register_link(cell.latch().into(), head(0))
            && Latch::register_link(empty.latch().into(), head(1))
    };
    let before = cell.get() == Err(NotReady);
    let put = cell.put(7) == Ok(()) && cell.put(8) == Err(AlreadyFull(8)) && cell.get() == Ok(&7);
    // SAFETY: as above; it is refused.
    let late = unsafe { Latch::register_link(cell.latch().into(), head(2)) };
    drop(empty);
    waits && before && put && !late && bells.map(|bell| bell.rung.into_inner()) == [1, 10, 0]
}
