//! The deques against a plain model, at the edges of their index space, and under real threads.
#![cfg(all(feature = "alloc", not(tautline_loom)))]

#[path = "deque/buckets.rs"]
mod buckets;

use std::collections::VecDeque;
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tautline_core::deque::{
    BucketDeque, Buckets, Deque, Fixed, FixedDeque, Full, Growable, GrowableDeque, Local, OwnerEnd,
    Steal, ThiefEnd, WorkDeque,
};

/// Marsaglia's xorshift, to select operations.
struct XorShift(u64);

impl XorShift {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Start indices: at both ends of `usize`, and where their sign would change.
const STARTS: [usize; 6] = [
    0,
    1,
    usize::MAX,
    usize::MAX - 5,
    isize::MAX as usize,
    isize::MAX as usize - 5,
];

/// Runs a function on a deque of each kind, with various start indices; deques that grow start
/// small.
macro_rules! on_every_deque {
    ($start:expr, |$deque:ident| $work:expr) => {{
        let start = $start;
        let $deque = Deque::starting_at(Fixed::<8>::default(), start);
        $work;
        let $deque = Deque::starting_at(Growable::with_capacity(1), start);
        $work;
        for (bucket, map) in [(1, 1), (4, 1), (2, 4)] {
            let $deque = Deque::starting_at(Buckets::new(bucket, map), start);
            $work;
        }
    }};
}

/// Random pushes, pops and steals have the results of a VecDeque of at most `limit` items.
fn against_model(deque: &impl WorkDeque<usize>, limit: Option<usize>, seed: u64) {
    let owner = deque.owner().expect("the deque has no owner yet");
    let thief = deque.thief();
    let mut model = VecDeque::new();
    let mut random = XorShift(seed);
    for item in 0..3_000 {
        // Phases of growth and of shrinking, so that both a full and an empty deque occur.
        let bias = if item / 100 % 2 == 0 { 6 } else { 3 };
        match random.below(10) {
            choice if choice < bias => {
                let fits = limit.is_none_or(|limit| model.len() < limit);
                let expected = if fits { Ok(()) } else { Err(Full(item)) };
                assert_eq!(owner.push(item), expected);
                model.extend(fits.then_some(item));
            }
            choice if choice < 8 => assert_eq!(owner.pop(), model.pop_back()),
            _ => assert_eq!(thief.steal().taken(), model.pop_front()),
        }
        assert_eq!(owner.len(), model.len());
        assert_eq!(thief.len(), model.len());
        assert_eq!(deque.is_empty(), model.is_empty());
    }
}

#[test]
fn every_deque_does_what_the_model_does() {
    for start in STARTS {
        against_model(
            &Deque::starting_at(Fixed::<1>::default(), start),
            Some(1),
            0x9E37,
        );
        against_model(
            &Deque::starting_at(Fixed::<8>::default(), start),
            Some(8),
            0x79B9,
        );
        against_model(
            &Deque::starting_at(Growable::with_capacity(1), start),
            None,
            0x7F4A,
        );
        for (bucket, map) in [(1, 1), (1, 2), (4, 1), (8, 4)] {
            let deque = Deque::starting_at(Buckets::new(bucket, map), start);
            against_model(&deque, None, 0x5EED);
        }
    }
}

/// The owner has not observed yet that its item was stolen, so its pop takes the slow path.
fn empty(deque: &impl WorkDeque<usize>) {
    let owner = deque.owner().unwrap();
    assert_eq!(owner.pop(), None);
    assert_eq!(deque.thief().steal(), Steal::Empty);
    owner.push(1).unwrap();
    assert_eq!(deque.thief().steal(), Steal::Taken(1));
    assert_eq!(owner.pop(), None);
    assert_eq!(owner.pop(), None);
    owner.push(2).unwrap();
    owner.push(3).unwrap();
    assert_eq!(deque.thief().steal(), Steal::Taken(2));
    assert_eq!(deque.thief().steal(), Steal::Taken(3));
    assert_eq!(owner.pop(), None);
    assert!(deque.is_empty() && owner.is_empty() && deque.thief().is_empty());
    owner.push(4).unwrap();
    assert_eq!(owner.pop(), Some(4));
}

#[test]
fn empty_at_every_edge() {
    for start in STARTS {
        on_every_deque!(start, |deque| empty(&deque));
    }
}

#[test]
fn full_gives_the_item_back_until_there_is_room() {
    let deque = FixedDeque::<Box<u8>, 2>::new();
    let owner = deque.owner().unwrap();
    assert_eq!(owner.capacity(), 2);
    owner.push(Box::new(1)).unwrap();
    owner.push(Box::new(2)).unwrap();
    let Err(Full(back)) = owner.push(Box::new(3)) else {
        panic!("there is no room for a third");
    };
    assert_eq!(deque.thief().steal(), Steal::Taken(Box::new(1)));
    owner.push(back).unwrap();
    assert_eq!(owner.pop(), Some(Box::new(3)));
}

#[test]
fn growth_keeps_order() {
    let deque = GrowableDeque::with_capacity(3);
    let owner = deque.owner().unwrap();
    assert_eq!(owner.capacity(), 4);
    for item in 0..1_000_usize {
        owner.push(item);
    }
    assert_eq!(owner.capacity(), 1_024);
    for item in 0..500 {
        assert_eq!(deque.thief().steal(), Steal::Taken(item));
        assert_eq!(owner.pop(), Some(999 - item));
    }
    assert_eq!(owner.pop(), None);
}

fn hand_over(deque: &impl WorkDeque<usize>) {
    let owner = deque.owner().unwrap();
    assert!(deque.owner().is_none());
    for item in 1..=5 {
        owner.push(item).unwrap();
    }
    assert_eq!(deque.thief().steal(), Steal::Taken(1));
    drop(owner);
    let next = deque.owner().expect("the role is free again");
    next.push(6).unwrap();
    for item in (2..=6).rev() {
        assert_eq!(next.pop(), Some(item));
    }
    drop(next);
    let last = deque.owner().expect("the role is free again");
    assert_eq!(last.pop(), None);
    last.push(7).unwrap();
    assert_eq!(deque.thief().steal(), Steal::Taken(7));
}

#[test]
fn one_owner_at_a_time() {
    for start in STARTS {
        on_every_deque!(start, |deque| hand_over(&deque));
    }
}

/// An item that counts how often it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn dropped<'a>(deque: impl WorkDeque<Box<Counted<'a>>>, drops: &'a AtomicUsize) {
    drops.store(0, Ordering::Relaxed);
    let owner = deque.owner().unwrap();
    for _ in 0..8 {
        assert!(owner.push(Box::new(Counted(drops))).is_ok());
    }
    drop(owner.pop());
    drop(deque.thief().steal());
    assert_eq!(drops.load(Ordering::Relaxed), 2);
    drop(owner);
    drop(deque);
    assert_eq!(drops.load(Ordering::Relaxed), 8);
}

