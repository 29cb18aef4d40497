//! The ports that the tests run on, and the ways to wait there.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tautline_core::phaser::{Config, Mode, PhaserError, Registration};
use tautline_core::port::{Barrier, Relax};

/// The requirements of all tests on a port.
pub(crate) trait Port: Relax + Barrier + Send + Sync + 'static {}

impl<P: Relax + Barrier + Send + Sync + 'static> Port for P {}

/// Spins a little, then yields to other threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Yield;

impl Relax for Yield {
    fn relax(&self, turn: u32) {
        if turn < 20 {
            std::hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
}

impl Barrier for Yield {}

/// Wakes a thread, and counts how often.
pub(crate) struct Alarm {
    pub rung: AtomicUsize,
    thread: Thread,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.rung.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

/// Creates an alarm for the calling thread.
pub(crate) fn alarm() -> (Arc<Alarm>, Waker) {
    let alarm = Arc::new(Alarm {
        rung: AtomicUsize::new(0),
        thread: thread::current(),
    });
    (Arc::clone(&alarm), Waker::from(alarm))
}

/// The way in which a task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Blocks its thread, polling.
    Blocking,
    /// Signals, then parks until woken.
    Parked,
    /// As a future, parked until woken.
    Awaited,
}

impl Way {
    pub(crate) const ALL: [Self; 3] = [Self::Blocking, Self::Parked, Self::Awaited];

    /// Signals and waits, each if the mode permits it.
    pub(crate) fn next<P: Port>(self, task: &mut Registration<P>) {
        match self {
            Self::Blocking => task.next_blocking().unwrap(),
            Self::Parked => {
                task.signal().unwrap();
                self.wait(task);
            }
            Self::Awaited => block_on(task.next()).unwrap(),
        }
    }

    pub(crate) fn wait<P: Port>(self, task: &mut Registration<P>) {
        match self {
            Self::Blocking => task.wait_blocking().unwrap(),
            Self::Parked => {
                let (_, waker) = alarm();
                while task.poll_wait(&waker).map(Result::unwrap).is_pending() {
                    thread::park();
                }
            }
            Self::Awaited => block_on(task.wait()).unwrap(),
        }
    }
}

/// Runs a future on this thread, which parks until woken.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (_, waker) = alarm();
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

/// A pseudo-random generator: xorshift.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Runs each of the tasks on a separate thread.
pub(crate) fn on_threads<P: Port, T: Send>(
    tasks: Vec<Registration<P>>,
    act: impl Fn(usize, Registration<P>) -> T + Sync,
) -> Vec<T> {
    thread::scope(|s| {
        let act = &act;
        let threads = tasks.into_iter().enumerate();
        let threads = threads.map(|(me, task)| s.spawn(move || act(me, task)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// Returns the default configuration with these parameters.
pub(crate) fn config(degree: usize, help_after: u32) -> Config {
    Config {
        degree,
        help_after,
        ..Config::default()
    }
}

/// Creates tasks in these modes; the first has created the phaser and registered the others.
pub(crate) fn tasks<P: Port>(port: P, config: Config, modes: &[Mode]) -> Vec<Registration<P>> {
    let mut first = Registration::create(port, modes[0], config).unwrap();
    let rest: Vec<_> = modes[1..]
        .iter()
        .map(|&mode| first.register(mode).unwrap())
        .collect();
    [first].into_iter().chain(rest).collect()
}

/// Returns whether the phase has ended for a task, without waiting.
pub(crate) fn is_released<P: Port>(task: &mut Registration<P>) -> bool {
    polled(task).map(Result::unwrap).is_ready()
}

/// Polls a wait once, without a wake-up.
pub(crate) fn polled<P: Port>(task: &mut Registration<P>) -> Poll<Result<(), PhaserError>> {
    task.poll_wait(Waker::noop())
}
