//! Threads that wait at phasers, awake or asleep.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::mpsc::channel;
use std::thread;
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_node::{Sleeps, SpinThenYield, Waiter};

#[global_allocator]
static COUNTER: Counter = Counter;

thread_local! {
    /// The number of allocations of this thread.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

struct Counter;

// SAFETY: forwards to the system's allocator.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the obligations are the same, and the caller meets them.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the obligations are the same, and the caller meets them.
        unsafe { System.dealloc(at, layout) }
    }
}

fn two() -> [Registration<SpinThenYield>; 2] {
    let first = Registration::create(
        SpinThenYield::default(),
        Mode::SignalWait,
        Config::default(),
    );
    let mut first = first.unwrap();
    let other = first.register(Mode::SignalWait).unwrap();
    [first, other]
}

/// Returns once the other thread has gone to sleep more often than that.
fn until_asleep(sleeps: &Sleeps, before: u64) {
    while sleeps.count() <= before {
        thread::yield_now();
    }
}

/// The second thread signals only when the first one sleeps, each time. Neither allocates for it.
#[test]
fn who_waits_long_sleeps_and_is_woken() {
    const PHASES: u64 = 30;
    let [mut one, mut other] = two();
    thread::scope(|scope| {
        let (here, sleeps) = channel();
        let sleeper = scope.spawn(move || {
            let waiter = Waiter::here();
            here.send(waiter.sleeps()).unwrap();
            waiter.next(&mut one).unwrap();
            let asked = ASKED.get();
            (1..PHASES).for_each(|_| waiter.next(&mut one).unwrap());
            ASKED.get() - asked
        });
        let sleeps: Sleeps = sleeps.recv().unwrap();
        let asked = ASKED.get();
        for phase in 0..PHASES {
            until_asleep(&sleeps, phase);
            other.next_blocking().unwrap();
            assert_eq!(other.phaser().phase().0 as u64, phase + 1);
        }
        assert_eq!((ASKED.get() - asked, sleeper.join().unwrap()), (0, 0));
    });
}

/// The same by split phases, and with a consumer that only waits.
#[test]
fn a_consumer_sleeps_until_the_producer_signals() {
    const PHASES: u64 = 30;
    let [mut first, _] = two();
    let mut consumer = first.register(Mode::Wait).unwrap();
    let mut producer = first.register(Mode::Signal).unwrap();
    drop(first);
    thread::scope(|scope| {
        let (here, sleeps) = channel();
        scope.spawn(move || {
            let waiter = Waiter::here();
            here.send(waiter.sleeps()).unwrap();
            (0..PHASES).for_each(|_| waiter.wait(&mut consumer).unwrap());
        });
        let sleeps: Sleeps = sleeps.recv().unwrap();
        for phase in 0..PHASES {
            until_asleep(&sleeps, phase);
            producer.signal().unwrap();
        }
    });
}

/// A wait that ends early leaves the task where a signal does: sleeping tasks are woken
/// nevertheless.
#[test]
fn who_gives_up_has_signalled() {
    let [mut one, mut other] = two();
    assert_eq!(one.next_while(|turn| turn < 20), Ok(false));
    assert_eq!((one.signalled().0, other.signalled().0), (1, 0));
    assert_eq!(one.wait_while(|_| false), Ok(false));
    other.next_blocking().unwrap();
    assert_eq!(one.wait_while(|_| unreachable!("it is over")), Ok(true));
    one.wait_while(|_| true).unwrap_err();
    thread::scope(|scope| {
        let (here, sleeps) = channel();
        let sleeper = scope.spawn(move || {
            let waiter = Waiter::here();
            here.send(waiter.sleeps()).unwrap();
            waiter.next(&mut other)
        });
        until_asleep(&sleeps.recv().unwrap(), 0);
        _ = one.next_while(|_| false).unwrap();
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}
