//! Models of `tautline_core::deque`: every item is taken exactly once and completely, by the owner
//! or a thief.
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use tautline_core::deque::{
    BucketDeque, Buckets, Deque, Fixed, FixedDeque, Full, Growable, GrowableDeque, Owner, Ring,
    Steal, Word,
};
use tautline_verify::model::Model;

/// A thread that tries to steal `times` times.
fn thief<T, R>(deque: &Arc<Deque<T, R>>, times: usize) -> JoinHandle<Vec<T>>
where
    T: Word + 'static,
    R: Ring + Send + Sync + 'static,
{
    let deque = Arc::clone(deque);
    thread::spawn(move || {
        (0..times)
            .filter_map(|_| deque.thief().steal().taken())
            .collect()
    })
}

/// The items that the thieves and the owner got, and those still there, are exactly 1..=`pushed`.
fn exactly_once<R: Ring>(
    owner: &Owner<'_, usize, R>,
    mut got: Vec<usize>,
    thieves: Vec<JoinHandle<Vec<usize>>>,
    pushed: usize,
) {
    for thief in thieves {
        got.extend(thief.join().unwrap());
    }
    got.extend(std::iter::from_fn(|| owner.pop()));
    got.sort_unstable();
    assert!(
        got.iter().copied().eq(1..=pushed),
        "lost or taken twice: {got:?}"
    );
    assert_eq!(owner.thief().steal(), Steal::Empty);
}

/// The next owner has only the shared indices to go by: the deque is empty, and works.
fn indices_agree<R: Ring>(deque: &Deque<usize, R>) {
    let owner = deque.owner().unwrap();
    assert_eq!(owner.pop(), None);
    assert_eq!(owner.try_push(7), Ok(()));
    assert_eq!(deque.thief().steal(), Steal::Taken(7));
    assert_eq!(owner.try_push(8), Ok(()));
    assert_eq!(owner.pop(), Some(8));
    assert_eq!(owner.try_push(9), Ok(()));
    assert_eq!(owner.len(), 1);
}

/// V1: two pushes, two pops, two thieves with one steal each.
fn v1<R: Ring + Send + Sync + 'static>(ring: R) {
    let deque = Arc::new(Deque::starting_at(ring, 0));
    let owner = deque.owner().unwrap();
    owner.try_push(1).unwrap();
    let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
    owner.try_push(2).unwrap();
    let got = [owner.pop(), owner.pop()].into_iter().flatten().collect();
    exactly_once(&owner, got, thieves, 2);
    drop(owner);
    indices_agree(&deque);
}

#[test]
fn v1_fixed() {
    Model::new("v1_fixed")
        .bound(3)
        .floor(5_000)
        .check(|| v1(Fixed::<2>::default()));
}

#[test]
fn v1_growable() {
    Model::new("v1_growable")
        .bound(3)
        .floor(5_000)
        .check(|| v1(Growable::with_capacity(1)));
}

#[test]
fn v1_bucket() {
    Model::new("v1_bucket")
        .bound(3)
        .floor(5_000)
        .check(|| v1(Buckets::new(1, 1)));
}

/// V1 with one thief, and two chances for it, without any bound.
#[test]
fn v1_unbounded() {
    Model::new("v1_unbounded").floor(1_000).check(|| {
        let deque = Arc::new(FixedDeque::<usize, 2>::new());
        let owner = deque.owner().unwrap();
        let thieves = vec![thief(&deque, 2)];
        owner.push(1).unwrap();
        owner.push(2).unwrap();
        let got = [owner.pop(), owner.pop()].into_iter().flatten().collect();
        exactly_once(&owner, got, thieves, 2);
    });
}

/// V2: one item, one pop and two steals: one winner, and the indices agree afterwards.
#[test]
fn v2_last_item() {
    Model::new("v2_last_item").floor(500).check(|| {
        let deque = Arc::new(FixedDeque::<usize, 1>::new());
        let owner = deque.owner().unwrap();
        owner.push(1).unwrap();
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let got = owner.pop().into_iter().collect();
        exactly_once(&owner, got, thieves, 1);
        drop(owner);
        indices_agree(&deque);
        // It left an item in the only slot.
        let owner = deque.owner().unwrap();
        assert_eq!(owner.push(10), Err(Full(10)));
    });
}

/// Two thieves without an active owner: each item to one of them (published bug: relaxed loads in
/// the thief handed items out twice on weakly ordered machines).
#[test]
fn thieves_only() {
    Model::new("thieves_only").bound(3).floor(500).check(|| {
        let deque = Arc::new(FixedDeque::<usize, 2>::new());
        let owner = deque.owner().unwrap();
        let thieves = vec![thief(&deque, 2), thief(&deque, 2)];
        owner.push(1).unwrap();
        owner.push(2).unwrap();
        exactly_once(&owner, vec![], thieves, 2);
    });
}

