//! Messages of the library outside of results: warnings, reports of a deadlock, tables and errors
//! of requested outputs.

use crate::process::contain::contain;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tautline_node::process::without_forks;

/// Takes a message, without a newline at its end.
type Hook = dyn Fn(&str) + Send + Sync;

static HOOK: Mutex<Option<Arc<Hook>>> = Mutex::new(None);

/// Calls `act` with the hook, which no child of `fork` finds locked.
fn with_hook<R>(act: impl FnOnce(&mut Option<Arc<Hook>>) -> R) -> R {
    without_forks(|| act(&mut HOOK.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Passes all further messages of the library in this process to `hook`, for example to a logger;
/// they are printed to standard error before. Most messages are one line; the times and states of
/// all workers are several.
///
/// It may be called on any thread, also on a worker between tasks. Its panics are contained.
///
/// ```
/// use tautline::messages;
///
/// messages::set_hook(|message| log_warning("tautline", message));
/// # fn log_warning(_: &str, _: &str) {}
/// ```
pub fn set_hook(hook: impl Fn(&str) + Send + Sync + 'static) {
    let hook: Arc<Hook> = Arc::new(hook);
    let before = with_hook(|current| current.replace(hook));
    // Outside of the lock: dropping a hook may run any code.
    drop(before);
}

/// Passes a message on. One that cannot be printed is lost: it is no part of a result.
pub(crate) fn send(message: &str) {
    // Released before the call, so that a hook may set another one.
    let hook = with_hook(|hook| hook.clone());
    match hook {
        Some(hook) => _ = contain(|| hook(message)),
        None => _ = writeln!(io::stderr(), "{message}"),
    }
}
