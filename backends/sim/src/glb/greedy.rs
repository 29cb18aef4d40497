//! The same tasks without costs: an upper bound of the efficiency.
//!
//! # Algorithm
//! List scheduling (Graham 1969). No worker is idle while a task waits anywhere: a worker whose bag
//! is empty gets half of the fullest bag at once, at no cost. Workers process their bags in the
//! bags' order, as they do in a simulation. Time is counted in tasks.
//!
//! While every worker has tasks, nothing happens between them, so they are advanced one by
//! one: a worker with `n` tasks has work for `n` more at least. Its *horizon*, the time until which
//! that lasts, orders the workers. When one is dry, the worker with the last horizon is advanced to
//! that time and divided. Once no bag can be divided, all advance task by task.

use super::phases::{Phases, Profile};
use super::{Interim, WATCH_EVERY};
use std::collections::{BTreeSet, BinaryHeap};
use tautline_core::PlaceId;
use tautline_core::glb::laws::{divide, fruitless};
use tautline_core::glb::{Bag, Reason, Share};

/// The duration of the same tasks on as many workers if balancing them costs nothing and takes no
/// time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The duration.
    pub virtual_ns: u64,
    /// The number of tasks; it differs from that of a run if tasks are pruned by what others have
    /// found.
    pub tasks: u64,
    /// Sequential time over workers times this duration.
    pub efficiency: f64,
    /// The parts of it.
    pub phases: Phases,
}

/// Schedules the tasks of `bag`, which take `task_ns` each, on the workers of `places` places,
/// unless `watch` returns a reason to stop.
pub(super) fn schedule<B: Bag>(
    bag: B,
    shared: &B::Shared,
    [places, per_place]: [u32; 2],
    task_ns: u64,
    watch: &dyn Fn(Interim) -> Option<Reason>,
) -> Option<Bound> {
    let count = places as usize * per_place as usize;
    let mut workers = Vec::with_capacity(count);
    workers.push(GreedyWorker {
        bag: Some(bag),
        at: 0,
    });
    workers.resize_with(count, || GreedyWorker { bag: None, at: 0 });
    let mut greedy = Greedy {
        workers,
        shared,
        busy: BTreeSet::new(),
        dry: (1..count).rev().collect(),
        tasks: 0,
        profile: Profile::new(places),
        per_place: per_place as usize,
        task_ns,
        watch,
        checks: 0,
        stopped: false,
    };
    let end = greedy.run().saturating_mul(task_ns);
    let all = count as f64 * end as f64;
    let alone = greedy.tasks as f64 * task_ns as f64;
    (!greedy.stopped).then(|| Bound {
        virtual_ns: end,
        tasks: greedy.tasks,
        efficiency: if all > 0.0 { alone / all } else { 1.0 },
        phases: greedy.profile.phases(count as f64, end),
    })
}

/// A worker.
struct GreedyWorker<B> {
    /// Its tasks, if it has some.
    bag: Option<B>,
    /// The time that has passed for it, in tasks.
    at: u64,
}

impl<B: Bag> GreedyWorker<B> {
    fn len(&self) -> u64 {
        self.bag.as_ref().map_or(0, |bag| bag.len().max(1) as u64)
    }
}

struct Greedy<'a, B: Bag> {
    workers: Vec<GreedyWorker<B>>,
    shared: &'a B::Shared,
    /// Workers with tasks, by horizon.
    busy: BTreeSet<(u64, usize)>,
    /// Workers without.
    dry: Vec<usize>,
    tasks: u64,
    profile: Profile,
    /// Workers of a place.
    per_place: usize,
    task_ns: u64,
    watch: &'a dyn Fn(Interim) -> Option<Reason>,
    /// The number of times that a worker was advanced, for the watch.
    checks: u64,
    stopped: bool,
}

