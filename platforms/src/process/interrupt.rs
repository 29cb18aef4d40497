//! Interrupts of finishes: Ctrl-C cancels a token.

use crate::{Error, Result};
use std::io;
use std::ops::Deref;
use tautline_core::finish::Reason;
use tautline_core::task::CancelToken;
use tautline_node::interrupts;

/// A [`CancelToken`] that is cancelled by the first Ctrl-C, `SIGTERM` or `SIGHUP`, as
/// [`Reason::Interrupted`]. Feature `signals`, on Unix systems.
///
/// It is for [`finish_until`](tautline_core::task::Cx::finish_until), where it ends tasks and loops
/// as a [`Deadline`](crate::runtime::Deadline) does; for a balanced computation there is
/// [`Balancer::interruptible`](crate::balance::Balancer::interruptible). The second signal ends the
/// process, as does the first one while there is no such token; those within 0.2 s after the first
/// are the same interrupt. A signal that the process ignored from the start, as under `nohup`,
/// stays ignored.
///
/// ```
/// use tautline::prelude::*;
/// use tautline::runtime::Interrupt;
///
/// let rt = Runtime::new()?;
/// let interrupt = Interrupt::new()?;
/// let sum = rt.run(|cx| cx.finish_until(&interrupt, |cx| cx.par(0..1000u64).sum::<u64>()));
/// match sum {
///     Ok(sum) => assert_eq!(sum, 499_500),
///     Err(cancelled) => println!("{}", cancelled.reason), // interrupted
/// }
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Debug)]
pub struct Interrupt {
    token: CancelToken,
    _registered: interrupts::Interrupt,
}

impl Interrupt {
    /// Creates a token that the next interrupt cancels. Dropping it revokes that.
    ///
    /// # Errors
    /// The system refuses a handler, or the thread that all of them share.
    pub fn new() -> Result<Self> {
        let token = CancelToken::new();
        let cancelled = token.clone();
        // Drops tasks, whose panics it contains.
        let _registered = call(move || _ = cancelled.cancel(Reason::Interrupted))?;
        Ok(Self { token, _registered })
    }
}

impl Deref for Interrupt {
    type Target = CancelToken;

    fn deref(&self) -> &CancelToken {
        &self.token
    }
}

/// Has the next interrupt call `action`.
pub(crate) fn call(action: impl FnOnce() + Send + 'static) -> Result<interrupts::Interrupt> {
    let refused = |source: io::Error| Error::Threads { threads: 1, source };
    interrupts::Interrupt::call(action).map_err(refused)
}
