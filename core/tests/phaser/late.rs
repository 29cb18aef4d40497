//! Threads that fall behind while they do what others do too, and signalers that are far ahead.

use super::ports::{Yield, config, is_released, tasks};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::thread;
use tautline_core::phaser::{Accumulator, Element, Mode, Op, Registration};

/// Fact 43: a chain of newcomers, each of whom registers the next and signals, while others look whether all have signalled.
#[test]
fn who_is_registered_by_a_newcomer_is_waited_for() {
    const LONG: usize = 5000;
    for _ in 0..20 {
        let mut all = tasks(Yield, config(4, 0), &[Mode::SignalWait; LONG]);
        // The places become free from right to left, against the order in which they are looked at.
        let mut first = all.remove(0);
        while all.pop().is_some() {}
        let mut link = first.register(Mode::Signal).unwrap();
        let signalled = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| {
                first.next_blocking().unwrap();
                assert_eq!(signalled.load(SeqCst), LONG);
            });
            for _ in 1..LONG {
                let next = link.register(Mode::Signal).unwrap();
                signalled.fetch_add(1, SeqCst);
                link.signal().unwrap();
                link = next;
            }
            signalled.fetch_add(1, SeqCst);
            link.signal().unwrap();
        });
    }
}

/// Fact 43: a task that takes the place which a child of a producer far ahead has left is waited for from its own first phase on.
#[test]
fn the_place_of_one_far_ahead_is_good_for_one_who_is_not() {
    let mut all = tasks(Yield, config(2, 0), &[Mode::SignalWait, Mode::Signal]);
    let (mut ahead, mut first) = (all.pop().unwrap(), all.pop().unwrap());
    for _ in 0..1000 {
        ahead.signal().unwrap();
    }
    drop(ahead.register(Mode::Signal));
    let mut late = first.register(Mode::SignalWait).unwrap();
    for _ in 0..10 {
        first.signal().unwrap();
        assert!(!is_released(&mut first), "before `late` has signalled");
        late.signal().unwrap();
        assert!(is_released(&mut first) && is_released(&mut late));
    }
}

thread_local! {
    /// This thread is to stop where it next brings two values together, until the flag is up.
    static HELD: Cell<Option<&'static AtomicBool>> = const { Cell::new(None) };
}

/// A number; bringing two together can take long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slow(u64);

impl Element for Slow {
    fn pack(self) -> u128 {
        self.0.into()
    }

    fn unpack(bits: u128) -> Self {
        Self(bits as u64)
    }

    fn identity(op: Op) -> Option<Self> {
        (op == Op::Sum).then_some(Self(0))
    }

    fn combine(_: Op, a: Self, b: Self) -> Self {
        if let Some(go_on) = HELD.take() {
            while !go_on.load(SeqCst) {
                thread::yield_now();
            }
        }
        Self(a.0 + b.0)
    }
}

/// Fact 47: who brings the values together while another has ended the phase in the meantime changes nothing, newcomers or not,
/// whatever has happened in the phase since.
#[test]
fn a_late_helper_does_not_change_a_result() {
    static GO_ON: AtomicBool = AtomicBool::new(false);
    let (sum, mut held) = Accumulator::create(Yield, Op::Sum, None, config(4, 0)).unwrap();
    let mut old = held.register(Mode::SignalWait).unwrap();
    let mut going = held.register(Mode::SignalWait).unwrap();
    held.signal().unwrap();
    going.signal().unwrap();
    old.signal().unwrap();
    for task in [&mut held, &mut old, &mut going] {
        assert!(is_released(task));
    }
    let mut new = old.register(Mode::SignalWait).unwrap();
    for (task, value) in [(&mut old, 1), (&mut new, 10), (&mut going, 100)] {
        sum.put(task, Slow(value)).unwrap();
        task.signal().unwrap();
    }
    drop(going);
    let (tell, told) = mpsc::channel();
    thread::scope(|s| {
        let sum = &sum;
        s.spawn(move || {
            sum.put(&mut held, Slow(1000)).unwrap();
            held.signal().unwrap();
            HELD.set(Some(&GO_ON));
            tell.send(()).unwrap();
            held.wait_blocking().unwrap();
            assert_eq!(sum.get(), Slow(1111));
        });
        told.recv().unwrap();
        old.wait_blocking().unwrap();
        new.wait_blocking().unwrap();
        assert_eq!(sum.get(), Slow(1111));
        // In the next phase others come, where there is room.
        let mut more: Vec<_> = (0..9)
            .map(|_| old.register(Mode::SignalWait).unwrap())
            .collect();
        for task in &mut more {
            sum.put(task, Slow(7)).unwrap();
        }
        GO_ON.store(true, SeqCst);
    });
    assert_eq!(sum.get(), Slow(1111));
}

