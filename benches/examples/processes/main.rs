//! Costs of ranks that are processes of this machine: round trips beside that of a cache line, the
//! time of idle ranks, and starts.
//!
//! `processes` prints a table, each row of which is the median of `--rounds N` rounds; `--quick`
//! measures few and short ones. Each measurement is a launch of this program by a process of its
//! own. The two ranks of a round trip are pinned to processors of two cores, if there are.
//!
//! The yardstick is two words in two cache lines that both processes map: each process sets its own
//! word to the number that it has found in the other one. A round trip is at least two transfers of
//! a line.
#![allow(missing_docs)]

mod teams;

use clap::Parser;
use memmap2::{MmapOptions, MmapRaw};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File};
use std::hint::{black_box, spin_loop};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};
use tautline::Runtime;
use tautline::world::World;
use tautline_bench::machine;
use tautline_bench::programs::{self, measurement, numbers};
use tautline_bench::samples::{in_turn, median};
use tautline_core::port::{Link, Spin};
use tautline_core::wire::{Exchange, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_process::{Launch, RANK_VARIABLE, SEGMENT_VARIABLE, join};

#[derive(Clone, Parser)]
#[command(about = "What ranks cost that are processes of this machine")]
struct Options {
    /// Few and short rounds.
    #[arg(long)]
    quick: bool,
    /// The number of measurements of each.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Programs of peers, as benches/peers.sh lists them.
    #[arg(long)]
    peers: Option<PathBuf>,
    /// One launch, by this process: the name of a measurement.
    #[arg(long, hide = true)]
    measure: Option<String>,
}

/// A measurement: its figure is printed by rank 0.
struct Measurement {
    name: &'static str,
    ranks: u32,
    at_rank: fn(&Options) -> Option<f64>,
}

#[rustfmt::skip] // A table.
const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "line", ranks: 2, at_rank: line },
    Measurement { name: "link", ranks: 2, at_rank: link },
    Measurement { name: "channel", ranks: 2, at_rank: channel },
    Measurement { name: "bulk", ranks: 2, at_rank: bulk },
    Measurement { name: "idle", ranks: 4, at_rank: idle },
    Measurement { name: "start", ranks: 4, at_rank: start },
    Measurement { name: "memory", ranks: 4, at_rank: memory },
    Measurement { name: "used", ranks: 2, at_rank: used },
    Measurement { name: "team-barrier", ranks: 2, at_rank: teams::barrier },
    Measurement { name: "team-sum", ranks: 2, at_rank: teams::sum },
    Measurement { name: "phase", ranks: 2, at_rank: teams::phase },
    Measurement { name: "team-finish", ranks: 2, at_rank: teams::finish },
    Measurement { name: "spawn", ranks: 2, at_rank: teams::spawn },
    Measurement { name: "call", ranks: 2, at_rank: teams::call },
    Measurement { name: "spawns", ranks: 2, at_rank: teams::spawns },
    Measurement { name: "batch", ranks: 2, at_rank: teams::batch },
];

/// The file that the processes of the yardstick map.
const LINES_VARIABLE: &str = "RANKS_LINES";
/// The time of the launch on the monotonic clock, in nanoseconds.
const BEGUN_VARIABLE: &str = "RANKS_BEGUN";

/// Bytes between the two words: neighbours are fetched in pairs.
const APART: usize = 128;

fn main() {
    let options = Options::parse();
    let Some(name) = &options.measure else {
        return table(&options);
    };
    let measurement = MEASUREMENTS.iter().find(|known| known.name == name);
    let measurement = measurement.unwrap_or_else(|| panic!("no measurement {name}"));
    if env::var_os(RANK_VARIABLE).is_none() {
        return launch(measurement);
    }
    if let Some(figure) = (measurement.at_rank)(&options) {
        println!("{figure}");
    }
}

