//! Copies of shared objects, mostly on one thread. Their schedules are models in
//! `verify/tests/directory.rs`.

#[path = "directory/views.rs"]
mod views;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier};
use tautline_core::directory::{BoxedCopy, COUNTED, FlatCopy, State, lend};
use tautline_core::port::{Relax, Spin};

const STATES: [State; 3] = [State::Invalid, State::Shared, State::Modified];

#[test]
fn each_state_permits_what_it_is_for() {
    for state in STATES {
        let copy = FlatCopy::with_value([1, 2], state);
        assert_eq!(copy.state(), state);
        let readable = state > State::Invalid;
        assert_eq!(copy.read(&Spin), readable.then_some([1, 2]));
        let written = copy.write(&Spin, |value| std::mem::replace(value, [3, 4]));
        let writable = state == State::Modified;
        assert_eq!(written.ok(), writable.then_some([1, 2]));
        let now = if writable { [3, 4] } else { [1, 2] };
        assert_eq!(copy.read(&Spin), readable.then_some(now));
    }
}

#[test]
fn a_miss_returns_the_operation() {
    let copy = FlatCopy::<1>::new();
    let text = String::from("kept");
    let Err(operation) = copy.write(&Spin, |value| (value[0], text)) else {
        panic!("a copy without a value was written");
    };
    copy.install(&Spin, [5], State::Modified);
    let written = copy.write(&Spin, operation).ok();
    assert_eq!(written, Some((5, String::from("kept"))));
}

#[test]
fn a_recall_lowers_the_state_and_never_raises_it() {
    for from in STATES {
        for to in STATES {
            let copy = FlatCopy::with_value([7], from);
            let recalled = copy.recall(&Spin, to).map(|recalled| recalled.value);
            assert_eq!(recalled, (from > State::Invalid).then_some([7]));
            assert_eq!(copy.state(), from.min(to));
        }
    }
}

#[test]
fn an_upgrade_keeps_the_value_and_needs_one() {
    for state in STATES {
        let copy = FlatCopy::with_value([7], state);
        assert_eq!(copy.upgrade(&Spin), state > State::Invalid);
        let written = copy.write(&Spin, |value| value[0]);
        assert_eq!(written.ok(), (state > State::Invalid).then_some(7));
    }
}

/// Accesses of both kinds are counted up to the limit; each change of the state resets the count.
#[test]
fn the_accesses_of_a_tenure_are_counted() {
    let copy = FlatCopy::with_value([0; 8], State::Modified);
    for accesses in 0..u8::MAX {
        copy.install(&Spin, [1; 8], State::Modified);
        for access in 0..accesses {
            match access % 3 {
                0 => assert!(copy.write(&Spin, |value| value[7] += 1).is_ok()),
                _ => assert!(copy.read(&Spin).is_some()),
            }
        }
        let recalled = copy.recall(&Spin, State::Shared).unwrap();
        assert_eq!(recalled.hits, accesses.min(COUNTED));
        assert_eq!(recalled.value[7], 1 + usize::from(accesses).div_ceil(3));
        assert_eq!(copy.invalidate(&Spin), Some(0));
        assert_eq!(copy.invalidate(&Spin), None);
    }
}

/// A panic of the operation leaves the value as it was, and the copy unlocked.
#[test]
fn a_panic_leaves_the_value() {
    let copy = FlatCopy::with_value([1, 2], State::Modified);
    let panics = |value: &mut [usize; 2]| {
        value[0] = 9;
        panic!("in the operation");
    };
    let caught = catch_unwind(AssertUnwindSafe(|| _ = copy.write(&Spin, panics)));
    assert!(caught.is_err());
    assert_eq!(copy.read(&Spin), Some([1, 2]));
    assert_eq!(copy.write(&Spin, |value| value[1]).ok(), Some(2));
}

/// Counts the iterations of a wait, and is not called without one.
struct Counted(Cell<u32>);

