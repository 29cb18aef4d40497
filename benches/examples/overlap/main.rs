//! Work during messages: a loop like that of a stencil, each step of which exchanges long messages
//! with the other rank and computes meanwhile.
//!
//! ```sh
//! mpirun -n 2 target/release/examples/overlap
//! ```
//!
//! The work is calibrated to take as long as the messages alone. Rank 0 prints the library, then
//! the time of a step by that of the longer of both alone: a name, the figure of plain nonblocking
//! calls of MPI and that of `comm`, with tabs between. 1 is a perfect overlap, 2 none at all.

mod steps;

use clap::Parser;
use mpi::Threading;
use mpi::traits::CommunicatorCollectives;
use std::hint::black_box;
use std::time::Instant;
use steps::{Ours, Plain, Steps};
use tautline::world::{ProgressMode, World};
use tautline_bench::ranks::{pair, print_library};
use tautline_bench::samples::median;

/// Rounds of which medians are taken.
const ROUNDS: usize = 15;
/// Steps of a round.
const STEPS: usize = 20;

#[derive(Parser)]
#[command(about = "Work during messages, by plain calls of MPI and by communication tasks")]
struct Options {
    /// Bytes of a message.
    #[arg(long, default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    bytes: u32,
}

fn main() -> tautline::Result<()> {
    let bytes = Options::parse().bytes as usize;
    let (universe, plain) = pair("overlap", Threading::Serialized);
    // Plain calls come before the world has a link: afterwards its thread polls.
    let by_plain = overlapped(&mut Plain::new(&plain, bytes), || plain.barrier());
    let world = World::join()?;
    let mut outcome = Ok(());
    let mut ours = Ours::new(&world, bytes);
    let mut of = |progress| {
        world.progress(progress);
        overlapped(&mut ours, || outcome = world.barrier())
    };
    let cooperative = of(ProgressMode::Cooperative);
    let dedicated = of(ProgressMode::Dedicated);
    outcome?;
    if world.is_home() {
        print_library();
        println!(
            "work and messages at once, by the longer of both\t{by_plain:.4}\t{cooperative:.4}"
        );
        println!("the same with a dedicated thread\t{by_plain:.4}\t{dedicated:.4}");
    }
    world.barrier()?;
    drop((ours, world));
    drop(universe);
    Ok(())
}

/// Returns the median of the time of a step by that of the longer of its parts.
fn overlapped(steps: &mut impl Steps, mut barrier: impl FnMut()) -> f64 {
    let units = calibrated(steps, &mut barrier);
    let ratio = |_| {
        let messages = timed(&mut barrier, || steps.step(|| ()));
        let work = timed(&mut barrier, || compute(units));
        let both = timed(&mut barrier, || steps.step(|| compute(units)));
        both / messages.max(work)
    };
    median(&(0..ROUNDS).map(ratio).collect::<Vec<_>>())
}

/// Returns how many units of work take as long as the messages of a step.
fn calibrated(steps: &mut impl Steps, barrier: &mut impl FnMut()) -> u64 {
    const TRIED: u64 = 100_000;
    let ratio = |_| {
        let messages = timed(barrier, || steps.step(|| ()));
        messages / timed(barrier, || compute(TRIED))
    };
    (median(&(0..ROUNDS).map(ratio).collect::<Vec<_>>()) * TRIED as f64) as u64
}

/// Returns the seconds of the steps of a round, which both ranks begin together.
fn timed(barrier: &mut impl FnMut(), mut step: impl FnMut()) -> f64 {
    barrier();
    let start = Instant::now();
    (0..STEPS).for_each(|_| step());
    start.elapsed().as_secs_f64()
}

/// Computes without memory: a chain of xorshifts.
fn compute(units: u64) {
    let mut word = black_box(1u64);
    for _ in 0..units {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
    }
    black_box(word);
}
