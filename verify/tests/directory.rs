//! Models of the copy of a shared object at one rank (`tautline_core::directory`): workers that
//! hit, and the thread that delivers the messages of the protocol.
#![cfg(tautline_loom)]

#[path = "directory/answers.rs"]
mod answers;
#[path = "directory/views.rs"]
mod views;

use loom::sync::atomic::{
    AtomicUsize,
    Ordering::{Acquire, Release},
};
use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use tautline_core::directory::{COUNTED, FlatCopy, State};
use tautline_verify::model::{Model, Turns};

/// Two words, which are always written as one.
type Pair = FlatCopy<2>;

const RELAX: Turns = Turns(2);

/// A copy whose tenure has all its counted accesses, so that a read stores nothing.
fn settled(value: usize, state: State) -> Pair {
    let copy = Pair::with_value([value; 2], state);
    for _ in 0..COUNTED {
        assert!(copy.read(&RELAX).is_some());
    }
    copy
}

/// Reads, and returns the value of both words, 0 for a miss.
fn read(copy: &Pair) -> usize {
    copy.read(&RELAX).map_or(0, |[one, other]| {
        assert_eq!(one, other, "a torn value");
        one
    })
}

/// Adds `by`, and returns the value before; 0 for a miss.
fn add(copy: &Pair, by: usize) -> usize {
    let add = |value: &mut [usize; 2]| {
        let was = value[0];
        assert_eq!(was, value[1], "a torn value");
        *value = [was + by; 2];
        was
    };
    copy.write(&RELAX, add).unwrap_or(0)
}

fn worker<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    work: impl FnOnce(&T) -> usize + 'static,
) -> JoinHandle<usize> {
    let shared = Arc::clone(shared);
    thread::spawn(move || work(&shared))
}

/// R25: a read after the acknowledgement of an invalidation is a miss, or has the next value; a
/// read that overlaps both has one of the values.
fn hit_invalidated(copy: Pair, reads: usize) {
    let shared = Arc::new((copy, AtomicUsize::new(0)));
    let reader = worker(&shared, move |(copy, acked)| {
        for _ in 0..reads {
            let acked = acked.load(Acquire);
            let allowed: &[usize] = match acked {
                0 => &[0, 1, 2],
                1 => &[0, 2],
                _ => &[2],
            };
            let value = read(copy);
            assert!(allowed.contains(&value), "{value} after {acked}");
        }
        0
    });
    let (copy, acked) = &*shared;
    assert!(copy.invalidate(&RELAX).is_some());
    acked.store(1, Release);
    copy.install(&RELAX, [2; 2], State::Shared);
    acked.store(2, Release);
    reader.join().unwrap();
}

#[test]
fn directory_hit_invalidated() {
    Model::new("directory_hit_invalidated")
        .bound(3)
        .floor(6_100)
        .check(|| hit_invalidated(settled(1, State::Shared), 2));
}

#[test]
fn directory_hit_counted_invalidated() {
    Model::new("directory_hit_counted_invalidated")
        .floor(1_000)
        .check(|| hit_invalidated(Pair::with_value([1; 2], State::Shared), 1));
}

/// A read that overlaps an invalidation, the next value, and as many accesses as its own tenure
/// had: the version alone differs.
#[test]
fn directory_hit_reinstalled() {
    Model::new("directory_hit_reinstalled")
        .bound(3)
        .floor(10_000)
        .check(|| {
            let copy = Arc::new(settled(1, State::Shared));
            let reader = worker(&copy, read);
            assert!(copy.invalidate(&RELAX).is_some());
            copy.install(&RELAX, [2; 2], State::Shared);
            for _ in 0..COUNTED {
                assert_eq!(read(&copy), 2);
            }
            let value = reader.join().unwrap();
            assert!(value <= 2, "{value}");
        });
}

/// Two readers see both words of one value while a worker writes; each is a hit.
#[test]
fn directory_hit_torn() {
    Model::new("directory_hit_torn")
        .bound(3)
        .floor(63_000)
        .check(|| {
            let copy = Arc::new(settled(1, State::Modified));
            let readers = [worker(&copy, read), worker(&copy, read)];
            assert_eq!(add(&copy, 1), 1);
            for reader in readers {
                let value = reader.join().unwrap();
                assert!(value == 1 || value == 2, "{value}");
            }
            assert_eq!(read(&copy), 2);
        });
}

