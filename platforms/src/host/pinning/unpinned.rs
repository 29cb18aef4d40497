//! Leaving the processor of a worker for a while.
#![forbid(unsafe_code)]

use tautline_node::machine;

/// Calls `act` while the calling thread may use all processors that its process may use, for what
/// inherits the processors of the thread that starts it: programs, threads, pools of other
/// libraries. On a thread that is neither a pinned worker nor was started by a task on one, it only
/// calls `act`.
///
/// Runtimes and [`Machine::discover`](crate::Machine::discover) need no such call. Nor does a child
/// of `fork`, which has all processors; but [`Command`](std::process::Command) calls `fork` only if
/// something is to be done between it and `exec`.
///
/// ```
/// # use tautline::prelude::*;
/// use std::process::Command;
/// use tautline::pinning::unpinned;
///
/// let rt = Runtime::new()?;
/// let output = rt.run(|_| {
///     // In a task: the program could use only the processor of the worker otherwise.
///     unpinned(|| Command::new("echo").arg("built").output())
/// })?;
/// assert_eq!(output.stdout, b"built\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unpinned<R>(act: impl FnOnce() -> R) -> R {
    machine::unpinned(act)
}