impl Relax for Counted {
    fn relax(&self, _turn: u32) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn nothing_waits_without_a_writer() {
    let (copy, relax) = (
        FlatCopy::with_value([1], State::Modified),
        Counted(Cell::new(0)),
    );
    assert!(copy.read(&relax).is_some() && copy.write(&relax, |_| ()).is_ok());
    copy.install(&relax, [2], State::Shared);
    assert!(copy.upgrade(&relax) && copy.recall(&relax, State::Invalid).is_some());
    assert_eq!((copy.invalidate(&relax), relax.0.get()), (None, 0));
}

/// A copy takes two machine words beside its value.
#[test]
#[cfg(target_pointer_width = "64")]
fn copies_are_small() {
    assert_eq!(size_of::<FlatCopy<1>>(), 24);
    assert_eq!(size_of::<FlatCopy<6>>(), 64);
}

/// Threads that add, read and recall a copy: no write is lost, and no value is torn.
#[test]
fn writes_and_recalls_of_threads_add_up() {
    const WRITES: usize = if cfg!(miri) { 50 } else { 20_000 };
    let copy = &FlatCopy::with_value([0; 3], State::Modified);
    let relax = &Yields;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(move || {
                let mut written = 0;
                while written < WRITES {
                    let add = |value: &mut [usize; 3]| value.iter_mut().for_each(|v| *v += 1);
                    written += usize::from(copy.write(relax, add).is_ok());
                    if let Some([one, two, three]) = copy.read(relax) {
                        assert!(one == two && two == three, "{one} {two} {three}");
                    }
                }
            });
        }
        // The deliverer: takes the value, as another rank would, and brings it back.
        let mut last = 0;
        while last < 2 * WRITES {
            let value = copy.recall(relax, State::Invalid).unwrap().value;
            assert!(value[0] >= last && copy.read(relax).is_none());
            last = value[0];
            copy.install(relax, value, State::Modified);
            std::thread::yield_now();
        }
    });
    assert_eq!(copy.read(relax), Some([2 * WRITES; 3]));
}

/// A closure is taken back when the wait ends, also by a panic.
#[test]
fn a_closure_is_not_called_after_a_panic_of_the_wait() {
    let (mut calls, mut kept) = (0, None);
    let mut closure = |by: &mut i32| calls += *by;
    let wait = || {
        lend(&mut closure, &Spin, |loan| {
            assert!(loan.call(&mut 2, &Spin));
            kept = Some(Arc::clone(loan));
            panic!("the wait")
        })
    };
    catch_unwind(AssertUnwindSafe(wait)).expect_err("it panics");
    assert!(!kept.expect("a loan").call(&mut 3, &Spin));
    assert_eq!(calls, 2);
}

/// A closure that another thread runs is not taken back before it has ended, also by a panic.
#[test]
fn a_closure_in_use_ends_before_its_wait() {
    for panics in [false, true] {
        let (mut ended, begun) = (false, Barrier::new(2));
        let mut closure = |(): &mut ()| {
            begun.wait();
            std::thread::yield_now();
            ended = true;
            assert!(!panics, "the closure");
        };
        let thread = lend(&mut closure, &Yields, |loan| {
            let loan = Arc::clone(loan);
            let thread = std::thread::spawn(move || loan.call(&mut (), &Yields));
            begun.wait();
            thread
        });
        assert!(ended);
        assert_eq!(thread.join().is_err(), panics);
    }
}

/// Waits where threads share processors.
struct Yields;

impl Relax for Yields {
    fn relax(&self, _turn: u32) {
        std::thread::yield_now();
    }
}

/// Calls its closure with each turn.
struct Turn<F>(F);

impl<F: Fn(u32)> Relax for Turn<F> {
    fn relax(&self, turn: u32) {
        self.0(turn);
    }
}

/// A deliverer that has waited long comes before a worker that writes again and again.
fn comes_first<C: Sync>(
    copy: &C,
    write: impl Fn(&C, &dyn Fn(u32), &mut dyn FnMut()) -> bool,
    invalidate: impl Fn(&C, &dyn Fn(u32)) -> bool + Sync,
) {
    let (waits, may_lock) = (Barrier::new(2), Barrier::new(2));
    std::thread::scope(|scope| {
        let deliver = || {
            let waits_long = |turn| {
                if turn == 16 {
                    waits.wait();
                    may_lock.wait();
                }
            };
            assert!(invalidate(copy, &waits_long));
        };
        let mut deliverer = None;
        let mut first = || {
            deliverer = Some(scope.spawn(deliver));
            waits.wait();
        };
        assert!(write(copy, &|_| (), &mut first));
        // The lock bit is free now, and the deliverer has not taken it.
        let leaves = |turn| {
            if turn == 0 {
                may_lock.wait();
            }
            std::thread::yield_now();
        };
        assert!(!write(copy, &leaves, &mut || ()), "before the deliverer");
    });
}

#[test]
fn a_deliverer_that_waits_comes_first() {
    comes_first(
        &FlatCopy::with_value([1], State::Modified),
        |copy, relax, f| copy.write(&Turn(relax), |_| f()).is_ok(),
        |copy, relax| copy.invalidate(&Turn(relax)).is_some(),
    );
    let guards = views::guards(0);
    comes_first(
        &BoxedCopy::with_value(1, State::Modified, &guards),
        |copy, relax, f| copy.write(&Turn(relax), |_| f()).is_ok(),
        |copy, relax| copy.invalidate(&Turn(relax)).is_some(),
    );
}
