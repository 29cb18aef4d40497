//! Pairs of ranks of MPI.

use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

/// Starts MPI for the program of this name, which is one of two ranks; ends it if it is not.
///
/// # Panics
/// MPI has been started, or does not grant the level.
pub fn pair(program: &str, level: Threading) -> (Universe, SimpleCommunicator) {
    let (universe, granted) = mpi::initialize_with_threading(level).expect("MPI starts once");
    assert!(granted >= level, "the library grants {granted:?}");
    let plain = SimpleCommunicator::world();
    let ranks = plain.size();
    if ranks != 2 {
        eprintln!("{program}: {ranks} ranks: start it with two, as in mpirun -n 2");
        std::process::exit(2);
    }
    (universe, plain)
}

/// Prints the library.
pub fn print_library() {
    let library = mpi::environment::library_version().unwrap_or_default();
    println!("library\t{}", library.lines().next().unwrap_or_default());
}
