//! The sequential program with which a run is compared: the same bag, one processor, no polling
//! (Saraswat 2011).

use super::any::AnyBag;
use super::{AnyProblem, Rates};
use clap::ValueEnum;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use tautline::balance::{Bag, Control};
use tautline::internal::machine;

/// Problems of up to this many tasks are their own baseline, unless the tasks are long.
const SMALL: u64 = 8_000_000;
/// A problem that takes longer, by estimate, is not its own baseline if there is a smaller one.
const LONG: Duration = Duration::from_secs(5);
/// The estimated time after which a baseline is cut off that was not requested by name.
const LONGEST: Duration = Duration::from_secs(10);
/// A baseline shorter than this is run three times.
const SHORT: Duration = Duration::from_secs(2);
/// Long enough to measure how long a task takes.
const STRETCH: Duration = Duration::from_millis(100);
const TASKS_MAX: usize = 1 << 40;
/// Time between two polls of the interrupt.
const PERIOD: Duration = Duration::from_millis(50);

/// The work of the sequential program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Baseline {
    /// A smaller problem of the same kind; this one if it is small, or its beginning if there is
    /// none
    Smaller,
    /// This problem; as much of it as was done if the run was stopped
    Same,
    /// No baseline, no efficiency
    None,
}

/// The work of the run that is evaluated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done {
    /// Tasks.
    pub tasks: u64,
    /// Whether all tasks were done.
    pub complete: bool,
    /// Tasks a second and processor.
    pub rate: f64,
}

/// The result of the sequential program.
#[derive(Clone, Debug)]
pub(super) struct Sequential {
    /// The problem that it worked on.
    pub problem: String,
    /// The work done, in the problem's unit.
    pub work: u64,
    /// Whether it did all work, not only the beginning.
    pub whole: bool,
    /// The rates.
    pub rates: Rates,
    /// The number of runs; the rate is the median.
    pub runs: usize,
    /// Whether a bound pruned it.
    pub bounded: bool,
}

/// The reason why there is no baseline.
#[derive(Clone, Debug)]
pub(super) enum Missing {
    /// It was not requested.
    Unwanted,
    /// The application has no baseline, for this reason.
    Because(String),
    /// The user interrupted it.
    Interrupted,
}

/// Runs the baseline of a run that has `done` this much, on `cpu`.
pub(super) fn measure(
    baseline: Baseline,
    problem: &Arc<dyn AnyProblem>,
    done: &Done,
    cpu: Option<usize>,
    interrupt: &Control,
) -> Result<Sequential, Missing> {
    if baseline == Baseline::None {
        return Err(Missing::Unwanted);
    }
    if interrupt.is_stopped() {
        return Err(Missing::Interrupted);
    }
    let Plan {
        problem,
        name,
        most,
    } = Plan::of(baseline, problem, done);
    let mut rounds: Vec<Round> = Vec::new();
    while rounds.len() < 3 {
        let round = alone(&problem, most, cpu, interrupt)?;
        let time = round.time;
        rounds.push(round);
        if time > SHORT {
            break;
        }
    }
    rounds.sort_by_key(|round| round.time);
    let runs = rounds.len();
    let median = rounds.swap_remove(runs / 2);
    Ok(Sequential {
        problem: name,
        work: median.work,
        whole: median.whole,
        rates: Rates::of(median.tasks, median.work, median.time.as_secs_f64()),
        runs,
        bounded: median.bounded,
    })
}

/// The work of the sequential program.
struct Plan {
    problem: Arc<dyn AnyProblem>,
    name: String,
    most: usize,
}

impl Plan {
    fn of(baseline: Baseline, problem: &Arc<dyn AnyProblem>, done: &Done) -> Self {
        let tasks = |most: f64| (most as usize).max(1);
        let limit = tasks(done.rate * LONGEST.as_secs_f64());
        let smaller = match baseline {
            Baseline::Smaller if !done.is_small() => problem.smaller(),
            _ => None,
        };
        if let Some((name, smaller)) = smaller {
            return Self {
                problem: smaller,
                name,
                most: limit,
            };
        }
        // How much was left of a run that was stopped is unknown.
        let most = match done.complete {
            true => usize::MAX,
            false => tasks(done.tasks as f64),
        };
        Self {
            problem: Arc::clone(problem),
            name: problem.name(),
            most: match baseline {
                Baseline::Same => most,
                _ => most.min(limit),
            },
        }
    }
}

impl Done {
    fn is_small(&self) -> bool {
        let seconds = self.tasks as f64 / self.rate.max(1.0);
        self.complete && self.tasks <= SMALL && seconds <= LONG.as_secs_f64()
    }
}