/// Each of the reads of a tenure is counted, up to the limit, whatever thread ends the tenure.
#[test]
fn directory_hits_counted() {
    Model::new("directory_hits_counted")
        .bound(3)
        .floor(540)
        .check(|| {
            let copy = Pair::with_value([1; 2], State::Shared);
            for _ in 0..COUNTED - 1 {
                assert_eq!(read(&copy), 1);
            }
            let copy = Arc::new(copy);
            let readers = [worker(&copy, read), worker(&copy, read)];
            let counted = usize::from(copy.invalidate(&RELAX).unwrap());
            let hits: usize = readers.into_iter().map(|r| r.join().unwrap()).sum();
            let most = usize::from(COUNTED);
            let least = (most - 1 + hits).min(most);
            assert!((least..=most).contains(&counted), "{hits}: {counted}");
            copy.install(&RELAX, [2; 2], State::Shared);
            assert_eq!((copy.invalidate(&RELAX), read(&copy)), (Some(0), 0));
        });
}

/// Two workers write: none of the writes is lost, and one observes the other.
#[test]
fn directory_writers() {
    Model::new("directory_writers").floor(66).check(|| {
        let copy = Arc::new(Pair::with_value([1; 2], State::Modified));
        let other = worker(&copy, |copy| add(copy, 10));
        let was = (add(&copy, 1), other.join().unwrap());
        assert!(was == (1, 2) || was == (11, 1), "{was:?}");
        assert_eq!(read(&copy), 12);
    });
}

/// R26: a write precedes the recall, whose value has it, or is a miss.
#[test]
fn directory_recall() {
    Model::new("directory_recall").floor(69).check(|| {
        let copy = Arc::new(Pair::with_value([1; 2], State::Modified));
        let writer = worker(&copy, |copy| {
            let was = add(copy, 1);
            was + add(copy, 2)
        });
        let recalled = copy.recall(&RELAX, State::Invalid).unwrap();
        let [value, same] = recalled.value;
        assert_eq!(value, same, "a torn value");
        // The sum of the values that were found: of no write, of one, of both.
        let found = match value {
            1 => 0,
            2 => 1,
            4 => 3,
            _ => panic!("{value} recalled"),
        };
        assert_eq!(writer.join().unwrap(), found, "a write and a recall");
        assert_eq!((read(&copy), copy.state()), (0, State::Invalid));
    });
}

/// An invalidation waits for the write that is being performed, and is not overwritten by it.
#[test]
fn directory_write_invalidated() {
    Model::new("directory_write_invalidated")
        .floor(8)
        .check(|| {
            let copy = Arc::new(Pair::with_value([1; 2], State::Modified));
            let writer = worker(&copy, |copy| add(copy, 1));
            let counted = usize::from(copy.invalidate(&RELAX).unwrap());
            assert_eq!((writer.join().unwrap(), read(&copy)), (counted, 0));
        });
}

/// A recall that leaves a copy to read: the value stays, and the next one replaces it, though a
/// worker writes before and reads after.
#[test]
fn directory_recall_shared() {
    Model::new("directory_recall_shared")
        .bound(3)
        .floor(480)
        .check(|| {
            let copy = Arc::new(Pair::with_value([1; 2], State::Modified));
            let writer = worker(&copy, |copy| {
                let was = add(copy, 1);
                let value = read(copy);
                assert!([1 + was, 7].contains(&value), "{value} after {was}");
                was
            });
            let recalled = copy.recall(&RELAX, State::Shared).unwrap().value[0];
            copy.install(&RELAX, [7; 2], State::Shared);
            assert_eq!(writer.join().unwrap() + 1, recalled);
            assert_eq!((read(&copy), add(&copy, 1)), (7, 0));
        });
}

/// Two workers write one object each, then read the other one: at least one of them observes the
/// other's write.
#[test]
fn directory_store_buffering() {
    Model::new("directory_store_buffering")
        .floor(34_000)
        .check(|| {
            let copies = Arc::new((settled(1, State::Modified), settled(1, State::Modified)));
            let other = worker(&copies, |(one, two)| {
                assert_eq!(add(one, 1), 1);
                read(two)
            });
            let (one, two) = &*copies;
            assert_eq!(add(two, 1), 1);
            let seen = (read(one), other.join().unwrap());
            assert_ne!(seen, (1, 1), "neither observes the other");
        });
}

/// The same, where one of the writes is the installation of a value, after which its thread reads.
#[test]
fn directory_store_buffering_installed() {
    Model::new("directory_store_buffering_installed")
        .floor(36_000)
        .check(|| {
            let copies = Arc::new((settled(1, State::Shared), settled(1, State::Modified)));
            let other = worker(&copies, |(one, two)| {
                one.install(&RELAX, [2; 2], State::Modified);
                read(two)
            });
            let (one, two) = &*copies;
            assert_eq!(add(two, 1), 1);
            let seen = (read(one), other.join().unwrap());
            assert_ne!(seen, (1, 1), "neither observes the other");
        });
}
