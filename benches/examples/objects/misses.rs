//! Accesses of rank 0 to objects of rank 1, which wait for messages; reads after writes.

use super::Options;
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::time::{Duration, Instant};
use tautline::Result;
use tautline::globals::{Global, Globals, Operator, Protocol, Snapshot};
use tautline::prelude::*;
use tautline::team::Team;
use tautline::world::ProgressMode::{self, Cooperative, Dedicated};
use tautline::world::{Rank, World};
use tautline_bench::samples::median;
use tautline_core::wire::Bulk;

/// The home of all objects but that of [`reads`].
const HOME: Rank = Rank(1);

/// Bytes of a block.
pub(super) const BLOCK: usize = 64 << 10;
/// Blocks, of which each is read in turn.
const BLOCKS: usize = 16;
/// Blocks that are requested at a time.
const AHEAD: usize = 8;

/// The time of a task at a busy home.
const TASK: Duration = Duration::from_millis(1);
/// Tasks that the home spawns at a time.
const TASKS: u32 = 16;

/// Runs a task at each rank, with objects that all have created; ends when all have. The home makes
/// progress in this mode.
fn in_task<O: Sync, R: Send>(
    mode: ProgressMode,
    create: impl FnOnce(&mut Globals) -> O,
    task: impl FnOnce(&mut Cx<'_, '_>, &O, &mut Team) -> R + Send,
) -> R {
    let world = World::join().expect("launched");
    let objects = create(&mut world.globals());
    let rt = Runtime::builder().world(&world).workers(1).build();
    if world.rank() == HOME {
        world.progress(mode);
    }
    rt.expect("a worker").run(|cx| {
        let mut team = world.team();
        let result = task(cx, &objects, &mut team);
        team.barrier().wait(cx).expect("all live");
        result
    })
}

fn number(globals: &mut Globals) -> Global<u64> {
    globals.create_as(Protocol::Home, HOME, || 3)
}

/// Nanoseconds of a read that goes to the home.
pub(super) fn read(options: &Options) -> Option<f64> {
    in_task(Dedicated, number, |cx, number, team| {
        let is_reader = team.rank() == Rank(0);
        is_reader.then(|| {
            let mut sum = 0;
            let figure = options.launches.per_trip(team.rank(), |_| {
                sum += number.get(cx).expect("all live");
            });
            let reads = options.launches.trips() + options.launches.trips() / 10;
            assert_eq!(sum, 3 * reads);
            // No copy has stayed.
            number.apply(cx, Operator::Sum, 1).expect("all live");
            assert_eq!(number.get(cx).expect("all live"), 4);
            figure
        })?
    })
}

/// Nanoseconds of an addition that goes to the home, which returns the former number.
pub(super) fn update(options: &Options) -> Option<f64> {
    in_task(Dedicated, number, |cx, number, team| {
        let is_reader = team.rank() == Rank(0);
        is_reader.then(|| {
            options.launches.per_trip(team.rank(), |trip| {
                let before = number.apply(cx, Operator::Sum, 1).expect("all live");
                assert_eq!(before, 2 + trip);
            })
        })?
    })
}

/// Nanoseconds of a write of rank 0, the home, and of `READS` reads of the other rank after it. The
/// ranks take turns; the barriers between are not in the time.
pub(super) fn reads<const READS: u64>(options: &Options) -> Option<f64> {
    let create = |globals: &mut Globals| globals.create(Rank(0), || 0u64);
    in_task(Cooperative, create, |cx, number, team| {
        let all = options.launches.trips() / 10;
        let warm_up = all / 10;
        let mut spent = Duration::ZERO;
        for turn in 1..=warm_up + all {
            let mut time = Duration::ZERO;
            if team.rank() == Rank(0) {
                let start = Instant::now();
                number.set(cx, turn).expect("all live");
                time = start.elapsed();
            }
            team.barrier().wait(cx).expect("all live");
            if team.rank() == Rank(1) {
                let (mut sum, start) = (0, Instant::now());
                for _ in 0..READS {
                    sum += number.get(cx).expect("all live");
                }
                time = start.elapsed();
                assert_eq!(sum, READS * turn);
            }
            team.barrier().wait(cx).expect("all live");
            if turn > warm_up {
                spent += time;
            }
        }
        let spent = spent.as_nanos() as u64;
        let spent = team.all_reduce(spent, |a, b| a + b).wait(cx);
        let each = spent.expect("all live") as f64 / all as f64;
        (team.rank() == Rank(0)).then_some(each)
    })
}

