//! Unwinding: panics are caught, and can be resumed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use tautline_core::port::Unwind;

/// A value returned is passed through; a panic is caught, after the destructors of its frames have
/// run, and its payload can be resumed, with its message, which `message` reads.
///
/// # Panics
/// If the port does not conform.
pub fn unwinds<P: Unwind>(port: &P, message: impl Fn(&P::Payload) -> Option<String>) {
    assert!(matches!(catch(port, || 7), Ok(7)), "a value");
    let dropped = Cell::new(0);
    let panics = || -> u8 {
        let _guard = OnDrop(|| dropped.set(dropped.get() + 1));
        panic_any("as intended".to_string())
    };
    let Err(payload) = catch(port, panics) else {
        panic!("a panic was lost");
    };
    assert_eq!(dropped.get(), 1, "destructors of the frames that were left");
    assert_eq!(
        message(&payload).as_deref(),
        Some("as intended"),
        "the message"
    );
    let nested = catch(port, || {
        let inner = catch(port, || 1);
        assert!(matches!(inner, Ok(1)));
        port.resume(payload)
    });
    let Err(payload): Result<u8, _> = nested else {
        panic!("a resumed panic was lost");
    };
    assert_eq!(
        message(&payload).as_deref(),
        Some("as intended"),
        "the message of a resumed panic"
    );
}

/// Calls the port's `catch`, which must not unwind.
fn catch<P: Unwind, R>(port: &P, body: impl FnOnce() -> R) -> Result<R, P::Payload> {
    let caught = catch_unwind(AssertUnwindSafe(|| port.catch(body)));
    caught.unwrap_or_else(|_| panic!("`catch` unwound"))
}

struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
