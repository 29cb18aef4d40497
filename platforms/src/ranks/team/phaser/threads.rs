//! Phasers and accumulators of the threads of all ranks.
//!
//! As those of tasks (see `tasks`): each rank has two phasers, on both of which its threads signal
//! and wait, and a carrier between them. It is no task: see `carrier`.

use super::Team;
use super::carrier::{Carrier, Crossing, Phases, carried};
use super::part::{Barrier, Part, Reduction, Value, combination, together};
use crate::Result;
use crate::phaser::{Accumulator, Element, Mode, Op, PhaserError, Registration, carried_config};
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
    /// Creates a phaser of plain threads of all ranks, `threads` of each, and returns the caller's
    /// registration, which registers the others. No thread leaves a phase before those of all ranks
    /// have signalled it. More threads, or fewer, may take part. As
    /// [`phaser::for_threads`](crate::phaser::for_threads); tasks have [`phaser`](Self::phaser).
    ///
    /// No runtime is needed. The exchange of a phase begins at the last signal of a rank, and the
    /// threads that wait communicate, or the progress thread while none does.
    ///
    /// Ranks may leave: a rank without threads keeps no other one from ending its phases. Until all
    /// ranks have left, it takes part in the exchanges, and its world waits for that when it is
    /// dropped, as for a collective call.
    ///
    /// ```
    /// use std::thread;
    /// use tautline::phaser::Mode;
    /// use tautline::world;
    ///
    /// world::loopback(2, |world| {
    ///     let mut main = world.team().phaser_for_threads(2)?;
    ///     let mut other = main.register(Mode::SignalWait)?;
    ///     thread::scope(|threads| {
    ///         // The work of a step; then that of all threads of all ranks is done.
    ///         threads.spawn(move || (0..10).try_for_each(|_| other.next_blocking()));
    ///         (0..10).try_for_each(|_| main.next_blocking())
    ///     })
    /// })
    /// .into_iter()
    /// .collect::<Result<(), _>>()?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of all [calls](Self#errors), also if the ranks differ in `threads`; a malformed
    /// `TAUTLINE_PHASER_DEGREE`. If an exchange fails later, or a thread panics while it is
    /// registered, the phases of all threads at all ranks end with one error.
    ///
    /// # Teamed
    /// A call of all ranks of the team, for which the calling thread waits.
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

    /// As [`phaser_for_threads`](Self::phaser_for_threads), with a reduction: `op` combines the
    /// values that the threads of all ranks contribute in a phase. They signal and wait. The values
    /// of a rank are combined first, then those of the ranks, in their order: all get the same
    /// bits.
    ///
    /// ```
    /// use tautline::phaser::Op;
    /// use tautline::world;
    ///
    /// let largest = world::loopback(3, |world| {
    ///     let (largest, mut thread) = world.team().accumulator_for_threads::<u32>(1, Op::Max)?;
    ///     largest.put(&mut thread, world.rank().0 + 40)?;
    ///     thread.next_blocking()?;
    ///     Ok::<_, tautline::Error>(largest.get())
    /// });
    /// assert_eq!(largest.into_iter().collect::<Result<Vec<_>, _>>()?, [42; 3]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`phaser_for_threads`](Self::phaser_for_threads), and [`PhaserError::Operator`].
    ///
    /// # Teamed
    /// A call of all ranks of the team, with the same number of threads, type and operator.
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
            releases: false,
            has_ended: false,
        };
        Ok(Self {
            threads,
            release,
            gather,
            phases: carried(crossing, carrier),
        })
    }

    /// Registers another thread of this rank, in `mode`, which starts at this thread's phase. The
    /// registration must be moved to that thread before it begins.
    ///
    /// ```
    /// use tautline::phaser::Mode;
    /// use tautline::world::World;
    ///
    /// let mut main = World::alone().team().phaser_for_threads(1)?;
    /// let mut producer = main.register(Mode::Signal)?;
    /// producer.signal()?;
    /// main.next_blocking()?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Capability`], [`PhaserError::Accumulates`].
    pub fn register(&mut self, mode: Mode) -> Result<Self, PhaserError> {
        Ok(Self {
            threads: Arc::clone(&self.threads),
            release: self.release.register(mode)?,
            gather: self.gather.register(mode)?,
            phases: Arc::clone(&self.phases),
        })
    }

    /// Returns the mode of this registration.
    pub fn mode(&self) -> Mode {
        self.gather.mode()
    }

    /// Signals the phase; does not wait. The last signal of a rank begins the exchange, so that
    /// work between this call and [`wait_blocking`](Self::wait_blocking) overlaps with it. For a
    /// thread that also waits, the second signal of a phase is ignored. Does nothing in mode
    /// [`Mode::Wait`].
    ///
    /// ```
    /// use tautline::world;
    ///
    /// let ended = world::loopback(2, |world| {
    ///     let mut thread = world.team().phaser_for_threads(1)?;
    ///     thread.signal()?;
    ///     // Work that does not depend on the other threads.
    ///     thread.wait_blocking()
    /// });
    /// assert!(ended.iter().all(Result::is_ok));
    /// ```
    ///
    /// # Errors
    /// That with which the phases have ended; [`PhaserError::Overflow`].
    pub fn signal(&mut self) -> Result<()> {
        self.phases.check()?;
        // The last signal of the other phaser begins the exchange, after which this one's is due.
        self.release.signal()?;
        Ok(self.gather.signal()?)
    }

    /// Blocks the thread until the threads of all ranks have signalled the phase; it communicates
    /// until then. Does nothing in mode [`Mode::Signal`].
    ///
    /// # Errors
    /// That with which the phases have ended: the loss of a rank, a panic of a registered thread,
    /// of this rank or of another one; [`PhaserError::DoubleWait`], [`PhaserError::Overflow`].
    pub fn wait_blocking(&mut self) -> Result<()> {
        let phases = &*self.phases;
        self.release.wait_while(|_| phases.turn())?;
        phases.check()?;
        match self.gather.poll_wait(Waker::noop()) {
            Poll::Ready(ended) => Ok(ended?),
            Poll::Pending => unreachable!("the exchange has begun after its last signal"),
        }
    }

    /// Signals and then blocks the thread in a wait, each if the mode permits it.
    ///
    /// # Errors
    /// As [`wait_blocking`](Self::wait_blocking).
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
    /// Contributes `value` to the phase that `thread` is about to signal; a later value replaces an
    /// earlier one.
    ///
    /// # Errors
    /// As [`Accumulator::put`](crate::phaser::Accumulator).
    pub fn put(&self, thread: &mut ThreadRegistration, value: T) -> Result<(), PhaserError> {
        self.local.put(&mut thread.gather, value)
    }

    /// Returns the result of the phase that ended last, of all ranks; before the first end, the
    /// result of no values. A registered thread may call this until it signals the phase after the
    /// next.
    pub fn get(&self) -> T {
        self.global.get()
    }
}