/// Runs the sequential program once.
#[derive(Clone, Copy, Debug)]
struct Round {
    tasks: u64,
    work: u64,
    whole: bool,
    bounded: bool,
    time: Duration,
}

/// Does up to `most` tasks on a separate thread, which can be abandoned as it does not poll.
fn alone(
    problem: &Arc<dyn AnyProblem>,
    most: usize,
    cpu: Option<usize>,
    interrupt: &Control,
) -> Result<Round, Missing> {
    let problem = Arc::clone(problem);
    let (send, done) = mpsc::channel();
    let work = move || {
        if let Some(cpu) = cpu {
            machine::pin(cpu);
        }
        // After an interrupt there is no receiver.
        let _ = send.send(round(&*problem, most));
    };
    thread::Builder::new()
        .name("sequential".into())
        .spawn(work)
        .map_err(|error| Missing::Because(format!("cannot start a thread: {error}")))?;
    loop {
        match done.recv_timeout(PERIOD) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) if !interrupt.is_stopped() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Missing::Interrupted),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Missing::Because("the sequential program failed".to_owned()));
            }
        }
    }
}

fn round(problem: &dyn AnyProblem, most: usize) -> Round {
    let (mut bag, shared) = (problem.bag(), problem.shared());
    let mut output = problem.output();
    let start = Instant::now();
    let tasks = bag.process(most, &shared) as u64;
    let time = start.elapsed();
    let whole = bag.is_empty();
    bag.submit(&mut output);
    Round {
        tasks,
        work: problem.work(&output, tasks),
        whole,
        bounded: AnyBag::bound(&shared).is_some(),
        time,
    }
}

/// The duration of a task on one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// The duration of a task.
    pub task_ns: f64,
    /// The name of the tasks, in the plural.
    pub unit: &'static str,
}

