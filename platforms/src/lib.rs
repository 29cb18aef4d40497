//! Tautline, a runtime for irregular parallel programs: programs whose work is known only while
//! they run, as in tree search, graph algorithms, branch and bound, recursion and stencils with
//! tasks that come and go.
//!
//! | a program that | uses | guide |
//! |---|---|---|
//! | divides work recursively and waits for both halves | `Cx::join` | [`forks`](guide::forks) |
//! | spawns tasks that borrow local variables, may be cancelled | `Cx::scope`, `Cx::finish` | [`forks`](guide::forks) |
//! | needs the value of a spawned task | `Cx::spawn_value` | [`forks`](guide::forks) |
//! | iterates over ranges, slices, vectors and strings | `Cx::par`, `Cx::par_for` | [`loops`](guide::loops) |
//! | starts tasks when their inputs are there | `Ddf`, `Cx::spawn_when` | [`data_flow`](guide::data_flow) |
//! | names its values, and knows their keys before their tasks | [`Space`](space::Space) | [`space`](mod@space) |
//! | awaits values, channels, other futures | `Cx::spawn_async` | [`asynchronous`](guide::asynchronous) |
//! | has tasks that proceed in phases | `Cx::phaser` | [`phasers`](guide::phasers) |
//! | has a pool of work that grows and shrinks | `Runtime::balancer` | [`balancing`](guide::balancing) |
//! | is called from tokio, or by threads that do not wait | `Runtime::run_async`, `Runtime::spawn` | [`embedding`](guide::embedding) |
//! | is to run over several memories | `Balancer::across` | [`ranks`](guide::ranks) |
//! | is to be studied on a machine that is not at hand | `Balancer::simulated` | [`simulating`](guide::simulating) |
//! | is slower than expected, or does not end | `TAUTLINE_TIMES=1` | [`observing`](guide::observing) |
//!
//! The [guide] begins with a [first program](guide::start). It has pages on [what there is here and
//! not elsewhere](guide::why), on [coming from rayon, OpenMP, Taskflow and
//! X10](guide::coming_from), [terms](guide::glossary), and [questions and answers](guide::faq).
//!
//! Servers that wait for sockets are served better by tokio: Tautline has no I/O. It
//! [combines](guide::embedding) with rayon and tokio.
//!
//! # A short tour
//! A [`Runtime`] owns the workers, by default one for each processor that this process may use.
//! [`Runtime::run`] runs a closure as a task; the calling thread is one of the workers during the
//! call. A task receives a context, [`Cx`](runtime::Cx), by which it reaches the runtime. Programs
//! that want no runtime of their own share [`global`].
//!
//! [`join`](tautline_core::task::Cx::join) calls two closures, possibly in parallel. A fork
//! allocates nothing and costs a few nanoseconds, so no cut-off is required. The closures may
//! borrow.
//!
//! ```
//! use tautline::prelude::*;
//!
//! fn sum(cx: &mut Cx, numbers: &[u64]) -> u64 {
//!     if let [one] = numbers {
//!         return *one;
//!     }
//!     let (left, right) = numbers.split_at(numbers.len() / 2);
//!     let (left, right) = cx.join(|cx| sum(cx, left), |cx| sum(cx, right));
//!     left + right
//! }
//!
//! let numbers: Vec<u64> = (1..=1000).collect();
//! assert_eq!(Runtime::new()?.run(|cx| sum(cx, &numbers)), 500_500);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! [`par`](tautline_core::task::Cx::par) iterates, with the verbs of rayon. The number of items
//! that a worker takes at a time follows from their durations, which the loop measures while it
//! runs; there is nothing to choose.
//!
//! ```
//! use tautline::prelude::*;
//!
//! let mut numbers: Vec<u64> = (1..=1000).rev().collect();
//! Runtime::new()?.run(|cx| {
//!     assert_eq!(cx.par(&numbers).map(|n| n * n).sum::<u64>(), 333_833_500);
//!     cx.par(&mut numbers).sort_unstable();
//! });
//! assert!(numbers.is_sorted());
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! A [`scope`](tautline_core::task::Cx::scope) returns when all tasks spawned in it have ended, so
//! they may borrow what lives outside of it. A [`Ddf`](runtime::Ddf) is a cell that is put once; a
//! task that waits for one, or for a [phaser](mod@phaser), occupies no worker.
//!
//! ```
//! use tautline::prelude::*;
//!
//! let (width, height, mut area) = (Ddf::new(), Ddf::new(), 0);
//! Runtime::new()?.run(|cx| {
//!     cx.spawn_when((&width, &height), |(w, h), _| area = w * h);
//!     cx.spawn(|_| width.put(6).unwrap());
//!     cx.spawn_async(|_| async { height.put(*width.wait().await + 1).unwrap() });
//! });
//! assert_eq!(area, 42);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! A [`Balancer`](balance::Balancer) divides work among all workers while it is done. The same work
//! runs over [ranks](mod@world), and in virtual time on [described machines](mod@machines) with
//! thousands of places.
//!
//! ```
//! use tautline::prelude::*;
//!
//! // The number of ways to climb 20 stairs by ones and twos.
//! let run = tautline::balancer().sum([20u32], |stairs, todo| {
//!     todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
//!     u64::from(stairs == 0)
//! })?;
//! assert_eq!(run.output, 10_946);
//! assert!(run.complete);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! # Configuration
//! [`Runtime::builder`] and the environment variables of [`plan`] set the number of workers, their
//! processors and places. [`messages::set_hook`] passes messages of the library, such as a report
//! of a deadlock, to a logger.
//!
//! | feature | has |
//! |---|---|
//! | `deep-recursion` (default) | tasks that reach the end of their stack continue on a further piece of it; without, the process ends there |
//! | `describe` | [`Platform::from_file`]: place trees in XML and TOML, topologies of hwloc |
//! | `full` | all of these but `mpi`, which only compiles where an MPI library is installed |
//! | `mpi` | [`World::join`](world::World::join): ranks that `mpirun` or `srun` has started; has `process`; needs an MPI library and libclang |
//! | `process` | [`World::join`](world::World::join): processes of this machine as ranks; has `serde` |
//! | `serde` | [`world`]: computations over ranks, between which encoded values pass; has `story` |
//! | `signals` (default) | Ctrl-C ends a computation with its partial result ([`Balancer::interruptible`](balance::Balancer::interruptible), [`runtime::Interrupt`]); states of all workers upon `SIGUSR1` ([`watch`]) |
//! | `sim` | [`Balancer::simulated`](balance::Balancer::simulated) and [`mod@machines`] |
//! | `story` (default) | the trace and the life story of a run, as files ([`mod@story`]) |
//!
//! # The command
//! The crate `tautline-cli` has the command `tautline`, which runs and simulates applications, and
//! these as modules.
#![forbid(unsafe_code)]
// Links lead to items of features.
#![cfg_attr(
    not(all(
        feature = "describe",
        feature = "process",
        feature = "signals",
        feature = "sim",
        feature = "story"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]

pub mod balance;
mod error;
mod execution;
// Its programs need these features, and signals.
#[cfg(all(unix, feature = "process", feature = "signals", feature = "sim"))]
pub mod guide;
mod host;
mod observe;
pub mod phaser;
mod process;
#[cfg(feature = "serde")]
mod ranks;
mod setting;
#[cfg(feature = "sim")]
mod simulated;
pub mod space;
mod unwind;

#[doc(inline)]
pub use balance::balancer;
pub use error::{Error, Result};
#[doc(no_inline)]
pub use execution::runtime::{Runtime, global};
pub use execution::{plan, runtime, variables};
#[cfg(any(feature = "describe", feature = "sim"))]
pub use host::file::FileError;
#[doc(no_inline)]
pub use host::platform::Platform;
pub use host::{pinning, platform};
#[cfg(feature = "story")]
pub use observe::story;
pub use observe::watch;
pub use process::messages;
#[cfg(feature = "serde")]
pub use ranks::{comm, globals, protocol, team, world};
#[cfg(feature = "sim")]
pub use simulated::machines;
pub use tautline_node::Machine;

/// Parallel loops: the types of [`Cx::par`](tautline_core::task::Cx::par),
/// [`Cx::loop_over`](tautline_core::task::Cx::loop_over) and
/// [`Cx::concurrent`](tautline_core::task::Cx::concurrent).
///
/// | part | what it is |
/// |---|---|
/// | [`Par`](loops::Par), [`IntoPar`](loops::IntoPar) | loops over the items of ranges, slices, vectors and strings, and what they compute |
/// | [`Loop`](loops::Loop) | a loop over indices with a [`Schedule`](loops::Schedule), a name and a [`Report`](loops::Report) |
/// | [`LoopScope`](loops::LoopScope) | several loops: concurrent, one after another, or pipelined |
pub mod loops {
    pub use tautline_core::loops::{
        Access, Accesses, Chunked, Class, Columns, ColumnsMut, ColumnsRef, ConcurrentLoop, Indexed,
        IntoPar, Loop, LoopConflict, LoopId, LoopScope, Par, PerIndex, Push, Q16, Reads, Report,
        Schedule, Source, Taper, Tile, TileMut, Try, WithCx, Writes,
    };
}

/// The tree of memories of a node: the domains to which tasks may be bound.
pub mod hierarchy {
    pub use tautline_core::hierarchy::{Domain, Fault, Hierarchy, Kind};
}

/// The names that most programs use.
///
/// Settings, statistics and errors are in the modules: [`runtime`], [`mod@balance`],
/// [`mod@phaser`].
///
/// ```
/// use tautline::prelude::*;
///
/// assert_eq!(Runtime::new()?.run(|cx| cx.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), tautline::Error>(())
/// ```
pub mod prelude {
    #[doc(no_inline)]
    pub use crate::balance::{AnyBound, Bag, Balancer, Best, Bound, Local, Share, Task, Tasks};
    #[doc(no_inline)]
    pub use crate::phaser::Mode;
    #[doc(no_inline)]
    pub use crate::runtime::{Cx, Ddf, Runtime, TaskCx};
}

/// Items for the command, without a promise of stability.
#[doc(hidden)]
pub mod internal {
    pub use crate::host::division::{Cut, Division};
    pub use crate::setting::*;
    #[cfg(feature = "sim")]
    pub use crate::simulated::costs;
    pub use tautline_node::machine;
}

/// The how-tos of the folder `docs`, whose programs are compiled and run as tests.
#[cfg(all(doctest, feature = "serde", feature = "sim"))]
mod how_to {
    #[doc = include_str!("../../docs/application.md")]
    mod application {}
}