/// Measures everything in turn, and prints the medians.
fn table(options: &Options) {
    let rounds = if options.quick {
        1
    } else {
        options.rounds.max(1)
    };
    let figures = in_turn(rounds, MEASUREMENTS.len(), |at| {
        take(MEASUREMENTS[at].name, options.quick)
    });
    let medians: Vec<f64> = figures.iter().map(|all| median(all)).collect();
    let (ranks, of_teams) = medians.split_at(MEASUREMENTS.len() - TEAMS.len());
    let [line, link, channel, bulk, idle, start, memory, used] = ranks[..] else {
        unreachable!("one of each");
    };
    let title = machine::Processor::discover().title();
    println!("{title}, load {}, median of {rounds}\n", machine::load());
    println!("| what | figure |\n|---|---|");
    println!("| round trip of a cache line, two processes | {line:.0} ns |");
    for (what, figure) in [("the link", link), ("a channel of an exchange", channel)] {
        let times = figure / line;
        println!("| round trip of 8 bytes over {what} | {figure:.0} ns (x{times:.2}) |");
    }
    for (what, figure) in TEAMS.iter().zip(of_teams) {
        let times = figure / channel;
        println!("| {what} | {figure:.0} ns (x{times:.2} of a channel's round trip) |");
    }
    println!("| parcels of 1 MiB over the link | {bulk:.2} GB/s |");
    println!("| an idle rank | {idle:.2} ms of a processor in a second |");
    println!("| start of 4 ranks, until the last one has begun a task | {start:.1} ms |");
    println!("| shared memory of a pair of ranks | {memory:.0} bytes |");
    println!("| of that used after round trips over the link | {used:.0} bytes |");
    for (what, unit) in PEERS {
        peers_of(options, what, unit, rounds);
    }
}

/// The last measurements.
const TEAMS: [&str; 8] = [
    "barrier of a team, in tasks",
    "sum of 8 bytes over a team, in tasks",
    "phase of one task of each rank",
    "finish of a team, nothing spawned",
    "finish around one task at the other rank",
    "call of the other rank, 64 bytes there and back",
    "each of many tasks spawned at the other rank",
    "each of many calls of 16 bytes, in batches",
];

/// The rows of peers, and their units.
const PEERS: [(&str, &str); 4] = [
    ("ranks/trip", "ns"),
    ("ranks/bulk", "GB/s"),
    ("ranks/T1L", "million nodes a second"),
    ("ranks/T3L", "million nodes a second"),
];

/// Prints the medians of the peers of a row.
fn peers_of(options: &Options, row: &str, unit: &str, rounds: usize) {
    let peers = programs::peers(options.peers.as_ref());
    for peer in peers.iter().filter(|peer| peer.row == row) {
        let figure = |_| peer.figure().unwrap_or_else(|why| panic!("{why}"));
        let figures: Vec<f64> = (0..rounds).map(figure).collect();
        let (contender, median) = (&peer.contender, median(&figures));
        println!("| {row}: {contender} | {median:.2} {unit} |");
    }
}

/// Returns the figure of one launch, by a process of its own.
fn take(name: &str, quick: bool) -> f64 {
    let mut command = measurement(None, ["", ""], &[name], quick);
    let output = command.output().expect("it has started once");
    let [figure] = numbers(&output).unwrap_or_else(|_| {
        let why = String::from_utf8_lossy(&output.stderr);
        panic!("{name}: {}\n{why}", output.status)
    });
    figure
}

/// Launches this program as the ranks of a measurement.
fn launch(measurement: &Measurement) {
    let own = env::current_exe().expect("a running program has a path");
    let lines = lines_file();
    let shared = File::create(&lines).expect("a file for the two lines");
    shared
        .set_len(2 * APART as u64)
        .expect("room for two lines");
    let launch = Launch::new(own, measurement.ranks)
        .args(env::args_os().skip(1))
        .processors(processors(measurement.ranks as usize))
        .env(LINES_VARIABLE, &lines);
    let launch = launch.env(BEGUN_VARIABLE, now_ns().to_string());
    let ended = launch.run();
    let _ = fs::remove_file(&lines);
    let code = ended.expect("ranks that can be started").code();
    std::process::exit(code.into());
}

/// Returns a path for the file of the yardstick, in memory where there is such a folder.
fn lines_file() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() {
        memory
    } else {
        env::temp_dir()
    };
    folder.join(format!("tautline-lines-{}", std::process::id()))
}