/// Returns the speed of the sequential program on `problem`: of its beginning, for some time.
pub(super) fn speed(problem: &dyn AnyProblem) -> Speed {
    let shared = problem.shared();
    let (mut bag, mut tasks, mut took) = (problem.bag(), 1, Duration::ZERO);
    let mut task_ns = 0.0;
    while took < STRETCH {
        let start = Instant::now();
        let done = bag.process(tasks, &shared);
        took = start.elapsed();
        if done < tasks {
            bag = problem.bag();
        }
        task_ns = took.as_nanos() as f64 / done.max(1) as f64;
        tasks = (tasks * 2).min(TASKS_MAX);
    }
    let unit = problem.about().unit;
    Speed { task_ns, unit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::app::{About, Findings, Problem};
    use std::sync::{Barrier, Mutex};
    use tautline::balance::{AnyBound, Bound, Local, Reason, Share, Task, Tasks};

    /// Counts down from a number; the small one is from ten.
    #[derive(Debug)]
    struct Countdown(u64);

    /// A step from here reports that it has begun, and waits for its release.
    const STUCK: u64 = 1 << 40;
    static BEGUN: Barrier = Barrier::new(2);
    static RELEASED: Barrier = Barrier::new(2);

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Step(u64);

    impl Task for Step {
        type Shared = Bound;
        type Sum = u64;

        fn run(self, todo: &mut Local<Self>, steps: &mut u64, _: &Bound) {
            *steps += 1;
            if self.0 == STUCK {
                BEGUN.wait();
                RELEASED.wait();
            } else if self.0 > 1 {
                todo.push(Self(self.0 - 1));
            }
        }

        fn add(sum: &mut u64, other: u64) {
            *sum += other;
        }

        fn bound(shared: &Bound) -> Option<&dyn AnyBound> {
            Some(shared)
        }
    }

    impl Problem for Countdown {
        type Bag = Tasks<Step>;

        fn about(&self) -> About {
            About {
                title: format!("from {}", self.0),
                ..About::default()
            }
        }

        fn work(&self, steps: &u64, tasks: u64) -> u64 {
            assert_eq!(*steps, tasks);
            2 * tasks
        }

        fn bag(&self) -> Tasks<Step> {
            Tasks::from_iter([Step(self.0)])
        }

        fn shared(&self) -> Bound {
            Bound::default()
        }

        fn findings(&self, _: &u64, _: bool) -> Findings {
            Findings::default()
        }

        fn smaller(&self) -> Option<(String, Self)> {
            Some(("ten".to_owned(), Self(10)))
        }
    }

    fn countdown(from: u64) -> Arc<dyn AnyProblem> {
        Arc::new(Countdown(from))
    }

    fn measured(baseline: Baseline, done: Done) -> Result<Sequential, Missing> {
        let problem = countdown(1000);
        measure(baseline, &problem, &done, None, &Control::new())
    }

    #[test]
    fn the_sequential_program_does_what_was_asked_for() {
        let whole = |tasks| Done {
            tasks,
            complete: true,
            rate: 1e6,
        };
        let stopped = Done {
            complete: false,
            ..whole(7)
        };
        for (baseline, done, problem, work, all) in [
            (Baseline::Smaller, whole(1000), "from 1000", 2000, true),
            (Baseline::Smaller, whole(SMALL + 1), "ten", 20, true),
            (Baseline::Smaller, whole(5_000_001), "ten", 20, true),
            (Baseline::Smaller, stopped, "ten", 20, true),
            (Baseline::Same, whole(SMALL + 1), "from 1000", 2000, true),
            (Baseline::Same, stopped, "from 1000", 14, false),
        ] {
            let sequential = measured(baseline, done).unwrap();
            assert_eq!(sequential.problem, problem, "{baseline:?} {done:?}");
            assert_eq!((sequential.work, sequential.whole), (work, all), "{done:?}");
            assert_eq!((sequential.runs, sequential.bounded), (3, true));
            assert!(sequential.rates.work >= sequential.rates.tasks * 1.99);
        }
    }

    /// A bag of some tasks that records the calls of its methods.
    #[derive(Debug, serde::Serialize, serde::Deserialize)]
    struct Watched(usize);

    static ASKED: Mutex<Vec<(&str, usize)>> = Mutex::new(Vec::new());

    impl Bag for Watched {
        type Shared = ();
        type Output = u64;

        fn process(&mut self, n: usize, (): &()) -> usize {
            ASKED.lock().unwrap().push(("process", n));
            let done = n.min(self.0);
            self.0 -= done;
            done
        }

        fn split(&mut self, _: Share) -> Option<Self> {
            ASKED.lock().unwrap().push(("split", 0));
            None
        }

        fn merge(&mut self, _: Self) {
            ASKED.lock().unwrap().push(("merge", 0));
        }

        fn len(&self) -> usize {
            self.0
        }

        fn submit(self, output: &mut u64) {
            ASKED.lock().unwrap().push(("submit", self.0));
            *output += 1;
        }
    }

    /// A problem whose bag records calls.
    #[derive(Debug)]
    struct Observed;

    impl Problem for Observed {
        type Bag = Watched;

        fn about(&self) -> About {
            About::default()
        }

        fn bag(&self) -> Watched {
            Watched(1_000_000)
        }

        fn shared(&self) {}

        fn findings(&self, _: &u64, _: bool) -> Findings {
            Findings::default()
        }
    }

    /// Saraswat, acceptance fact 9: the sequential program works on the bag of the parallel one,
    /// and never polls: each of its runs is one call with all the work, nothing is split off or
    /// merged.
    #[test]
    fn the_sequential_program_shares_the_bag_and_never_polls() {
        let done = Done {
            tasks: 1_000_000,
            complete: true,
            rate: 1e6,
        };
        let problem: Arc<dyn AnyProblem> = Arc::new(Observed);
        measure(Baseline::Same, &problem, &done, None, &Control::new()).unwrap();
        let run = [("process", usize::MAX), ("submit", 0)];
        assert_eq!(*ASKED.lock().unwrap(), [run, run, run].concat());
    }

    #[test]
    fn a_problem_without_a_smaller_one_is_cut_off() {
        let done = Done {
            tasks: SMALL + 1,
            complete: true,
            rate: 0.5,
        };
        let plan = Plan::of(Baseline::Smaller, &countdown(1), &done);
        assert_eq!(plan.most, 5);
        let plan = Plan::of(Baseline::Same, &countdown(1), &done);
        assert_eq!(plan.most, usize::MAX);
    }

    #[test]
    fn no_baseline_after_an_interrupt_or_without_wish() {
        let done = Done {
            tasks: 1,
            complete: true,
            rate: 1.0,
        };
        assert!(matches!(
            measured(Baseline::None, done),
            Err(Missing::Unwanted)
        ));
        let interrupt = Control::new();
        interrupt.stop(Reason::Interrupted);
        let problem = countdown(1000);
        let sequential = measure(Baseline::Same, &problem, &done, None, &interrupt);
        assert!(matches!(sequential, Err(Missing::Interrupted)));
    }

    #[test]
    fn an_interrupt_leaves_the_sequential_program_behind() {
        let done = Done {
            tasks: 1,
            complete: true,
            rate: 1.0,
        };
        let interrupt = Control::new();
        let sequential = thread::scope(|scope| {
            scope.spawn(|| {
                BEGUN.wait();
                interrupt.stop(Reason::Interrupted);
            });
            let problem = countdown(STUCK);
            measure(Baseline::Same, &problem, &done, None, &interrupt)
        });
        assert!(matches!(sequential, Err(Missing::Interrupted)));
        RELEASED.wait();
    }
}
