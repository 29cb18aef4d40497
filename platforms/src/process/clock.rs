//! The clock of a process, by which its runtimes and worlds are compared.

use std::sync::OnceLock;
use std::time::Instant;

/// Returns the origin of the clock: the same for all of the process, before its first use.
pub(crate) fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

/// Returns the nanoseconds since the origin.
#[cfg(feature = "process")]
pub(crate) fn now() -> u64 {
    origin().elapsed().as_nanos() as u64
}
