//! Phasers and accumulators of the threads of all ranks.
//!
//! As those of tasks (see `tasks`): each rank has two phasers, on both of which its threads signal
//! and wait, and a carrier between them. It is no task: see `carrier`.

use super::Team;
use super::carrier::{Carrier, Crossing, Phases, carried};
use super::part::{Barrier, Part, Reduction, Value, combination, together};
use crate::Result;
use crate::phaser::{
    Accumulator, Element, Mode, Op, PhaserError, Registration, carried_config,
};
use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;
use tautline_core::service::Kind;
use tautline_node::SpinThenYield;

/// A thread's registration on a phaser of the threads of all ranks of a team, made by
/// [`Team::phaser_for_threads`] or [`Team::accumulator_for_threads`].
///
/// Dropping it deregisters the thread, which then owes no more signals; during a panic it ends the
/// phases of all ranks with an error.
pub struct ThreadRegistration {
    // Dropped in this order: the rank leaves with its last signal, and signals this phaser last.
    threads: Arc<()>,
    release: Registration,
    gather: Registration,
    phases: Arc<dyn Phases>,
}

impl fmt::Debug for ThreadRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadRegistration").finish_non_exhaustive()
    }
}

/// A reduction over the threads of all ranks of a team, made by [`Team::accumulator_for_threads`].
///
/// A clone for each thread makes [`get`](Self::get) fastest.
#[derive(Clone, Debug)]
pub struct ThreadAccumulator<T> {
    local: Accumulator<T>,
    global: Accumulator<T>,
}

impl Team {
    #[track_caller]
    pub fn phaser_for_threads(&mut self, threads: usize) -> Result<ThreadRegistration> {
        let kind = Kind::from("phaser for threads").with("threads", threads as u64);
        let crossing = self.crossing(Location::caller(), kind)?;
        let (port, config) = carried_config(threads)?;
        let [gather, release] = [
            Registration::create(port, Mode::SignalWait, config)?,
            Registration::create(port, Mode::SignalWait, config)?,
        ];
        ThreadRegistration::first(crossing, [gather, release], Barrier, together)
    }

    #[track_caller]
    pub fn accumulator_for_threads<T: Element>(
        &mut self,
        threads: usize,
        op: Op,
    ) -> Result<(ThreadAccumulator<T>, ThreadRegistration)> {
        let kind = Kind::from("accumulator for threads").with("threads", threads as u64);
        let kind = kind.with("operator", op as u64).of_types(type_name::<T>());
        let crossing = self.crossing(Location::caller(), kind)?;
        let (port, config) = carried_config(threads)?;
        let (local, gather) = Accumulator::<T>::create(port, op, None, config)?;
        let (global, release) = Accumulator::<T>::create(port, op, None, config)?;
        let accumulator = ThreadAccumulator { local, global };
        let (local, global) = (accumulator.local.clone(), accumulator.global.clone());
        let (reduction, combine) = (Reduction { local, global }, combination::<T>(op));
        let first = ThreadRegistration::first(crossing, [gather, release], reduction, combine)?;
        Ok((accumulator, first))
    }

    /// Returns the calls of a phaser, once all ranks have made the call of this kind.
    fn crossing(&self, site: &'static Location<'static>, kind: Kind) -> Result<Crossing> {
        let same = self.divided_blocking(site, kind, Some(0))?;
        let own = same.expect("all ranks have the same colour");
        Ok(Crossing {
            engine: own.engine,
            calls: own.calls,
            site,
        })
    }
}

impl ThreadRegistration {
    /// Starts the phases, and returns the registration of the calling thread.
    fn first(
        crossing: Crossing,
        [mut gather, mut release]: [Registration; 2],
        part: impl Part<SpinThenYield> + 'static,
        combine: impl FnMut(Value, Value) -> Value + Copy + Send + 'static,
    ) -> Result<Self> {
        let threads = Arc::new(());
        let carrier = Carrier {
            gather: gather.register(Mode::SignalWait)?,
            release: release.register(Mode::SignalWait)?,
            part,
            combine,
            threads: Arc::downgrade(&threads),
            exchange: None,
            has_ended: false,
        };
        Ok(Self {
            threads,
            release,
            gather,
            phases: carried(crossing, carrier),
        })
    }

    /// Registers another thread of this rank.
    pub fn register(&mut self, mode: Mode) -> Result<Self, PhaserError> {
        Ok(Self {
            threads: Arc::clone(&self.threads),
            release: self.release.register(mode)?,
            gather: self.gather.register(mode)?,
            phases: Arc::clone(&self.phases),
        })
    }

    pub fn mode(&self) -> Mode {
        self.gather.mode()
    }

    pub fn signal(&mut self) -> Result<()> {
        self.phases.check()?;
        // The last signal of the other phaser begins the exchange, after which this one's is due.
        self.release.signal()?;
        Ok(self.gather.signal()?)
    }

    pub fn wait_blocking(&mut self) -> Result<()> {
        let phases = &*self.phases;
        self.release.wait_while(|_| phases.turn())?;
        phases.check()?;
        match self.gather.poll_wait(Waker::noop()) {
            Poll::Ready(ended) => Ok(ended?),
            Poll::Pending => unreachable!("the exchange has begun after its last signal"),
        }
    }

    pub fn next_blocking(&mut self) -> Result<()> {
        self.signal()?;
        self.wait_blocking()
    }
}

impl Drop for ThreadRegistration {
    fn drop(&mut self) {
        if thread::panicking() {
            self.phases.panicked();
        }
    }
}

impl<T: Element> ThreadAccumulator<T> {
    pub fn put(&self, thread: &mut ThreadRegistration, value: T) -> Result<(), PhaserError> {
        self.local.put(&mut thread.gather, value)
    }

    pub fn get(&self) -> T {
        self.global.get()
    }
}
