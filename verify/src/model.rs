//! The harness around loom: a model that explores too little is a failure, not a proof.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tautline_core::port::Relax;
use tautline_core::sync::full_fence;

/// A bounded check of one small concurrent program under every schedule that the bound allows.
///
/// `TAUTLINE_BOUND=<n>` or `=none` overrides the bounds of all models, for deeper runs; `=+<n>`
/// raises each.
#[derive(Debug)]
#[must_use]
pub struct Model {
    name: &'static str,
    bound: Option<usize>,
    floor: usize,
}

impl Model {
    /// A model without a bound on preemptions, that must run at least once.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            bound: None,
            floor: 1,
        }
    }

    /// At most `preemptions` involuntary switches in one execution.
    pub fn bound(mut self, preemptions: usize) -> Self {
        self.bound = Some(preemptions);
        self
    }

    /// The least number of executions that counts as a check.
    pub fn floor(mut self, executions: usize) -> Self {
        self.floor = executions;
        self
    }

    /// Runs `program` in all its executions and prints one line about them.
    ///
    /// # Panics
    /// If an execution fails, or if there were fewer than the floor.
    pub fn check(self, program: impl Fn() + Sync + Send + 'static) {
        let (name, floor, bound) = (self.name, self.floor, self.effective_bound());
        let start = Instant::now();
        let (executions, failure) = explore(bound, program);
        let seconds = start.elapsed().as_secs_f64();
        if let Some(cause) = failure {
            eprintln!("model {name} failed in execution {executions}");
            std::panic::resume_unwind(cause);
        }
        let bound = bound.map_or_else(|| "none".into(), |b| b.to_string());
        println!(
            "MODEL {name} executions={executions} floor={floor} bound={bound} seconds={seconds:.2}"
        );
        assert!(
            executions >= floor,
            "model {name} explored {executions} executions; below {floor} it checks nothing"
        );
    }

    /// Runs `program` until an execution fails; returns the number of executions, `None` if none
    /// failed.
    pub fn find(self, program: impl Fn() + Sync + Send + 'static) -> Option<usize> {
        // Loom's coroutines set a panic hook when the first one is made: before ours, or ours would
        // stay.
        explore(Some(0), || {});
        // The failure is wanted: its backtrace would only appear to be a failure.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (executions, failure) = explore(self.effective_bound(), program);
        std::panic::set_hook(hook);
        failure.map(|_| executions)
    }

    fn effective_bound(&self) -> Option<usize> {
        let Ok(wanted) = std::env::var("TAUTLINE_BOUND") else {
            return self.bound;
        };
        let number = |text: &str| {
            let number = text.parse::<usize>();
            number.expect("TAUTLINE_BOUND is a number, a number after a `+`, or \"none\"")
        };
        match wanted.strip_prefix('+') {
            Some(more) => self.bound.map(|bound| bound + number(more)),
            None => (wanted != "none").then(|| number(&wanted)),
        }
    }
}

type Cause = Box<dyn std::any::Any + Send>;

fn explore(
    bound: Option<usize>,
    program: impl Fn() + Sync + Send + 'static,
) -> (usize, Option<Cause>) {
    tautline_stacks::keep_stacks();
    let executions = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&executions);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound;
    builder.max_branches = 10_000;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            count.fetch_add(1, Ordering::Relaxed);
            // Initializes the static word of each fence (core/src/sync/fence.rs): loom orders
            // the thread that initializes a static before all later accesses, and a fence orders
            // less.
            full_fence();
            program();
        });
    }));
    (executions.load(Ordering::Relaxed), outcome.err())
}

/// Waiting that loom can finish: two threads that yield to each other for ever would never let the
/// third one run. After `turns` failed polls the rest of the execution runs on fairly, unbranched.
#[derive(Clone, Copy, Debug)]
pub struct Turns(pub u32);

impl Relax for Turns {
    fn relax(&self, turn: u32) {
        if turn >= self.0 {
            loom::skip_branch();
        }
        loom::thread::yield_now();
    }
}
