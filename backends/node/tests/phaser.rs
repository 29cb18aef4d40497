//! Threads that wait at phasers, awake or asleep.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_node::{Sleeps, SpinThenYield, Waiter};

#[global_allocator]
static COUNTER: Counter = Counter;

thread_local! {
    /// How often this thread has asked for memory.
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

struct Counter;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the same.
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

/// Returns when the other has gone to sleep more often than that.
fn until_asleep(sleeps: &Sleeps, before: u64) {
    while sleeps.count() <= before {
        thread::yield_now();
    }
}

/// The other comes only when the one sleeps, each time. Neither needs memory for it.
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

/// How long this thread has been ready to run but had no processor, since its start. Zero where the
/// system does not report it.
fn without_processor() -> Duration {
    let line = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = line.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// One thread's part of a round.
struct Part {
    sleeps: u64,
    waited: Duration,
}

/// `phases` of `task`, behind `start`.
fn part(task: &mut Registration<SpinThenYield>, phases: u64, start: impl FnOnce(&Waiter)) -> Part {
    let waiter = Waiter::here();
    start(&waiter);
    let before = without_processor();
    (0..phases).for_each(|_| waiter.next(task).unwrap());
    Part {
        sleeps: waiter.sleeps().count(),
        waited: without_processor() - before,
    }
}

/// After one sleep, two threads that meet again and again sleep at most once in a hundred phases, in
/// the median of the rounds in which both had a processor at least nine tenths of the time.
#[test]
fn a_sleep_is_not_followed_by_others() {
    const PHASES: u64 = 1000;
    const ROUNDS: usize = 4000;
    const JUDGED: usize = 25;
    let rounds = (0..ROUNDS).filter_map(|_| {
        let [mut one, mut other] = two();
        thread::scope(|scope| {
            let (here, sleeps) = channel();
            let late = scope.spawn(move || {
                let first: Sleeps = sleeps.recv().unwrap();
                part(&mut other, PHASES, |_| until_asleep(&first, 0))
            });
            let began = Instant::now();
            let early = part(&mut one, PHASES, |waiter| {
                here.send(waiter.sleeps()).unwrap();
            });
            let late = late.join().unwrap();
            assert!(early.sleeps > 0, "the first one");
            let had_processors = early.waited.max(late.waited) * 10 <= began.elapsed();
            had_processors.then_some(early.sleeps + late.sleeps)
        })
    });
    let mut rounds: Vec<u64> = rounds.take(JUDGED).collect();
    if rounds.len() < JUDGED {
        // Others have the processors all the time: what is seen then says nothing of waits.
        return eprintln!("no verdict: {} rounds with two processors", rounds.len());
    }
    rounds.sort_unstable();
    assert!(rounds[JUDGED / 2] <= 1 + PHASES / 100, "{rounds:?}");
}

/// The waits that give up leave the task where a signal does: whoever sleeps is woken all the same.
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
