//! Models of `tautline_core::deque::SplitDeque`: every item comes out exactly once, whole, and none stays
//! private once a thief has requested it.
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread::{self, JoinHandle};
use std::num::NonZeroUsize;
use std::sync::Arc;
use tautline_core::deque::split::{Owner, Pushed};
use tautline_core::deque::{Full, NonNullWord, SplitDeque, Steal};
use tautline_core::port::Fence;
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

/// Reads what is behind the word: loom reports a race if its writing does not come before.
fn open(parcel: &Parcel) -> usize {
    // SAFETY: whoever took the parcel owns it.
    parcel.with(|value| unsafe { *value })
}

/// S1: what is behind a word is seen by the thief that takes it, also where it was private for a while, and
/// where the owner has taken back another one in between.
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

/// What the thief leaves before it steals.
struct Trace(UnsafeCell<usize>);

// SAFETY: loom reports accesses that race.
unsafe impl Sync for Trace {}
// SAFETY: as above.
unsafe impl Send for Trace {}

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
                // SAFETY: the owner looks only once this slot is free again.
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
        assert!(thief.join().unwrap(), "nobody else takes it");
    });
}

/// S6: an owner that goes on pushing publishes, once it knows that a thief has found nothing.
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

/// Private items come out once, though a thief publishes them while the owner pops, pushes and pops.
fn raid_on_two(start: usize) {
    let deque = Arc::new(SplitDeque::<Item, 4>::starting_at(start));
    let owner = deque.owner().unwrap();
    for number in 1..=2 {
        assert!(owner.push(item(number)).is_ok());
    }
    let thieves = vec![raider(&deque, 2)];
    let mut got: Vec<_> = owner.pop().into_iter().collect();
    assert!(owner.push(item(3)).is_ok());
    got.extend([owner.pop(), owner.pop()].into_iter().flatten());
    exactly_once(&owner, got, thieves, 3);
}

#[test]
fn split_request_once() {
    Model::new("split_request_once")
        .bound(3)
        .floor(6_000)
        .check(|| raid_on_two(0));
}

#[test]
fn split_request_wrap() {
    // Where indices wrap the limit looks low, so that pushes publish before there is a request.
    for (name, start, floor) in [
        ("split_request_wrap_zero", (u32::MAX / 2) as usize, 10),
        ("split_request_wrap_sign", (i32::MAX / 2) as usize, 500),
    ] {
        Model::new(name)
            .bound(3)
            .floor(floor)
            .check(move || raid_on_two(start));
    }
}

/// S8: a fork that was pushed before or during a request is public once the request is settled, though the owner does
/// nothing any more.
#[test]
fn split_request_push() {
    Model::new("split_request_push").floor(300).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 4>::new());
        let owner = deque.owner().unwrap();
        let thieves = vec![raider(&deque, 0)];
        assert!(owner.push(item(1)).is_ok());
        thieves.into_iter().for_each(|t| drop(t.join().unwrap()));
        assert_eq!(deque.public(), 1, "private while the owner computes");
    });
}

/// S8: the same for the older item where the owner pops the newer one meanwhile.
#[test]
fn split_request_pop() {
    Model::new("split_request_pop").floor(250).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 4>::new());
        let owner = deque.owner().unwrap();
        for number in 1..=2 {
            assert!(owner.push(item(number)).is_ok());
        }
        let thieves = vec![raider(&deque, 0)];
        assert_eq!(owner.pop(), Some(item(2)));
        thieves.into_iter().for_each(|t| drop(t.join().unwrap()));
        assert_eq!(deque.public(), 1, "private while the owner computes");
    });
}

/// S3, S6: an owner raises the limit that a request lowers, for an item that it has taken back when the request is settled: it
/// has seen the request then, publishes, and sees that the thief is about to sleep.
#[test]
fn split_request_limit() {
    Model::new("split_request_limit")
        .bound(3)
        .floor(12_000)
        .check(|| {
            let deque = Arc::new(SplitDeque::<Item, 8>::new());
            let owner = deque.owner().unwrap();
            deque.starve();
            assert_eq!(owner.push(item(1)), Ok(Pushed::Published));
            let asleep = Arc::new(AtomicBool::new(false));
            let thief = {
                let (deque, asleep) = (Arc::clone(&deque), Arc::clone(&asleep));
                thread::spawn(move || {
                    assert_eq!(deque.steal(), Steal::Taken(item(1)));
                    deque.starve();
                    asleep.store(true, Relaxed);
                    raid(&deque)
                })
            };
            let push =
                |number| owner.push(item(number)) == Ok(Pushed::Published) && asleep.load(Relaxed);
            let mut called = push(2);
            assert!(owner.pop().is_some());
            called |= push(3);
            let requested = thief.join().unwrap();
            assert!(
                !requested || deque.public() > 0 || called,
                "private while the owner computes and the thief sleeps"
            );
        });
}

/// A request that is not settled is answered by the owner's next push or pop, or by its publishing.
#[test]
fn split_request_answered() {
    Model::new("split_request_answered").floor(1).check(|| {
        for answer in 0..3 {
            let deque = SplitDeque::<Item, 8>::new();
            let owner = deque.owner().unwrap();
            for number in 1..=3 {
                assert_eq!(owner.push(item(number)), Ok(Pushed::Private));
            }
            drop(deque.request().expect("nothing is public"));
            assert_eq!(deque.public(), 0);
            match answer {
                0 => assert_eq!(owner.push(item(4)), Ok(Pushed::Published)),
                1 => assert_eq!(owner.pop(), Some(item(3))),
                _ => owner.publish(),
            }
            assert!(deque.public() >= 2, "by way {answer}");
        }
    });
}