type Block = Bulk<u64>;

fn create_blocks(globals: &mut Globals) -> Vec<Global<Block>> {
    let block = |at| {
        let init = move || Bulk(vec![at as u64; BLOCK / size_of::<u64>()]);
        globals.create_as(Protocol::Home, HOME, init)
    };
    (0..BLOCKS).map(block).collect()
}

/// Blocks that are read.
fn count(options: &Options) -> usize {
    if options.launches.quick { 4 } else { 8000 }
}

fn verify(number: usize, Bulk(block): &Block) {
    let expected = Some(&((number % BLOCKS) as u64));
    assert_eq!(block.len(), BLOCK / size_of::<u64>());
    assert_eq!([block.first(), block.last()], [expected; 2]);
}

/// Gigabytes a second of blocks that are read one after the other.
pub(super) fn blocks(options: &Options) -> Option<f64> {
    of_blocks(options, |cx, blocks| {
        for number in 0..count(options) {
            let block = blocks[number % BLOCKS].read(cx);
            verify(number, &block.expect("all live"));
        }
    })
}

/// Gigabytes a second of blocks of which several are requested at a time.
pub(super) fn blocks_ahead(options: &Options) -> Option<f64> {
    of_blocks(options, |cx, blocks| {
        let mut ahead = VecDeque::new();
        for number in 0..count(options) + AHEAD {
            if number >= AHEAD
                && let Some(block) = ahead.pop_front()
            {
                let block: Result<Snapshot<Block>> = cx.block_on(block);
                verify(number - AHEAD, &block.expect("all live"));
            }
            if number < count(options) {
                ahead.push_back(blocks[number % BLOCKS].read_async());
            }
        }
    })
}

fn of_blocks(
    options: &Options,
    read: impl FnOnce(&mut Cx<'_, '_>, &[Global<Block>]) + Send,
) -> Option<f64> {
    in_task(Dedicated, create_blocks, |cx, blocks, team| {
        (team.rank() == Rank(0)).then(|| {
            let start = Instant::now();
            read(cx, blocks);
            let bytes = (count(options) * BLOCK) as f64;
            bytes / 1e9 / start.elapsed().as_secs_f64()
        })
    })
}

/// The median of microseconds of a read whose home runs tasks.
pub(super) fn busy_median(options: &Options) -> Option<f64> {
    busy(options).map(|samples| median(&samples))
}

/// The most microseconds of a read whose home runs tasks.
pub(super) fn busy_most(options: &Options) -> Option<f64> {
    busy(options).map(|samples| samples.into_iter().fold(0.0, f64::max))
}

/// Microseconds of each of 200 reads, while the only worker of the home runs tasks of 1 ms.
fn busy(options: &Options) -> Option<Vec<f64>> {
    let create = |globals: &mut Globals| {
        let ends = globals.create_as(Protocol::Home, HOME, || 0u64);
        (number(globals), ends)
    };
    in_task(Cooperative, create, |cx, (number, ends), team| {
        if team.rank() == HOME {
            while ends.get(cx).expect("all live") == 0 {
                cx.scope(|cx| (0..TASKS).for_each(|_| cx.spawn(|_| spin(TASK))));
            }
            return None;
        }
        let reads = if options.launches.quick { 5 } else { 200 };
        let sample = |read: u32| {
            // At any moment of a task.
            spin(TASK / 1000 * (read * 377 % 1000));
            let start = Instant::now();
            assert_eq!(number.get(cx).expect("all live"), 3);
            start.elapsed().as_secs_f64() * 1e6
        };
        let samples = Vec::from_iter((0..reads).map(sample));
        ends.apply(cx, Operator::Sum, 1).expect("all live");
        Some(samples)
    })
}

fn spin(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}
