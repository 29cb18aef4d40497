//! Handles of a phaser for any thread.
#![forbid(unsafe_code)]

use super::config::{Census, Config, Phase};
use super::error::PhaserError;
use super::mode::Mode;
use super::registration::Registration;
use super::shared::Shared;
use super::tree::contributor::Contributor;
use super::value::operator::{Element, Op};
use super::value::reduction::Reduction;
use crate::port::{Barrier, Relax};
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};

impl<P: Relax + Barrier> Registration<P> {
    /// Returns the phaser on which the task is registered.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// assert_eq!(task.phaser().phase().0, 0);
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn phaser(&self) -> Phaser<P> {
        Phaser(Arc::clone(self.shared()))
    }

    /// The port of the phaser.
    pub fn port(&self) -> &P {
        &self.shared().port
    }

    /// Whether the task is registered on `phaser`.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// assert!(task.is_on(&task.phaser()));
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn is_on(&self, phaser: &Phaser<P>) -> bool {
        Arc::ptr_eq(self.shared(), &phaser.0)
    }
}

/// A handle for queries, which is no registration.
///
/// ```
/// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
/// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
/// let phaser = task.phaser();
/// task.next_blocking()?;
/// assert_eq!(phaser.phase().0, 1);
/// assert_eq!(phaser.census().phases, 1);
/// # Ok::<(), PhaserError>(())
/// ```
#[derive(Debug)]
pub struct Phaser<P: Barrier>(Arc<Shared<P>>);

// No code of a program runs while a phaser changes its state.
impl<P: Barrier> UnwindSafe for Phaser<P> {}
impl<P: Barrier> RefUnwindSafe for Phaser<P> {}

impl<P: Barrier> Clone for Phaser<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: Relax + Barrier> Phaser<P> {
    /// Returns the current phase.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let phaser = task.phaser();
    /// task.next_blocking()?;
    /// assert_eq!(phaser.phase().0, 1);
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn phase(&self) -> Phase {
        self.0.current_phase()
    }

    /// Returns the configuration of the phaser.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let phaser = task.phaser();
    /// assert_eq!(phaser.config(), Config::default());
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn config(&self) -> Config {
        self.0.config
    }

    /// Returns the statistics of the phaser.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let mut task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let phaser = task.phaser();
    /// task.next_blocking()?;
    /// assert_eq!(phaser.census().phases, 1);
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn census(&self) -> Census {
        let (leaves, levels) = self.0.tree.shape(&self.0.port);
        let phase = self.phase().0;
        Census {
            phases: phase - self.config().first.0,
            in_hardware: self.0.lines.carried(phase),
            helped: self.0.tree.helped(),
            leaves,
            levels,
        }
    }

    /// Whether both are handles of the same phaser.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Config, Mode, PhaserError, Registration}, port::Spin};
    /// let task = Registration::create(Spin, Mode::SignalWait, Config::default())?;
    /// let phaser = task.phaser();
    /// assert!(phaser.is(&task.phaser()));
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A phaser's reduction: tasks contribute values before they signal, and read the combined result
/// when the phase has ended.
///
/// A clone for each task makes [`get`](Self::get) fastest: a handle remembers the one task that
/// contributes values through it.
///
/// ```
/// # use tautline_core::{phaser::{Accumulator, Config, Mode, Op, PhaserError}, port::Spin};
/// let (sum, mut first) = Accumulator::<u64, _>::create(Spin, Op::Sum, None, Config::default())?;
/// let mut second = first.register(Mode::SignalWait)?;
/// sum.put(&mut first, 40)?;
/// sum.put(&mut second, 2)?;
/// second.signal()?;
/// first.next_blocking()?;
/// assert_eq!(sum.get(), 42);
/// # Ok::<(), PhaserError>(())
/// ```
#[derive(Debug)]
pub struct Accumulator<T, P: Barrier> {
    shared: Arc<Shared<P>>,
    contributor: Contributor,
    of: PhantomData<fn(T) -> T>,
}

// As for a phaser: the operators are those of this crate.
impl<T, P: Barrier> UnwindSafe for Accumulator<T, P> {}
impl<T, P: Barrier> RefUnwindSafe for Accumulator<T, P> {}

impl<T, P: Barrier> Clone for Accumulator<T, P> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            contributor: Contributor::new(),
            of: PhantomData,
        }
    }
}

