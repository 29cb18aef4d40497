//! Threads: which worker each of them is, and where its stack ends.

use std::thread;
use tautline_core::WorkerId;
use tautline_core::port::Thread;

/// A thread is the worker that it was made, of each port separately, and no other thread is. `seat`
/// makes the calling thread act as a worker of a port, or as none; the caller guarantees what
/// `set_current` requires.
///
/// # Panics
/// If the ports do not conform.
pub fn seats<P: Thread + Sync>(port: &P, other: &P, seat: impl Fn(&P, Option<WorkerId>) + Sync) {
    let (zero, one) = (Some(WorkerId(0)), Some(WorkerId(1)));
    let both = || (port.current(), other.current());
    assert_eq!(both(), (None, None), "a thread that was not made a worker");
    seat(port, zero);
    assert_eq!(both(), (zero, None), "a worker of one port");
    thread::scope(|scope| {
        scope.spawn(|| {
            seat(port, None);
            assert_eq!(both(), (None, None), "another thread");
            seat(port, one);
            assert_eq!(both(), (one, None), "another thread, and worker");
            seat(port, None);
        });
    });
    assert_eq!(both(), (zero, None), "unchanged by another thread");
    seat(other, one);
    assert_eq!(both(), (zero, one), "a worker of two ports");
    seat(port, None);
    assert_eq!(both(), (None, one), "the outer seat was left first");
    seat(port, one);
    assert_eq!(both(), (one, one), "a worker of two ports again");
    seat(other, None);
    assert_eq!(both(), (one, None), "the outer seat was left first again");
    seat(port, None);
    assert_eq!(both(), (None, None), "a worker of no port any more");
}

/// More stack is used once, on the same thread, before the call returns; it can be nested until
/// frames take as much as `bytes`, where the port knows the limits of the stack.
///
/// # Panics
/// If the port does not conform.
pub fn grows(port: &impl Thread, bytes: usize) {
    let mut calls = 0;
    let here = thread::current().id();
    port.on_more_stack(&mut || {
        assert_eq!(thread::current().id(), here, "the thread of the body");
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
}

/// Bytes that a frame of [`descend`] has at least.
const FRAME: usize = 4096;

/// Returns an address of the caller's stack, or a little below.
#[inline(never)]
fn address() -> usize {
    let here = 0u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// Calls itself `depth` times, on more stack where `floor` is reached, that of the present stack.
/// Returns the number of calls.
fn descend(port: &impl Thread, floor: usize, depth: usize) -> usize {
    if depth == 0 {
        return 0;
    }
    let frame = std::hint::black_box([depth as u8; FRAME]);
    let mut below = 0;
    if address() < floor {
        port.on_more_stack(&mut || below = descend(port, port.stack_floor(), depth - 1));
    } else {
        below = descend(port, floor, depth - 1);
    }
    assert_eq!(
        std::hint::black_box(frame),
        [depth as u8; FRAME],
        "a frame was overwritten"
    );
    below + 1
}
