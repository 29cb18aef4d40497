//! Waits in virtual time, so that other programs on the machine make no difference.

use super::SpinThenPark;
use crate::park::{Ground, Parker};
use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;
use tautline_core::phaser::{Config, Mode, Registration};
use tautline_core::port::{Barrier, Relax};

/// Duration of one poll of a waiting thread, in nanoseconds.
const LOOK_NS: u64 = 100;

/// The cost of a wake-up for its caller, in nanoseconds.
const CALL_NS: u64 = 1_000;

/// The time for which each thread computes in a phase, in nanoseconds.
const WORK_NS: u64 = 500;

/// The delay of a thread for which the other one should wait asleep, in nanoseconds: longer than
/// any patience.
const LATE_NS: u64 = 2_000_000;

thread_local! {
    /// The number of the thread on its machine.
    static ME: Cell<usize> = const { Cell::new(0) };
}

#[derive(Debug, Default)]
struct Lane {
    clock_ns: u64,
    asleep: bool,
    /// Whether a wake-up came while the thread was awake.
    token: bool,
    ended: bool,
}

/// Two threads with a processor each. Only the thread whose clock is behind runs, so that every run
/// is the same.
#[derive(Debug, Default)]
struct Machine {
    lanes: Mutex<[Lane; 2]>,
    moved: Condvar,
    /// The least and the most that a wake-up takes, in nanoseconds; they alternate.
    wake_ns: [u64; 2],
}

impl Machine {
    /// Changes the lanes, and returns once the calling thread runs again.
    fn step<R>(&self, change: impl FnOnce(&mut [Lane; 2], usize) -> R) -> R {
        let me = ME.get();
        let mut lanes = self.lanes.lock().unwrap();
        let result = change(&mut lanes, me);
        self.moved.notify_all();
        let waits = |lanes: &mut [Lane; 2]| {
            let [mine, other] = [&lanes[me], &lanes[1 - me]];
            assert!(
                !(mine.asleep && (other.asleep || other.ended)),
                "lost wake-up"
            );
            let is_behind = (mine.clock_ns, me) < (other.clock_ns, 1 - me);
            mine.asleep || !(is_behind || other.asleep || other.ended || mine.ended)
        };
        drop(self.moved.wait_while(lanes, waits).unwrap());
        result
    }

    fn advance(&self, ns: u64) {
        self.step(|lanes, me| lanes[me].clock_ns += ns);
    }
}

/// The machine as the port of a phaser.
#[derive(Clone, Debug)]
struct Port(Arc<Machine>);

impl Relax for Port {
    fn relax(&self, _turn: u32) {
        self.0.advance(LOOK_NS);
    }
}

impl Barrier for Port {}

/// The machine as the ground of the parker of thread `owner`.
#[derive(Debug)]
struct Bunk {
    machine: Arc<Machine>,
    owner: usize,
    wakes: AtomicUsize,
}

impl Ground for Bunk {
    fn now_ns(&self) -> u64 {
        self.machine.lanes.lock().unwrap()[ME.get()].clock_ns
    }

    fn sleep(&self) {
        assert_eq!(ME.get(), self.owner);
        self.machine.step(|lanes, me| {
            let token = mem::take(&mut lanes[me].token);
            lanes[me].asleep = !token;
        });
    }

    fn sleep_at_most(&self, _: Duration) {
        unreachable!("no wait for a phase has a limit");
    }

    fn wake(&self) {
        let turn = self.wakes.fetch_add(1, Relaxed);
        let wake_ns = self.machine.wake_ns[turn % 2];
        self.machine.step(|lanes, me| {
            let now = lanes[me].clock_ns;
            lanes[me].clock_ns += CALL_NS;
            let owner = &mut lanes[self.owner];
            if mem::take(&mut owner.asleep) {
                owner.clock_ns = owner.clock_ns.max(now + wake_ns);
            } else {
                owner.token = true;
            }
        });
    }
}

/// Distance between two late arrivals, in phases.
const APART: u64 = 50;

/// Late arrivals in a run; the threads are late in turn.
const LATE: u64 = 60;

/// The result of one thread's part of a run.
#[derive(Debug)]
struct Part {
    /// Sleeps in the first half of the run, and in the second.
    sleeps: [u64; 2],
    /// The estimate of what a wake-up costs, in nanoseconds.
    wake_ns: u64,
}

/// Passes all phases as thread `me`.
fn part(machine: &Arc<Machine>, me: usize, mut task: Registration<Port>) -> Part {
    ME.set(me);
    machine.advance(0);
    let waiter = SpinThenPark::new(Parker::on(Bunk {
        machine: Arc::clone(machine),
        owner: me,
        wakes: AtomicUsize::new(0),
    }));
    let mut half = || {
        for phase in 1..=APART * LATE / 2 {
            let is_late = phase % APART == 0 && (phase / APART) % 2 == me as u64;
            machine.advance(if is_late { LATE_NS } else { WORK_NS });
            waiter.next(&mut task).unwrap();
        }
        waiter.thread.count()
    };
    let (first, both) = (half(), half());
    machine.step(|lanes, me| lanes[me].ended = true);
    Part {
        sleeps: [first, both - first],
        wake_ns: waiter.thread.parker.wake_ns(),
    }
}

/// A thread that waits for a late one sleeps once, and neither of the two sleeps in the following
/// phases, although the woken thread is then late itself. This holds as soon as both have measured
/// what a wake-up costs, at any cost.
#[test]
fn a_sleep_is_not_followed_by_others() {
    for least in [2_000, 5_000, 20_000, 50_000, 100_000] {
        let most = least * 3 / 2;
        let machine = &Arc::new(Machine {
            wake_ns: [least, most],
            ..Machine::default()
        });
        let port = Port(Arc::clone(machine));
        let one = Registration::create(port, Mode::SignalWait, Config::default());
        let mut one = one.unwrap();
        let other = one.register(Mode::SignalWait).unwrap();
        let parts = thread::scope(|scope| {
            let other = scope.spawn(|| part(machine, 1, other));
            [part(machine, 0, one), other.join().unwrap()]
        });
        for Part { sleeps, wake_ns } in &parts {
            assert!(sleeps[0] >= LATE / 4, "{least} ns: {parts:?}");
            assert_eq!(sleeps[1], LATE / 4, "{least} ns: {parts:?}");
            let known = least * 9 / 10..=most * 11 / 10;
            assert!(known.contains(wake_ns), "{least} ns: {parts:?}");
        }
    }
}
