//! Models of `tautline_core::deque::SplitDeque`: every item comes out exactly once, whole, and none
//! stays private once a thief has requested it.
#![cfg(tautline_loom)]

#[path = "split/looks.rs"]
mod looks;
#[path = "split/payload.rs"]
mod payload;
#[path = "split/requests.rs"]
mod requests;

use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};
use std::num::NonZeroUsize;
use std::sync::Arc;
use tautline_core::deque::split::{Owner, Pushed};
use tautline_core::deque::{Full, NonNullWord, SplitDeque, Steal};
use tautline_core::port::{Fence, Relax};
use tautline_verify::model::{Model, Turns};

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
    let deque = Arc::new(SplitDeque::<Item, 4>::starting_at(start));
    let owner = deque.owner().unwrap();
    deque.starve();
    let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
    assert!(owner.push(item(1)).is_ok());
    owner.push_public(item(2)).unwrap();
    let got = [owner.pop(), owner.pop()].into_iter().flatten().collect();
    exactly_once(&owner, got, thieves, 2);
    for number in 1..=3 {
        owner.push_public(item(number)).unwrap();
    }
    assert_eq!(owner.push(item(4)), Err(Full(item(4))));
    assert_eq!(owner.push_public(item(4)), Err(Full(item(4))));
}

#[test]
fn split_exactly_once() {
    Model::new("split_exactly_once")
        .bound(3)
        .floor(5_000)
        .check(|| two_of_each(0));
}

/// The same where both indices wrap, and where their difference changes its sign.
#[test]
fn split_wrap() {
    for (name, start) in [
        ("split_wrap_zero", (u32::MAX / 2) as usize),
        ("split_wrap_sign", (i32::MAX / 2) as usize),
    ] {
        Model::new(name)
            .bound(3)
            .floor(5_000)
            .check(move || two_of_each(start));
    }
}

/// V2: one item, one pop and two steals: one winner, and the indices agree afterwards.
#[test]
fn split_last_item() {
    Model::new("split_last_item").floor(400).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 2>::new());
        let owner = deque.owner().unwrap();
        owner.push_public(item(1)).unwrap();
        let thieves = vec![thief(&deque, 1), thief(&deque, 1)];
        let got = owner.pop().into_iter().collect();
        exactly_once(&owner, got, thieves, 1);
        deque.starve();
        assert_eq!(owner.push(item(7)), Ok(Pushed::Published));
        assert_eq!(owner.push(item(8)), Err(Full(item(8))));
        assert_eq!(deque.steal(), Steal::Taken(item(7)));
        assert!(owner.push(item(7)).is_ok());
        assert_eq!(owner.pop(), Some(item(7)));
    });
}

/// An owner that takes back, pushes again and takes back, against a thief whose guess is old.
#[test]
fn split_again() {
    Model::new("split_again").bound(3).floor(4_000).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 4>::new());
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

/// Reads the item of a slot: loom reports a race unless its write happens-before.
fn open(parcel: &Parcel) -> usize {
    // SAFETY: the thread that took the parcel owns it.
    parcel.with(|value| unsafe { *value })
}

/// The value that the thief writes before it steals.
struct Trace(UnsafeCell<usize>);

// SAFETY: loom reports accesses that race.
unsafe impl Sync for Trace {}
// SAFETY: as above.
unsafe impl Send for Trace {}

/// S6: an owner that continues to push publishes, once it has observed that a thief found nothing.
#[test]
fn split_publishes() {
    Model::new("split_publishes").floor(100).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 8>::new());
        let owner = deque.owner().unwrap();
        deque.starve();
        assert_eq!(owner.push(item(1)), Ok(Pushed::Published));
        let thieves = vec![starving_thief(&deque, 2)];
        for number in 2..=3 {
            assert!(owner.push(item(number)).is_ok());
        }
        let got: Vec<_> = thieves
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        let starved = got.len() < 2;
        assert!(owner.push(item(4)).is_ok());
        assert!(!starved || deque.public() > 0, "thieves find nothing");
        exactly_once(&owner, got, vec![], 4);
    });
}

/// A thief that lowers the limit where it finds nothing.
fn starving_thief<const N: usize>(
    deque: &Arc<SplitDeque<Item, N>>,
    times: usize,
) -> JoinHandle<Vec<Item>> {
    let deque = Arc::clone(deque);
    thread::spawn(move || {
        let steal = |_| {
            let stolen = deque.steal();
            if stolen == Steal::Empty {
                deque.starve();
            }
            stolen.taken()
        };
        (0..times).filter_map(steal).collect()
    })
}

/// A thief that requests, fences, and settles; then steals `times` times.
fn raider<T: NonNullWord + Send + 'static, const N: usize>(
    deque: &Arc<SplitDeque<T, N>>,
    times: usize,
) -> JoinHandle<Vec<T>> {
    let deque = Arc::clone(deque);
    thread::spawn(move || {
        raid(&deque);
        (0..times).filter_map(|_| deque.steal().taken()).collect()
    })
}

/// The fences that a port need not provide.
struct Provided;

// SAFETY: as provided.
unsafe impl Fence for Provided {}

/// A machine whose light fence orders nothing by itself, and that cannot execute the heavy one for
/// now: no request is settled.
struct Unfenced;

// SAFETY: the heavy fence is never executed.
unsafe impl Fence for Unfenced {
    fn light_fence(&self) {}

    fn heavy_fence(&self) -> bool {
        false
    }
}

impl Relax for Provided {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

impl Relax for Unfenced {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

/// Whether there was nothing to steal, so that the owner owes an answer.
fn raid<T: NonNullWord, const N: usize>(deque: &SplitDeque<T, N>) -> bool {
    let Ok(request) = deque.request() else {
        return false;
    };

    // ORDERING: SeqCst, pairs with the owner's light fences, which are full ones here (S8).
    assert!(Provided.heavy_fence());
    // SAFETY: fenced since the request.
    !unsafe { request.settle() }
}

/// S5: two threads are owners one after the other, or one is refused.
#[test]
fn split_handover() {
    Model::new("split_handover").floor(8).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let trace = Arc::new(Trace(UnsafeCell::new(0)));
        // SAFETY: the owner's, of which there is one at a time.
        let write = |trace: &Trace| trace.0.with_mut(|t| unsafe { *t += 1 });
        let claim = move |deque: &SplitDeque<Parcel, 4>, trace: &Trace, value| {
            deque.owner().is_some_and(|owner| {
                // Before any fence: what the last owner did is seen all the same.
                write(trace);
                let mine = owner.push(parcel(value)).is_ok();
                // Opens what the last owner left, too.
                let seen: Vec<_> = std::iter::from_fn(|| owner.pop()).collect();
                seen.iter().map(open).for_each(drop);
                seen.into_iter()
                    .for_each(|p| assert!(owner.push(p).is_ok()));
                write(trace);
                mine
            })
        };
        let theirs = (Arc::clone(&deque), Arc::clone(&trace));
        let other = thread::spawn(move || claim(&theirs.0, &theirs.1, 2));
        let mine = claim(&deque, &trace, 1);
        let pushed = usize::from(mine) + usize::from(other.join().unwrap());
        let owner = deque.owner().expect("the others are gone");
        let mut got: Vec<_> = std::iter::from_fn(|| owner.pop())
            .map(|p| open(&p))
            .collect();
        got.sort_unstable();
        assert_eq!(got.len(), pushed);
        assert!(got == [1, 2] || got == [1] || got == [2]);
    });
}
