//! Phasers and accumulators of the threads of all ranks.
//!
//! Each rank has two phasers, as for tasks (see `tasks`). Its threads signal and wait on both; the
//! carrier, which ends the second one's phase after the first one's and the exchange, is run by
//! these threads themselves (see `carrier`).

use super::Team;
use super::carrier::{Crossing, Phases, ThreadCarrier, Threads, start};
use super::part::{NoReduction, Part, Reduction, Value, combination, together};
use crate::Result;
use crate::phaser::{Accumulator, Element, Mode, Op, PhaserError, Registration, carried_config};
use std::any::type_name;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::thread;
use tautline_core::service::Kind;
use tautline_node::SpinThenYield;

/// A thread's registration on a phaser of the threads of all ranks of a team, made by
/// [`Team::phaser_for_threads`] or [`Team::accumulator_for_threads`].
///
/// Dropping it deregisters the thread, which then owes no more signals; during a panic it ends the
/// phases of all ranks with an error. So it must be moved to its thread: if a thread panics that
/// has borrowed its registration, the registration lives on, and the other threads wait for its
/// signal.
pub struct ThreadRegistration {
    // Fields are dropped in this order. The last registration of a rank announces its departure
    // first. `gather` leaves last of the two phasers, as that may begin an exchange, after which
    // the phase of `release` ends. `phases` keeps the waker's target until then.
    threads: Arc<Threads>,
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
    /// Creates a phaser of plain threads of all ranks, about `threads` of this one, and returns the
    /// caller's registration, which registers the others. No thread leaves a phase before those of
    /// all ranks have signalled it. More threads, or fewer, may take part, and ranks may have
    /// different numbers of them. As [`phaser::for_threads`](crate::phaser::for_threads); tasks
    /// have [`phaser`](Self::phaser).
    ///
    /// No runtime is needed. The exchange of a phase begins at the last signal of a rank, and one
    /// of the threads that wait communicates, or the progress thread while no thread waits, or if
    /// it is [dedicated](crate::world::ProgressMode::Dedicated). Threads that wait spin and yield,
    /// and are not parked: a wait occupies a processor unless another thread needs it.
    ///
    /// Ranks may leave: a rank without threads keeps no other one from ending its phases. Until all
    /// ranks have left, it takes part in the exchanges, and its world waits for that when it is
    /// dropped, without limit.
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
    /// Those of all [calls](Self#errors); a malformed `TAUTLINE_PHASER_DEGREE`, without a call. If
    /// an exchange fails later, or a thread panics to which its registration was moved, the phases
    /// of all threads at all ranks end with one error. A thread that panics while it borrows its
    /// registration ends no phase: the others wait for it.
    ///
    /// # Teamed
    /// A call of all ranks of the team, for which the calling thread waits.
    #[track_caller]
    pub fn phaser_for_threads(&mut self, threads: usize) -> Result<ThreadRegistration> {
        let (port, config) = carried_config(threads)?;
        let own = OwnPhasers::new([
            Registration::create(port, Mode::SignalWait, config)?,
            Registration::create(port, Mode::SignalWait, config)?,
        ])?;
        let crossing = self.crossing(Location::caller(), "phaser for threads".into())?;
        Ok(own.start(crossing, NoReduction, together))
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
    /// As [`phaser_for_threads`](Self::phaser_for_threads), and [`PhaserError::Operator`]. If a
    /// function of `T` panics, the phases end with an error.
    ///
    /// # Teamed
    /// A call of all ranks of the team, with the same type and operator.
    #[track_caller]
    pub fn accumulator_for_threads<T: Element>(
        &mut self,
        threads: usize,
        op: Op,
    ) -> Result<(ThreadAccumulator<T>, ThreadRegistration)> {
        let (port, config) = carried_config(threads)?;
        let (local, gather) = Accumulator::<T>::create(port, op, None, config)?;
        let (global, release) = Accumulator::<T>::create(port, op, None, config)?;
        let own = OwnPhasers::new([gather, release])?;
        let kind = Kind::from("accumulator for threads").with("operator", op as u64);
        let kind = kind.of_types(type_name::<T>());
        let crossing = self.crossing(Location::caller(), kind)?;
        let accumulator = ThreadAccumulator { local, global };
        let (local, global) = (accumulator.local.clone(), accumulator.global.clone());
        let reduction = Reduction { local, global };
        let first = own.start(crossing, reduction, combination::<T>(op));
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

/// The registrations of the first thread and of the carrier, before the call of all ranks: what may
/// fail at one of them.
struct OwnPhasers {
    thread: [Registration; 2],
    carrier: [Registration; 2],
}

impl OwnPhasers {
    /// Registers the carrier.
    fn new([mut gather, mut release]: [Registration; 2]) -> Result<Self> {
        let carrier = [
            gather.register(Mode::SignalWait)?,
            release.register(Mode::SignalWait)?,
        ];
        Ok(Self {
            thread: [gather, release],
            carrier,
        })
    }

    /// Starts the phases, and returns the registration of the calling thread.
    fn start(
        self,
        crossing: Crossing,
        part: impl Part<SpinThenYield> + 'static,
        combine: impl FnMut(Value, Value) -> Value + Copy + Send + 'static,
    ) -> ThreadRegistration {
        let Self {
            thread: [gather, release],
            carrier: [of_gather, of_release],
        } = self;
        let threads = Arc::new_cyclic(|threads| {
            let carrier = ThreadCarrier {
                gather: of_gather,
                release: of_release,
                part,
                combine,
                threads: Weak::clone(threads),
                exchange: None,
                releases: false,
                has_ended: false,
            };
            Threads(start(crossing, carrier))
        });
        ThreadRegistration {
            phases: Arc::clone(&threads.0),
            threads,
            release,
            gather,
        }
    }
}

impl ThreadRegistration {
    /// Registers another thread of this rank, in `mode`, which starts at this thread's phase. The
    /// registration must be moved to that thread before it begins, as by a `move` closure.
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
    ///
    /// # Panics
    /// In the child of `fork`, if there are other ranks.
    pub fn signal(&mut self) -> Result<()> {
        self.phases.check()?;
        // The last signal of the other phaser begins the exchange, after which this one's is due.
        self.release.signal()?;
        Ok(self.gather.signal()?)
    }

    /// Blocks the thread until the threads of all ranks have signalled the phase. Until then it
    /// communicates, unless another thread that waits does or the progress thread is
    /// [dedicated](crate::world::ProgressMode::Dedicated). It spins and yields, and is not parked.
    /// Does nothing in mode [`Mode::Signal`].
    ///
    /// # Errors
    /// That with which the phases have ended: the loss of a rank, a panic of a thread to which its
    /// registration was moved, of this rank or of another one; [`PhaserError::DoubleWait`],
    /// [`PhaserError::Overflow`].
    ///
    /// # Panics
    /// In the child of `fork`, if there are other ranks.
    pub fn wait_blocking(&mut self) -> Result<()> {
        let phases = &*self.phases;
        // First: after a failure, a wait may seem to be a second one.
        phases.check()?;
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
    ///
    /// # Panics
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