impl<B: Bag> Greedy<'_, B> {
    /// Returns when the last task ends, or the time at which the watch stopped it.
    fn run(&mut self) -> u64 {
        let mut now = 0;
        if self.workers[0].bag.as_ref().is_none_or(Bag::is_empty) {
            return 0;
        }
        self.share_out();
        loop {
            now = self.each_alone(now);
            self.share_out();
            if self.stopped || self.dry.len() == self.workers.len() {
                return now;
            }
        }
    }

    /// Advances all workers by one task, or, if none of them is dry, until no bag can be divided
    /// for one that is. Returns the time, which is the same for all.
    fn each_alone(&mut self, now: u64) -> u64 {
        if !self.dry.is_empty() {
            self.advance_all(now + 1);
            return now + 1;
        }
        let horizons = self.workers.iter().enumerate();
        self.busy = horizons
            .map(|(worker, state)| (now + state.len(), worker))
            .collect();
        loop {
            let (horizon, worker) = self.busy.pop_first().expect("every worker has tasks");
            self.advance(worker, horizon);
            if self.stopped {
                return horizon;
            }
            if self.workers[worker].bag.is_none() && !self.steal(worker, horizon) {
                self.dry.push(worker);
                self.advance_all(horizon);
                return horizon;
            }
            self.insert(worker);
        }
    }

    fn insert(&mut self, worker: usize) {
        let state = &self.workers[worker];
        if state.bag.is_some() {
            self.busy.insert((state.at + state.len(), worker));
        }
    }

    /// Lets `thief` divide the bag with the last horizon. Returns whether it could.
    fn steal(&mut self, thief: usize, now: u64) -> bool {
        let Some((_, victim)) = self.busy.pop_last() else {
            return false;
        };
        self.advance(victim, now);
        let loot = match &mut self.workers[victim].bag {
            Some(bag) => divide(bag, Share::Half),
            None => {
                self.dry.push(victim);
                None
            }
        };
        self.insert(victim);
        let is_divided = loot.is_some();
        self.workers[thief] = GreedyWorker { bag: loot, at: now };
        is_divided
    }

    fn advance_all(&mut self, now: u64) {
        for worker in 0..self.workers.len() {
            if self.workers[worker].bag.is_some() {
                self.advance(worker, now);
                if self.workers[worker].bag.is_none() {
                    self.dry.push(worker);
                }
            }
            self.workers[worker].at = now;
        }
    }

    /// Lets a worker process tasks until `now`, or until it has none.
    fn advance(&mut self, worker: usize, now: u64) {
        self.check_watch(now);
        let state = &mut self.workers[worker];
        let (Some(bag), true) = (&mut state.bag, state.at < now) else {
            return;
        };
        let requested = (now - state.at) as usize;
        let done = bag.process(requested, self.shared) as u64;
        if done == 0 {
            fruitless(bag, requested, 1);
        }
        let place = PlaceId((worker / self.per_place) as u32);
        let [from, ns] = [state.at, done].map(|tasks| tasks.saturating_mul(self.task_ns));
        self.profile.add(place, from, ns);
        self.tasks += done;
        state.at += done;
        if bag.is_empty() {
            state.bag = None;
        }
    }

    /// Counts a call, and polls the watch at each [`WATCH_EVERY`]th, from the first on.
    fn check_watch(&mut self, now: u64) {
        if self.checks % WATCH_EVERY == 0 {
            let interim = Interim {
                virtual_ns: now.saturating_mul(self.task_ns),
                tasks: self.tasks,
            };
            self.stopped |= (self.watch)(interim).is_some();
        }
        self.checks += 1;
    }

    /// Divides bags, the fullest first, until no worker is dry or no bag can be divided.
    fn share_out(&mut self) {
        let full = |(worker, state): (usize, &GreedyWorker<B>)| {
            let bag = state.bag.as_ref().filter(|bag| bag.is_splittable())?;
            Some((bag.len(), worker))
        };
        let mut fullest: BinaryHeap<_> = self.workers.iter().enumerate().filter_map(full).collect();
        while let (Some(&thief), Some((_, victim))) = (self.dry.last(), fullest.pop()) {
            let loot = self.workers[victim].bag.as_mut();
            let Some(loot) = loot.and_then(|bag| divide(bag, Share::Half)) else {
                continue;
            };
            self.dry.pop();
            self.workers[thief].bag = Some(loot);
            let both = [victim, thief].map(|worker| (worker, &self.workers[worker]));
            fullest.extend(both.into_iter().filter_map(full));
        }
    }
}
