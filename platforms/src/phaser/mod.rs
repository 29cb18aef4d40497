//! Phasers: barriers, point-to-point synchronization and reductions for groups of tasks or threads
//! whose membership changes.
//!
//! Among tasks a phaser belongs to a scope, and a waiting task occupies no worker:
//!
//! ```
//! use tautline::phaser::{Op, PhaserError};
//! use tautline::prelude::*;
//!
//! Runtime::new()?.run(|cx| {
//!     let (largest, mut ph) = cx.accumulator::<u64>(Op::Max)?;
//!     for i in 0..1000u64 {
//!         let largest = largest.clone();
//!         cx.spawn_phased([ph.signal_wait()], move |mut task| async move {
//!             for phase in 0..3 {
//!                 task.accum_next(&largest, i * phase).await.unwrap();
//!                 assert_eq!(largest.get(), 999 * phase);
//!             }
//!         })?;
//!     }
//!     Ok::<(), PhaserError>(())
//! })?;
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! Among threads each holds a registration, and waits by spinning, or parks in a long wait
//! ([`Waiter`]):
//!
//! ```
//! use tautline::phaser::{self, Mode};
//!
//! let mut first = phaser::for_threads(4, Mode::SignalWait)?;
//! std::thread::scope(|scope| {
//!     for _ in 1..4 {
//!         let mut one = first.register(Mode::SignalWait)?;
//!         scope.spawn(move || (0..100).try_for_each(|_| one.next_blocking()));
//!     }
//!     (0..100).try_for_each(|_| first.next_blocking())
//! })?;
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! [`Bands`] are a grid for stencils whose bands of rows meet at a phaser.
//!
//! Their configuration follows from the machine ([`rule`](mod@rule)); `TAUTLINE_PHASER_DEGREE`
//! overrides the degree.
#![forbid(unsafe_code)]

mod bands;
#[doc(hidden)]
pub mod rule;

pub use bands::{Bands, BandsError, Held, Rows};

use crate::Result;
use crate::setting::{PHASER_DEGREE, environment};
use rule::{Site, rule};
use tautline_core::phaser;
use tautline_node::Machine;
use tautline_node::pool::Node;

pub use tautline_core::phased::PoolPort;
pub use tautline_core::phaser::{At, Census, Config, Element, Mode, Op, Phase, PhaserError};
pub use tautline_node::{Sleeps, SpinThenYield, Waiter};

/// A thread's registration on a phaser; see [`phaser::Registration`].
pub type Registration<Q = SpinThenYield> = phaser::Registration<Q>;

/// A handle for queries, of a phaser among threads; see [`phaser::Phaser`], and [`TaskPhaser`].
pub type Phaser<Q = SpinThenYield> = phaser::Phaser<Q>;

/// A phaser's reduction among threads; see [`phaser::Accumulator`], and [`TaskAccumulator`].
pub type Accumulator<T, Q = SpinThenYield> = phaser::Accumulator<T, Q>;

/// The context of a phased task on this machine; see
/// [`phased::Phased`](tautline_core::phased::Phased).
pub type Phased<'scope, 'env, Q = PoolPort<'scope, Node>> =
    tautline_core::phased::Phased<'scope, 'env, Node, Q>;

/// A registration of a task; see [`phased::Member`](tautline_core::phased::Member).
pub type Member<'scope, Q = PoolPort<'scope, Node>> = tautline_core::phased::Member<'scope, Q>;

/// The registration that a phased task is spawned with; see
/// [`phased::Request`](tautline_core::phased::Request).
pub type Request<'m, 'scope, Q = PoolPort<'scope, Node>> =
    tautline_core::phased::Request<'m, 'scope, Q>;

