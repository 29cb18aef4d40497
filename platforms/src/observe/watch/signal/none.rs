//! No dump upon a signal: the system has no signals, or the feature `signals` is off.

use crate::Result;
use crate::error::refuse;
use crate::setting::DUMP;

/// Never created.
#[derive(Debug)]
pub(crate) enum Printer {}

impl Printer {
    /// Refuses.
    pub(crate) fn start(_: impl Fn() -> String + Send + 'static) -> Result<Self> {
        let allowed = "needs a Unix system and the feature `signals`";
        refuse(DUMP.variable, 1, allowed.to_owned())
    }
}
