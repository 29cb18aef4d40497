//! The core of the Tautline runtime, for irregular parallel programs: `no_std`, generic over the
//! machine.
//!
//! Whatever differs between machines, the core requires by the traits of [`port`]: the time, waking
//! a worker, which worker a thread is. It starts no threads, performs no I/O, and contains no code
//! for an operating system or a processor. A backend lends it a machine: the threads of a process,
//! bare harts, or virtual time. Programs depend on the crate `tautline`, which chooses a backend
//! and re-exports what they call; this crate is for ports to further machines, and for `no_std`
//! programs.
//!
//! # Modules
//! From the bottom up; a module imports only from lower floors.
//!
//! | floor | module | what it has |
//! |---|---|---|
//! | ground | [`sync`] | atomics, cells and locks, which model checkers replace |
//! | | [`port`] | the traits that a machine implements |
//! | | [`machine`] | the contract of protocols: events and messages in, actions out |
//! | | [`watch`] | states of workers, their durations, and the events that workers await |
//! | words | [`deque`] | deques of ready work: one owner, and thieves |
//! | | [`phaser`] | barriers, point-to-point synchronization and reductions for groups that change |
//! | | [`grain`] | the tuner of the number of tasks that a worker processes between two polls |
//! | | [`hierarchy`] | the tree of memories of a node |
//! | | [`taper`] | the chunks of parallel loops |
//! | | [`channel`] | rings of records in lent memory, between threads, processes or harts |
//! | | [`directory`] | the copy of a shared object at one rank |
//! | protocols without I/O | [`lifeline`] | how a place without work requests it |
//! | | [`finish`] | termination detection |
//! | | [`flow`] | cells that are put once, and what waits for them |
//! | | [`collective`] | collective operations over ranks |
//! | | [`coherence`] | shared objects: copies at ranks, kept coherent |
//! | | [`space`] | values with names, put once: cells of one rank, and their machine over ranks |
//! | | [`comm`] | messages between ranks as tasks of one worker |
//! | | [`defer`] | loops over ranks, balanced by messages |
//! | | `wire` | values as bytes, and the channels of a process over one link |
//! | drivers | [`glb`] | global load balancing: one place, step by step |
//! | | [`service`] | a machine that any thread steps |
//! | | [`progress`] | which threads of a rank run turns of its exchange |
//! | tasks | [`task`] | fork and join, scopes, futures, the pool of workers |
//! | programming models on tasks | [`loops`] | parallel loops over indices and items, by `taper` |
//! | | [`balance`] | balanced computations, by `glb` |
//! | | [`phased`] | tasks that proceed in phases, by `phaser` |
//!
//! # Features
//! | feature | what it adds |
//! |---|---|
//! | `alloc` (default) | what needs an allocator: `balance`, `glb`, `hierarchy`, `loops`, `phased`, `phaser`, `space`, `task`, growable deques |
//! | `distributed` (default) | protocols between memories: `coherence`, `collective`, `comm`, `defer`, the machine of `space`, finishes over places (`finish::Finishes`); `progress`, `service` |
//! | `wire` | `distributed`, and `wire`: encoding by serde; balanced computations over ranks |
//!
//! # Without an allocator
//! With `default-features = false` the core needs neither std nor an allocator. It then has
//! [`sync`], [`port`] (but `Link`), the words of [`watch`], [`FixedDeque`](deque::FixedDeque) and
//! [`SplitDeque`](deque::SplitDeque), the rings of [`channel`], the tuner [`grain`], [`taper`],
//! [`lifeline::Bound`], `Best`, `Crew`, `Gate` and `Reserve`, [`finish::Counter`], and
//! [`flow::Ddf`]. Tasks, phasers, loops and balanced computations are in `alloc`; so is what is
//! growable.
//!
//! A target must have atomic words with compare-and-swap, and atomic `u32` and `bool`; no atomic is
//! wider than a word. Targets without them, such as thumbv6m and riscv32i, are not supported.
//!
//! Sizes in bytes on x86-64, where what two threads write is kept 128 bytes apart:
//!
//! ```
//! use core::num::NonZeroUsize;
//! use tautline_core::deque::{FixedDeque, SplitDeque};
//! use tautline_core::{finish::Counter, flow::Ddf, lifeline::Bound, sync::Permit};
//!
//! if cfg!(target_arch = "x86_64") {
//!     assert_eq!(size_of::<FixedDeque<usize, 64>>(), 256 + 64 * 8);
//!     assert_eq!(size_of::<SplitDeque<NonZeroUsize, 64>>(), 384 + 64 * 8);
//!     assert_eq!(size_of::<Ddf<u32>>(), 24);
//!     assert_eq!((size_of::<Bound<u32>>(), size_of::<Counter>(), size_of::<Permit>()), (8, 8, 1));
//! }
//! ```
//!
//! # A short tour
//! Code that is generic over [`port::Host`], the ports that a pool requires, runs on every backend.
//! A task receives a [context](task::Cx); a fork calls two closures, possibly in parallel, and a
//! balanced computation distributes a bag of tasks among all workers.
//!
//! ```
//! use tautline_core::deque::Local;
//! use tautline_core::glb::Task;
//! use tautline_core::port::Host;
//! use tautline_core::task::{Cancelled, Cx};
//!
//! /// Stairs that are left to climb, by ones and twos.
//! struct Stairs(u32);
//!
//! impl Task for Stairs {
//!     type Shared = ();
//!     type Sum = u64;
//!
//!     fn run(self, todo: &mut Local<Self>, ways: &mut u64, (): &()) {
//!         *ways += u64::from(self.0 == 0);
//!         todo.extend((1..=self.0.min(2)).map(|step| Self(self.0 - step)));
//!     }
//!
//!     fn add(ways: &mut u64, other: u64) {
//!         *ways += other;
//!     }
//! }
//!
//! fn climb<P: Host>(cx: &mut Cx<'_, '_, P>, stairs: u32) -> u64 {
//!     if stairs < 2 {
//!         return 1;
//!     }
//!     let (one, two) = cx.join(|cx| climb(cx, stairs - 1), |cx| climb(cx, stairs - 2));
//!     one + two
//! }
//!
//! fn both<P: Host>(cx: &mut Cx<'_, '_, P>) -> Result<(), Cancelled> {
//!     let balanced = cx.balancer().run([Stairs(20)], |_| (), 0)?;
//!     assert_eq!((climb(cx, 20), balanced.output), (10_946, 10_946));
//!     Ok(())
//! }
//! ```
//!
//! To run it, a machine implements the ports, a [`Pool`](task::Pool) owns them, and each thread
//! acquires a [seat](task::Pool::with_seat). `docs/backend.md` of the repository shows a complete
//! port for the threads of std in a hundred lines; `tautline-conform` has the suites that a port
//! must pass.
#![cfg_attr(not(any(tautline_loom, tautline_shuttle)), no_std)]
#![warn(
    clippy::std_instead_of_core,
    clippy::std_instead_of_alloc,
    clippy::alloc_instead_of_core
)]

