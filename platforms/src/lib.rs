//! Tautline, a runtime for irregular parallel programs: programs whose work is known only while they
//! run, as in tree search, graph algorithms, branch and bound, recursion and stencils with tasks that
//! come and go.
//!
//! | a program that | uses |
//! |---|---|
//! | divides work recursively and waits for both halves | [`Cx::join`](#fork-and-join) |
//! | iterates over ranges, slices and vectors | [`Cx::par`, `Cx::par_for`](#loops) |
//! | spawns tasks that borrow local variables | [`Cx::scope`, `Cx::finish`](#scopes) |
//! | starts tasks when their inputs are there | [`Ddf`, `Cx::spawn_when`, async tasks](#data-flow) |
//! | has tasks that proceed in phases | [phasers](#phasers) |
//! | has a pool of work that grows and shrinks | [`Glb`](#balanced-computations) |
//! | is to be studied on a machine that is not at hand | [`Glb::simulate`](#simulation) |
//!
//! Servers that wait for sockets are served better by tokio: Tautline has no I/O. It combines with rayon and tokio: a runtime can
//! be called from their threads, and a [`Ddf`](runtime::Ddf) can be awaited in any executor.
//!
//! # The runtime
//! A [`Runtime`] owns the workers, by default one for each processor that this process may use.
//! [`Runtime::run`] runs a closure as a task; the calling thread is one of the workers meanwhile. A task
//! receives a context, [`Cx`](runtime::Cx), by which it reaches the runtime; there is no global pool.
//!
//! ```
//! use tautline::prelude::*;
//!
//! let rt = Runtime::new()?;
//! let answer = rt.run(|_cx| 6 * 7);
//! assert_eq!(answer, 42);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! # Fork and join
//! [`join`](tautline_core::task::Cx::join) calls two closures, possibly in parallel. A fork allocates
//! nothing and costs a few nanoseconds, so no cut-off is required. The closures may borrow.
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
//! # Loops
//! [`par_for`](tautline_core::task::Cx::par_for) calls a function for each index of a range. How many indices a worker takes at a
//! time follows from how long they take, which the loop measures while it runs; there is nothing to choose.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use tautline::prelude::*;
//!
//! let found = AtomicU32::new(0);
//! let is_prime = |n: usize| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| n % d > 0);
//! Runtime::new()?.run(|cx| {
//!     cx.par_for(0..10_000, |n| {
//!         if is_prime(n) {
//!             found.fetch_add(1, Ordering::Relaxed);
//!         }
//!     });
//! });
//! assert_eq!(found.into_inner(), 1229);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! [`par`](tautline_core::task::Cx::par) iterates over ranges, slices and vectors, with the verbs of rayon; the module [`loops`]
//! lists them.
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
//! [`concurrent`](tautline_core::task::Cx::concurrent) runs several loops at a time, so that one fills the idle times of
//! another, and lets one come after another, column by column.
//!
//! # Scopes
//! A [`scope`](tautline_core::task::Cx::scope) returns when all tasks that were spawned in it, directly
//! or by its tasks, have ended; so they may borrow what lives outside of it.
//!
//! ```
//! use tautline::prelude::*;
//!
//! let mut squares = [0; 100];
//! Runtime::new()?.run(|cx| {
//!     cx.scope(|cx| {
//!         for (i, square) in squares.iter_mut().enumerate() {
//!             cx.spawn(move |_| *square = i * i);
//!         }
//!     });
//!     // All tasks have ended here.
//! });
//! assert_eq!(squares[99], 9801);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! A function that spawns names the scope: what its tasks borrow lives for `'s`, at least as long as
//! the scope. For `join` alone `&mut Cx` is enough.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use tautline::prelude::*;
//!
//! fn walk<'s>(cx: &mut Cx<'s, '_>, depth: u32, leaves: &'s AtomicU32) {
//!     if depth == 0 {
//!         leaves.fetch_add(1, Relaxed);
//!     } else {
//!         cx.spawn(move |cx| walk(cx, depth - 1, leaves));
//!         cx.spawn(move |cx| walk(cx, depth - 1, leaves));
//!     }
//! }
//!
//! let leaves = AtomicU32::new(0);
//! Runtime::new()?.run(|cx| walk(cx, 10, &leaves));
//! assert_eq!(leaves.into_inner(), 1024);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! A panic of a task ends its scope and reaches the caller with its payload.
//! [`finish`](tautline_core::task::Cx::finish) is a scope that can be cancelled, from inside or, by a
//! deadline say, from any thread:
//!
//! ```
//! use tautline::glb::Reason;
//! use tautline::prelude::*;
//!
//! let rt = Runtime::new()?;
//! let outcome = rt.run(|cx| {
//!     cx.finish(|cx| {
//!         cx.spawn(|cx| _ = cx.cancel(Reason::Found));
//!         cx.spawn(|cx| while cx.cancelled().is_none() { std::thread::yield_now() });
//!     })
//! });
//! assert_eq!(outcome.unwrap_err().reason, Reason::Found);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! # Data flow
//! A [`Ddf`](runtime::Ddf) is a cell that is put once. [`spawn_when`](tautline_core::task::Cx::spawn_when)
//! spawns a task when all of its inputs are full, and async tasks await a cell; neither occupies a
//! worker before.
//!
//! ```
//! use tautline::prelude::*;
//!
//! let (width, height, area) = (Ddf::new(), Ddf::new(), Ddf::new());
//! Runtime::new()?.run(|cx| {
//!     cx.spawn_when((&width, &height), |(w, h), _| area.put(w * h).unwrap());
//!     cx.spawn_async(|_| async { assert_eq!(*area.wait().await, 42) });
//!     cx.spawn(|_| width.put(6).unwrap());
//!     cx.spawn(|_| height.put(7).unwrap());
//! });
//! assert_eq!(area.get(), Ok(&42));
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! Cells that tasks borrow are created before `run`, or outside of the `scope` whose tasks use them. A scope
//! waits for its tasks, so one that waits for a cell that is never put does not end. A program in which nothing
//! else can run prints after some seconds which calls wait for what; `TAUTLINE_STALLED=panic` ends it
//! ([`Stalled`](watch::Stalled)). If another task of the scope panics, waiting tasks
//! are dropped.
//!
//! # Phasers
//! A [phaser](mod@phaser) is a barrier whose members register and leave while it is in use, which may
//! only signal or only wait, and which may reduce values. A waiting task occupies no worker, so there may
//! be many more tasks than workers.
//!
//! ```
//! use tautline::phaser::{Op, PhaserError};
//! use tautline::prelude::*;
//!
//! Runtime::new()?.run(|cx| {
//!     let (sum, mut member) = cx.accumulator::<u64>(Op::Sum)?;
//!     for i in 0..100 {
//!         let sum = sum.clone();
//!         cx.spawn_phased([member.signal_wait()], move |mut task| async move {
//!             task.accum_next(&sum, i).await.unwrap();
//!             assert_eq!(sum.get(), 4950);
//!         })?;
//!     }
//!     Ok::<(), PhaserError>(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A signal synchronizes with every wait for its phase: what a task wrote before `next`, the others read
//! after theirs. A phaser is created in the scope whose tasks use it. In a stencil all tasks proceed
//! step by step:
//!
//! ```
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//! use tautline::phaser::PhaserError;
//! use tautline::prelude::*;
//!
//! const CELLS: usize = 64;
//! let grids = [const { [const { AtomicU64::new(0) }; CELLS] }; 2];
//! grids[0][0].store(1 << 20, Relaxed);
//! let grids = &grids;
//! Runtime::new()?.run(|cx| {
//!     let mut barrier = cx.phaser(Mode::SignalWait)?;
//!     for i in 0..CELLS {
//!         cx.spawn_phased([barrier.signal_wait()], move |mut task| async move {
//!             for step in 0..20 {
//!                 let (now, then) = (&grids[step % 2], &grids[(step + 1) % 2]);
//!                 let [left, right] = [i + CELLS - 1, i + 1].map(|n| now[n % CELLS].load(Relaxed));
//!                 then[i].store(left / 2 + right / 2, Relaxed);
//!                 task.next().await.unwrap();
//!             }
//!         })?;
//!     }
//!     Ok::<(), PhaserError>(())
//! })?;
//! assert_eq!(grids[0].iter().map(|cell| cell.load(Relaxed)).sum::<u64>(), 1 << 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Balanced computations
//! [`Glb`](glb::Glb) keeps all workers busy with work that is divided while it is done. How many tasks
//! a worker does between two polls, and from which workers it steals, follows from measurements and from
//! the machine. [`Glb::sum`](glb::Glb::sum) is the shortest form; [`Task`](glb::Task) adds a shared
//! table, a [`Bound`](glb::Bound) and an early end; a [`Bag`](glb::Bag) stores and divides its own work.
//!
//! ```
//! use tautline::prelude::*;
//!
//! // The number of ways to climb 20 stairs by ones and twos.
//! let run = Glb::new().sum([20u32], |stairs, todo| {
//!     todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
//!     u64::from(stairs == 0)
//! })?;
//! assert_eq!(run.output, 10_946);
//! assert!(run.complete);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! [`Runtime::glb`] and [`Cx::balance`](tautline_core::task::Cx::balance) run such computations on the
//! workers of a runtime, beside its tasks.
//!
//! # Ranks
//! [`Glb::across`](glb::Glb::across) runs the same bag over all ranks of a [`World`](world::World), between which only encoded
//! values pass: the bag derives serde's traits. At present the ranks are threads of one process.
//!
//! # Simulation
//! The same bag runs in virtual time on a [described machine](mod@machines) with thousands of places.
//! Results are exact; only the time is simulated.
//!
//! ```
//! use tautline::glb::{Local, Task, Tasks};
//! use tautline::prelude::*;
//!
//! /// A node of a tree, by the height above the leaves.
//! struct Node(u32);
//!
//! impl Task for Node {
//!     type Shared = ();
//!     type Sum = u64;
//!
//!     fn run(self, todo: &mut Local<Self>, leaves: &mut u64, (): &()) {
//!         match self.0 {
//!             0 => *leaves += 1,
//!             height => todo.extend([Node(height - 1), Node(height - 1)]),
//!         }
//!     }
//!
//!     fn add(leaves: &mut u64, other: u64) {
//!         *leaves += other;
//!     }
//! }
//!
//! let tree = || Tasks::from_iter([Node(12)]);
//! let here = Glb::new().run(tree(), |_| (), 0)?;
//! let jaguar = tautline::machines::find("jaguar")?;
//! let there = Glb::new().places(64).simulate(&jaguar, 50, tree(), |_| (), 0)?;
//! assert_eq!((here.output, there.output), (4096, 4096));
//! println!("{:?} here, {} ns on 64 nodes of Jaguar", here.elapsed, there.virtual_ns);
//! # Ok::<(), tautline::Error>(())
//! ```
//!
//! # Configuration
//! [`Runtime::builder`] and the environment variables of [`plan`] set the number of workers, their
//! processors and places. Feature `cli` (default) builds the command `tautline`.
//!
//! # Applications
//! [`uts`], [`nqueens`], [`pentomino`], [`tsp`], [`bc`], [`synthetic`] and [`recorded`] are the
//! applications of the command; [`backtrack`] is a ready-made search for some of them.
#![forbid(unsafe_code)]

