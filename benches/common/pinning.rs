//! Threads that stay on their processors.

use std::sync::OnceLock;

/// Pins the calling thread, and thereby those that it starts. The list of processors is read once:
/// a pinned thread sees only its own.
pub(crate) fn pin(core: usize) {
    static CORES: OnceLock<Vec<core_affinity::CoreId>> = OnceLock::new();
    let cores = CORES.get_or_init(|| core_affinity::get_core_ids().unwrap_or_default());
    if !cores.is_empty() {
        core_affinity::set_for_current(cores[core % cores.len()]);
    }
}
