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
use mpi::traits::{Communicator, CommunicatorCollectives};
use std::time::{Duration, Instant};
use tautline::world::World;
use tautline_bench::machine::processor_time;
use tautline_bench::ranks::{pair, print_library};

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
    let (universe, plain) = pair("waits", Threading::Serialized);
    let is_late = plain.rank() == 1;
    plain.barrier();
    let by_plain = share(is_late, options.seconds, || plain.barrier());
    let world = World::join()?;
    world.barrier()?;
    let mut outcome = Ok(());
    let by_ours = share(is_late, options.seconds, || outcome = world.barrier());
    outcome?;
    if world.is_home() {
        print_library();
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
    let (start, before) = (Instant::now(), processor_time());
    barrier();
    (processor_time() - before).as_secs_f64() / start.elapsed().as_secs_f64()
}
