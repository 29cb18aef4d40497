//! The port of a simulated machine's threads.

use super::{Counts, Shared};
use shuttle::current::me;
use std::sync::Arc;
use std::task::{Wake, Waker};
use tautline_core::WorkerId;
use tautline_core::port::{Barrier, Clock, Line, Park, Relax, Unpark};
use tautline_core::sync::point;
use tautline_sim::memory::Hardware;

/// The port that the machine lends to its threads. Speaks for whichever of them calls; a copy may
/// be put into what threads share.
#[derive(Clone, Debug)]
pub struct Port(Shared);

impl Port {
    pub(super) fn new(world: Shared) -> Self {
        Self(world)
    }

    /// The number of the calling thread, from 0.
    pub fn thread(&self) -> usize {
        let task = usize::from(me());
        task.checked_sub(1).expect("a thread of the machine calls")
    }

    fn own<R>(&self, act: impl FnOnce(&mut Hardware, usize) -> R) -> R {
        let thread = self.thread();
        act(&mut self.0.lock().hardware, thread)
    }

    /// As [`own`](Self::own), when nobody's clock is less.
    fn due<R>(&self, act: impl FnOnce(&mut Hardware, usize) -> R) -> R {
        point();
        self.own(act)
    }

    /// Computes for this number of cycles.
    pub fn work(&self, cycles: u64) {
        self.own(|hardware, me| hardware.work(me, cycles));
    }

    /// The number of accesses of the calling thread.
    pub fn accesses(&self) -> u64 {
        self.own(|hardware, me| hardware.accesses(me))
    }

    /// From now on all threads' accesses are counted for [`Taken::traffic`](super::Taken::traffic).
    pub fn count_traffic(&self) {
        self.0.lock().traffic = Some(Counts::default());
    }

    /// Reports only what has been counted so far.
    pub fn stop_counting(&self) {
        if let Some(traffic) = &mut self.0.lock().traffic {
            traffic.stop();
        }
    }

    /// Suspends the thread until [`awake`](Self::awake) is called; returns at once if that happened
    /// since the last suspension.
    ///
    /// # Panics
    /// If all threads sleep.
    pub fn suspend(&self) {
        let mut asleep = self.due(Hardware::suspend);
        while asleep {
            point();
            asleep = self.own(|hardware, me| hardware.is_waiting(me));
            assert!(!asleep, "all threads are suspended: none can be woken");
        }
    }

    /// Calls a thread by an interrupt. What was done before is visible to it when it continues.
    pub fn awake(&self, thread: usize) {
        self.due(|hardware, me| hardware.awake(me, thread));
    }

    /// Calls this thread by an interrupt when it is woken.
    pub fn waker(&self) -> Waker {
        let (port, thread) = (self.clone(), self.thread());
        Waker::from(Arc::new(Call { port, thread }))
    }
}

struct Call {
    port: Port,
    thread: usize,
}

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        self.port.awake(self.thread);
    }
}

impl Relax for Port {
    fn relax(&self, _turn: u32) {
        self.own(Hardware::relax);
    }
}

impl Clock for Port {
    fn now(&self) -> u64 {
        self.own(|hardware, me| hardware.now(me))
    }
}

/// Worker `n` of any place is thread `n`.
impl Unpark for Port {
    fn unpark(&self, worker: WorkerId) {
        self.awake(worker.0 as usize);
    }
}

impl Park for Port {
    fn park(&self, worker: WorkerId) {
        assert_eq!(worker.0 as usize, self.thread(), "a thread parks itself");
        self.suspend();
    }
}

impl Barrier for Port {
    fn lines(&self) -> usize {
        self.0.lock().hardware.lines()
    }

    fn claim(&self) -> Option<Line> {
        self.due(|hardware, _| hardware.claim()).map(Line)
    }

    fn give_back(&self, line: Line) {
        self.due(|hardware, _| hardware.give_back(line.0));
    }

    fn include(&self, line: Line) {
        self.due(|hardware, me| hardware.include(line.0, me));
    }

    fn exclude(&self, line: Line) {
        self.due(|hardware, me| hardware.exclude(line.0, me));
    }

    fn arrive(&self, line: Line) {
        self.due(|hardware, me| hardware.arrive(line.0, me));
    }

    fn is_done(&self, line: Line) -> bool {
        self.due(|hardware, me| hardware.is_done(line.0, me))
    }
}
