//! Models of `tautline_core::deque::SplitDeque`: every item comes out exactly once, whole, and none stays
//! private for ever while thieves find nothing.
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread::{self, JoinHandle};
use std::num::NonZeroUsize;
use std::sync::Arc;
use tautline_core::deque::split::{Owner, Pushed};
use tautline_core::deque::{Full, NonNullWord, SplitDeque, Steal};
use tautline_verify::model::Model;

type Item = NonZeroUsize;

fn item(number: usize) -> Item {
    NonZeroUsize::new(number).expect("items are numbered from 1")
}

/// A thread that tries to steal `times` times.
fn thief<T: NonNullWord + Send + 'static, const N: usize>(
    deque: &Arc<SplitDeque<T, N>>,
    times: usize,
) -> JoinHandle<Vec<T>> {
    let deque = Arc::clone(deque);
    thread::spawn(move || (0..times).filter_map(|_| deque.steal().taken()).collect())
}

/// The items that the thieves and the owner got, and those still there, are exactly 1..=`pushed`.
fn exactly_once<const N: usize>(
    owner: &Owner<'_, Item, N>,
    mut got: Vec<Item>,
    thieves: Vec<JoinHandle<Vec<Item>>>,
    pushed: usize,
) {
    for thief in thieves {
        got.extend(thief.join().unwrap());
    }
    got.extend(std::iter::from_fn(|| owner.pop()));
    got.sort_unstable();
    assert!(
        got.iter().copied().eq((1..=pushed).map(item)),
        "lost or taken twice: {got:?}"
    );
    assert!(owner.is_empty());
}

/// V1: two pushes, private and public, two pops, two thieves with one steal each.
fn two_of_each(start: usize) {
    let deque = Arc::new(SplitDeque::<Item, 2>::starting_at(start));
    let owner = deque.owner().unwrap();
    let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
    assert_eq!(owner.push(item(1)), Ok(Pushed::Published));
    owner.push_public(item(2)).unwrap();
    let got = [owner.pop(), owner.pop()].into_iter().flatten().collect();
    exactly_once(&owner, got, thieves, 2);
    owner.push_public(item(1)).unwrap();
    owner.push_public(item(2)).unwrap();
    assert_eq!(owner.push(item(3)), Err(Full(item(3))));
}

#[test]
fn split_exactly_once() {
    Model::new("split_exactly_once")
        .bound(3)
        .floor(1_000)
        .check(|| two_of_each(0));
}

/// The same where both indices wrap, and where their difference changes its sign.
#[test]
fn split_wrap() {
    for (name, start) in [
        ("split_wrap_zero", u32::MAX as usize),
        ("split_wrap_sign", i32::MAX as usize),
    ] {
        Model::new(name)
            .bound(3)
            .floor(1_000)
            .check(move || two_of_each(start));
    }
}

/// V2: one item, one pop and two steals: one winner, and the indices agree afterwards.
#[test]
fn split_last_item() {
    Model::new("split_last_item").floor(200).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 1>::new());
        let owner = deque.owner().unwrap();
        owner.push_public(item(1)).unwrap();
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let got = owner.pop().into_iter().collect();
        exactly_once(&owner, got, thieves, 1);
        assert_eq!(owner.push(item(7)), Ok(Pushed::Published));
        assert_eq!(owner.push(item(8)), Err(Full(item(8))));
        assert_eq!(deque.steal(), Steal::Taken(item(7)));
        assert_eq!(owner.push(item(7)), Ok(Pushed::Published));
        assert_eq!(owner.pop(), Some(item(7)));
    });
}

/// An owner that takes back, pushes again and takes back, against a thief whose guess is old.
#[test]
fn split_again() {
    Model::new("split_again").bound(3).floor(200).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 2>::new());
        let owner = deque.owner().unwrap();
        owner.push_public(item(1)).unwrap();
        let thieves = vec![thief(&deque, 1), thief(&deque, 2)];
        let mut got: Vec<_> = owner.pop().into_iter().collect();
        // The same index as before, if that was not stolen.
        owner.push_public(item(2)).unwrap();
        got.extend(owner.pop());
        exactly_once(&owner, got, thieves, 2);
    });
}

type Parcel = Box<UnsafeCell<usize>>;

fn parcel(value: usize) -> Parcel {
    Box::new(UnsafeCell::new(value))
}

/// Reads what is behind the word: loom reports a race if its writing does not come before.
fn open(parcel: &Parcel) -> usize {
    // SAFETY: whoever took the parcel owns it.
    parcel.with(|value| unsafe { *value })
}

/// S1: what is behind a word is seen by the thief that takes it, also where it was private for a while, and
/// where the owner has taken back another one in between.
#[test]
fn split_payload() {
    Model::new("split_payload").floor(50).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let owner = deque.owner().unwrap();
        let thief = thief(&deque, 2);
        for value in 1..=3 {
            assert!(owner.push(parcel(value)).is_ok());
        }
        let mut got: Vec<_> = owner.pop().iter().map(open).collect();
        assert!(owner.push_public(parcel(4)).is_ok());
        got.extend(thief.join().unwrap().iter().map(open));
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        got.sort_unstable();
        assert_eq!(got, [1, 2, 3, 4]);
    });
}

