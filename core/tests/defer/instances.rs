//! Deferred load balancing: one executor for each iteration in each instance, and the efficiency
//! that is reached.

use super::driver::Random;
use super::sent;
use std::mem;
use tautline_core::Rank;
use tautline_core::defer::{
    Account, Conditions, Deferred, Effect, Event, Geometry, Move, Notice, Refusal,
};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::taper::{Estimate, Instance, Policy, Summary, Taper};

const GEOMETRIES: [Geometry; 2] = [Geometry::Contiguous, Geometry::Free];

/// A loop at all ranks, which is executed again and again. Chunks end, and messages arrive, in any
/// order.
struct World {
    n: u64,
    ranks: Vec<Deferred>,
    /// Messages in flight: from, to, the message.
    mail: Vec<(Rank, Rank, Notice)>,
    /// Ranks with a chunk to execute.
    busy: Vec<(Rank, Vec<u64>)>,
    /// By instance, the iterations executed.
    executed: Vec<Vec<bool>>,
    /// Iterations sent.
    moved: u64,
    /// Messages sent.
    sent: u64,
    /// By rank, the chunks executed, and the accounts sent.
    chunks: Vec<u64>,
    reports: Vec<u64>,
    random: Random,
}

impl World {
    fn new(n: u64, p: u32, conditions: Conditions) -> Self {
        let machine = |rank| Deferred::new(Rank(rank), n, p, conditions);
        let mut world = Self {
            n,
            ranks: (0..p).map(machine).collect(),
            mail: Vec::new(),
            busy: Vec::new(),
            executed: Vec::new(),
            moved: 0,
            sent: 0,
            chunks: vec![0; p as usize],
            reports: vec![0; p as usize],
            random: Random(9),
        };
        for rank in (0..p).map(Rank) {
            world.step(rank, |machine, step| machine.event(Event::Begin, step));
        }
        world
    }

