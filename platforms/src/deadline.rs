//! Who stops a computation when its time is up.

use crate::{Error, Result};
use std::sync::{Condvar, Mutex};
use std::thread::{self, Builder};
use std::time::Duration;
use tautline_core::glb::{Control, Reason};

/// Whether what is watched has ended, and how the watchdog hears of it.
#[derive(Debug, Default)]
struct End {
    over: Mutex<bool>,
    changed: Condvar,
}

impl End {
    /// Sleeps until the end, or for the time allowed. True if that has passed.
    fn outlasts(&self, allowed: Duration) -> bool {
        let over = self.over.lock().expect("held only to store");
        let waited = self
            .changed
            .wait_timeout_while(over, allowed, |over| !*over);
        !*waited.expect("held only to store").0
    }
}

/// Tells the watchdog, also if what it watches panics.
struct Tell<'a>(&'a End);

impl Drop for Tell<'_> {
    fn drop(&mut self) {
        *self.0.over.lock().expect("held only to store") = true;
        self.0.changed.notify_all();
    }
}

/// Does `work`; if it takes longer than `allowed`, a thread that slept until then stops `control`. The
/// thread has ended when this returns.
///
/// # Errors
/// What `work` says, or that the thread could not be started; `work` has not begun then.
pub(crate) fn within<R>(
    allowed: Duration,
    control: &Control,
    work: impl FnOnce() -> Result<R>,
) -> Result<R> {
    let end = End::default();
    thread::scope(|scope| {
        let watch = || {
            if end.outlasts(allowed) {
                control.stop(Reason::Deadline);
            }
        };
        Builder::new()
            .name("deadline".into())
            .spawn_scoped(scope, watch)
            .map_err(|source| Error::Threads { threads: 1, source })?;
        let _tell = Tell(&end);
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    const NEVER: Duration = Duration::MAX;

    #[test]
    fn work_that_ends_in_time_is_not_stopped() {
        let control = Control::new();
        // With the thread still asleep this would not return.
        assert_eq!(within(NEVER, &control, || Ok(7)).unwrap(), 7);
        assert_eq!(control.reason(), None);
    }

    #[test]
    fn work_that_takes_longer_is_stopped() {
        let control = Control::new();
        let work = || {
            while !control.is_stopped() {
                thread::yield_now();
            }
            Ok(())
        };
        within(Duration::from_millis(1), &control, work).unwrap();
        assert_eq!(control.reason(), Some(Reason::Deadline));
    }

    #[test]
    fn a_panic_ends_the_watch() {
        let control = Control::new();
        let work = || -> Result<()> { panic!("no more") };
        let payload = catch_unwind(AssertUnwindSafe(|| within(NEVER, &control, work))).unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"no more"));
        assert_eq!(control.reason(), None);
    }
}
