//! The processor time of a rank that waits in a barrier for another one, by plain calls of MPI and
//! by ours.
//!
//! ```sh
//! mpirun -n 2 target/release/examples/waits --seconds 10
//! ```
//!
//! Rank 1 enters the barrier late. Rank 0 prints the library, then what it used of a core in user
//! and system mode: a name, the figure of plain MPI and ours, with tabs between.

use clap::Parser;
use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};
use tautline::world::World;

#[derive(Parser)]
#[command(about = "The processor time of a rank that waits in a barrier")]
struct Options {
    /// Seconds that the other rank is late.
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let value = text
        .parse()
        .ok()
        .filter(|value| (0.01..=600.0).contains(value));
    value.ok_or_else(|| "from 0.01 to 600 seconds".to_owned())
}

fn main() -> tautline::Result<()> {
    let options = Options::parse();
    let started = mpi::initialize_with_threading(Threading::Serialized);
    let (universe, _) = started.expect("MPI starts once");
    let plain = SimpleCommunicator::world();
    let ranks = plain.size();
    if ranks != 2 {
        eprintln!("waits: {ranks} ranks: start it with two, as in mpirun -n 2");
        std::process::exit(2);
    }
    let library = mpi::environment::library_version().unwrap_or_default();
    let is_late = plain.rank() == 1;
    plain.barrier();
    let by_plain = share(is_late, options.seconds, || plain.barrier());
    let world = World::join()?;
    world.barrier()?;
    let mut outcome = Ok(());
    let by_ours = share(is_late, options.seconds, || outcome = world.barrier());
    outcome?;
    if world.is_home() {
        println!("library\t{}", library.lines().next().unwrap_or_default());
        println!("processor time of a rank in a barrier, of a core\t{by_plain:.6}\t{by_ours:.6}");
    }
    world.barrier()?;
    drop(world);
    drop(universe);
    Ok(())
}

/// Returns the processor time that this process uses during the barrier, by the time of the
/// barrier.
fn share(is_late: bool, seconds: f64, barrier: impl FnOnce()) -> f64 {
    if is_late {
        // The rank is late: that is what is measured.
        std::thread::sleep(Duration::from_secs_f64(seconds));
    }
    let (start, before) = (Instant::now(), used());
    barrier();
    (used() - before).as_secs_f64() / start.elapsed().as_secs_f64()
}

/// The processor time of this process, all threads together.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
