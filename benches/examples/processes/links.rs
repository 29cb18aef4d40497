//! Round trips, parcels, idle ranks, starts and the memory of the link.

use super::{APART, BEGUN_VARIABLE, LINES_VARIABLE, Options, now_ns, per_trip};
use memmap2::{MmapOptions, MmapRaw};
use std::fs::{self, File};
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};
use tautline::Runtime;
use tautline::world::World;
use tautline_bench::machine;
use tautline_core::port::{Link, Spin};
use tautline_core::wire::{Exchange, unpack};
use tautline_core::{PlaceId, Rank};
use tautline_process::{RANK_VARIABLE, SEGMENT_VARIABLE, join};

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
pub(super) fn link(options: &Options) -> Option<f64> {
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
pub(super) fn bulk(options: &Options) -> Option<f64> {
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
pub(super) fn channel(options: &Options) -> Option<f64> {
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
pub(super) fn idle(options: &Options) -> Option<f64> {
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
    let mut link = linked();
    over_link(&mut link, options)?;
    Some(segment().blocks() as f64 * 512.0)
}

fn segment() -> fs::Metadata {
    let descriptor = env::var(SEGMENT_VARIABLE).expect("set by the launcher");
    let file = fs::metadata(format!("/proc/self/fd/{descriptor}"));
    file.expect("it is open")
}
