//! Threads of the standard library.

use crate::harness::{Body, Harness};
use std::sync::LazyLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::port::{Clock, Relax};

/// A wait that lasts longer than a few times this has missed its end. Several short times, since
/// the process may be stopped in the meantime.
const MOMENT: Duration = Duration::from_millis(100);
const MOMENTS: usize = 100;

/// As [`joins`], and reports the step.
pub(crate) fn ends<R: Send + 'static>(what: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    Threads.report(what);
    joins(what, body)
}

/// Runs `body` on a thread, and returns its result; panics if it does not end.
pub(crate) fn joins<R: Send + 'static>(what: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    let runs = thread::spawn(move || {
        let result = body();
        let _ = done.send(result);
    });
    let mut ends = (0..MOMENTS).map(|_| ended.recv_timeout(MOMENT));
    let in_time = ends.find(|end| !matches!(end, Err(RecvTimeoutError::Timeout)));
    let end = in_time.unwrap_or_else(|| panic!("{what} does not end"));
    assert!(runs.join().is_ok(), "{what} ended by a panic");
    end.expect("sent before the end of the thread")
}

/// Threads of the standard library: a new one for each call. One that does not end is leaked.
/// Steps are printed, which a test shows if it fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads;

impl Clock for Threads {
    fn now(&self) -> u64 {
        static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
        ORIGIN.elapsed().as_nanos() as u64
    }
}

impl Relax for Threads {
    fn relax(&self, turn: u32) {
        match turn {
            0..1000 => std::hint::spin_loop(),
            _ => thread::yield_now(),
        }
    }

    fn yield_now(&self, _: u32) {
        thread::yield_now();
    }
}

impl Harness for Threads {
    fn report(&self, step: &str) {
        println!("{step}");
    }

    fn run(&self, what: &str, threads: usize, body: Body) {
        joins(what, move || {
            let start = |number| {
                let body = Body::clone(&body);
                thread::spawn(move || body(number))
            };
            let all: Vec<_> = (0..threads).map(start).collect();
            let ended: Vec<_> = all
                .into_iter()
                .map(|thread| thread.join().is_ok())
                .collect();
            assert!(ended.iter().all(|ok| *ok), "a thread panicked");
        });
    }
}