type Parcel = Box<UnsafeCell<usize>>;

fn parcel(value: usize) -> Parcel {
    Box::new(UnsafeCell::new(value))
}

/// Reads the item of a slot: loom reports a race unless its write happens-before.
fn open(parcel: &Parcel) -> usize {
    // SAFETY: the thread that took the parcel owns it.
    parcel.with(|value| unsafe { *value })
}

/// The item of a slot is visible to the thief that takes it.
#[test]
fn payload() {
    Model::new("payload").floor(15).check(|| {
        let deque = Arc::new(FixedDeque::<Parcel, 2>::new());
        let owner = deque.owner().unwrap();
        let thief = thief(&deque, 1);
        owner.push(parcel(1)).unwrap();
        owner.push(parcel(2)).unwrap();
        let mut got: Vec<_> = thief.join().unwrap().iter().map(open).collect();
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    });
}

/// A thief that reads `bottom` as a pop left it still sees the older items.
#[test]
fn pop_publishes() {
    Model::new("pop_publishes").floor(50).check(|| {
        let deque = Arc::new(FixedDeque::<Parcel, 2>::new());
        let owner = deque.owner().unwrap();
        let thief = thief(&deque, 1);
        owner.push(parcel(1)).unwrap();
        owner.push(parcel(2)).unwrap();
        let mine = owner.pop();
        let mut got: Vec<_> = thief.join().unwrap().iter().map(open).collect();
        got.extend(mine.iter().map(open));
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    });
}

/// Growth from 1 to 4 while a thief steals twice (published bug: the resize of the 2013 paper was
/// not ordered before the item that caused it).
#[test]
fn grow_steal() {
    Model::new("grow_steal").bound(4).floor(300).check(|| {
        let deque = Arc::new(GrowableDeque::with_capacity(1));
        let owner = deque.owner().unwrap();
        let thieves = vec![thief(&deque, 2)];
        for item in 1..=3 {
            owner.push(item);
        }
        exactly_once(&owner, vec![], thieves, 3);
    });
}

/// Thieves that found the old buffer, while the owner grows, pops what it copied and pushes other
/// items to the same indices (published bug: RUSTSEC-2021-0093, a steal after the buffer was
/// swapped).
#[test]
fn grow_late_thief() {
    Model::new("grow_late_thief")
        .bound(3)
        .floor(3_000)
        .check(|| {
            let deque = Arc::new(GrowableDeque::with_capacity(2));
            let owner = deque.owner().unwrap();
            owner.push(1);
            owner.push(2);
            let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
            owner.push(3);
            let mut got: Vec<_> = [owner.pop(), owner.pop()].into_iter().flatten().collect();
            owner.push(4);
            got.extend(owner.pop());
            exactly_once(&owner, got, thieves, 4);
        });
}

/// Growth where the ring has wrapped: the oldest item is not in the first slot.
#[test]
fn grow_wrapped() {
    Model::new("grow_wrapped").bound(3).floor(100).check(|| {
        let ring = Growable::with_capacity(2);
        let deque = Arc::new(Deque::starting_at(ring, usize::MAX));
        let owner = deque.owner().unwrap();
        owner.push(1);
        owner.push(2);
        let thieves = vec![thief(&deque, 2)];
        owner.push(3);
        owner.push(4);
        let got = owner.pop().into_iter().collect();
        exactly_once(&owner, got, thieves, 4);
    });
}

/// V3: the map of a bucket deque doubles once, or twice, while a thief steals twice.
fn bucket_double(map: usize, start: usize) {
    let deque = Arc::new(Deque::starting_at(Buckets::new(1, map), start));
    let owner = deque.owner().unwrap();
    let thieves = vec![thief(&deque, 2)];
    for item in 1..=3 {
        owner.push(item);
    }
    exactly_once(&owner, vec![], thieves, 3);
}

#[test]
fn bucket_doubles() {
    for (name, map, start) in [
        ("bucket_double", 2, 0),
        ("bucket_double_twice", 1, 0),
        ("bucket_double_wrapped", 1, usize::MAX - 1),
    ] {
        Model::new(name)
            .bound(4)
            .floor(300)
            .check(move || bucket_double(map, start));
    }
}

/// V4: a thief is late between reading its slot and moving `top`; the bucket it read is reused. The
/// map may double twice under it.
fn bucket_recycle(start: usize) {
    let deque = Arc::new(Deque::starting_at(Buckets::new(1, 1), start));
    let owner = deque.owner().unwrap();
    owner.push(1);
    let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
    owner.push(2);
    owner.push(3);
    let got = owner.pop().into_iter().collect();
    exactly_once(&owner, got, thieves, 3);
}