/// A phaser of tasks, as a parameter of a function; see [`phaser::Phaser`].
///
/// ```
/// use tautline::phaser::{Mode, Phased, PhaserError, TaskPhaser};
/// use tautline::prelude::*;
///
/// async fn steps<'s>(mut task: Phased<'s, '_>, barrier: TaskPhaser<'s>) -> Result<(), PhaserError> {
///     for _ in 0..3 {
///         task.on(&barrier)?.next().await?;
///     }
///     Ok(())
/// }
///
/// Runtime::new()?.run(|cx| {
///     let mut member = cx.phaser(Mode::SignalWait)?;
///     let barrier = member.phaser();
///     cx.spawn_phased([member.signal_wait()], |task| async { steps(task, barrier).await.unwrap() })
/// })?;
/// # Ok::<(), tautline::Error>(())
/// ```
pub type TaskPhaser<'scope> = phaser::Phaser<PoolPort<'scope, Node>>;

/// A reduction among tasks, as a parameter of a function; see [`phaser::Accumulator`].
pub type TaskAccumulator<'scope, T> = phaser::Accumulator<T, PoolPort<'scope, Node>>;

/// Creates a phaser for `threads` threads of this machine, and returns the caller's registration,
/// which registers the others. More threads, or fewer, may take part.
///
/// ```
/// use tautline::phaser::{self, Mode};
///
/// let mut main = phaser::for_threads(2, Mode::SignalWait)?;
/// let mut other = main.register(Mode::SignalWait)?;
/// std::thread::scope(|threads| {
///     threads.spawn(move || other.next_blocking());
///     main.next_blocking()
/// })?;
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// A malformed `TAUTLINE_PHASER_DEGREE`.
pub fn for_threads(threads: usize, mode: Mode) -> Result<Registration> {
    let config = config(&Machine::discover(), Some(threads))?;
    Ok(Registration::create(rule::port(config), mode, config)?)
}

/// Creates a phaser for `threads` threads that combines the values of a phase by `op`, and returns
/// the caller's registration, signal-wait.
///
/// ```
/// use tautline::phaser::{self, Op};
///
/// let (sum, mut task) = phaser::accumulator_for_threads::<u64>(1, Op::Sum)?;
/// sum.put(&mut task, 42)?;
/// task.next_blocking()?;
/// assert_eq!(sum.get(), 42);
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// As [`for_threads`]; [`PhaserError::Operator`].
pub fn accumulator_for_threads<T: Element>(
    threads: usize,
    op: Op,
) -> Result<(Accumulator<T>, Registration)> {
    let config = config(&Machine::discover(), Some(threads))?;
    Ok(Accumulator::create(rule::port(config), op, None, config)?)
}

/// Returns the configuration of phasers of `tasks` tasks on `machine`: by the [`rule`](rule::rule),
/// unless the environment overrides it.
///
/// ```
/// use tautline::{Machine, phaser};
///
/// println!("degree {}", phaser::config(&Machine::discover(), Some(8))?.degree);
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// A malformed `TAUTLINE_PHASER_DEGREE`.
pub fn config(machine: &Machine, tasks: Option<usize>) -> Result<Config> {
    let rules = rule(&Site::of(machine), tasks);
    Ok(Config {
        degree: asked()?.unwrap_or(rules.config.degree),
        ..rules.config
    })
}

/// Returns the port and the configuration of a phaser of `threads` threads, and of another
/// registration that occupies no processor. A poll of a waiting thread communicates, so that few
/// take as long as a spin.
#[cfg(feature = "serde")]
pub(crate) fn carried_config(threads: usize) -> Result<(SpinThenYield, Config)> {
    let machine = Machine::discover();
    let help_after = config(&machine, Some(threads))?.help_after;
    let config = Config {
        help_after,
        ..config(&machine, Some(threads.saturating_add(1)))?
    };
    let port = SpinThenYield { spins: rule::BRIEF };
    Ok((port, config))
}

/// Returns the degree that `TAUTLINE_PHASER_DEGREE` sets.
///
/// ```
/// // `None`, unless the variable is set.
/// println!("{:?}", tautline::phaser::asked()?);
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
/// A malformed `TAUTLINE_PHASER_DEGREE`.
pub fn asked() -> Result<Option<usize>> {
    environment::number(&PHASER_DEGREE)
}