#[test]
fn every_item_is_dropped_once() {
    let drops = AtomicUsize::new(0);
    for start in STARTS {
        on_every_deque!(start, |deque| dropped(deque, &drops));
    }
}

#[test]
fn references_and_numbers_are_words() {
    let (a, b) = (String::from("a"), String::from("b"));
    let deque = FixedDeque::<&String, 2>::new();
    let owner = deque.owner().unwrap();
    owner.push(&a).unwrap();
    owner.push(&b).unwrap();
    assert_eq!(deque.thief().steal(), Steal::Taken(&a));
    assert_eq!(owner.pop(), Some(&b));
    let deque = FixedDeque::<u32, 1>::new();
    let owner = deque.owner().unwrap();
    owner.push(u32::MAX).unwrap();
    assert_eq!(owner.pop(), Some(u32::MAX));
}

/// Every item of `0..items` is taken exactly once, intact, while thieves steal continuously. The
/// owner pops after one push in `pops`. Returns the number of refused pushes.
fn stress(deque: &impl WorkDeque<Box<usize>>, items: usize, thieves: usize, pops: u64) -> usize {
    let seen: Vec<_> = (0..items).map(|_| AtomicBool::new(false)).collect();
    let count = AtomicUsize::new(0);
    let take = |item: Box<usize>| {
        assert!(!seen[*item].swap(true, Ordering::Relaxed), "taken twice");
        count.fetch_add(1, Ordering::Relaxed);
    };
    let rob = || {
        while count.load(Ordering::Relaxed) < items {
            match deque.thief().steal() {
                Steal::Taken(item) => take(item),
                Steal::Busy | Steal::Empty => std::thread::yield_now(),
            }
        }
    };
    let owner = deque.owner().unwrap();
    let mut refused = 0;
    std::thread::scope(|scope| {
        let mut random = XorShift(0xC0FF_EE11);
        (0..thieves).for_each(|_| drop(scope.spawn(rob)));
        for number in 0..items {
            let mut item = Box::new(number);
            while let Err(Full(back)) = owner.push(item) {
                item = back;
                refused += 1;
                owner.pop().into_iter().for_each(take);
            }
            if random.below(pops) == 0 {
                owner.pop().into_iter().for_each(take);
            }
        }
        while let Some(item) = owner.pop() {
            take(item);
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), items);
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed)));
    refused
}

/// Returns fewer items under Miri.
const fn items(full: usize) -> usize {
    if cfg!(miri) { 300 } else { full }
}

