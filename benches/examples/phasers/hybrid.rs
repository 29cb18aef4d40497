//! Phases of the tasks and of the threads of several ranks, which are processes of this machine.
//!
//! A sample is a launch of this program by a process of its own. Each rank gets its part of the
//! processors; where there are fewer than threads, they share them.

use super::table::AND_WORK;
use std::env;
use std::hint::black_box;
use std::process::exit;
use std::thread;
use std::time::{Duration, Instant};
use tautline::Machine;
use tautline::phaser::{Mode, Op};
use tautline::prelude::*;
use tautline::team::{Team, ThreadRegistration};
use tautline::world::World;
use tautline_cli::bench::Kind;
use tautline_process::{Launch, RANK_VARIABLE};

/// The work between signal and wait.
const WORK: Duration = Duration::from_micros(10);

/// The contenders of a section over this number of ranks.
pub(crate) fn kinds(ranks: usize, what: &str) -> Vec<Kind> {
    let own = env::current_exe().expect("a running program has a path");
    let kind = |name: String, way: &str, what: &str| {
        let words = ["--hybrid", way, what, &ranks.to_string()].map(Into::into);
        Kind::program(
            name,
            [own.clone().into_os_string()].into_iter().chain(words),
        )
    };
    let ways = ["threads", "tasks"].into_iter();
    match what {
        "barrier" => ways
            .map(|way| kind(format!("phaser of {way}"), way, what))
            .collect(),
        "sum" => ways
            .map(|way| kind(format!("accumulator of {way}"), way, what))
            .collect(),
        _ => {
            let both = |way| {
                [
                    kind(format!("{way}: phase"), way, "barrier"),
                    kind(format!("{way}: signal{AND_WORK}"), way, what),
                ]
            };
            ways.flat_map(both).collect()
        }
    }
}

/// Episodes for each requested one, as those of the peers: ranks need some time after they have
/// been started.
const EPISODES: u64 = 10;

/// The words of a sample.
struct Sample<'a> {
    what: &'a str,
    ranks: usize,
    episodes: u64,
    /// Threads or tasks of each rank.
    each: usize,
}

/// Takes a sample: as the process that launches the ranks, or as one of them.
pub(crate) fn run(words: &[String]) {
    let [way, what, ranks, episodes, all] = words else {
        panic!("{words:?}: a way, what, ranks, episodes, threads in all");
    };
    let number = |word: &String| word.parse::<usize>().expect("a number");
    let ranks = number(ranks);
    let sample = Sample {
        what,
        ranks,
        episodes: EPISODES * number(episodes) as u64,
        each: number(all) / ranks,
    };
    if env::var_os(RANK_VARIABLE).is_none() {
        return launch(&sample);
    }
    let world = World::join().expect("launched");
    let ns = match way.as_str() {
        "threads" => of_threads(&sample, &mut world.team()),
        _ => of_tasks(&sample, &world),
    };
    if world.is_home() {
        println!("{ns}");
    }
}

fn launch(sample: &Sample<'_>) {
    let own = env::current_exe().expect("a running program has a path");
    let cpus = Machine::discover().cpus();
    let cpu = |at: usize| cpus[at % cpus.len()];
    let of_rank = |rank: usize| {
        // Its own ones, or as many as there are for it.
        let each = sample.each.min((cpus.len() / sample.ranks).max(1));
        (0..each).map(|at| cpu(rank * each + at)).collect()
    };
    let launch = Launch::new(own, sample.ranks as u32).args(env::args_os().skip(1));
    let launch = launch
        .env("TAUTLINE_WARN", "0")
        .processors((0..sample.ranks).map(of_rank).collect::<Vec<_>>());
    exit(
        launch
            .run()
            .expect("ranks that can be started")
            .code()
            .into(),
    );
}

impl Sample<'_> {
    fn warm_up(&self) -> u64 {
        self.episodes / 10 + 100
    }

    /// Returns nanoseconds of an episode of `next`.
    fn timed(&self, mut next: impl FnMut(u64)) -> f64 {
        (0..self.warm_up()).for_each(&mut next);
        let begun = Instant::now();
        (self.warm_up()..self.warm_up() + self.episodes).for_each(next);
        begun.elapsed().as_nanos() as f64 / self.episodes as f64
    }

    /// Returns the sum of all values of an episode.
    fn sum(&self, episode: u64) -> u64 {
        let all = (self.ranks * self.each) as u64;
        all * episode + all * (all - 1) / 2
    }
}

