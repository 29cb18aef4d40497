//! No dump upon a signal: the system has no signals, or the feature `signals` is off.

use crate::Result;
use crate::plan::refuse;
use crate::watch::DUMP_VARIABLE;
use std::sync::Arc;
use tautline_core::task::Pool;
use tautline_node::pool::Node;

/// Never created.
#[derive(Debug)]
pub(super) enum Printer {}

impl Printer {
    /// Refuses.
    pub(super) fn start(_: Arc<Pool<Node>>) -> Result<Self> {
        let allowed = "needs a Unix system and the feature `signals`";
        refuse(DUMP_VARIABLE, 1, allowed.to_owned())
    }
}
