//! Threads that are delayed in the middle of an operation, and tasks that signal far ahead.

use super::ports::{Yield, alarm, config, is_released, tasks};
use std::cell::Cell;
use std::future::Future;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::task::{Context, Wake, Waker};
use std::thread;
use tautline_core::phaser::{Accumulator, Element, Mode, Op, Registration};

/// Fact 43: a chain of newcomers, each of which registers the next one and signals, while others
/// check for completion.
#[test]
fn a_task_registered_by_a_newcomer_is_waited_for() {
    const LONG: usize = 5000;
    for _ in 0..20 {
        let mut all = tasks(Yield, config(4, 0), &[Mode::SignalWait; LONG]);
        // The slots become free from right to left, against the order in which they are examined.
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

/// Fact 43: a task that reuses the slot of a child of a producer far ahead is waited for from its
/// own first phase on.
#[test]
fn the_slot_of_a_task_far_ahead_is_reused_by_one_behind() {
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
    /// Set: the next combination of two values on this thread stops until the flag is raised.
    static HELD: Cell<Option<&'static AtomicBool>> = const { Cell::new(None) };
}

/// A number whose combination can be delayed.
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

/// Fact 47: a task that combines the values while another one ends the phase changes nothing, with
/// newcomers or without, regardless of what has happened in the phase since.
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
    let (stop, stopped) = mpsc::channel();
    thread::scope(|s| {
        let sum = &sum;
        s.spawn(move || {
            sum.put(&mut held, Slow(1000)).unwrap();
            held.signal().unwrap();
            HELD.set(Some(&GO_ON));
            stop.send(()).unwrap();
            held.wait_blocking().unwrap();
            assert_eq!(sum.get(), Slow(1111));
        });
        stopped.recv().unwrap();
        old.wait_blocking().unwrap();
        new.wait_blocking().unwrap();
        assert_eq!(sum.get(), Slow(1111));
        // In the next phase others are registered, where there is room.
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

/// Fact 47: a task that reuses the slot of a deregistered newcomer is included once, even if some
/// task is ahead.
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
        // This task owes the next phase first, and was registered before those that owe the current
        // one.
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

/// Fact 47: values gathered at the root are not lost when a task that is ahead grows the tree above
/// it.
#[test]
fn a_tree_that_grows_over_a_complete_root_keeps_its_values() {
    let (sum, mut ahead) = Accumulator::create(Yield, Op::Sum, None, config(2, 0)).unwrap();
    let mut all: Vec<_> = (0..4)
        .map(|_| ahead.register(Mode::SignalWait).unwrap())
        .collect();
    let mut goes = Some(all.remove(0));
    for _ in 0..5 {
        // The slot next to `ahead` is found free, and is reused after two phases.
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
        "`new` owes a signal; its leaf was complete before its registration"
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

/// Fact 46: a statement that panics does not block tasks without one, though the task that ran it
/// has deregistered.
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

/// A task that was woken with the duty to wake others performs it even if it then waits in another
/// way.
#[test]
fn a_woken_task_wakes_the_others_however_it_waits() {
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

/// A wait that was stopped does not call `continues` again.
#[test]
fn a_stopped_wait_stays_stopped() {
    let mut all = tasks(Yield, config(2, 1000), &[Mode::SignalWait; 2]);
    let mut asked = Vec::new();
    let over = all[0].next_while(|turn| {
        asked.push(turn);
        turn < 3
    });
    assert!(!over.unwrap());
    assert_eq!(asked, [0, 1, 2, 3]);
}

/// A waker that panics.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        resume_unwind(Box::new("a waker"));
    }
}

/// Creates `n` parked tasks, number `bad` of them with a waker that panics, and one that has not
/// signalled; also returns the count of wake-ups.
fn sleepers(
    degree: usize,
    n: usize,
    bad: usize,
) -> (
    Vec<Registration<Yield>>,
    Registration<Yield>,
    impl Fn() -> usize,
) {
    let mut all = tasks(Yield, config(degree, 0), &vec![Mode::SignalWait; n + 1]);
    // No task is a newcomer any more.
    all.iter_mut().for_each(|task| task.signal().unwrap());
    assert!(all.iter_mut().all(is_released));
    let last = all.pop().unwrap();
    let (called, waker) = alarm();
    for (me, task) in all.iter_mut().enumerate() {
        let bomb = Waker::from(Arc::new(Bomb));
        task.signal().unwrap();
        assert!(
            task.poll_wait(if me == bad { &bomb } else { &waker })
                .is_pending()
        );
    }
    (all, last, move || called.rung.load(SeqCst))
}

fn has_panicked(call: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(call)).is_err()
}

/// The panic of a waker propagates in the task that signals last; all other tasks are woken, in all
/// parts of the tree.
#[test]
fn a_waker_that_panics_loses_no_other_wake_up() {
    for (degree, n) in [(8, 3), (2, 7), (3, 20)] {
        for bad in 0..n {
            let (mut all, mut last, called) = sleepers(degree, n, bad);
            // The panic is that of the task that ends the phase, or of one that it woke to wake the
            // others of its part.
            let mut panics = usize::from(has_panicked(|| last.signal().unwrap()));
            for (me, task) in all.iter_mut().enumerate().filter(|(me, _)| *me != bad) {
                let mut released = false;
                panics += usize::from(has_panicked(|| released = is_released(task)));
                assert!(released || is_released(task), "D = {degree}, {me} of {n}");
            }
            assert_eq!(panics, 1, "D = {degree}, {bad} of {n}");
            assert_eq!(called(), n - 1, "D = {degree}, {bad} of {n}");
            assert!(is_released(&mut last) && is_released(&mut all[bad]));
        }
    }
}

/// The same when the last task that owes a signal deregisters: its slot is freed regardless.
#[test]
fn a_waker_that_panics_keeps_no_place() {
    let (mut all, last, called) = sleepers(4, 3, 0);
    assert!(has_panicked(|| drop(last)));
    assert_eq!(called(), 2);
    let census = all[1].phaser().census();
    let child = all[1].register(Mode::Signal).unwrap();
    assert_eq!(child.phaser().census().leaves, census.leaves);
    assert!(all.iter_mut().all(is_released));
}

/// A leaked future of `next_single` does not block progress permanently: its task withdraws the
/// statement at its next operation.
#[test]
fn a_leaked_statement_is_given_up() {
    for drops in [false, true] {
        let modes = [Mode::SignalWaitSingle, Mode::SignalWaitSingle];
        let [mut task, mut other] = tasks(Yield, config(4, 0), &modes).try_into().unwrap();
        let mut next = task.next_single(|| unreachable!("it is leaked"));
        let polled = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        mem::forget(next);
        other.signal().unwrap();
        assert!(!is_released(&mut other), "the statement may still be run");
        if drops {
            drop(task);
        } else {
            assert!(is_released(&mut task));
            task.signal().unwrap();
        }
        assert!(is_released(&mut other));
        // It leaves no trace: a statement of the next phase that is dropped does not block
        // that phase.
        drop(other.next_single(|| ()));
        let mut next = other.next_single(|| ());
        let polled = Pin::new(&mut next).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready(), "the only task that owed a signal");
    }
}
