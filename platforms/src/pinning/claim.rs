//! The processors that the runtimes of this process pin workers to.
//!
//! Two runtimes may use the same processors: their workers then take turns, which is rarely meant. The second one
//! warns.
#![forbid(unsafe_code)]

use super::{ranges, warn};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// How many runtimes pin workers to each processor.
static CLAIMED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

/// The processors of one runtime, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    /// In order, each once.
    cpus: Vec<usize>,
    /// Those that were another runtime's when this one began.
    shared: Vec<usize>,
}

impl Claim {
    /// Claims the processors of a runtime's workers, and warns once if another runtime has some of them.
    pub(crate) fn new(cpus: &[usize]) -> Self {
        static ONCE: Once = Once::new();
        let claim = Self::of(cpus, &mut claimed());
        if let Some(line) = claim.shared() {
            warn(&ONCE, &line);
        }
        claim
    }

    fn of(cpus: &[usize], claimed: &mut BTreeMap<usize, usize>) -> Self {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        let mut shared = Vec::new();
        for &cpu in &cpus {
            let runtimes = claimed.entry(cpu).or_insert(0);
            if *runtimes > 0 {
                shared.push(cpu);
            }
            *runtimes += 1;
        }
        Self { cpus, shared }
    }

    /// Which processors are shared, in one line, if some are.
    pub(crate) fn shared(&self) -> Option<String> {
        let is_shared = !self.shared.is_empty();
        is_shared.then(|| {
            let list = ranges(&self.shared);
            let remedy = "`pinned(false)` or TAUTLINE_NO_PIN=1 lets the system place workers";
            let others = "workers of another runtime, with which they take turns";
            format!("CPUs {list} have {others}; {remedy}")
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut claimed = claimed();
        for cpu in &self.cpus {
            match claimed.get_mut(cpu) {
                Some(runtimes) if *runtimes > 1 => *runtimes -= 1,
                _ => _ = claimed.remove(cpu),
            }
        }
    }
}

fn claimed() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    // Nothing panics while it is locked.
    CLAIMED.lock().unwrap_or_else(PoisonError::into_inner)
}