#[test]
fn threads_take_every_item_once() {
    stress(&FixedDeque::<_, 1>::new(), items(50_000), 2, 3);
    for start in [0, usize::MAX - items(50_000) / 2] {
        on_every_deque!(start, |deque| stress(&deque, items(50_000), 3, 3));
    }
}

/// Chatterjee, acceptance fact 5: two thieves and the owner take every item once, and a push into a
/// full deque is refused.
#[test]
fn chatterjee_5_fixed_deque() {
    let deque = FixedDeque::<_, 64>::new();
    let refused = stress(&deque, items(200_000), 2, 3);
    assert!(refused > 0, "it was never full");
    let owner = deque.owner().unwrap();
    for item in 0..64 {
        owner.push(Box::new(item)).unwrap();
    }
    assert_eq!(owner.push(Box::new(64)), Err(Full(Box::new(64))));
}

#[test]
fn to_and_fro_over_an_edge_keeps_the_bucket() {
    let deque = BucketDeque::with_buckets(2, 2);
    let owner = deque.owner().unwrap();
    owner.push(0_usize);
    owner.push(1);
    for item in 2..50 {
        owner.push(item);
        assert_eq!(owner.position(1), Some(1));
        assert_eq!(owner.pop(), Some(item));
        assert_eq!(owner.position(1), Some(1));
        assert_eq!(owner.pop(), Some(1));
        owner.push(1);
    }
    assert_eq!(owner.position(2), None);
    assert_eq!(owner.capacity(), 4);
}

#[test]
fn a_capacity_that_cannot_be_had_is_refused() {
    let half = 1 << (usize::BITS - 1);
    for capacity in [usize::MAX, half + 1, half, half / 4] {
        let made = catch_unwind(|| GrowableDeque::<usize>::with_capacity(capacity));
        let refused = made.expect_err("that much memory cannot be addressed");
        let text = refused.downcast_ref::<String>().map(String::as_str);
        let text = text.or(refused.downcast_ref::<&str>().copied());
        assert!(
            text.is_some_and(|t| t.contains("capacity overflow")),
            "{text:?}"
        );
    }
    assert_eq!(
        GrowableDeque::<usize>::with_capacity(0)
            .owner()
            .unwrap()
            .capacity(),
        1
    );
}

#[test]
fn buckets_that_cannot_be_had_are_refused() {
    let half = 1_usize << (usize::BITS - 1);
    for (bucket, map) in [
        (half, 1),
        (half / 2, 2),
        (2, half / 2),
        (half / 4, 1),
        (1, half),
    ] {
        let made = catch_unwind(|| Buckets::new(bucket, map));
        assert!(made.is_err(), "{bucket} slots in each of {map} buckets");
    }
}

#[test]
#[should_panic(expected = "buckets of 3 items: must be a power of two")]
fn buckets_of_three() {
    Buckets::new(3, 4);
}

#[test]
#[should_panic(expected = "a map of 0 buckets: must be a power of two")]
fn no_map() {
    Buckets::new(4, 0);
}

#[test]
fn deque_can_be_shared_when_items_can_only_be_sent() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    // A Cell is Send but not Sync, and so is a box around it.
    let deque = shared(Arc::new(
        FixedDeque::<Box<std::cell::Cell<u8>>, 2>::default(),
    ));
    let owner = deque.owner().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || owner.push(Box::new(std::cell::Cell::new(3))).is_ok());
    });
    let taken = deque.thief().steal().taken().expect("one item was pushed");
    assert_eq!(taken.get(), 3);
}

#[test]
fn local_does_what_the_model_does() {
    let mut local = Local::new();
    let mut model = VecDeque::new();
    let mut random = XorShift(0xD1B5);
    for item in 0..20_000_u32 {
        match random.below(8) {
            0..4 => {
                local.push(item);
                model.push_back(item);
            }
            4..6 => assert_eq!(local.pop(), model.pop_back()),
            6 => {
                let k = usize::try_from(random.below(6)).unwrap();
                let loot = local.steal(k);
                assert_eq!(loot.len(), k.min(model.len()));
                assert!(loot.iter().eq(model.iter().take(k)));
                model.drain(..loot.len());
                if random.below(2) == 0 {
                    model.extend(&loot);
                    local.append(loot);
                }
            }
            _ => assert!(local.iter().eq(&model)),
        }
        assert_eq!(local.len(), model.len());
        assert_eq!(local.is_empty(), model.is_empty());
    }
    assert!(local.drain().eq(model));
    assert!(local.is_empty());
    let again: Local<_> = Vec::from(Local::from(vec![1, 2])).into_iter().collect();
    assert!(again.iter().rev().eq(&[2, 1]));
}
