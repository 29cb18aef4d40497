//! The deque of buckets: where items are, and how it grows.

use super::items;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tautline_core::deque::{BucketDeque, Steal};

/// Chatterjee, acceptance fact 6: the slot of an item keeps its address while the deque grows.
#[test]
fn chatterjee_6_items_stay() {
    let deque = BucketDeque::with_buckets(4, 1);
    let owner = deque.owner().unwrap();
    let mut places = Vec::new();
    for item in 0..1_000_usize {
        owner.push(item);
        places.push(owner.slot_address(item));
    }
    assert_eq!(owner.doublings(), 8);
    let different: HashSet<_> = places.iter().collect();
    assert_eq!(different.len(), places.len());
    for item in 0..500 {
        assert_eq!(owner.slot_address(item), places[item]);
        assert_eq!(deque.thief().steal(), Steal::Taken(item));
        assert_eq!(owner.slot_address(999 - item), places[999 - item]);
        assert_eq!(owner.pop(), Some(999 - item));
    }
}

/// Chatterjee, acceptance fact 6: a million pushes from one bucket, with concurrent thieves, which
/// steal between any two doublings of the map. They leave half of the items, so the deque grows.
#[test]
fn chatterjee_6_a_million_pushes() {
    let deque = BucketDeque::with_buckets(64, 1);
    let owner = deque.owner().unwrap();
    assert_eq!(owner.capacity(), 64);
    let all = items(1_000_000) + 1;
    let seen: Vec<_> = (0..all).map(|_| AtomicBool::new(false)).collect();
    let take = |item: Box<usize>| {
        assert!(!seen[*item].swap(true, Ordering::Relaxed), "taken twice");
    };
    let [stolen, allowed] = [const { AtomicUsize::new(0) }; 2];
    let rob = || {
        while allowed.load(Ordering::Relaxed) < all {
            let may_steal = stolen.load(Ordering::Relaxed) < allowed.load(Ordering::Relaxed);
            match may_steal.then(|| deque.thief().steal()) {
                Some(Steal::Taken(item)) => {
                    take(item);
                    stolen.fetch_add(1, Ordering::Relaxed);
                }
                _ => std::thread::yield_now(),
            }
        }
    };
    let mut at_doublings = Vec::new();
    std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(rob)));
        for number in 0..all {
            owner.push(Box::new(number));
            allowed.fetch_max(number / 2, Ordering::Relaxed);
            if number % 8 == 0 {
                owner.pop().into_iter().for_each(take);
            }
            if owner.doublings() > at_doublings.len() {
                let now = stolen.load(Ordering::Relaxed);
                at_doublings.push(now);
                allowed.fetch_max(now + 1, Ordering::Relaxed);
                while stolen.load(Ordering::Relaxed) == now {
                    std::thread::yield_now();
                }
            }
        }
        while let Some(item) = owner.pop() {
            take(item);
        }
        allowed.store(all, Ordering::Relaxed);
    });
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed)));
    // A quarter at least is left by thieves and pops.
    let least = (all / 4).div_ceil(64).next_power_of_two().ilog2();
    assert!(at_doublings.len() >= least as usize, "{at_doublings:?}");
    assert!(at_doublings.is_sorted_by(|a, b| a < b), "{at_doublings:?}");
}

/// Chatterjee, acceptance fact 7: after two buckets the older one drains; the third virtual bucket
/// takes the place of the first one (Fig. 5.9).
#[test]
fn chatterjee_7_positions_are_reused() {
    let deque = BucketDeque::with_buckets(4, 4);
    let owner = deque.owner().unwrap();
    for item in 0..8_usize {
        owner.push(item);
    }
    let of = |buckets: [usize; 3]| buckets.map(|bucket| owner.position(bucket));
    assert_eq!(of([0, 1, 2]), [Some(0), Some(1), None]);
    for item in 0..4 {
        assert_eq!(deque.thief().steal(), Steal::Taken(item));
    }
    owner.push(8);
    assert_eq!(of([0, 1, 2]), [None, Some(1), Some(0)]);
    // Two buckets are enough for so few items, after any number of pushes.
    for item in 9..1_000 {
        owner.push(item);
        assert_eq!(deque.thief().steal(), Steal::Taken(item - 5));
        assert!(
            owner
                .position(item / 4)
                .is_some_and(|position| position < 3)
        );
    }
    assert_eq!(owner.doublings(), 0);
}
