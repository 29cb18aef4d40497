//! Views of boxed copies.

use super::{STATES, Yields};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use tautline_core::directory::{BoxedCopy, COUNTED, Counted, Guards, State};
use tautline_core::port::{Fence, Spin};

/// Full fences, where the heavy one can be refused.
#[derive(Default)]
pub(super) struct Port {
    refuses: AtomicBool,
}

// SAFETY: both halves are full fences.
unsafe impl Fence for Port {
    fn heavy_fence(&self) -> bool {
        std::sync::atomic::fence(SeqCst);
        !self.refuses.load(Relaxed)
    }
}

pub(super) fn guards(seats: usize) -> Arc<Guards<Port>> {
    Arc::new(Guards::new(Port::default(), seats))
}

/// Drops the values that no view has; returns the number of those that are kept.
fn reclaim(guards: &Guards<Port>) -> usize {
    guards.reclaim().left
}

/// A number that is counted while it exists.
#[derive(Debug)]
struct Live(usize, Arc<AtomicUsize>);

impl Live {
    fn new(value: usize, live: &Arc<AtomicUsize>) -> Self {
        live.fetch_add(1, Relaxed);
        Self(value, Arc::clone(live))
    }
}

impl Clone for Live {
    fn clone(&self) -> Self {
        Self::new(self.0, &self.1)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0 = usize::MAX;
        self.1.fetch_sub(1, Relaxed);
    }
}

#[test]
fn each_state_permits_what_it_is_for() {
    let guards = guards(1);
    let seat = guards.seat(0).unwrap();
    for state in STATES {
        let copy = BoxedCopy::with_value("old".to_owned(), state, &guards);
        let readable = state > State::Invalid;
        let read = || copy.read(&seat).map(|view| view.clone());
        assert_eq!(
            (copy.state(), read()),
            (state, readable.then(|| "old".into()))
        );
        let written = copy.write(&Spin, |text| std::mem::replace(text, "new".into()));
        let writable = state == State::Modified;
        assert_eq!(written.ok(), writable.then(|| "old".into()));
        let now = if writable { "new" } else { "old" };
        assert_eq!(read(), readable.then(|| now.into()));
        assert_eq!(copy.upgrade(&Spin), readable);
        assert_eq!(copy.write(&Spin, |_| ()).is_ok(), readable);
    }
}

#[test]
fn a_recall_lowers_the_state_and_never_raises_it() {
    let guards = guards(1);
    for from in STATES {
        for to in STATES {
            let copy = BoxedCopy::with_value(7, from, &guards);
            let recalled = copy.recall(&Spin, to).map(|recalled| *recalled.value);
            assert_eq!(recalled, (from > State::Invalid).then_some(7));
            assert_eq!(copy.state(), from.min(to));
        }
    }
}

#[test]
fn the_accesses_of_a_tenure_are_counted() {
    let guards = guards(1);
    let seat = guards.seat(0).unwrap();
    let copy = BoxedCopy::new(&guards);
    for accesses in 0..20 {
        copy.install(&Spin, Counted::new(0), State::Modified);
        for access in 0..accesses {
            match access % 2 {
                0 => assert!(copy.write(&Spin, |value| *value += 1).is_ok()),
                _ => assert!(copy.read(&seat).is_some()),
            }
        }
        assert_eq!(copy.invalidate(&Spin), Some(accesses.min(COUNTED)));
        assert_eq!(copy.invalidate(&Spin), None);
    }
}

/// A view keeps its value while the copy changes, is dropped, and values are reclaimed; then the
/// value is dropped, once.
#[test]
fn a_view_keeps_its_value() {
    let (live, guards) = (Arc::default(), guards(2));
    let seat = guards.seat(1).unwrap();
    let copy = BoxedCopy::with_value(Live::new(1, &live), State::Modified, &guards);
    let first = copy.read(&seat).unwrap();
    assert!(copy.write(&Spin, |value| value.0 = 2).is_ok());
    let second = copy.read(&seat).unwrap();
    copy.install(&Spin, Counted::new(Live::new(3, &live)), State::Shared);
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (2, 3));
    drop(copy);
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (2, 2));
    assert_eq!((first.0, second.0), (1, 2));
    drop(first);
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (1, 1));
    drop(second);
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (0, 0));
}

/// More views than a seat has slots, in every order of their ends.
#[test]
fn further_views_count_references() {
    let (live, guards) = (Arc::default(), guards(1));
    let seat = guards.seat(0).unwrap();
    for step in [1, 3, 7, 19] {
        let copy = BoxedCopy::with_value(Live::new(0, &live), State::Modified, &guards);
        let mut views = Vec::new();
        for value in 0..20 {
            views.push((value, copy.read(&seat).unwrap()));
            assert!(copy.write(&Spin, |next| next.0 = value + 1).is_ok());
        }
        drop(copy);
        while !views.is_empty() {
            reclaim(&guards);
            assert!(views.iter().all(|(value, view)| view.0 == *value));
            assert_eq!(live.load(Relaxed), views.len());
            views.remove(step % views.len());
        }
        assert_eq!((reclaim(&guards), live.load(Relaxed)), (0, 0));
    }
}

