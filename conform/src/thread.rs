//! Threads: the worker of each, and the end of its stack.

use crate::harness::{Harness, step, within};
use alloc::sync::Arc;
use core::hint::black_box;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::WorkerId;
use tautline_core::port::Thread;

const ZERO: Option<WorkerId> = Some(WorkerId(0));
const ONE: Option<WorkerId> = Some(WorkerId(1));

/// A thread is the worker that it was made, of each port separately, and no other thread is.
/// `make` creates a port for two workers; `seat` makes the calling thread act as a worker of a
/// port, or as none; the caller guarantees what `set_current` requires.
///
/// # Panics
/// If the ports do not conform.
pub fn seats<H, P, S>(on: &H, make: impl Fn() -> P, seat: S)
where
    H: Harness,
    P: Thread + Send + Sync + 'static,
    S: Fn(&P, Option<WorkerId>) + Send + Sync + Copy + 'static,
{
    let (port, other) = (make(), make());
    // The thread whose turn it is: 0, then 1, then 0 again.
    let (turn, here) = (AtomicUsize::new(0), on.clone());
    let body = move |number| match number {
        0 => {
            let both = || (port.current(), other.current());
            assert_eq!(both(), (None, None), "a thread that was not made a worker");
            seat(&port, ZERO);
            assert_eq!(both(), (ZERO, None), "a worker of one port");
            turn.store(1, Ordering::Release);
            within(&here, "another thread ends its part", || {
                turn.load(Ordering::Acquire) == 2
            });
            assert_eq!(both(), (ZERO, None), "unchanged by another thread");
            nests(&port, &other, seat);
        }
        _ => {
            within(&here, "a thread becomes a worker", || {
                turn.load(Ordering::Acquire) == 1
            });
            let both = || (port.current(), other.current());
            seat(&port, None);
            assert_eq!(both(), (None, None), "another thread");
            seat(&port, ONE);
            assert_eq!(both(), (ONE, None), "another thread, and worker");
            seat(&port, None);
            turn.store(2, Ordering::Release);
        }
    };
    step(
        on,
        "seats: two threads that become workers",
        2,
        Arc::new(body),
    );
}

/// Worker 0 of one port becomes a worker of another one, and leaves both, in either order.
fn nests<P: Thread>(port: &P, other: &P, seat: impl Fn(&P, Option<WorkerId>)) {
    let both = || (port.current(), other.current());
    seat(other, ONE);
    assert_eq!(both(), (ZERO, ONE), "a worker of two ports");
    seat(port, None);
    assert_eq!(both(), (None, ONE), "the outer seat was left first");
    seat(port, ONE);
    assert_eq!(both(), (ONE, ONE), "a worker of two ports again");
    seat(other, None);
    assert_eq!(both(), (ONE, None), "the outer seat was left first again");
    seat(port, None);
    assert_eq!(both(), (None, None), "a worker of no port any more");
}

/// More stack is used once, on the same thread, before the call returns; it can be nested until
/// frames take as much as `bytes`, where the port knows the limits of the stack. `seat` is that of
/// [`seats`], which the port must pass: by its worker a thread is recognised.
///
/// # Panics
/// If the port does not conform.
pub fn grows<P: Thread>(port: &P, seat: impl Fn(&P, Option<WorkerId>), bytes: usize) {
    seat(port, ZERO);
    let mut calls = 0;
    port.on_more_stack(&mut || {
        assert_eq!(port.current(), ZERO, "the thread of the body");
        calls += 1;
    });
    assert_eq!(calls, 1, "calls of the body");
    assert!(
        port.stack_floor() < address(),
        "this call is above the floor"
    );
    let floor = port.stack_floor();
    if floor > 0 {
        assert_eq!(descend(port, floor, bytes / FRAME), bytes / FRAME);
    }
    seat(port, None);
}

/// Bytes that a frame of [`descend`] has at least.
const FRAME: usize = 4096;

/// Returns an address of the caller's stack, or a little below.
#[inline(never)]
fn address() -> usize {
    let here = 0u8;
    ptr::from_ref(black_box(&here)).addr()
}

/// Calls itself `depth` times, on more stack where `floor` is reached, that of the present stack.
/// Returns the number of calls.
fn descend(port: &impl Thread, floor: usize, depth: usize) -> usize {
    if depth == 0 {
        return 0;
    }
    let frame = black_box([depth as u8; FRAME]);
    let mut below = 0;
    if address() < floor {
        port.on_more_stack(&mut || below = descend(port, port.stack_floor(), depth - 1));
    } else {
        below = descend(port, floor, depth - 1);
    }
    assert_eq!(
        black_box(frame),
        [depth as u8; FRAME],
        "a frame was overwritten"
    );
    below + 1
}