impl<T: Element, P: Relax + Barrier> Accumulator<T, P> {
    /// Creates a phaser that accumulates, with the caller as its only registered task, signal-wait.
    /// `init` enters every result once; `None` stands for the operator's identity.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Accumulator, Config, Op, PhaserError}, port::Spin};
    /// let (most, mut task) = Accumulator::<u64, _>::create(Spin, Op::Max, None, Config::default())?;
    /// most.put(&mut task, 7)?;
    /// task.next_blocking()?;
    /// assert_eq!(most.get(), 7);
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::Operator`], [`PhaserError::Degree`], [`PhaserError::Overflow`].
    pub fn create(
        port: P,
        op: Op,
        init: Option<T>,
        config: Config,
    ) -> Result<(Self, Registration<P>), PhaserError> {
        let reduction = Reduction::new(op, init).ok_or(PhaserError::Operator { op })?;
        let task = Registration::create_with(port, Mode::SignalWait, config, Some(reduction))?;
        let shared = Arc::clone(task.shared());
        Ok((
            Self {
                shared,
                contributor: Contributor::new(),
                of: PhantomData,
            },
            task,
        ))
    }

    /// Contributes `value` to the phase that `task` is about to signal; a later value replaces an
    /// earlier one. A task that contributes no value does not change the result.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Accumulator, Config, Op, PhaserError}, port::Spin};
    /// let (most, mut task) = Accumulator::<u64, _>::create(Spin, Op::Max, None, Config::default())?;
    /// most.put(&mut task, 9)?;
    /// most.put(&mut task, 7)?; // replaces it
    /// task.next_blocking()?;
    /// assert_eq!(most.get(), 7);
    /// # Ok::<(), PhaserError>(())
    /// ```
    ///
    /// # Errors
    /// [`PhaserError::NotRegistered`] on this phaser; [`PhaserError::Signalled`]: the task has
    /// already signalled the phase.
    pub fn put(&self, task: &mut Registration<P>, value: T) -> Result<(), PhaserError> {
        if !Arc::ptr_eq(&self.shared, task.shared()) {
            return Err(PhaserError::NotRegistered);
        }
        if task.is_early() {
            let phase = Phase(task.signalled().0 - 1);
            return Err(PhaserError::Signalled { phase });
        }
        task.slot().put(task.signalled().0, value.pack());
        task.contribute();
        self.contributor.note(task.slot());
        Ok(())
    }

    /// Returns the phaser of this accumulator.
    pub fn phaser(&self) -> Phaser<P> {
        Phaser(Arc::clone(&self.shared))
    }

    /// Returns the result of the phase that ended last; before the first end, the result of no
    /// values. A registered task may call this until it signals the phase after the next. Any other
    /// thread may call it at any time, and obtains the result of one phase that has ended.
    ///
    /// ```
    /// # use tautline_core::{phaser::{Accumulator, Config, Op, PhaserError}, port::Spin};
    /// let (most, mut task) = Accumulator::<u64, _>::create(Spin, Op::Max, None, Config::default())?;
    /// assert_eq!(most.get(), 0); // of no values
    /// most.put(&mut task, 7)?;
    /// task.next_blocking()?;
    /// assert_eq!(most.get(), 7);
    /// # Ok::<(), PhaserError>(())
    /// ```
    pub fn get(&self) -> T {
        let reduction = self.shared.tree.reduction.as_ref();
        let reduction = reduction.expect("the phaser of an accumulator accumulates");
        let slot = self.contributor.slot(&self.shared.tree);
        let cached = slot.and_then(|slot| slot.cached());
        T::unpack(cached.unwrap_or_else(|| self.shared.result(reduction)))
    }
}