/// Returns one processor for each rank, of different cores as far as there are.
fn processors(ranks: usize) -> Vec<Vec<usize>> {
    let machine = tautline::Machine::discover();
    let mut cpus: Vec<_> = machine.allowed().iter().collect();
    cpus.sort_by_key(|cpu| (cpu.thread, cpu.id));
    let of = |rank: usize| vec![cpus[rank % cpus.len()].id];
    (0..ranks).map(of).collect()
}

/// Returns the monotonic clock, which all processes share.
fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Round trips of a measurement.
fn trips(options: &Options) -> u64 {
    if options.quick { 200 } else { 100_000 }
}

/// Makes round trips, of which a tenth is not counted, and returns nanoseconds of one; `None` at
/// rank 1.
fn per_trip(here: Rank, options: &Options, mut trip: impl FnMut(u64)) -> Option<f64> {
    let (all, warm_up) = (trips(options), trips(options) / 10);
    (1..=warm_up).for_each(&mut trip);
    let start = Instant::now();
    (warm_up + 1..=warm_up + all).for_each(&mut trip);
    (here == Rank(0)).then(|| start.elapsed().as_nanos() as f64 / all as f64)
}

/// Round trips of a word.
fn line(options: &Options) -> Option<f64> {
    let path = env::var_os(LINES_VARIABLE).expect("set by the launcher");
    let file = File::options().read(true).write(true).open(path);
    let file = file.expect("the launcher has created it");
    let map = MmapOptions::new().map_raw(&file).expect("two lines");
    let here = env::var(RANK_VARIABLE).expect("set by the launcher");
    let here = Rank(here.parse().expect("a number"));
    let [there, back] = [0, APART].map(|at| word(&map, at));
    let await_number = |word: &AtomicU64, number| {
        // ORDERING: Acquire, pairs with Release below, as a message requires them; nothing is read
        // behind it.
        while word.load(Ordering::Acquire) != number {
            spin_loop();
        }
    };
    per_trip(here, options, |number| {
        if here == Rank(1) {
            await_number(there, number);
        }
        let own = if here == Rank(0) { there } else { back };
        // ORDERING: Release, pairs with Acquire above; as there.
        own.store(number, Ordering::Release);
        if here == Rank(0) {
            await_number(back, number);
        }
    })
}

fn word(map: &MmapRaw, at: usize) -> &AtomicU64 {
    assert!(at + size_of::<AtomicU64>() <= map.len() && at % APART == 0);
    // SAFETY: the bytes are within the mapping, which lives as long as `map`, and aligned; all
    // accesses to them, in both processes, are atomic, and the file is not cut off.
    unsafe { &*map.as_ptr().add(at).cast() }
}

fn linked() -> Box<dyn Link + Send> {
    join()
        .expect("variables of the launcher")
        .expect("launched")
}

/// Round trips of 8 bytes over the link.
fn link(options: &Options) -> Option<f64> {
    over_link(&mut linked(), options)
}

fn over_link(link: &mut Box<dyn Link + Send>, options: &Options) -> Option<f64> {
    let here = link.here();
    let peer = Rank(1 - here.0);
    let mut received = 0;
    let mut poll = |link: &mut Box<dyn Link + Send>| {
        // The loss of the other rank, which has all it waits for, may come with its last parcel.
        let _ = link.poll(&mut |_, parcel| {
            let number = black_box(parcel).try_into().expect("8 bytes");
            received = u64::from_ne_bytes(number);
        });
        received
    };
    per_trip(here, options, |number| {
        while here == Rank(1) && poll(link) != number {
            spin_loop();
        }
        link.send(peer, black_box(&number.to_ne_bytes()));
        let mut found = poll(link);
        while link.unsent(peer) > 0 || here == Rank(0) && found != number {
            spin_loop();
            found = poll(link);
        }
    })
}

