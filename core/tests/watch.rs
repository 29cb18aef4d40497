//! States, accounts and what a worker shows of itself.

use tautline_core::port::Spin;
use tautline_core::watch::{
    Accounts, Activity, Awaits, Doing, Meter, Observer, Passage, State, Times,
};
use tautline_core::{PlaceId, WorkerId};

/// Keeps the intervals.
#[derive(Default)]
struct Spans(Vec<(State, u64, u64)>);

impl Observer for Spans {
    fn span(&mut self, state: State, from: u64, to: u64) {
        self.0.push((state, from, to));
    }
}

#[test]
fn every_state_and_wait_is_read_as_it_was_written() {
    let activity = Activity::new();
    assert_eq!(activity.get(), Doing::default());
    for state in State::ALL.map(Some).into_iter().chain([None]) {
        for awaits in Awaits::ALL.map(Some).into_iter().chain([None]) {
            let doing = Doing { state, awaits };
            activity.set(doing);
            assert_eq!(activity.get(), doing);
        }
    }
}

#[test]
fn counts_of_workers_add_up_with_wrap_around() {
    let (here, there) = (Activity::new(), Activity::new());
    for _ in 0..3 {
        here.count_suspended(1);
    }
    for _ in 0..2 {
        there.count_suspended(usize::MAX);
    }
    assert_eq!(here.suspended().wrapping_add(there.suspended()), 1);
}

#[test]
fn states_are_in_the_order_of_their_times() {
    let mut times = Times::default();
    for (ticks, state) in (1..).zip(State::ALL) {
        times.add(state, ticks);
    }
    for (ticks, state) in (1..).zip(State::ALL) {
        assert_eq!(times.of(state), ticks);
    }
    assert_eq!(times.total(), 28);
    assert!(
        State::BALANCED
            .iter()
            .all(|state| State::ALL.contains(state))
    );
}

#[test]
fn a_clock_that_goes_back_takes_no_time() {
    let mut meter = Meter::new(State::Idle, 100, Spans::default());
    meter.enter(State::Computing, 90);
    assert_eq!(meter.times(95).total(), 0);
    let (times, spans) = meter.finish(110);
    assert_eq!((times.total(), times.of(State::Computing)), (10, 10));
    let expected = [(State::Idle, 100, 100), (State::Computing, 100, 110)];
    assert_eq!(spans.0, expected);
}

#[test]
fn time_outside_the_pool_is_excluded() {
    let accounts = Accounts::new([Spans::default(), Spans::default()], 1);
    let worker = WorkerId(1);
    for (state, now) in [
        (Some(State::Computing), 10),
        (Some(State::Stealing), 13),
        (None, 20),
        (None, 25),
        (Some(State::Computing), 30),
    ] {
        accounts.enter(worker, state, now, &Spin);
    }
    let computing = |now| accounts.times(now, &Spin)[1].of(State::Computing);
    assert_eq!((computing(30), computing(31)), (3, 4));
    let closed = accounts.close(40, &Spin);
    assert_eq!(closed.len(), 2);
    let (_, times, spans) = &closed[1];
    assert_eq!((times.of(State::Computing), times.total()), (13, 20));
    let expected = [
        (State::Computing, 10, 13),
        (State::Stealing, 13, 20),
        (State::Computing, 30, 40),
    ];
    assert_eq!(spans.0, expected);
    accounts.enter(worker, Some(State::Idle), 50, &Spin);
    assert!(accounts.close(60, &Spin).is_empty());
    assert_eq!(accounts.times(60, &Spin)[1].total(), 20);
}

/// Idle workers of a pool in which no caller runs anything.
#[test]
fn time_without_a_run_is_a_state_of_its_own() {
    let accounts = Accounts::new((0..4).map(|_| Spans::default()), 2);
    let enter = |worker, state, now| accounts.enter(WorkerId(worker), state, now, &Spin);
    let (idle, computing) = (Some(State::Idle), Some(State::Computing));
    enter(2, Some(State::Stealing), 0);
    enter(2, idle, 10); // no run
    enter(0, computing, 30);
    enter(1, computing, 40);
    enter(3, computing, 40);
    enter(0, None, 50); // the other caller runs
    enter(1, None, 60);
    enter(3, idle, 70); // no run
    enter(1, computing, 100);
    enter(1, None, 110);
    enter(1, None, 115);
    let closed = accounts.close(120, &Spin);
    let spans = |worker: usize| closed[worker].2.0.clone();
    let expected = [
        (State::Stealing, 0, 10),
        (State::NoRun, 10, 30),
        (State::Idle, 30, 60),
        (State::NoRun, 60, 100),
        (State::Idle, 100, 110),
        (State::NoRun, 110, 120),
    ];
    assert_eq!(spans(2), expected);
    let expected = [
        (State::Computing, 40, 70),
        (State::NoRun, 70, 100),
        (State::Idle, 100, 110),
        (State::NoRun, 110, 120),
    ];
    assert_eq!(spans(3), expected);
    assert_eq!(
        spans(1),
        [(State::Computing, 40, 60), (State::Computing, 100, 110)]
    );
}

/// Keeps the loot, with the tick of each passage.
#[derive(Default)]
struct Loot(Vec<(Passage, u64)>);

impl Observer for Loot {
    fn span(&mut self, _: State, _: u64, _: u64) {}

    fn loot(&mut self, passage: Passage, since: u64) {
        self.0.push((passage, since));
    }
}

#[test]
fn loot_has_the_time_of_the_state_that_it_is_sent_in() {
    let passage = Passage {
        from: PlaceId(0),
        to: PlaceId(3),
        is_answer: true,
        is_sent: true,
    };
    let mut meter = Meter::new(State::Computing, 5, Loot::default());
    meter.enter(State::Distributing, 8);
    meter.loot(passage);
    meter.enter(State::Computing, 9);
    assert_eq!(meter.finish(10).1.0, [(passage, 8)]);

    let accounts = Accounts::new([Loot::default()], 1);
    let worker = WorkerId(0);
    let observe = || {
        accounts.observe(worker, &Spin, |loot: &mut Loot, since| {
            loot.loot(passage, since);
        });
    };
    observe();
    accounts.enter(worker, Some(State::Distributing), 20, &Spin);
    observe();
    accounts.enter(worker, None, 30, &Spin);
    observe();
    let closed = accounts.close(40, &Spin);
    assert_eq!(
        closed[0].2.0,
        [(passage, 20)],
        "while a thread is the worker"
    );
    observe();
}
