//! What the library states outside of results: warnings, reports of a standstill, tables and errors of requested outputs.

use std::io::{self, Write};
use std::sync::{Arc, PoisonError, RwLock};

/// Takes a message, without a newline at its end.
type Hook = dyn Fn(&str) + Send + Sync;

static HOOK: RwLock<Option<Arc<Hook>>> = RwLock::new(None);

/// Passes all further messages of the library in this process to `hook`, for example to a logger; they are printed to standard
/// error before. Most messages are one line; the times and states of all workers are several.
///
/// It may be called on any thread, also on a worker between tasks, and must not panic.
///
/// ```
/// use tautline::messages;
///
/// messages::set_hook(|message| log_warning("tautline", message));
/// # fn log_warning(_: &str, _: &str) {}
/// ```
pub fn set_hook(hook: impl Fn(&str) + Send + Sync + 'static) {
    *HOOK.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(hook));
}

/// Passes a message on. One that cannot be printed is lost: it is no part of a result.
pub(crate) fn send(message: &str) {
    // Released before the call, so that a hook may set another one.
    let hook = HOOK.read().unwrap_or_else(PoisonError::into_inner).clone();
    match hook {
        Some(hook) => hook(message),
        None => _ = writeln!(io::stderr(), "{message}"),
    }
}
