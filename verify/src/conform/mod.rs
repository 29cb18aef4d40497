//! What every backend must do alike, one file a capability.
//!
//! | capability | suites |
//! |---|---|
//! | messages between places | [`balances`] |
//! | [`Link`](tautline_core::port::Link) | [`carries`], [`loses`], [`waits`] |
//! | [`Park`](tautline_core::port::Park) | [`parks`] |
//! | [`Barrier`](tautline_core::port::Barrier) | [`meets`] |
//! | [`Thread`](tautline_core::port::Thread) | [`seats`], [`grows`] |
//! | [`Clock`](tautline_core::port::Clock) | [`ticks`], [`keeps_time`] |
//! | [`Unwind`](tautline_core::port::Unwind) | [`unwinds`] |
//!
//! A backend calls these suites from its tests, for each capability that it offers.
//! `verify/tests/conform.rs` holds the broken implementations that they must find.
#![forbid(unsafe_code)]

mod balance;
mod barrier;
mod clock;
mod link;
mod park;
mod thread;
mod unwind;

pub use balance::{Done, Offer, Tree, balances, configurations};
pub use barrier::meets;
pub use clock::{keeps_time, ticks};
pub use link::{carries, loses, waits};
pub use park::parks;
pub use thread::{grows, seats};
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
