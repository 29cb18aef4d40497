//! Hits on copies of shared objects: the words that they access.

use std::cell::RefCell;
use std::ptr::from_ref;
use std::rc::Rc;
use std::sync::Arc;
use tautline_core::directory::{BoxedCopy, COUNTED, FlatCopy, Guards, State};
use tautline_core::port::{Fence, Spin};
use tautline_core::sync::{Access, watch};
use tautline_verify::schedules::schedules;

struct Port;

// SAFETY: the provided methods are a pair of full fences.
unsafe impl Fence for Port {}

/// Returns the accesses of `act`, in order.
fn accesses(act: impl FnOnce()) -> Vec<(usize, Access)> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&seen);
    let watch = watch(move |address, access| log.borrow_mut().push((address, access)));
    act();
    drop(watch);
    seen.take()
}

/// A hit on a number loads its words, and writes nothing.
#[test]
fn a_flat_hit_writes_nothing() {
    schedules("a_flat_hit_writes_nothing", 10, flat_hit);
}

fn flat_hit() {
    let copy = FlatCopy::<1>::with_value([7], State::Shared);
    let read = || assert_eq!(copy.read(&Spin), Some([7]));
    // An access that is counted is written.
    assert!(
        accesses(read)
            .iter()
            .any(|(_, kind)| *kind == Access::Update)
    );
    (1..COUNTED).for_each(|_| read());
    let seen = accesses(read);
    let kinds: Vec<_> = seen.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(
        kinds,
        [Access::Load, Access::Load, Access::Fence, Access::Load]
    );
    let words = from_ref(&copy).addr()..from_ref(&copy).addr() + size_of_val(&copy);
    assert!(seen.iter().all(|(at, _)| *at == 0 || words.contains(at)));
}

/// A hit on another value writes words of the reader's seat alone: a line that no other thread
/// writes.
#[test]
fn a_view_writes_the_line_of_its_seat() {
    schedules("a_view_writes_the_line_of_its_seat", 10, view);
}

fn view() {
    let guards = Arc::new(Guards::new(Port, 2));
    let copy = BoxedCopy::with_value(String::from("seven"), State::Shared, &guards);
    let mut lines = Vec::new();
    for number in 0..2 {
        let seat = guards.seat(number).expect("a free seat");
        let read = || assert_eq!(*copy.read(&seat).expect("a copy"), "seven");
        (0..COUNTED).for_each(|_| read());
        let writes = |(at, kind): &(usize, Access)| (*kind == Access::Store).then_some(at / 128);
        let seen = accesses(read);
        assert!(
            seen.iter().all(|(_, kind)| *kind != Access::Update),
            "{seen:?}"
        );
        let mut written: Vec<_> = seen.iter().filter_map(writes).collect();
        written.dedup();
        assert_eq!(written.len(), 1, "{seen:?}");
        lines.extend(written);
    }
    assert_ne!(lines[0], lines[1], "two seats share a line");
}
