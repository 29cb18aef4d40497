//! Suites that every backend must pass, one or more for each capability of [`tautline_core::port`].
//!
//! | capability | suites |
//! |---|---|
//! | messages between places | [`balances`] |
//! | [`Link`](tautline_core::port::Link) | [`carries`], [`loses`], [`waits`] |
//! | [`Memory`](tautline_core::channel::Memory) of a ring | [`exchanges`] |
//! | [`Roster`](tautline_core::channel::Roster) | [`attends`] |
//! | [`Transport`](tautline_core::port::Transport) | [`delivers`] |
//! | [`Park`](tautline_core::port::Park) | [`parks`] |
//! | [`Barrier`](tautline_core::port::Barrier) | [`meets`] |
//! | [`Thread`](tautline_core::port::Thread) | [`seats`], [`grows`] |
//! | [`Fence`](tautline_core::port::Fence) | [`fences`] |
//! | [`Clock`](tautline_core::port::Clock) | [`ticks`], [`keeps_time`] |
//! | [`Unwind`](tautline_core::port::Unwind) | [`unwinds`] |
//!
//! A backend calls these suites from its tests, for each capability that it offers. [`faults`] has
//! broken implementations that they must find.
//!
//! ```
//! use std::time::Instant;
//! use tautline_core::port::Clock;
//!
//! struct Nanoseconds(Instant);
//!
//! impl Clock for Nanoseconds {
//!     fn now(&self) -> u64 {
//!         self.0.elapsed().as_nanos() as u64
//!     }
//! }
//!
//! // In a test; panics if the clock does not conform.
//! tautline_conform::ticks(&Nanoseconds(Instant::now()), || ());
//! ```
#![deny(unsafe_code)]

mod balance;
mod barrier;
mod clock;
pub mod faults;
mod fence;
mod link;
pub mod links;
mod numbers;
mod park;
mod ring;
mod roster;
mod thread;
mod transport;
mod unwind;

pub use balance::{Done, Offer, Tree, balances, configurations};
pub use barrier::meets;
pub use clock::{keeps_time, ticks};
pub use fence::fences;
pub use link::{carries, loses, waits};
pub use park::parks;
pub use ring::exchanges;
pub use roster::attends;
pub use thread::{grows, seats};
pub use transport::delivers;
pub use unwind::unwinds;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// A wait that lasts longer than a few times this has missed its end. Several short times, since
/// the process may be stopped meanwhile.
const MOMENT: Duration = Duration::from_millis(100);
const MOMENTS: usize = 100;

/// Runs `body` on a thread, and returns its result; panics if it does not end.
fn ends<R: Send + 'static>(what: &str, body: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = mpsc::channel();
    let runs = std::thread::spawn(move || {
        let result = body();
        let _ = done.send(result);
    });
    let mut ends = (0..MOMENTS).map(|_| ended.recv_timeout(MOMENT));
    let in_time = ends.find(|end| !matches!(end, Err(RecvTimeoutError::Timeout)));
    let end = in_time.unwrap_or_else(|| panic!("{what} does not end"));
    assert!(runs.join().is_ok(), "{what} ended by a panic");
    end.expect("sent before the end of the thread")
}
