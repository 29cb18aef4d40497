//! Libraries that cannot be used. One test: MPI starts once in a process.

use mpi::Threading;
use mpi::environment::initialize_with_threading;
use tautline_mpi::{Error, Session};

#[test]
fn a_library_that_grants_too_little_or_has_ended_is_refused() {
    // The program has started it for one thread.
    let (universe, granted) = initialize_with_threading(Threading::Single).expect("MPI starts");
    assert!(granted < Threading::Serialized, "{granted:?}");
    let error = Session::start().unwrap_err();
    assert!(matches!(error, Error::Threads { .. }), "{error}");
    let line = error.to_string();
    assert!(
        line.starts_with("the MPI library granted MPI_THREAD_"),
        "{line}"
    );
    drop(universe);
    assert!(matches!(Session::start(), Err(Error::Ended)));
}