/// S1, S7: what is behind a word is seen by a thief that takes it after another one has published it.
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

/// S1: the same where the owner publishes by a pop.
#[test]
fn split_request_popped() {
    Model::new("split_request_popped").floor(60).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let owner = deque.owner().unwrap();
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                drop(deque.request());
                (0..2).find_map(|_| deque.steal().taken())
            })
        };
        for value in 1..=2 {
            assert!(owner.push(parcel(value)).is_ok());
        }
        let mut got: Vec<_> = owner.pop().iter().map(open).collect();
        got.extend(thief.join().unwrap().iter().map(open));
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    });
}

/// A machine whose light fence orders nothing by itself, and that cannot execute the heavy one for now: no request is settled.
struct Unfenced;

// SAFETY: the heavy fence is never executed.
unsafe impl Fence for Unfenced {
    fn light_fence(&self) {}

    fn heavy_fence(&self) -> bool {
        false
    }
}

/// S1: the same without any fence.
#[test]
fn split_unfenced_popped() {
    Model::new("split_unfenced_popped").floor(60).check(|| {
        let deque = Arc::new(SplitDeque::<Parcel, 4>::new());
        let owner = deque.owner().unwrap();
        let thief = {
            let deque = Arc::clone(&deque);
            thread::spawn(move || {
                drop(deque.request());
                (0..2).find_map(|_| deque.steal().taken())
            })
        };
        for value in 1..=2 {
            assert!(owner.push_with(parcel(value), &Unfenced).is_ok());
        }
        let mut got: Vec<_> = owner.pop_with(&Unfenced).iter().map(open).collect();
        got.extend(thief.join().unwrap().iter().map(open));
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
    });
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
        let mut got: Vec<_> = thief.join().unwrap().iter().map(open).collect();
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        got.sort_unstable();
        assert_eq!(got, [1, 2]);
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
        let mut got: Vec<_> = thief.join().unwrap().iter().map(open).collect();
        got.extend(std::iter::from_fn(|| owner.pop()).map(|p| open(&p)));
        assert_eq!(got, [1]);
    });
}

/// S9: of two requests one after the other, the first is not taken for the second.
#[test]
fn split_request_twice() {
    Model::new("split_request_twice")
        .bound(2)
        .floor(1_000)
        .check(|| {
            let deque = Arc::new(SplitDeque::<Item, 4>::new());
            let owner = deque.owner().unwrap();
            assert!(owner.push(item(1)).is_ok());
            let thieves = vec![raider(&deque, 1), raider(&deque, 1)];
            let mut got: Vec<_> = owner.pop().into_iter().collect();
            assert!(owner.push(item(2)).is_ok());
            got.extend(owner.pop());
            exactly_once(&owner, got, thieves, 2);
        });
}

/// A request while the owner offers tasks at once: the word comes back to what it must be.
#[test]
fn split_request_offer() {
    Model::new("split_request_offer")
        .bound(3)
        .floor(1_000)
        .check(|| {
            let deque = Arc::new(SplitDeque::<Item, 4>::new());
            let owner = deque.owner().unwrap();
            let thieves = vec![raider(&deque, 1)];
            owner.push_public(item(1)).unwrap();
            let got = owner.pop().into_iter().collect();
            owner.push_public(item(2)).unwrap();
            exactly_once(&owner, got, thieves, 2);
        });
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

/// S3, S4: a thief announces its sleep and looks; the owner offers and reads the announcement. One sees the other.
fn look_against(offer: fn(&Owner<'_, Item, 4>, &SplitDeque<Item, 4>)) {
    look_against_after(|_| (), offer);
}

fn look_against_after(
    prepare: fn(&Owner<'_, Item, 4>),
    offer: fn(&Owner<'_, Item, 4>, &SplitDeque<Item, 4>),
) {
    let deque = Arc::new(SplitDeque::<Item, 4>::new());
    let asleep = Arc::new(AtomicBool::new(false));
    let owner = deque.owner().unwrap();
    prepare(&owner);
    let sleeper = {
        let (deque, asleep) = (Arc::clone(&deque), Arc::clone(&asleep));
        thread::spawn(move || {
            asleep.store(true, Relaxed);
            deque.look()
        })
    };
    offer(&owner, &deque);
    let announced = asleep.load(Relaxed);
    let found = sleeper.join().unwrap();
    assert!(announced || found, "work, and a thief that sleeps");
}

#[test]
fn split_look_push_public() {
    Model::new("split_look_push_public")
        .floor(12)
        .check(|| look_against(|owner, _| owner.push_public(item(1)).unwrap()));
}

/// The same where a request stands when the owner offers.
#[test]
fn split_look_push_requested() {
    Model::new("split_look_push_requested")
        .floor(110)
        .check(|| {
            look_against(|owner, deque| {
                drop(deque.request());
                owner.push_public(item(1)).unwrap();
            })
        });
}

/// The same where it answers by a pop: what is older becomes public.
#[test]
fn split_look_pop() {
    Model::new("split_look_pop").floor(140).check(|| {
        let prepare = |owner: &Owner<'_, Item, 4>| {
            for number in 7..=8 {
                assert_eq!(owner.push(item(number)), Ok(Pushed::Private));
            }
        };
        look_against_after(prepare, |owner, deque| {
            drop(deque.request());
            assert_eq!(owner.pop(), Some(item(8)));
        })
    });
}

#[test]
fn split_look_push() {
    Model::new("split_look_push").floor(40).check(|| {
        look_against(|owner, deque| {
            deque.starve();
            assert_eq!(owner.push(item(1)), Ok(Pushed::Published));
        })
    });
}
