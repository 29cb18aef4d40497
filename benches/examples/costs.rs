//! Costs on this host, in the form of a machine description: what `host.toml` was filled in
//! from. Each is a mean over many times, in the fastest of nine rounds.
//!
//! `costs` prints `look_ns split_ns merge_ns wake_ns near_ns`. What a message costs its sender and its
//! reader is not measured apart: between threads it is a lock and a copy, as `merge_ns`.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tautline::Runtime;
use tautline::balance::{Bag, Share};
use tautline_cli::uts::{Tree, Uts, named};
use tautline_core::lifeline::Reserve;
use tautline_core::port::Spin;

fn main() {
    let host = tautline_node::Machine::discover();
    println!("# {}", host.model().unwrap_or("unknown processor"));
    println!("look_ns = {:.1}", fastest(look));
    println!("split_ns = {:.1}", fastest(|| split_and_merge().0));
    println!("merge_ns = {:.1}", fastest(|| split_and_merge().1));
    println!("wake_ns = {:.0}", fastest(wake));
    println!("near_ns = {:.0}", fastest(near));
}

fn fastest(measure: impl Fn() -> f64) -> f64 {
    (0..9).map(|_| measure()).fold(f64::INFINITY, f64::min)
}

/// Units that cannot be divided and take next to no time.
struct Units(u64);

impl Bag for Units {
    type Shared = ();
    type Output = u64;

    fn process(&mut self, n: usize, (): &()) -> usize {
        let done = (n as u64).min(self.0);
        self.0 = black_box(self.0 - done);
        done as usize
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        None
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn len(&self) -> usize {
        self.0 as usize
    }

    fn submit(self, output: &mut u64) {
        *output += 1;
    }
}

/// A turn of a place of two workers around nothing.
fn look() -> f64 {
    const TURNS: u64 = 5_000_000;
    let rt = Runtime::builder().places(1).workers(2).build().unwrap();
    let balancer = rt.balancer().grain(1);
    let run = balancer.run::<_, ()>(Units(TURNS), |_| (), 0);
    per(run.expect("two threads").elapsed, TURNS)
}

/// A search tree's bag: halving it, and putting the half into a reserve and taking it out again.
fn split_and_merge() -> (f64, f64) {
    const TIMES: u64 = 2_000;
    let tree = Tree::new(named::find("T1").expect("a sample tree").params).expect("a valid tree");
    let reserve = Reserve::new();
    let (mut splits, mut merges) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..TIMES {
        // A new one each time: a bag that was put together again from halves has more pieces.
        let mut bag = Uts::root(&tree);
        bag.process(2_000, &tree);
        let start = Instant::now();
        let half = bag.split(Share::Half).expect("a bag that can be divided");
        let divided = Instant::now();
        reserve.feed(half, Bag::merge, &Spin);
        black_box(reserve.take(|_| None, &Spin)).expect("what was put there");
        merges += divided.elapsed() / 2;
        splits += divided - start;
    }
    (per(splits, TIMES), per(merges, TIMES))
}

/// From the call that wakes a sleeping thread to its first look at the clock.
fn wake() -> f64 {
    const TIMES: u64 = 500;
    let (began, waited) = (Instant::now(), AtomicU64::new(0));
    let (called, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let now = || began.elapsed().as_nanos() as u64;
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            while !stop.load(Relaxed) {
                thread::park();
                let call = called.swap(0, Relaxed);
                if call > 0 {
                    waited.fetch_add(now() - call, Relaxed);
                }
            }
        });
        for _ in 0..TIMES {
            // Long enough for the thread to be descheduled, which the system does not report.
            thread::sleep(Duration::from_micros(200));
            called.store(now(), Relaxed);
            sleeper.thread().unpark();
            while called.load(Relaxed) > 0 {
                spin_loop();
            }
        }
        stop.store(true, Relaxed);
        sleeper.thread().unpark();
    });
    waited.into_inner() as f64 / TIMES as f64
}

/// Half of the time in which a word goes to another thread and back.
fn near() -> f64 {
    const TIMES: u64 = 500_000;
    let word = AtomicU64::new(0);
    let pass = |parity: u64| {
        for turn in 0..TIMES {
            while word.load(Relaxed) != 2 * turn + parity {
                spin_loop();
            }
            word.store(2 * turn + parity + 1, Relaxed);
        }
    };
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| pass(1));
        pass(0);
    });
    per(start.elapsed(), 2 * TIMES)
}

fn per(time: Duration, times: u64) -> f64 {
    time.as_nanos() as f64 / times as f64
}