/// S2: a thief is late between winning its item and reading the slot, while the owner goes on around the
/// ring (published bug of deques that read after they have won: an item twice, another never).
#[test]
fn split_reuse() {
    Model::new("split_reuse").bound(3).floor(1_000).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 2>::new());
        let owner = deque.owner().unwrap();
        owner.push_public(item(1)).unwrap();
        owner.push_public(item(2)).unwrap();
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let mut pushed = 2;
        for _ in 0..2 {
            pushed += usize::from(owner.push_public(item(pushed + 1)).is_ok());
        }
        exactly_once(&owner, vec![], thieves, pushed);
    });
}

/// S2: what the thief did to its parcel comes before the slot is filled again: here, that it opened the last one.
#[test]
fn split_slot_is_read() {
    Model::new("split_slot_is_read").floor(8).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 1>::new());
        let looked = Arc::new(UnsafeCell::new(0));
        let owner = deque.owner().unwrap();
        owner.push_public(item(1)).unwrap();
        let thief = {
            let (deque, looked) = (Arc::clone(&deque), Arc::clone(&looked));
            thread::spawn(move || {
                // SAFETY: the owner looks only once this slot is free again.
                looked.with_mut(|l| unsafe { *l = 1 });
                deque.steal().taken().is_some()
            })
        };
        if owner.push_public(item(2)).is_ok() {
            // SAFETY: the thief has done with the slot, and so with what it did before.
            assert_eq!(looked.with(|l| unsafe { *l }), 1);
        }
        assert!(thief.join().unwrap(), "nobody else takes it");
    });
}

/// S6: when the public part is empty, an owner that pushes publishes, sooner or later: here, at the first push
/// after it knows that the thief is gone.
#[test]
fn split_publishes() {
    Model::new("split_publishes").floor(20).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 8>::new());
        let owner = deque.owner().unwrap();
        assert_eq!(owner.push(item(1)), Ok(Pushed::Published));
        let thieves = vec![thief(&deque, 1)];
        for number in 2..=3 {
            assert!(owner.push(item(number)).is_ok());
        }
        let got: Vec<_> = thieves
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        assert!(owner.push(item(4)).is_ok());
        assert!(deque.public() > 0, "thieves find nothing for ever");
        exactly_once(&owner, got, vec![], 4);
    });
}

/// The same where owner and thief compete for the last public item.
#[test]
fn split_publishes_again() {
    Model::new("split_publishes_again").floor(50).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 8>::new());
        let owner = deque.owner().unwrap();
        assert_eq!(owner.push(item(1)), Ok(Pushed::Published));
        let thieves = vec![thief(&deque, 1)];
        let mut got: Vec<_> = owner.pop().into_iter().collect();
        assert!(owner.push(item(2)).is_ok());
        assert!(owner.push(item(3)).is_ok());
        got.extend(thieves.into_iter().flat_map(|t| t.join().unwrap()));
        assert!(owner.push(item(4)).is_ok());
        assert!(deque.public() > 0, "thieves find nothing for ever");
        exactly_once(&owner, got, vec![], 4);
    });
}

/// S5: two threads are owners one after the other, or one is refused.
#[test]
fn split_handover() {
    Model::new("split_handover").floor(8).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let claim = |deque: &SplitDeque<Parcel, 4>, value| {
            deque.owner().is_some_and(|owner| {
                let mine = owner.push(parcel(value)).is_ok();
                // Opens what the last owner left, too.
                let seen: Vec<_> = std::iter::from_fn(|| owner.pop()).collect();
                seen.iter().map(open).for_each(drop);
                seen.into_iter()
                    .for_each(|p| assert!(owner.push(p).is_ok()));
                mine
            })
        };
        let theirs = Arc::clone(&deque);
        let other = thread::spawn(move || claim(&theirs, 2));
        let pushed = usize::from(claim(&deque, 1)) + usize::from(other.join().unwrap());
        let owner = deque.owner().expect("the others are gone");
        let mut got: Vec<_> = std::iter::from_fn(|| owner.pop())
            .map(|p| open(&p))
            .collect();
        got.sort_unstable();
        assert_eq!(got.len(), pushed);
        assert!(got == [1, 2] || got == [1] || got == [2]);
    });
}

/// S3, S4: a thief announces its sleep and looks; the owner offers and reads the announcement. One sees the other.
fn look_against(offer: fn(&Owner<'_, Item, 4>)) {
    let deque = Arc::new(SplitDeque::<Item, 4>::new());
    let asleep = Arc::new(AtomicBool::new(false));
    let owner = deque.owner().unwrap();
    let sleeper = {
        let (deque, asleep) = (Arc::clone(&deque), Arc::clone(&asleep));
        thread::spawn(move || {
            asleep.store(true, Relaxed);
            deque.look()
        })
    };
    offer(&owner);
    let announced = asleep.load(Relaxed);
    let found = sleeper.join().unwrap();
    assert!(announced || found, "work, and a thief that sleeps");
}

#[test]
fn split_look_push_public() {
    Model::new("split_look_push_public")
        .floor(4)
        .check(|| look_against(|owner| owner.push_public(item(1)).unwrap()));
}

#[test]
fn split_look_push() {
    Model::new("split_look_push")
        .floor(4)
        .check(|| look_against(|owner| assert_eq!(owner.push(item(1)), Ok(Pushed::Published))));
}
