//! The item of a slot is visible to the thread that takes it, and no slot is filled again before it
//! was read.

use super::{
    Item, Parcel, Provided, Trace, Unfenced, exactly_once, item, open, parcel, raider, thief,
};
use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use tautline_core::deque::SplitDeque;
use tautline_core::deque::split::Owner;
use tautline_core::port::{Fence, Relax};
use tautline_verify::model::Model;

/// Reads, in any order, the values of the items that the owner popped, of those that the thieves
/// took, and what is left: exactly `1..=pushed`.
fn all_opened<const N: usize>(
    owner: &Owner<'_, Parcel, N>,
    popped: Option<Parcel>,
    thief: JoinHandle<Vec<Parcel>>,
    pushed: usize,
) {
    // The owner's first: a thief's end would order what was written before it.
    let mut values: Vec<_> = popped.iter().map(open).collect();
    values.extend(thief.join().unwrap().iter().map(open));
    values.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
    values.sort_unstable();
    assert!(values.iter().copied().eq(1..=pushed), "{values:?}");
}

/// S1: the item of a slot is visible to the thief that takes it, also where it was private for a
/// while, and where the owner has taken back another one in between.
#[test]
fn split_payload() {
    Model::new("split_payload").floor(1_500).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let owner = deque.owner().unwrap();
        deque.starve();
        let thief = thief(&deque, 2);
        for value in 1..=3 {
            assert!(owner.push(parcel(value)).is_ok());
        }
        let popped = owner.pop();
        assert!(owner.push_public(parcel(4)).is_ok());
        all_opened(&owner, popped, thief, 4);
    });
}

/// S2: a thief is delayed between winning its item and reading the slot, while the owner continues
/// around the ring (published bug of deques that read after they have won: an item twice, another
/// never).
#[test]
fn split_reuse() {
    Model::new("split_reuse").bound(3).floor(25).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 4>::new());
        let owner = deque.owner().unwrap();
        for number in 1..=3 {
            owner.push_public(item(number)).unwrap();
        }
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let mut pushed = 3;
        for _ in 0..2 {
            thread::yield_now();
            pushed += usize::from(owner.push_public(item(pushed + 1)).is_ok());
        }
        exactly_once(&owner, vec![], thieves, pushed);
    });
}

/// S2: what the thief did before comes before the slot is filled again.
#[test]
fn split_slot_is_read() {
    Model::new("split_slot_is_read").floor(180).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 2>::new());
        let looked = Arc::new(Trace(UnsafeCell::new(0)));
        let owner = deque.owner().unwrap();
        owner.push_public(item(1)).unwrap();
        let thief = {
            let (deque, looked) = (Arc::clone(&deque), Arc::clone(&looked));
            thread::spawn(move || {
                // SAFETY: the owner reads only once this slot is free again.
                looked.0.with_mut(|l| unsafe { *l = 1 });
                deque.steal().taken().is_some()
            })
        };
        for _ in 0..2 {
            if owner.push_public(item(2)).is_ok() {
                // SAFETY: the thief has done with the slot, and so with what it did before.
                assert_eq!(looked.0.with(|l| unsafe { *l }), 1);
                break;
            }
            thread::yield_now();
        }
        assert!(thief.join().unwrap(), "no other thread takes it");
    });
}

/// S1, S7: the item of a slot is visible to a thief that takes it after another one has published
/// it.
#[test]
fn split_request_payload() {
    Model::new("split_request_payload")
        .bound(3)
        .floor(100)
        .check(|| {
            let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
            let owner = deque.owner().unwrap();
            let publisher = raider(&deque, 0);
            let thief = thief(&deque, 1);
            // One, so that loom remembers the store to `bottom` as the last access.
            assert!(owner.push(parcel(1)).is_ok());
            let mut got: Vec<_> = thief.join().unwrap().iter().map(open).collect();
            drop(publisher.join().unwrap());
            got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
            assert_eq!(got, [1]);
        });
}

/// The owner publishes by a pop that answers a request.
fn popped(fence: &(impl Fence + Relax)) {
    let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
    let owner = deque.owner().unwrap();
    let thief = {
        let deque = Arc::clone(&deque);
        thread::spawn(move || {
            drop(deque.request());
            let taken = (0..2).find_map(|_| deque.steal().taken());
            taken.into_iter().collect()
        })
    };
    for value in 1..=2 {
        assert!(owner.push_with(parcel(value), fence).is_ok());
    }
    let popped = owner.pop_with(fence);
    all_opened(&owner, popped, thief, 2);
}

/// S1: the same where the owner publishes by a pop.
#[test]
fn split_request_popped() {
    Model::new("split_request_popped")
        .floor(60)
        .check(|| popped(&Provided));
}

/// S1: the same without any fence.
#[test]
fn split_unfenced_popped() {
    Model::new("split_unfenced_popped")
        .floor(60)
        .check(|| popped(&Unfenced));
}

/// S1: an item is put and published at once, on top of a private one.
#[test]
fn split_publish_payload() {
    Model::new("split_publish_payload").floor(8).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let owner = deque.owner().unwrap();
        let thief = thief(&deque, 2);
        assert!(owner.push_with(parcel(1), &Unfenced).is_ok());
        assert!(owner.push_public(parcel(2)).is_ok());
        all_opened(&owner, None, thief, 2);
    });
}

/// S1: the same where the owner offers an item and ends a request by that.
#[test]
fn split_offer_payload() {
    Model::new("split_offer_payload").floor(40).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let owner = deque.owner().unwrap();
        drop(deque.request());
        let thief = thief(&deque, 2);
        assert!(owner.push_public(parcel(1)).is_ok());
        all_opened(&owner, None, thief, 1);
    });
}