    fn step(&mut self, here: Rank, take: impl FnOnce(&mut Deferred, &mut Step<'_, Deferred>)) {
        let mut act = |action: Action<Deferred>| match action {
            Action::Send(to, notice) => {
                if let Notice::Data(_, part) = &notice {
                    self.moved += part.end - part.start;
                }
                self.sent += 1;
                let is_report = matches!(notice, Notice::Accounts(..));
                self.reports[here.index()] += u64::from(is_report);
                self.mail.push((here, to, notice));
            }
            Action::Effect(Effect::Execute(chunk)) => {
                let chunk = chunk.into_iter().flatten().collect();
                self.busy.push((here, chunk));
            }
            Action::Effect(Effect::End) => unreachable!("the program ends such a loop"),
        };
        let machine = &mut self.ranks[here.index()];
        take(machine, &mut Step::new(&mut (), &mut act));
    }

    /// Executes a chunk.
    fn execute(&mut self, at: usize, cost: &dyn Fn(u64, u64) -> u64) {
        let (here, iterations) = self.busy.swap_remove(at);
        self.chunks[here.index()] += 1;
        let instance = self.ranks[here.index()].instance();
        let n = self.n;
        let number = instance as usize;
        if self.executed.len() <= number {
            self.executed.resize(number + 1, Vec::new());
        }
        let executed = &mut self.executed[number];
        executed.resize(executed.len().max(n as usize), false);
        for &iteration in &iterations {
            let done = mem::replace(&mut executed[iteration as usize], true);
            assert!(!done, "{iteration} twice in instance {instance}");
        }
        let cost = |&iteration: &u64| cost(instance, iteration);
        let times: Vec<u64> = iterations.iter().map(cost).collect();
        self.step(here, |machine, step| {
            machine.event(Event::Executed(times), step);
        });
    }

    /// Ends instances until all ranks have reached `instance`. Of messages with data only one in
    /// `slow` is delivered when drawn.
    fn run_until(&mut self, instance: u64, slow: u64, cost: &dyn Fn(u64, u64) -> u64) {
        while self.ranks.iter().any(|rank| rank.instance() < instance) {
            let ready =
                |(rank, _): &(Rank, Vec<u64>)| self.ranks[rank.index()].instance() < instance;
            let busy = self.busy.iter().position(ready);
            let draw = |random: &mut Random, len: usize| random.below(len as u64) as usize;
            if let Some(at) = busy.filter(|_| self.mail.is_empty() || self.random.below(2) == 0) {
                self.execute(at, cost);
                continue;
            }
            let at = draw(&mut self.random, self.mail.len());
            if matches!(self.mail[at].2, Notice::Data(..)) && self.random.below(slow) != 0 {
                continue;
            }
            let (from, here, notice) = self.mail.swap_remove(at);
            self.step(here, |machine, step| {
                let received = machine.receive(from, notice, step);
                received.expect("it is expected");
            });
        }
        for done in &self.executed[..instance as usize] {
            assert!(done.iter().all(|done| *done), "each iteration is executed");
        }
    }

    /// Returns the efficiency of the present division at these costs.
    fn efficiency(&self, cost: impl Fn(u64) -> u64) -> f64 {
        let work = |rank: &Deferred| {
            rank.parts()
                .iter()
                .cloned()
                .flatten()
                .map(&cost)
                .sum::<u64>()
        };
        let works: Vec<u64> = self.ranks.iter().map(work).collect();
        let most = *works.iter().max().expect("there are ranks");
        works.iter().sum::<u64>() as f64 / (most as f64 * works.len() as f64)
    }
}

/// The hot spot of the specification, among `n` iterations: 0.2 + 4.5 exp(−((x − 0.4) / 0.1)²).
fn hot_spot(n: u64, centre: f64) -> impl Fn(u64) -> u64 {
    move |iteration| {
        let x = iteration as f64 / n as f64;
        let bump = (-((x - centre) / 0.1).powi(2)).exp();
        (1000.0 * (0.2 + 4.5 * bump)) as u64
    }
}

#[test]
fn a_balanced_loop_sends_accounts_only() {
    let equal = |iteration: u64| 1000 + iteration % 9 * 3;
    // Ranks differ by just 3 % of the most loaded one's time.
    let uneven = |iteration: u64| if iteration / 9 % 2 == 0 { 970 } else { 1000 };
    for cost in [equal as fn(u64) -> u64, uneven] {
        let mut world = World::new(64 * 9, 64, Conditions::default());
        world.run_until(5, 1, &|_, iteration| cost(iteration));
        assert_eq!(world.moved, 0);
        assert_eq!(world.sent, 5 * 2 * 63);
    }
}

/// 10,000 loops for each geometry, half of them with reports in the course of an instance: Lucco,
/// acceptance facts 16 and 31.
#[test]
fn each_iteration_has_one_executor_in_each_instance() {
    let mut moved = [0; 2];
    for seed in 0..20_000_u64 {
        let mut random = Random(seed * 31 + 7);
        let p = 1 + random.below(33);
        let n = random.below(100);
        let geometry = seed as usize % 2;
        let conditions = Conditions {
            coherence: 0,
            capacity: 1 + random.below(20),
            geometry: GEOMETRIES[geometry],
            pace: (seed % 4 > 1).then(Taper::default),
            ..Conditions::default()
        };
        let mut world = World::new(n, p as u32, conditions);
        world.random = random.clone();
        let cost = |instance: u64, iteration: u64| {
            let mut random = Random(seed ^ (instance / 4) << 20 ^ iteration << 32);
            random.below(7);
            10 + random.below(90)
        };
        world.run_until(6, 1 + random.below(60), &cost);
        moved[geometry] += world.moved;
    }
    println!("iterations moved by geometry: {moved:?}");
    // Loops in which nothing moves show little: an iteration a loop is the least.
    assert!(moved.iter().all(|moved| *moved > 10_000), "{moved:?}");
}

#[test]
fn a_rank_reports_once_for_each_chunk_of_its_taper_sequence() {
    let (p, taper) = (4, Taper::default());
    let conditions = Conditions {
        pace: Some(taper),
        // Nothing moves.
        threshold: 1000,
        ..Conditions::default()
    };
    let n = 64 * u64::from(p);
    let cost = |_: u64, iteration: u64| 100 + iteration % 7 * 40;
    let mut world = World::new(n, p, conditions);
    // Before there are times, σ/μ is assumed; then it is that of the instance before.
    let mut estimate = Estimate::START;
    let mut reports = [0; 2];
    for instance in 1..=3 {
        let before = world.chunks.clone();
        world.run_until(instance, 1, &cost);
        for rank in 0..p {
            let (mut left, mut expected) = (n / u64::from(p), 0);
            while left > 0 {
                let all = left * u64::from(p);
                left -= Policy::Taper(taper)
                    .chunk(all, estimate, &Instance::new(n, p))
                    .min(left);
                expected += 1;
            }
            let at = rank as usize;
            assert_eq!(
                world.chunks[at] - before[at],
                expected,
                "{instance} of {rank}"
            );
            // A leaf of the tree sends each to its parent.
            reports[usize::from(rank == 3)] += expected;
        }
        let mut times = Summary::NONE;
        (0..n / u64::from(p)).for_each(|iteration| times.record(cost(0, iteration)));
        estimate = times.estimate();
        assert_eq!(world.reports[3], reports[1], "reports of rank 3");
    }
    assert!(reports[1] > 3 * 4, "{reports:?}");
}

#[test]
fn a_transfer_takes_effect_after_its_data_has_arrived() {
    let mut world = World::new(40, 2, Conditions::default());
    let cost = |_: u64, iteration: u64| if iteration < 20 { 30 } else { 10 };
    // No data arrives.
    world.run_until(6, u64::MAX, &cost);
    assert_eq!(world.ranks[0].block(), 0..20);
    assert_eq!(world.moved, 7);
    world.run_until(9, 1, &cost);
    assert_eq!(world.ranks[0].block(), 0..13);
    assert_eq!(world.ranks[1].block(), 13..40);
}

#[test]
fn a_hot_spot_is_divided() {
    for p in [64, 512] {
        let n = 48 * u64::from(p);
        let cost = hot_spot(n, 0.4);
        let mut world = World::new(n, p, Conditions::default());
        assert!(world.efficiency(&cost) < 0.22);
        world.run_until(10, 1, &|_, iteration| cost(iteration));
        let steady = world.efficiency(&cost);
        println!("hot spot on {p} ranks: {steady:.3}");
        assert!(steady >= 0.90, "{steady} on {p}");
    }
}

/// The mean efficiency of the instances after the 20th, while the centre moves by `drift` of the
/// loop in each.
fn drifting(p: u32, drift: f64, geometry: Geometry) -> f64 {
    let n = 48 * u64::from(p);
    let cost = |instance: u64| hot_spot(n, 0.3 + drift * instance as f64);
    let conditions = Conditions {
        geometry,
        ..Conditions::default()
    };
    let mut world = World::new(n, p, conditions);
    let mut sum = 0.0;
    for instance in 1..=40 {
        world.run_until(instance, 1, &|at, iteration| cost(at)(iteration));
        if instance > 20 {
            sum += world.efficiency(cost(instance));
        }
    }
    sum / 20.0
}

#[test]
fn a_hot_spot_that_drifts_is_followed() {
    for p in [64, 512] {
        for (drift, geometry) in [(0.001, Geometry::Contiguous), (0.01, Geometry::Free)] {
            let steady = drifting(p, drift, geometry);
            println!("hot spot that drifts by {drift} on {p} ranks, {geometry:?}: {steady:.3}");
            assert!(steady >= 0.75, "{steady} on {p} by {drift}");
        }
    }
}

/// **Not met**: split points follow a drift of a hundredth of the loop an instance too late. A plan
/// is two instances old when it takes effect; a division into equal work of that age has 0.65, one
/// of the instance before 0.80, which is what the source's model has.
#[test]
fn a_fast_drift_is_too_fast_for_split_points() {
    let steady = drifting(512, 0.01, Geometry::Contiguous);
    println!("hot spot that drifts by 0.01 on 512 ranks, Contiguous: {steady:.3}");
    assert!((0.5..0.75).contains(&steady), "{steady}");
}

#[test]
fn scattered_iterations_are_divided_where_they_may_be_anywhere() {
    let (p, n) = (512, 48 * 512);
    let mut random = Random(3);
    random.below(7);
    let heavy: Vec<bool> = (0..n).map(|_| random.below(10) == 0).collect();
    let cost = |iteration: u64| if heavy[iteration as usize] { 6000 } else { 440 };
    let conditions = Conditions {
        geometry: Geometry::Free,
        ..Conditions::default()
    };
    let mut world = World::new(n, p, conditions);
    let before = world.efficiency(cost);
    world.run_until(10, 1, &|_, iteration| cost(iteration));
    let (steady, moved) = (world.efficiency(cost), world.moved);
    world.run_until(20, 1, &|_, iteration| cost(iteration));
    let share = (world.moved - moved) as f64 / 10.0 / n as f64;
    println!("scattered: {before:.3} → {steady:.3}, then {share:.4} of them move an instance");
    assert!(before < 0.6 && steady >= 0.95, "{before}, {steady}");
    assert!(world.efficiency(cost) >= 0.95 && share < 0.01, "{share}");
}

#[test]
fn a_chaotic_loop_is_left_alone() {
    let cost = |instance: u64, iteration: u64| {
        let mut random = Random(instance << 40 ^ iteration << 8);
        random.below(7);
        1 + random.below(1000)
    };
    let mut world = World::new(48 * 64, 64, Conditions::default());
    let blocks = World::new(48 * 64, 64, Conditions::default());
    world.run_until(10, 1, &cost);
    let moved = world.moved;
    let mut gain = 0.0;
    for instance in 11..=30 {
        world.run_until(instance, 1, &cost);
        let now = |iteration| cost(instance, iteration);
        gain += (world.efficiency(now) - blocks.efficiency(now)) / 20.0;
    }
    assert_eq!(world.moved, moved, "no plan after 10 instances");
    println!("chaotic loop: {gain:+.4} of blocks");
    assert!(gain >= -0.01, "{gain}");
}

#[test]
fn a_split_point_moves_as_far_as_the_bandwidth_permits() {
    let (n, p, capacity) = (48 * 16, 16, 5);
    let cost = hot_spot(n, 0.4);
    let conditions = Conditions {
        capacity,
        ..Conditions::default()
    };
    let mut world = World::new(n, p, conditions);
    let starts =
        |world: &World| -> Vec<u64> { world.ranks.iter().map(|rank| rank.block().start).collect() };
    let far = |a: &[u64], b: &[u64]| a.iter().zip(b).map(|(a, b)| a.abs_diff(*b)).max();
    let first = starts(&world);
    let (mut before, mut changed) = (first.clone(), 0);
    for instance in 1..200 {
        world.run_until(instance, 1, &|_, iteration| cost(iteration));
        let now = starts(&world);
        assert!(far(&now, &before) <= Some(capacity), "{before:?}, {now:?}");
        assert!(now.is_sorted(), "blocks stay contiguous");
        if now != before {
            changed = instance;
        }
        before = now;
    }
    let plans = far(&before, &first)
        .expect("there are ranks")
        .div_ceil(capacity);
    println!("{plans} plans at least, {changed} instances");
    // A plan takes effect at the next instance, or at the one after if data arrives after a report.
    assert!(
        changed <= 2 * plans + 2,
        "{plans} plans, {changed} instances"
    );
    assert!(world.efficiency(&cost) > 0.9);
}

/// Seven iterations would move, after which the larger load is 2870 ns in place of 4200: a gain of
/// 1330 ns in each of the instances that the transfer is expected to last for, one more than those
/// so far.
#[test]
fn a_transfer_must_pay() {
    let moved = |migrate_ns, instances| {
        let conditions = Conditions {
            migrate_ns,
            ..Conditions::default()
        };
        let mut world = World::new(40, 2, conditions);
        let cost = |_: u64, iteration: u64| if iteration < 20 { 210 } else { 70 };
        world.run_until(instances, 1, &cost);
        world.moved
    };
    assert_eq!(moved(0, 2), 7);
    for instances in 2..20 {
        let gain = 1330 * instances;
        let cost = gain / 7;
        assert_eq!(7 * cost, gain);
        assert_eq!(moved(cost - 1, instances), 7, "less than the gain");
        assert_eq!(moved(cost, instances), 0, "as much");
        assert_eq!(moved(cost + 1, instances), 0, "more");
    }
    assert_eq!(moved(1_000_000, 20), 0);
}

#[test]
fn malformed_notices_are_refused() {
    // Rank 1 of 4, whose parent is 0 and whose child is 2.
    let mut machine = Deferred::new(Rank(1), 40, 4, Conditions::default());
    sent(&mut (), |step| machine.event(Event::Begin, step));
    let next = |instance, switch, plan| Notice::Next {
        instance,
        switch,
        plan,
    };
    let account = |sections: usize, same| Account {
        sections: vec![(1, 1); sections],
        same,
        all: 5,
        left: 0,
        ready: 0,
    };
    let accounts = |instance, sections, same| {
        let all = vec![account(sections, same)];
        Notice::Accounts(instance, all)
    };
    let refuse = |machine: &Deferred, from, notice: Notice, why| {
        let mut after = machine.clone();
        let text = format!("{notice:?} from {from}");
        let (received, sent) = sent(&mut (), |step| after.receive(Rank(from), notice, step));
        assert_eq!(received, Err(why), "{text}");
        assert!(after == *machine && sent.is_empty(), "{text}");
    };
    refuse(&machine, 3, accounts(0, 10, 1), Refusal::Path);
    refuse(&machine, 2, accounts(1, 10, 1), Refusal::Range);
    refuse(&machine, 2, accounts(0, 9, 1), Refusal::Progress(Rank(2)));
    refuse(&machine, 2, accounts(0, 10, 6), Refusal::Progress(Rank(2)));
    refuse(&machine, 2, Notice::Accounts(0, vec![]), Refusal::Count);
    refuse(&machine, 0, next(1, false, None), Refusal::Range);
    for (from, number, part, why) in [
        (1, 1, 10..11, Refusal::Path),
        (4, 1, 10..11, Refusal::Path),
        (0, 0, 0..1, Refusal::Range),
        (0, 2, 0..1, Refusal::Range),
        (0, 1, 9..11, Refusal::Iterations),
        (0, 1, 3..3, Refusal::Iterations),
    ] {
        refuse(&machine, from, Notice::Data(number, part), why);
    }
    let (received, _) = sent(&mut (), |step| {
        machine.event(Event::Executed(vec![1; 10]), step);
        machine.receive(Rank(2), accounts(0, 10, 1), step)
    });
    assert_eq!(received, Ok(()));
    refuse(&machine, 2, next(1, false, None), Refusal::Path);
    refuse(&machine, 0, next(2, false, None), Refusal::Range);
    refuse(&machine, 0, next(1, true, None), Refusal::Unasked);
    let names = |rank| Refusal::Names(Rank(rank));
    for (from, to, part, why) in [
        (1, 1, 10..11, names(1)),
        (4, 1, 10..11, names(4)),
        (1, 4, 10..11, names(4)),
        (0, 3, 0..1, names(0)),
        (1, 0, 10..10, Refusal::Range),
        (0, 1, 40..41, Refusal::Range),
        (1, 0, 9..11, Refusal::Iterations),
        (2, 1, 10..11, Refusal::Iterations),
    ] {
        let (from, to) = (Rank(from), Rank(to));
        let plan = vec![Move { from, to, part }];
        refuse(&machine, 0, next(1, false, Some(plan)), why);
    }
}
