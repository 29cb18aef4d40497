//! The threads of a runtime, with all that ends with them.

use crate::Result;
use crate::execution::plan::Plan;
#[cfg(feature = "serde")]
use crate::execution::serves::Serves;
use crate::execution::variables;
use crate::host::pinning::Claim;
use crate::observe::watch::Watch;
use crate::process::messages;
use tautline_core::port::Thread;
use tautline_node::pool::{self, Threads};
use tautline_node::process::Owned;

/// The threads of a runtime. Tasks that are [detached](crate::runtime::Detached) may keep them
/// longer than the runtime.
#[derive(Debug)]
pub(crate) struct Engine {
    pub threads: Threads,
    /// Dropped after the threads have ended, when it writes what was recorded. In the child of
    /// `fork` nothing is.
    pub watch: Owned<Watch>,
    pub plan: Plan,
    pub processors: Claim,
    /// The rank for which it computes now.
    #[cfg(feature = "serde")]
    pub serves: Serves,
}

impl Engine {
    pub(crate) fn start(mut plan: Plan) -> Result<Self> {
        if plan.environment {
            variables::warn_of_unknown();
        }
        let processors = plan.claim();
        let mut watch = Watch::open(&plan.observe, &plan.threads())?;
        let threads = Threads::start(&pool::Plan {
            watcher: watch.watcher(&plan.observe),
            #[cfg(feature = "serde")]
            extension: watch.tracer().map(pool::Extension::new),
            ..plan.threads()
        });
        watch.attach(&plan.observe, &threads)?;
        let (wanted, started) = (plan.workers(), threads.workers());
        if started < wanted {
            messages::send(&format!(
                "tautline: {wanted} workers wanted, the system allows {started}"
            ));
            plan.reduce(started);
        }
        plan.warn();
        Ok(Self {
            threads,
            watch: Owned::new(watch),
            plan,
            processors,
            #[cfg(feature = "serde")]
            serves: Serves::default(),
        })
    }

    /// Returns whether the calling thread is one of the workers.
    pub(crate) fn is_worker(&self) -> bool {
        self.threads.pool().port().current().is_some()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(watch) = self.watch.get_mut() {
            watch.detach();
        }
    }
}
