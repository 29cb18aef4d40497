//! Store buffering: a thief that is about to sleep polls, and the owner offers; at least one
//! observes the other.

use super::{Item, item};
use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::thread;
use std::sync::Arc;
use tautline_core::deque::SplitDeque;
use tautline_core::deque::split::{Owner, Pushed};
use tautline_verify::model::Model;

/// S3, S4: a thief announces its sleep and polls; the owner offers and reads the announcement. One
/// sees the other.
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
