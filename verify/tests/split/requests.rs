//! Thieves that request what the owner keeps private, and settle.

use super::{Item, Provided, Unfenced, exactly_once, item, raid, raider, thief};
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use tautline_core::deque::split::Pushed;
use tautline_core::deque::{SplitDeque, Steal};
use tautline_verify::model::Model;

/// Private items come out once, though a thief publishes them while the owner pops, pushes and
/// pops.
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
    // Where indices wrap the limit appears low, so that pushes publish before there is a request.
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

/// S8: a fork that was pushed before or during a request is public once the request is settled,
/// though the owner does nothing any more.
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

/// S8: the same for the older item where the owner pops the newer one concurrently.
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

/// S3, S6: an owner raises the limit that a request lowers, for an item that it has taken back when
/// the request is settled: it has seen the request then, publishes, and sees that the thief is
/// about to sleep.
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

/// The owner answers a request with half of its items, another thief takes these, and only then
/// comes the requester to settle: it must not take the other half's absence from the public part
/// for an empty deque, and sleep.
#[test]
fn split_request_half() {
    Model::new("split_request_half")
        .bound(3)
        .floor(2_200)
        .check(|| {
            let deque = Arc::new(SplitDeque::<Item, 4>::new());
            let owner = deque.owner().unwrap();
            assert_eq!(owner.push(item(1)), Ok(Pushed::Private));
            let requester = {
                let deque = Arc::clone(&deque);
                thread::spawn(move || raid(&deque))
            };
            let thieves = vec![thief(&deque, 1)];
            assert!(owner.push(item(2)).is_ok());
            let finds_nothing = requester.join().unwrap();
            assert!(
                !finds_nothing || !deque.has_private(),
                "private while the owner computes and the thief sleeps"
            );
            exactly_once(&owner, vec![], thieves, 2);
        });
}

/// S3: an owner whose pop answers a request sees what the requester did before, without any fence:
/// that it is about to sleep.
#[test]
fn split_request_seen() {
    Model::new("split_request_seen").floor(50).check(|| {
        let deque = Arc::new(SplitDeque::<Item, 4>::new());
        let asleep = Arc::new(AtomicBool::new(false));
        let theirs = (Arc::clone(&deque), Arc::clone(&asleep));
        let owner = thread::spawn(move || {
            let (deque, asleep) = theirs;
            let owner = deque.owner().unwrap();
            for number in 1..=2 {
                assert!(owner.push_with(item(number), &Unfenced).is_ok());
            }
            assert_eq!(owner.pop_with(&Unfenced), Some(item(2)));
            let answered = deque.public() > 0;
            assert!(!answered || asleep.load(Relaxed), "answered, but not seen");
        });
        asleep.store(true, Relaxed);
        drop(deque.request());
        owner.join().unwrap();
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

/// A request while the owner offers tasks at once: the word returns to its correct value.
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

/// A full deque that thieves empty, the newest item included, while one of them has yet to read the
/// slot that it won: the owner's next push does not overwrite that slot.
#[test]
fn split_full_emptied() {
    Model::new("split_full_emptied")
        .bound(3)
        .floor(100_000)
        .check(|| {
            let deque = Arc::new(SplitDeque::<Item, 2>::new());
            let owner = deque.owner().unwrap();
            assert!(owner.push_public(item(1)).is_ok());
            let thieves = vec![thief(&deque, 1), raider(&deque, 1)];
            let mut pushed = 1;
            for _ in 0..2 {
                // Refused if the deque is full: the first item has not been stolen and read.
                pushed += usize::from(owner.push_with(item(pushed + 1), &Provided).is_ok());
            }
            exactly_once(&owner, Vec::new(), thieves, pushed);
        });
}
