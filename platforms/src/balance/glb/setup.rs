//! The settings of a balanced computation, and the runtime on which it runs.
#![forbid(unsafe_code)]

use crate::execution::plan::Builder;
use crate::execution::runtime::Runtime;
use crate::setting::Rules;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// All settings except the observers.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) ground: Ground<'a>,
    pub(crate) places: Option<u32>,
    pub(crate) workers: Option<usize>,
    pub(crate) rules: Rules,
    pub(crate) deadline: Option<Duration>,
}

/// The runtime that it runs on.
#[derive(Clone, Debug)]
pub(crate) enum Ground<'a> {
    Lent(&'a Runtime),
    /// Started at the first run.
    Own(Box<Builder>, Arc<OnceLock<Runtime>>),
}

impl Setup<'_> {
    /// The next run has a runtime with other settings.
    pub(crate) fn renew(&mut self) {
        if let Ground::Own(_, started) = &mut self.ground {
            *started = Arc::default();
        }
    }

    pub(crate) fn rebuild(&mut self, change: impl FnOnce(Builder) -> Builder) {
        self.renew();
        if let Ground::Own(builder, _) = &mut self.ground {
            **builder = change((**builder).clone());
        }
    }
}
