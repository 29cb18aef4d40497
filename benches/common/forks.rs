//! Runtimes of forks behind one trait: what is measured is written once, and each runs it.

use std::num::NonZero;
use tautline::runtime::Cx;
use tautline_bench::pools::{self, pin};

/// Something to do that may fork. A value and not a closure, so that one body serves contexts whose
/// lifetimes differ.
pub(crate) trait Task: Send {
    /// The result.
    type Out: Send;
    /// Does it, by the forks of `fork`.
    fn run<F: Fork>(self, fork: &mut F) -> Self::Out;
}

/// A library by which a task forks.
pub(crate) trait Fork {
    /// Both, the second on another worker if there is one free.
    fn join<A: Task, B: Task>(&mut self, first: A, second: B) -> (A::Out, B::Out);
}

/// A runtime with its threads.
pub(crate) trait Runtime: Sized {
    /// Its name in reports.
    const NAME: &'static str;
    /// Creates this number of workers, the first on the first processor. Where callers work too,
    /// the caller is the first.
    fn start(workers: usize) -> Self;
    /// Runs a task, from a thread that is no worker, and waits for its result.
    fn run<T: Task>(&self, task: T) -> T::Out;
}

/// A runtime whose scopes spawn.
pub(crate) trait Spawn: Runtime {
    /// Runs `scopes` scopes in sequence, with `tasks` empty tasks each.
    fn spawn(&self, scopes: u32, tasks: u32);
    /// Runs one scope with this number of tasks that call `leaf`.
    #[allow(dead_code, reason = "only the table of shapes has leaves")]
    fn spawn_leaves(&self, tasks: u32, leaf: impl Fn() + Sync);
}

/// No runtime at all: forks are calls.
pub(crate) struct Calls;

impl Fork for Calls {
    #[inline(always)]
    fn join<A: Task, B: Task>(&mut self, first: A, second: B) -> (A::Out, B::Out) {
        (first.run(self), second.run(self))
    }
}

impl Runtime for Calls {
    const NAME: &'static str = "calls";

    fn start(_: usize) -> Self {
        pin(0);
        Self
    }

    fn run<T: Task>(&self, task: T) -> T::Out {
        task.run(&mut Self)
    }
}

/// Ours.
pub(crate) struct Tautline(pub tautline::Runtime);

impl Fork for Cx<'_, '_> {
    #[inline(always)]
    fn join<A: Task, B: Task>(&mut self, first: A, second: B) -> (A::Out, B::Out) {
        Cx::join(self, |cx| first.run(cx), |cx| second.run(cx))
    }
}

impl Runtime for Tautline {
    const NAME: &'static str = "tautline";

    fn start(workers: usize) -> Self {
        let runtime = tautline::Runtime::builder().workers(workers).build();
        // It has the list of processors by now.
        pin(0);
        Self(runtime.expect("a few threads"))
    }

    fn run<T: Task>(&self, task: T) -> T::Out {
        self.0.run(|cx| task.run(cx))
    }
}

impl Spawn for Tautline {
    fn spawn(&self, scopes: u32, tasks: u32) {
        self.0.run(|cx| {
            for _ in 0..scopes {
                cx.scope(|cx| (0..tasks).for_each(|_| cx.spawn(|_| ())));
            }
        });
    }

    fn spawn_leaves(&self, tasks: u32, leaf: impl Fn() + Sync) {
        let leaf = &leaf;
        self.0
            .run(|cx| cx.scope(|cx| (0..tasks).for_each(|_| cx.spawn(move |_| leaf()))));
    }
}

/// Peers recurse, and trees are deep. Only what is touched takes memory.
pub(crate) const STACK_BYTES: usize = 1 << 30;

/// rayon: the caller waits while its threads work.
pub(crate) struct Rayon(pub rayon::ThreadPool);

impl Fork for &rayon::ThreadPool {
    #[inline(always)]
    fn join<A: Task, B: Task>(&mut self, first: A, second: B) -> (A::Out, B::Out) {
        let pool = *self;
        rayon::join(|| first.run(&mut { pool }), || second.run(&mut { pool }))
    }
}

impl Runtime for Rayon {
    const NAME: &'static str = "rayon";

    fn start(workers: usize) -> Self {
        let pool = pools::rayon(workers).stack_size(STACK_BYTES);
        Self(pool.build().expect("a few threads"))
    }

    fn run<T: Task>(&self, task: T) -> T::Out {
        self.0.install(|| task.run(&mut &self.0))
    }
}

impl Spawn for Rayon {
    fn spawn(&self, scopes: u32, tasks: u32) {
        self.0.install(|| {
            for _ in 0..scopes {
                rayon::scope(|scope| (0..tasks).for_each(|_| scope.spawn(|_| ())));
            }
        });
    }

    fn spawn_leaves(&self, tasks: u32, leaf: impl Fn() + Sync) {
        let leaf = &leaf;
        self.0.install(|| {
            rayon::scope(|scope| (0..tasks).for_each(|_| scope.spawn(move |_| leaf())));
        });
    }
}

/// chili: the caller works too. Its threads have stacks of `RUST_MIN_STACK` bytes.
pub(crate) struct Chili(pub chili::ThreadPool);

impl Fork for chili::Scope<'_> {
    #[inline(always)]
    fn join<A: Task, B: Task>(&mut self, first: A, second: B) -> (A::Out, B::Out) {
        chili::Scope::join(self, |scope| first.run(scope), |scope| second.run(scope))
    }
}

impl Runtime for Chili {
    const NAME: &'static str = "chili";

    fn start(workers: usize) -> Self {
        let config = chili::Config {
            thread_count: NonZero::new(workers),
            ..chili::Config::default()
        };
        // Its threads inherit the processors of the one that starts them: more than one must not be
        // pinned.
        if workers > 2 {
            return Self(chili::ThreadPool::with_config(config));
        }
        pin(1);
        let pool = chili::ThreadPool::with_config(config);
        pin(0);
        Self(pool)
    }

    fn run<T: Task>(&self, task: T) -> T::Out {
        task.run(&mut self.0.scope())
    }
}

/// Runs `body` on a stack that suffices for peers, which recurse.
#[allow(
    dead_code,
    reason = "only tables of deep trees recurse on the stack of the caller"
)]
pub(crate) fn on_a_large_stack<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = builder.spawn_scoped(scope, body).expect("a thread");
        thread.join().expect("the panic message is its own")
    })
}
