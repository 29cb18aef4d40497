//! Barriers that bring a sum: each task gives a number and gets the sum of all.

use crate::barriers::DEGREES;
use std::sync::atomic::{AtomicU64, Ordering};
use tautline::phaser::{Accumulator, Config, Mode, Op, Registration, rule};
use tautline_cli::bench::{Barrier, Central, Episodes, Kind, help_after};
use tautline_core::sync::CachePadded;

/// All ways, ours first.
pub(crate) fn kinds() -> Vec<Kind> {
    let counter = |tasks| Summed::new(Central::new(tasks), tasks);
    let mut all: Vec<Kind> = DEGREES.iter().map(|&degree| accumulator(degree)).collect();
    all.push(Kind::new("central counter and a shared sum", counter));
    all
}

fn accumulator(degree: usize) -> Kind {
    Kind::placed(format!("accumulator, degree {degree}"), move |plan| Sums {
        tasks: plan.cpus.len(),
        config: Config {
            degree,
            help_after: help_after(plan),
            ..Config::default()
        },
    })
}

/// A phaser that accumulates, made with its tasks.
struct Sums {
    tasks: usize,
    config: Config,
}

impl Barrier for Sums {
    type Party<'a> = AtSums;

    fn parties(&self) -> Vec<AtSums> {
        let (sum, mut first) =
            Accumulator::create(rule::port(self.config), Op::Sum, None, self.config)
                .expect("a degree of the list");
        let register = |_| first.register(Mode::SignalWait).expect("its own mode");
        let mut all: Vec<_> = (1..self.tasks).map(register).collect();
        all.push(first);
        let party = |task| AtSums {
            sum: sum.clone(),
            task,
            episode: 0,
            tasks: self.tasks as u64,
        };
        all.into_iter().map(party).collect()
    }
}

struct AtSums {
    sum: Accumulator<u64>,
    task: Registration,
    episode: u64,
    tasks: u64,
}

impl Episodes for AtSums {
    fn wait(&mut self) {
        let put = self.sum.put(&mut self.task, self.episode);
        put.and_then(|()| self.task.next_blocking())
            .expect("phases to come");
        assert_eq!(self.sum.get(), self.episode * self.tasks);
        self.episode += 1;
    }
}

/// A barrier beside sums that all add to.
struct Summed<B> {
    meets: B,
    tasks: u64,
    /// In turn: the one read after an episode, the one added to before the next, and the one that
    /// is cleared.
    sums: [CachePadded<AtomicU64>; 3],
}

impl<B> Summed<B> {
    fn new(meets: B, tasks: usize) -> Self {
        Self {
            meets,
            tasks: tasks as u64,
            sums: Default::default(),
        }
    }
}

impl<B: Barrier + Sync> Barrier for Summed<B> {
    type Party<'a>
        = AtSummed<'a, B>
    where
        B: 'a;

    fn parties(&self) -> Vec<AtSummed<'_, B>> {
        let parties = self.meets.parties().into_iter();
        let party = |meets| AtSummed {
            meets,
            at: self,
            episode: 0,
        };
        parties.map(party).collect()
    }
}

struct AtSummed<'a, B: Barrier + 'a> {
    meets: B::Party<'a>,
    at: &'a Summed<B>,
    episode: u64,
}

impl<B: Barrier> Episodes for AtSummed<'_, B> {
    fn wait(&mut self) {
        let sum = |episode: u64| &self.at.sums[(episode % 3) as usize];
        // The barrier orders all accesses; every task adds the number of the episode.
        sum(self.episode).fetch_add(self.episode, Ordering::Relaxed);
        self.meets.wait();
        let got = sum(self.episode).load(Ordering::Relaxed);
        assert_eq!(got, self.episode * self.at.tasks);
        // All tasks have read the sum of the previous episode, and no task adds to it before all
        // have read this one.
        sum(self.episode + 2).store(0, Ordering::Relaxed);
        self.episode += 1;
    }
}