#[cfg(not(target_has_atomic = "ptr"))]
compile_error!(
    "tautline-core needs atomic compare-and-swap of words, which this target lacks (as thumbv6m and riscv32i do): choose a target \
     with it, such as thumbv7m or riscv32ima"
);

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
pub mod balance;
pub mod channel;
#[cfg(feature = "distributed")]
pub mod coherence;
#[cfg(feature = "distributed")]
pub mod collective;
#[cfg(feature = "distributed")]
pub mod comm;
#[cfg(feature = "distributed")]
pub mod defer;
pub mod deque;
pub mod directory;
pub mod finish;
pub mod flow;
#[cfg(feature = "alloc")]
pub mod glb;
pub mod grain;
#[cfg(feature = "alloc")]
pub mod group;
#[cfg(feature = "alloc")]
pub mod hierarchy;
mod id;
pub mod lifeline;
#[cfg(feature = "alloc")]
pub mod loops;
#[cfg(feature = "alloc")]
pub mod machine;
#[cfg(feature = "alloc")]
pub mod phased;
#[cfg(feature = "alloc")]
pub mod phaser;
pub mod port;
#[cfg(feature = "distributed")]
pub mod progress;
#[cfg(feature = "distributed")]
pub mod service;
#[cfg(feature = "alloc")]
pub mod space;
pub mod sync;
pub mod taper;
#[cfg(feature = "alloc")]
pub mod task;
pub mod watch;
#[cfg(feature = "wire")]
pub mod wire;

pub use id::{Layout, PlaceId, Rank, WorkerId};