/// Work of a fixed number of turns.
#[derive(Clone, Copy)]
struct Work(u64);

impl Work {
    fn calibrated() -> Self {
        const TURNS: u64 = 1_000_000;
        let begun = Instant::now();
        Self(TURNS).run();
        let turns = TURNS as f64 * WORK.as_secs_f64() / begun.elapsed().as_secs_f64();
        Self(turns as u64)
    }

    fn run(self) {
        // No pauses: a hypervisor may take the processor from a thread that makes many.
        (0..self.0).for_each(|turn| _ = black_box(turn));
    }
}

fn of_threads(sample: &Sample<'_>, team: &mut Team) -> f64 {
    let (here, each) = (team.rank().index(), sample.each);
    let sums = sample.what == "sum";
    let made = team.accumulator_for_threads::<u64>(each, Op::Sum);
    let (sum, of_sums) = made.expect("all live");
    let mut first = match sums {
        true => of_sums,
        false => team.phaser_for_threads(each).expect("all live"),
    };
    let registered = (0..each).map(|_| first.register(Mode::SignalWait).expect("signal-wait"));
    let registered: Vec<_> = registered.collect();
    drop(first);
    let work = Work::calibrated();
    let run = |number: usize, mut own: ThreadRegistration| {
        let (sum, id) = (sum.clone(), (here * each + number) as u64);
        match sample.what {
            "sum" => sample.timed(|episode| {
                sum.put(&mut own, id + episode).expect("registered");
                own.next_blocking().expect("all live");
                assert_eq!(sum.get(), sample.sum(episode));
            }),
            "barrier" => sample.timed(|_| own.next_blocking().expect("all live")),
            _ => {
                let both = sample.timed(|_| {
                    own.signal().expect("all live");
                    work.run();
                    own.wait_blocking().expect("all live");
                });
                both - sample.timed(|_| work.run())
            }
        }
    };
    thread::scope(|scope| {
        let run = &run;
        let spawn = |(number, own)| scope.spawn(move || run(number, own));
        let threads: Vec<_> = registered.into_iter().enumerate().map(spawn).collect();
        let mut times = threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"));
        let first = times.next();
        times.for_each(drop);
        first.expect("a thread")
    })
}

fn of_tasks(sample: &Sample<'_>, world: &World) -> f64 {
    let rt = Runtime::builder().world(world).workers(sample.each);
    let rt = rt.pinned(false).build().expect("workers");
    let work = Work::calibrated();
    rt.run(|cx| {
        let mut team = world.team();
        let here = team.rank().index();
        let (sum, mut of_sums) = team.accumulator::<u64>(cx, Op::Sum).expect("all live");
        let mut phaser = match sample.what {
            "sum" => None,
            _ => Some(team.phaser(cx).expect("all live")),
        };
        let spawn = |number: usize| {
            let sum = sum.clone();
            let id = (here * sample.each + number) as u64;
            let registered = phaser.as_mut().unwrap_or(&mut of_sums).signal_wait();
            let spawned = cx.spawn_phased_value(registered, async move |mut task| {
                let (mut begun, all) = (Instant::now(), sample.warm_up() + sample.episodes);
                for episode in 0..all {
                    if episode == sample.warm_up() {
                        begun = Instant::now();
                    }
                    match sample.what {
                        "sum" => {
                            sum.put(&mut task, id + episode).expect("registered");
                            task.next().await.expect("all live");
                            assert_eq!(sum.get(), sample.sum(episode));
                        }
                        "barrier" => task.next().await.expect("all live"),
                        _ => {
                            task.signal().expect("all live");
                            work.run();
                            task.wait().await.expect("all live");
                        }
                    }
                }
                let both = begun.elapsed().as_nanos() as f64 / sample.episodes as f64;
                match sample.what {
                    "split" => both - sample.timed(|_| work.run()),
                    _ => both,
                }
            });
            spawned.expect("in the scope")
        };
        let tasks: Vec<_> = (0..sample.each).map(spawn).collect();
        drop((phaser, of_sums));
        let mut times = tasks
            .into_iter()
            .map(|task| task.join(cx).expect("no panic"));
        let first = times.next();
        times.for_each(drop);
        first.expect("a task")
    })
}
