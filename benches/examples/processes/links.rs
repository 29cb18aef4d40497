//! Round trips, idle ranks, starts and the memory of the link.

use super::{APART, BEGUN_VARIABLE, LINES_VARIABLE, Options, now_ns};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::{self, File};
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};
use tautline::Runtime;
use tautline::world::World;
use tautline_bench::launched::links;
use tautline_bench::machine;
use tautline_core::Rank;
use tautline_core::port::Link;
use tautline_process::{RANK_VARIABLE, SEGMENT_VARIABLE};

/// Round trips of a word.
pub(super) fn line(options: &Options) -> Option<f64> {
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
    options.launches.per_trip(here, |number| {
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

/// Round trips of 8 bytes over the link.
pub(super) fn link(options: &Options) -> Option<f64> {
    over_link(&mut links::linked(), options)
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
    options.launches.per_trip(here, |number| {
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

/// Processor time of the rank that uses most, while nothing is to be done; milliseconds a second.
pub(super) fn idle(options: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let seconds = if options.launches.quick { 0.1 } else { 1.0 };
    world.barrier().expect("all live");
    let used = machine::processor_time();
    thread::sleep(Duration::from_secs_f64(seconds));
    let used = machine::processor_time() - used;
    let most = world.reduce(used.as_nanos() as u64, u64::max);
    let most = most.expect("all live");
    most.map(|most| most as f64 / 1e6 / seconds)
}

/// Milliseconds from the launch until the last rank has begun a task.
pub(super) fn start(_: &Options) -> Option<f64> {
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
pub(super) fn memory(_: &Options) -> Option<f64> {
    let world = World::join().expect("launched");
    let pairs = world.ranks() * (world.ranks() - 1) / 2;
    let file = segment();
    world
        .is_home()
        .then(|| file.len() as f64 / f64::from(pairs))
}

/// Bytes of the segment that the system has given to a pair.
pub(super) fn used(options: &Options) -> Option<f64> {
    use std::os::unix::fs::MetadataExt;
    let mut link = links::linked();
    over_link(&mut link, options)?;
    Some(segment().blocks() as f64 * 512.0)
}

fn segment() -> fs::Metadata {
    let descriptor = env::var(SEGMENT_VARIABLE).expect("set by the launcher");
    let file = fs::metadata(format!("/proc/self/fd/{descriptor}"));
    file.expect("it is open")
}
