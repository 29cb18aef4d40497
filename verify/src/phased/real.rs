//! The shipped phasers as subjects.

use super::Subject;
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::task::Wake;
use tautline_core::phaser::{Config, Mode, PhaserError, Registration};
use tautline_core::port::{Barrier, Relax, Spin};
use tautline_core::sync::{AtomicBool, Ordering};
use tautline_exhibits::phaser::Member;

#[cfg(tautline_loom)]
use loom::thread;
#[cfg(tautline_shuttle)]
use shuttle::thread;
#[cfg(not(any(tautline_loom, tautline_shuttle)))]
use std::thread;

/// The way in which a task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Blocks its thread; after this number of failed polls it gathers in place of others.
    Spinning {
        /// [`Config::help_after`].
        help_after: u32,
    },
    /// Parks until it is woken, without polling.
    Parked,
    /// Blocks its thread for a number of polls, then parks.
    Tiring {
        /// The number of polls.
        polls: u32,
    },
}

/// A registration on the shipped phaser, and how its task waits.
#[derive(Debug)]
pub struct Real<P: Relax + Barrier = Spin> {
    task: Registration<P>,
    way: Way,
}

impl<P: Relax + Barrier> Real<P> {
    /// Creates a phaser, with its first task.
    ///
    /// # Panics
    /// If the degree is not allowed.
    pub fn create(port: P, degree: usize, mode: Mode, way: Way) -> Self {
        let help_after = match way {
            Way::Spinning { help_after } => help_after,
            Way::Parked => 0,
            Way::Tiring { .. } => u32::MAX,
        };
        let config = Config {
            degree,
            help_after,
            ..Config::default()
        };
        let task = Registration::create(port, mode, config).expect("the degree is allowed");
        Self { task, way }
    }

    fn sleep_unless(&mut self, over: Result<bool, PhaserError>) -> Result<(), PhaserError> {
        match over? {
            true => Ok(()),
            false => asleep(|waker| self.task.poll_wait(waker)),
        }
    }

    /// Returns the registration.
    pub fn task(&self) -> &Registration<P> {
        &self.task
    }
}

impl<P: Relax + Barrier + Send + Sync + 'static> Subject for Real<P> {
    fn register(&mut self, mode: Mode) -> Self {
        let task = self.task.register(mode).expect("the parent may do as much");
        let way = self.way;
        Self { task, way }
    }

    fn signal(&mut self) {
        self.task.signal().expect("phases can be counted");
    }

    fn signal_early(&mut self) {
        self.signal();
    }

    fn wait(&mut self) {
        match self.way {
            Way::Spinning { .. } => self.task.wait_blocking(),
            Way::Parked => asleep(|waker| self.task.poll_wait(waker)),
            Way::Tiring { polls } => {
                let over = self.task.wait_while(|turn| turn < polls);
                self.sleep_unless(over)
            }
        }
        .expect("the phase is signalled");
    }

    fn next(&mut self) {
        match self.way {
            Way::Spinning { .. } => self.task.next_blocking(),
            Way::Parked => {
                let mut next = self.task.next();
                asleep(|waker| Pin::new(&mut next).poll(&mut Context::from_waker(waker)))
            }
            Way::Tiring { polls } => {
                let over = self.task.next_while(|turn| turn < polls);
                self.sleep_unless(over)
            }
        }
        .expect("phases can be counted");
    }
}

/// A phaser whose tasks block their threads.
#[derive(Debug)]
pub struct Blocking<M>(pub M);

impl<M: Member + Send + 'static> Subject for Blocking<M> {
    fn register(&mut self, mode: Mode) -> Self {
        Self(self.0.register(mode).expect("the parent may do as much"))
    }

    fn signal(&mut self) {
        self.0.signal().expect("phases can be counted");
    }

    fn signal_early(&mut self) {
        self.signal();
    }

    fn wait(&mut self) {
        self.0.wait_blocking().expect("the phase is signalled");
    }

    fn next(&mut self) {
        self.0.next_blocking().expect("phases can be counted");
    }
}

/// Polls once, and again only when woken.
fn asleep<R>(mut look: impl FnMut(&Waker) -> Poll<R>) -> R {
    loop {
        // A new waker for each poll: a wake-up for an earlier one is not counted.
        let call = Arc::new(Call {
            thread: thread::current(),
            came: AtomicBool::new(false),
        });
        if let Poll::Ready(result) = look(&Waker::from(Arc::clone(&call))) {
            return result;
        }
        while !call.came.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

struct Call {
    thread: thread::Thread,
    came: AtomicBool,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.came.store(true, Ordering::Release);
        self.thread.unpark();
    }
}
