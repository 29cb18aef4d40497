//! The deques against a plain model, at the edges of their index space, and under real threads.
#![cfg(all(feature = "alloc", not(tautline_loom)))]

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tautline_core::deque::{
    Deque, Fixed, FixedDeque, Full, Growable, GrowableDeque, Local, Ring, Steal,
};

/// Marsaglia's xorshift: enough for choosing operations.
struct XorShift(u64);

impl XorShift {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Where indices start: at both ends of `usize`, and where their sign would change.
const STARTS: [usize; 6] = [
    0,
    1,
    usize::MAX,
    usize::MAX - 5,
    isize::MAX as usize,
    isize::MAX as usize - 5,
];

/// Random pushes, pops and steals do what a VecDeque of at most `limit` items does.
fn against_model<R: Ring>(deque: &Deque<usize, R>, limit: usize, seed: u64) {
    let owner = deque.owner().expect("nobody owns it yet");
    let thief = deque.thief();
    let mut model = VecDeque::new();
    let mut random = XorShift(seed);
    for item in 0..3_000 {
        // Phases of growth and of shrinking, so that both full and empty are met.
        let bias = if item / 100 % 2 == 0 { 6 } else { 3 };
        match random.below(10) {
            choice if choice < bias => {
                if model.len() < limit {
                    assert_eq!(owner.try_push(item), Ok(()));
                    model.push_back(item);
                } else {
                    assert_eq!(owner.try_push(item), Err(Full(item)));
                }
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
fn fixed_does_what_the_model_does() {
    for start in STARTS {
        against_model(&Deque::starting_at(Fixed::<1>::default(), start), 1, 0x9E37);
        against_model(&Deque::starting_at(Fixed::<8>::default(), start), 8, 0x79B9);
    }
}

#[test]
fn growable_does_what_the_model_does() {
    for start in STARTS {
        let ring = Growable::with_capacity(1);
        against_model(&Deque::starting_at(ring, start), usize::MAX, 0x7F4A);
    }
}

#[test]
fn empty_at_every_edge() {
    for start in STARTS {
        let deque = Deque::<usize, _>::starting_at(Fixed::<2>::default(), start);
        let owner = deque.owner().unwrap();
        assert_eq!(owner.pop(), None);
        assert_eq!(deque.thief().steal(), Steal::Empty);
        // The owner does not know yet that this item is gone, so its pop goes the long way.
        owner.push(1).unwrap();
        assert_eq!(deque.thief().steal(), Steal::Taken(1));
        assert_eq!(owner.pop(), None);
        assert_eq!(owner.pop(), None);
        assert_eq!(deque.len(), 0);
        owner.push(2).unwrap();
        assert_eq!(owner.pop(), Some(2));
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

#[test]
fn one_owner_at_a_time() {
    let deque = FixedDeque::<u32, 4>::new();
    let owner = deque.owner().unwrap();
    assert!(deque.owner().is_none());
    owner.push(7).unwrap();
    drop(owner);
    let next = deque.owner().expect("the role is free again");
    assert_eq!(next.pop(), Some(7));
}

/// An item that counts how often it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_item_is_dropped_once() {
    for start in STARTS {
        let drops = AtomicUsize::new(0);
        let deque = Deque::starting_at(Growable::with_capacity(2), start);
        let owner = deque.owner().unwrap();
        for _ in 0..20 {
            owner.push(Box::new(Counted(&drops)));
        }
        drop(owner.pop());
        drop(deque.thief().steal());
        assert_eq!(drops.load(Ordering::Relaxed), 2);
        drop(owner);
        drop(deque);
        assert_eq!(drops.load(Ordering::Relaxed), 20);
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

/// Every item of `0..items` comes out exactly once, whole, while thieves steal all the time.
fn stress<R: Ring + Sync>(deque: &Deque<Box<usize>, R>, items: usize, thieves: usize) {
    let seen: Vec<_> = (0..items).map(|_| AtomicBool::new(false)).collect();
    let count = AtomicUsize::new(0);
    let take = |item: Box<usize>| {
        assert!(!seen[*item].swap(true, Ordering::Relaxed), "taken twice");
        count.fetch_add(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        for _ in 0..thieves {
            scope.spawn(|| {
                while count.load(Ordering::Relaxed) < items {
                    match deque.thief().steal() {
                        Steal::Taken(item) => take(item),
                        Steal::Busy | Steal::Empty => std::thread::yield_now(),
                    }
                }
            });
        }
        let owner = deque.owner().unwrap();
        let mut random = XorShift(0xC0FF_EE11);
        for item in 0..items {
            let mut item = Box::new(item);
            while let Err(Full(back)) = owner.try_push(item) {
                item = back;
                owner.pop().into_iter().for_each(take);
            }
            if random.below(3) == 0 {
                owner.pop().into_iter().for_each(take);
            }
        }
        while let Some(item) = owner.pop() {
            take(item);
        }
    });
    assert_eq!(count.load(Ordering::Relaxed), items);
    assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed)));
}

#[test]
fn threads_take_every_item_once() {
    const ITEMS: usize = if cfg!(miri) { 300 } else { 200_000 };
    stress(&FixedDeque::<_, 1>::new(), ITEMS / 4, 2);
    stress(&FixedDeque::<_, 64>::new(), ITEMS, 3);
    stress(&GrowableDeque::with_capacity(1), ITEMS, 3);
    stress(
        &Deque::starting_at(Growable::with_capacity(2), usize::MAX - ITEMS / 2),
        ITEMS,
        2,
    );
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
