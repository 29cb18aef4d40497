//! Threads that stay on their processors.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;
use tautline::Runtime;

/// Pins the calling thread, and thereby those that it starts. The list of processors is read once:
/// a pinned thread sees only its own.
pub fn pin(core: usize) {
    static CORES: OnceLock<Vec<core_affinity::CoreId>> = OnceLock::new();
    let cores = CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default());
    if !cores.is_empty() {
        core_affinity::set_for_current(cores[core % cores.len()]);
    }
}

/// A pool of rayon, whose n-th thread stays on the n-th processor, before it is built.
pub fn rayon(threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .start_handler(pin)
}

/// This number of workers of ours, and of rayon.
///
/// # Panics
/// The system refuses threads.
pub fn both(workers: usize) -> (Runtime, ThreadPool) {
    let runtime = Runtime::builder().workers(workers).build();
    let runtime = runtime.expect("a few threads");
    (runtime, rayon(workers).build().expect("a few threads"))
}
