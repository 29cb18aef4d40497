//! Random schedules: what is too large for every schedule is run under many.
//!
//! # Algorithm
//! A schedule follows from its seed alone. Half the seeds walk at random: at each scheduling point
//! the task that runs continues, with a probability that the seed draws too, or any other one
//! follows. The other half give priorities (PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte 2010):
//! the first task in an order drawn by the seed runs, and falls to the end of it at a few steps
//! drawn beforehand, and whenever it waits. Unlike there, these steps are drawn for any length of
//! run, since the length is known only afterwards, and small ones are likelier.

use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Many schedules of one small concurrent program.
///
/// `TAUTLINE_SEED=<n>` runs the one with this seed alone.
#[derive(Debug)]
#[must_use]
pub struct Schedules {
    name: &'static str,
    count: u64,
    steps: usize,
    stack_bytes: usize,
}

impl Schedules {
    /// Of the program `name`: 1000 schedules, each of at most 100 000 steps.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            count: 1_000,
            steps: 100_000,
            stack_bytes: 1 << 16,
        }
    }

    /// The number of them.
    pub fn count(mut self, schedules: u64) -> Self {
        self.count = schedules;
        self
    }

    /// A schedule that takes more steps is a failure: a wait without end.
    pub fn steps(mut self, most: usize) -> Self {
        self.steps = most;
        self
    }

    /// The stack of a task, in bytes. Provided: 65 536.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Runs `program` under all of them and prints one line about it. Its tasks are threads of
    /// shuttle.
    ///
    /// # Panics
    /// If one fails: a panic in `program`, tasks that wait for each other, or too many steps. The
    /// seed is printed.
    pub fn check(self, program: impl Fn() + Send + Sync + 'static) {
        let (name, start) = (self.name, Instant::now());
        let (first, count) = match alone() {
            Some(seed) => (seed, 1),
            None => (0, self.count),
        };
        if let Err((seed, cause)) = self.run(first, count, program) {
            eprintln!("{name} failed under seed {seed}; TAUTLINE_SEED={seed} runs it alone");
            std::panic::resume_unwind(cause);
        }
        let seconds = start.elapsed().as_secs_f64();
        println!("SCHEDULES {name} schedules={count} floor={count} seconds={seconds:.2}");
    }

    /// Runs `program` until a schedule fails, and prints their number; returns the seed, `None`
    /// if none failed.
    pub fn find(self, program: impl Fn() + Send + Sync + 'static) -> Option<u64> {
        let (name, start) = (self.name, Instant::now());
        // Shuttle sets a panic hook in its first run: before ours, or ours would stay.
        _ = self.run(0, 1, || {});
        // The failure is wanted: its backtrace would only appear to be a failure.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let outcome = self.run(0, self.count, program);
        std::panic::set_hook(hook);
        let (seed, _) = outcome.err()?;
        let (seconds, taken) = (start.elapsed().as_secs_f64(), seed + 1);
        println!("SCHEDULES {name} schedules={taken} floor=1 seconds={seconds:.2}");
        Some(seed)
    }

    /// The schedules of the seeds from `first` on; if one fails, its seed and its panic.
    fn run(
        &self,
        first: u64,
        count: u64,
        program: impl Fn() + Send + Sync + 'static,
    ) -> Result<(), (u64, Cause)> {
        let seed = Arc::new(AtomicU64::new(first));
        let runner = Runner::new(Drawn::new(first, count, Arc::clone(&seed)), self.config());
        let outcome = catch_unwind(AssertUnwindSafe(|| runner.run(program)));
        match outcome {
            Ok(_) => Ok(()),
            Err(cause) => Err((seed.load(Ordering::Relaxed), cause)),
        }
    }

    fn config(&self) -> Config {
        let mut config = Config::new();
        config.max_steps = MaxSteps::FailAfter(self.steps);
        config.stack_size = self.stack_bytes;
        // A seed is shorter.
        config.failure_persistence = FailurePersistence::None;
        config.silence_warnings = true;
        config
    }
}

/// Runs `program` under `count` schedules: [`Schedules`] as provided.
///
/// # Panics
/// As [`Schedules::check`].
pub fn schedules(name: &'static str, count: u64, program: impl Fn() + Send + Sync + 'static) {
    Schedules::new(name).count(count).check(program);
}

type Cause = Box<dyn std::any::Any + Send>;

fn alone() -> Option<u64> {
    let seed = std::env::var("TAUTLINE_SEED").ok()?;
    Some(seed.parse().expect("TAUTLINE_SEED is a whole number"))
}

/// Schedules drawn by seeds that follow each other.
#[derive(Debug)]
struct Drawn {
    next: u64,
    end: u64,
    current: Arc<AtomicU64>,
    random: Random,
    way: Way,
}

#[derive(Debug)]
enum Way {
    /// The running task continues with a probability of `stay` / 16.
    Walk {
        stay: u64,
    },
    Priorities(Priorities),
}

#[derive(Debug)]
struct Priorities {
    /// The highest runs.
    of: BTreeMap<usize, i64>,
    lowest: i64,
    falls: Vec<u64>,
    step: u64,
}

impl Drawn {
    fn new(first: u64, count: u64, current: Arc<AtomicU64>) -> Self {
        Self {
            next: first,
            end: first.saturating_add(count),
            current,
            random: Random(first),
            way: Way::Walk { stay: 0 },
        }
    }
}

impl Scheduler for Drawn {
    fn new_execution(&mut self) -> Option<Schedule> {
        if self.next == self.end {
            return None;
        }
        let seed = self.next;
        self.next += 1;
        self.current.store(seed, Ordering::Relaxed);
        self.random = Random(seed);
        let drawn = self.random.next();
        self.way = if seed % 2 == 0 {
            let stay = [0, 0, 8, 12, 15][(drawn % 5) as usize];
            Way::Walk { stay }
        } else {
            Way::Priorities(Priorities::drawn(&mut self.random))
        };
        Some(Schedule::new(seed))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        waits: bool,
    ) -> Option<TaskId> {
        let random = &mut self.random;
        let next = match &mut self.way {
            Way::Walk { stay } => {
                let goes_on = current.filter(|_| !waits && random.below(16) < *stay);
                let here = goes_on.filter(|id| runnable.iter().any(|task| task.id() == *id));
                here.unwrap_or_else(|| runnable[random.below(runnable.len() as u64) as usize].id())
            }
            Way::Priorities(priorities) => priorities.next(runnable, current, waits, random),
        };
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.random.next()
    }
}

impl Priorities {
    fn drawn(random: &mut Random) -> Self {
        let falls = (0..random.below(5)).map(|_| {
            let bits = 3 + random.below(12);
            random.below(1 << bits)
        });
        Self {
            of: BTreeMap::new(),
            lowest: 0,
            falls: falls.collect(),
            step: 0,
        }
    }

    fn next(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        waits: bool,
        random: &mut Random,
    ) -> TaskId {
        self.step += 1;
        if let Some(current) = current.filter(|_| waits || self.falls.contains(&self.step)) {
            self.lowest -= 1;
            self.of.insert(current.into(), self.lowest);
        }
        let mut priority = |task: &Task| {
            let of = self.of.entry(task.id().into());
            *of.or_insert_with(|| (random.next() >> 2) as i64)
        };
        let first = runnable.iter().max_by_key(|task| priority(task));
        first.expect("shuttle asks only when a task can run").id()
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