/// Fact 47: one who takes the place of a newcomer that is gone enters once, even where somebody is ahead.
#[test]
fn a_newcomer_in_the_place_of_a_newcomer_counts_once() {
    let (sum, mut ahead) = Accumulator::create(Yield, Op::Sum, None, config(4, 0)).unwrap();
    let mut other = ahead.register(Mode::SignalWait).unwrap();
    let gone = |other: &mut Registration<Yield>, value: u64| {
        let mut child = other.register(Mode::SignalWait).unwrap();
        sum.put(&mut child, value).unwrap();
        child.signal().unwrap();
    };
    for phase in 0..20u64 {
        ahead.signal().unwrap();
        // It owes the next phase first, and was registered before those that owe this one.
        let mut early = ahead.register(Mode::SignalWait).unwrap();
        for value in [1, 10, 100, 1000] {
            gone(&mut other, value);
        }
        sum.put(&mut other, 10_000 * phase).unwrap();
        other.signal().unwrap();
        for task in [&mut ahead, &mut other, &mut early] {
            assert!(is_released(task));
        }
        assert_eq!(sum.get(), 1111 + 10_000 * phase, "phase {phase}");
    }
}

/// Fact 47: values that have come up to the root are not lost when a task that is ahead makes the tree grow over it.
#[test]
fn a_tree_that_grows_over_a_complete_root_keeps_its_values() {
    let (sum, mut ahead) = Accumulator::create(Yield, Op::Sum, None, config(2, 0)).unwrap();
    let mut all: Vec<_> = (0..4)
        .map(|_| ahead.register(Mode::SignalWait).unwrap())
        .collect();
    let mut goes = Some(all.remove(0));
    for _ in 0..5 {
        // The place beside `ahead` is found free, and given again when two phases have passed.
        if goes.take().is_some() {
            all.push(ahead.register(Mode::SignalWait).unwrap());
        }
        ahead.signal().unwrap();
        all.iter_mut().for_each(|task| task.signal().unwrap());
        assert!(is_released(&mut ahead) && all.iter_mut().all(is_released));
    }
    let mut last = all.pop().unwrap();
    for task in all.iter_mut().chain([&mut ahead]) {
        sum.put(task, 1).unwrap();
        task.signal().unwrap();
        assert!(!is_released(task));
    }
    let mut new = last.register(Mode::SignalWait).unwrap();
    sum.put(&mut last, 10).unwrap();
    last.signal().unwrap();
    assert!(
        !is_released(&mut last),
        "`new` owes a signal, whose leaf was complete before it came"
    );
    let ahead_too: Vec<_> = (0..20)
        .map(|_| ahead.register(Mode::SignalWait).unwrap())
        .collect();
    sum.put(&mut new, 100u64).unwrap();
    new.signal().unwrap();
    assert!(is_released(&mut ahead));
    assert_eq!(sum.get(), 110 + 1 + all.len() as u64);
    drop(ahead_too);
}

/// Fact 46: a statement that panics does not hold up those who have none, though the task that ran it is gone.
#[test]
fn a_panic_in_the_statement_does_not_hold_up_others() {
    for drops in [false, true] {
        let modes = [Mode::SignalWaitSingle, Mode::SignalWait, Mode::Wait];
        let mut all = tasks(Yield, config(4, 0), &modes);
        let (mut consumer, mut other) = (all.pop().unwrap(), all.pop().unwrap());
        other.signal().unwrap();
        let mut single = all.pop().unwrap();
        let panics = || single.next_single_blocking(|| panic!("the statement"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        let left = (!drops).then_some(single);
        assert!(is_released(&mut other) && is_released(&mut consumer));
        drop(left);
    }
}

/// Who was woken to wake others does so too if it then waits in another way.
#[test]
fn who_was_woken_wakes_the_others_however_it_waits() {
    use std::{future::Future, task::Context};
    let mut all = tasks(Yield, config(2, 0), &[Mode::SignalWait; 4]);
    let (alarm, waker) = super::ports::alarm();
    let mut context = Context::from_waker(&waker);
    let [a, b, c, d] = &mut all[..] else { panic!() };
    for task in [&mut *c, &mut *d] {
        let mut next = Box::pin(task.next());
        assert!(next.as_mut().poll(&mut context).is_pending());
        std::mem::forget(next);
    }
    b.signal().unwrap();
    a.signal().unwrap();
    assert_eq!(alarm.rung.load(SeqCst), 1);
    c.wait_blocking().unwrap();
    assert_eq!(alarm.rung.load(SeqCst), 2);
}

/// Who is told to wait no longer does not ask again.
#[test]
fn no_is_no() {
    let mut all = tasks(Yield, config(2, 1000), &[Mode::SignalWait; 2]);
    let mut asked = Vec::new();
    let over = all[0].next_while(|turn| {
        asked.push(turn);
        turn < 3
    });
    assert!(!over.unwrap());
    assert_eq!(asked, [0, 1, 2, 3]);
}