#[test]
fn bucket_recycles() {
    for (name, start) in [
        ("bucket_recycle", 0),
        ("bucket_recycle_wrapped", usize::MAX),
    ] {
        Model::new(name)
            .bound(3)
            .floor(3_000)
            .check(move || bucket_recycle(start));
    }
}

/// A delayed thief reads the place of a bucket and finds one made after the `bottom` that it read.
/// What it reads there is no item, but must have been written.
#[test]
fn bucket_fresh() {
    Model::new("bucket_fresh").bound(3).floor(100).check(|| {
        let deque = Arc::new(BucketDeque::with_buckets(1, 2));
        let owner = deque.owner().unwrap();
        owner.push(1);
        let thieves = vec![thief(&deque, 1)];
        let got = owner.pop().into_iter().collect();
        owner.push(2);
        owner.push(3);
        exactly_once(&owner, got, thieves, 3);
    });
}

/// Buckets of two: a pop crosses the boundary backwards, and the bucket beyond it serves for
/// another item.
#[test]
fn bucket_edge() {
    Model::new("bucket_edge").bound(3).floor(500).check(|| {
        let deque = Arc::new(Deque::starting_at(Buckets::new(2, 1), 1));
        let owner = deque.owner().unwrap();
        owner.push(1);
        owner.push(2);
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let mut got: Vec<_> = owner.pop().into_iter().chain(owner.pop()).collect();
        owner.push(3);
        owner.push(4);
        got.extend(owner.pop());
        exactly_once(&owner, got, thieves, 4);
    });
}

/// The next owner knows what the last one knew of the buckets.
#[test]
fn bucket_handover() {
    Model::new("bucket_handover").floor(4).check(|| {
        let deque = Arc::new(BucketDeque::<usize>::with_buckets(1, 1));
        let theirs = Arc::clone(&deque);
        let other = thread::spawn(move || theirs.owner().map(|owner| owner.push(1)).is_some());
        let mine = deque.owner().map(|owner| owner.push(2)).is_some();
        let pushed = usize::from(other.join().unwrap()) + usize::from(mine);
        let owner = deque.owner().expect("the others are gone");
        assert_eq!(std::iter::from_fn(|| owner.pop()).count(), pushed);
    });
}

/// A thief is late between reading its slot and moving `top`, and the slot has another item.
#[test]
fn reuse_slot() {
    Model::new("reuse_slot").bound(3).floor(1_000).check(|| {
        let deque = Arc::new(FixedDeque::<usize, 1>::new());
        let owner = deque.owner().unwrap();
        owner.push(1).unwrap();
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let mut got: Vec<_> = owner.pop().into_iter().collect();
        let second = owner.push(2).is_ok();
        let third = owner.push(3).is_ok();
        assert!(second, "the only slot was free");
        got.extend(owner.pop());
        exactly_once(&owner, got, thieves, if third { 3 } else { 2 });
    });
}

/// The indices wrap while a pop of the emptied deque has `bottom` below `top` (published bug:
/// compared as unsigned numbers, an empty deque appears full).
fn wrap(start: usize) {
    let deque = Arc::new(Deque::starting_at(Fixed::<2>::default(), start));
    let owner = deque.owner().unwrap();
    owner.push(1).unwrap();
    owner.push(2).unwrap();
    let thieves = vec![thief(&deque, 3)];
    let mut got: Vec<_> = [owner.pop(), owner.pop()].into_iter().flatten().collect();
    owner.push(3).unwrap();
    got.extend(owner.pop());
    exactly_once(&owner, got, thieves, 3);
}

#[test]
fn wrap_usize() {
    for (name, start) in [
        ("wrap_zero", 0),
        ("wrap_usize", usize::MAX - 1),
        ("wrap_isize", isize::MAX as usize - 1),
    ] {
        Model::new(name)
            .bound(3)
            .floor(1_000)
            .check(move || wrap(start));
    }
}

/// Two threads are owners one after the other, or one is refused.
#[test]
fn handover() {
    Model::new("handover").floor(8).check(|| {
        let deque = Arc::new(FixedDeque::<usize, 2>::new());
        let claim = |deque: &FixedDeque<usize, 2>, item| {
            deque.owner().is_some_and(|owner| owner.push(item).is_ok())
        };
        let theirs = Arc::clone(&deque);
        let other = thread::spawn(move || claim(&theirs, 2));
        let pushed = usize::from(claim(&deque, 1)) + usize::from(other.join().unwrap());
        let owner = deque.owner().expect("the others are gone");
        let mut got: Vec<_> = std::iter::from_fn(|| owner.pop()).collect();
        got.sort_unstable();
        assert_eq!(got.len(), pushed);
        assert!(got == [1, 2] || got == [1] || got == [2]);
    });
}