/// A view may outlive its seat, which is free after both; a forgotten view keeps it.
#[test]
fn a_seat_is_free_after_its_views() {
    let (live, guards) = (Arc::default(), guards(1));
    let copy = BoxedCopy::with_value(Live::new(1, &live), State::Shared, &guards);
    let seat = guards.seat(0).unwrap();
    let views = [copy.read(&seat), copy.read(&seat)].map(Option::unwrap);
    copy.invalidate(&Spin);
    drop(seat);
    for view in views {
        assert!(guards.seat(0).is_none());
        assert_eq!((view.0, reclaim(&guards)), (1, 1));
    }
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (0, 0));
    let copy = BoxedCopy::with_value(Live::new(2, &live), State::Shared, &guards);
    let seat = guards.seat(0).unwrap();
    std::mem::forget(copy.read(&seat).unwrap());
    drop((seat, copy));
    assert!(guards.seat(0).is_none());
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (1, 1));
}

/// A read without a seat.
#[test]
fn a_counted_value_needs_no_seat() {
    let (live, guards) = (Arc::default(), guards(0));
    for state in STATES {
        let copy = BoxedCopy::with_value(Live::new(1, &live), state, &guards);
        let counted = copy.counted(&Spin);
        assert_eq!(counted.is_some(), state > State::Invalid);
        assert_eq!(copy.invalidate(&Spin), counted.as_ref().map(|_| 1));
        drop(copy);
        reclaim(&guards);
        assert!(counted.is_none_or(|counted| counted.0 == 1));
        assert_eq!(live.load(Relaxed), 0);
    }
}

#[test]
fn a_recalled_value_outlives_all_else() {
    let (live, guards) = (Arc::default(), guards(1));
    let copy = BoxedCopy::with_value(Live::new(1, &live), State::Modified, &guards);
    let recalled = copy.recall(&Spin, State::Invalid).unwrap();
    drop((copy, guards));
    assert_eq!((recalled.value.clone().0, live.load(Relaxed)), (1, 1));
    drop(recalled);
    assert_eq!(live.load(Relaxed), 0);
}

#[test]
fn a_seat_has_one_thread_and_belongs_to_its_guards() {
    let (guards, others) = (guards(1), guards(1));
    let seat = guards.seat(0).unwrap();
    assert!(guards.seat(0).is_none() && guards.seat(1).is_none());
    let copy = BoxedCopy::with_value(1, State::Shared, &others);
    let caught = catch_unwind(AssertUnwindSafe(|| copy.read(&seat).is_some()));
    assert!(caught.is_err());
    drop(seat);
    assert!(guards.seat(0).is_some());
}

/// While the machine cannot execute the heavy fence, nothing is reclaimed, and nothing is lost.
#[test]
fn a_refused_fence_reclaims_nothing() {
    let (live, port) = (Arc::default(), Port::default());
    port.refuses.store(true, Relaxed);
    let guards = Arc::new(Guards::new(port, 1));
    let copy = BoxedCopy::with_value(Live::new(0, &live), State::Modified, &guards);
    for _ in 0..1000 {
        assert!(copy.write(&Spin, |value| value.0 += 1).is_ok());
    }
    assert_eq!((reclaim(&guards), live.load(Relaxed)), (1000, 1001));
    drop((copy, guards));
    assert_eq!(live.load(Relaxed), 0);
}

/// Replaced values do not accumulate where callers reclaim when it is due.
#[test]
fn values_are_reclaimed_as_they_are_replaced() {
    let (live, guards) = (Arc::default(), guards(4));
    let seat = guards.seat(0).unwrap();
    let copy = BoxedCopy::with_value(Live::new(0, &live), State::Modified, &guards);
    let view = copy.read(&seat).unwrap();
    for _ in 0..1000 {
        assert!(copy.write(&Spin, |value| value.0 += 1).is_ok());
        if guards.is_due() {
            reclaim(&guards);
        }
    }
    assert!((2..400).contains(&live.load(Relaxed)));
    assert_eq!(view.0, 0);
}

/// A panic of the operation leaves the value as it was, and the copy unlocked.
#[test]
fn a_panic_leaves_the_value() {
    let (live, guards) = (Arc::default(), guards(1));
    let copy = BoxedCopy::with_value(Live::new(1, &live), State::Modified, &guards);
    let panics = |value: &mut Live| {
        value.0 = 9;
        panic!("in the operation");
    };
    let caught = catch_unwind(AssertUnwindSafe(|| _ = copy.write(&Spin, panics)));
    assert!(caught.is_err());
    assert_eq!(copy.write(&Spin, |value| value.0).ok(), Some(1));
    drop((copy, guards));
    assert_eq!(live.load(Relaxed), 0);
}

/// Threads that view, write and take away a value: no view has a value that was dropped, and no
/// write is lost.
#[test]
fn views_and_recalls_of_threads() {
    const WRITES: usize = if cfg!(miri) { 30 } else { 5_000 };
    let (live, guards) = (Arc::default(), guards(2));
    let copy = BoxedCopy::with_value(Live::new(0, &live), State::Modified, &guards);
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (copy, guards) = (&copy, &guards);
            scope.spawn(move || {
                let seat = guards.seat(number).unwrap();
                let (mut written, mut last) = (0, 0);
                while written < WRITES {
                    let add = |value: &mut Live| value.0 += 1;
                    written += usize::from(copy.write(&Yields, add).is_ok());
                    if let Some(view) = copy.read(&seat) {
                        assert!((last..=2 * WRITES).contains(&view.0), "{last} {}", view.0);
                        last = view.0;
                    }
                }
            });
        }
        let mut last = 0;
        while last < 2 * WRITES {
            let recalled = copy.recall(&Yields, State::Invalid).unwrap().value;
            assert!(recalled.0 >= last);
            last = recalled.0;
            copy.install(&Yields, recalled, State::Modified);
            std::thread::yield_now();
        }
    });
    drop((copy, guards));
    assert_eq!(live.load(Relaxed), 0);
}