/// Gigabytes a second of long parcels, whose last one is answered.
fn bulk(options: &Options) -> Option<f64> {
    let mut link = linked();
    let (here, mut parcel) = (link.here(), vec![7; 1 << 20]);
    let (all, start) = (if options.quick { 4 } else { 1000 }, Instant::now());
    let (mut sent, mut got) = (0, 0);
    let is_over = |got: usize| got == if here == Rank(0) { 1 } else { all };
    while !is_over(got) || link.unsent(Rank(1 - here.0)) > 0 {
        if here == Rank(0) && sent < all && link.unsent(Rank(1)) == 0 {
            // As if each were new: every line is written.
            parcel.chunks_mut(64).for_each(|line| line[0] = sent as u8);
            link.send(Rank(1), black_box(&parcel));
            sent += 1;
        }
        let mut taken = 0;
        // As for the round trips.
        let _ = link.poll(&mut |_, parcel| taken += usize::from(!black_box(parcel).is_empty()));
        got += taken;
        if here == Rank(1) && taken > 0 && got == all {
            link.send(Rank(0), &[0]);
            let _ = link.poll(&mut |_, _| ());
        }
    }
    let bytes = (all * parcel.len()) as f64;
    (here == Rank(0)).then(|| bytes / 1e9 / start.elapsed().as_secs_f64())
}

/// Round trips of a number over a channel of an exchange.
fn channel(options: &Options) -> Option<f64> {
    let exchange = Exchange::new(linked(), Spin);
    let here = exchange.here();
    let received = Arc::new(AtomicU64::new(0));
    let into = Arc::clone(&received);
    let channel = exchange.open::<u64>("numbers", 1, move |_, _, body: &[u8]| {
        // ORDERING: Relaxed: this thread reads it.
        into.store(unpack(body)?, Ordering::Relaxed);
        Ok(())
    });
    let places = [here, Rank(1 - here.0)].map(|rank| PlaceId(rank.0));
    let receive = |number| {
        // ORDERING: Relaxed: this thread writes it.
        while received.load(Ordering::Relaxed) != number {
            exchange.turn().expect("both live");
        }
    };
    let figure = per_trip(here, options, |number| {
        if here == Rank(1) {
            receive(number);
        }
        channel.send(places[0], places[1], number);
        exchange.turn().expect("both live");
        if here == Rank(0) {
            receive(number);
        }
    });
    while exchange.leave() == Ok(false) {}
    figure
}

/// Processor time of the rank that uses most, while nothing is to be done; milliseconds a second.
fn idle(options: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let seconds = if options.quick { 0.1 } else { 1.0 };
    world.barrier().expect("all live");
    let used = machine::processor_time();
    thread::sleep(Duration::from_secs_f64(seconds));
    let used = machine::processor_time() - used;
    let most = world.reduce(used.as_nanos() as u64, u64::max);
    let most = most.expect("all live");
    most.map(|most| most as f64 / 1e6 / seconds)
}

/// Milliseconds from the launch until the last rank has begun a task.
fn start(_: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let first = Arc::new(AtomicU64::new(u64::MAX));
    let begun = Arc::clone(&first);
    let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
    let balancer = rt.balancer().across(&world);
    let run = balancer.sum(0..2000_u32, move |_, _| {
        // ORDERING: Relaxed: read when the computation has ended.
        begun.fetch_min(now_ns(), Ordering::Relaxed);
        let since = Instant::now();
        while since.elapsed() < Duration::from_micros(20) {
            spin_loop();
        }
        1
    });
    assert_eq!(run.expect("all live").output, 2000);
    // ORDERING: Relaxed: as above. A rank may have got no task.
    let first = first.load(Ordering::Relaxed);
    let first = if first == u64::MAX { 0 } else { first };
    let last = world.reduce(first, u64::max).expect("all live")?;
    let begun = env::var(BEGUN_VARIABLE).expect("set by the launcher");
    let begun: u64 = begun.parse().expect("a number");
    Some((last - begun) as f64 / 1e6)
}

/// Bytes of the segment for each pair of ranks.
fn memory(_: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let pairs = world.ranks() * (world.ranks() - 1) / 2;
    let file = segment();
    world
        .is_home()
        .then(|| file.len() as f64 / f64::from(pairs))
}

/// Bytes of the segment that the system has given to a pair.
fn used(options: &Options) -> Option<f64> {
    use std::os::unix::fs::MetadataExt;
    let mut link = linked();
    over_link(&mut link, options)?;
    Some(segment().blocks() as f64 * 512.0)
}

fn segment() -> fs::Metadata {
    let descriptor = env::var(SEGMENT_VARIABLE).expect("set by the launcher");
    let file = fs::metadata(format!("/proc/self/fd/{descriptor}"));
    file.expect("it is open")
}