mod across;
pub mod backtrack;
pub mod bc;
pub mod bench;
pub mod choice;
pub mod division;
mod environment;
mod error;
mod explain;
mod file;
pub mod glb;
pub mod iterations;
pub mod machines;
pub mod nqueens;
pub mod pentomino;
pub mod phaser;
pub mod pinning;
pub mod plan;
pub mod platform;
mod random;
pub mod recorded;
pub mod rules;
pub mod runtime;
pub mod spelling;
pub mod story;
mod sum;
pub mod synthetic;
pub mod tsp;
pub mod uts;
pub mod watch;
pub mod world;

pub use error::{Error, Result};
pub use file::FileError;
pub use platform::Platform;
pub use runtime::Runtime;
pub use tautline_core::{hierarchy, loops};
pub use tautline_node::{Machine, machine};

/// The names that most programs use.
///
/// Settings, statistics and errors are in the modules: [`runtime`], [`glb`], [`mod@phaser`].
///
/// ```
/// use tautline::prelude::*;
///
/// assert_eq!(Runtime::new()?.run(|cx| cx.join(|_| 1, |_| 2)), (1, 2));
/// # Ok::<(), tautline::Error>(())
/// ```
pub mod prelude {
    pub use crate::glb::{Bag, Glb, Share};
    pub use crate::phaser::Mode;
    pub use crate::runtime::{Cx, Ddf, Runtime, TaskCx};
}

/// The how-tos of the folder `docs`, whose programs are compiled and run as tests.
#[cfg(doctest)]
mod how_to {
    #[doc = include_str!("../../docs/application.md")]
    mod application {}
    #[doc = include_str!("../../docs/backend.md")]
    mod backend {}
    #[doc = include_str!("../../docs/loops.md")]
    mod loops {}
}
