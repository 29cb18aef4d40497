//! Histories of accesses to shared objects by ranks of one process, with their times.

mod histories;
mod ranks;

use histories::{Access, Numbered, Numbers, Padded, Shape, flaw};
use ranks::runtime;
use tautline::world;

/// Makes accesses at all ranks, in tasks, and checks the history of each object.
fn check(ranks: u32, workers: usize, shape: Shape, accesses: u64) {
    match shape.padding {
        0 => check_of::<u64>(ranks, workers, shape, accesses),
        _ => check_of::<Padded>(ranks, workers, shape, accesses),
    }
}

fn check_of<V: Numbered>(ranks: u32, workers: usize, shape: Shape, accesses: u64) {
    let all = world::loopback(ranks, |world| {
        let numbers = Numbers::<V>::create(world, shape);
        runtime(world, workers).run(|cx| {
            let histories =
                numbers.accesses(cx, world.rank().0.into(), accesses / u64::from(ranks));
            world.team().barrier().wait(cx).expect("no rank is lost");
            histories
        })
    });
    let of = |object: usize| {
        let of_ranks = all.iter().map(|rank| &rank[object][..]);
        of_ranks.collect::<Vec<_>>().concat()
    };
    histories::check(&(0..shape.objects).map(of).collect::<Vec<_>>());
}

/// Paudel, acceptance facts: objects under all protocols, which change.
#[test]
fn histories_are_those_of_one_memory() {
    for ranks in [1, 2, 4] {
        for workers in [1, 2] {
            for (objects, padding) in [(1, 0), (8, 7), (3, 4000)] {
                check(
                    ranks,
                    workers,
                    Shape { objects, padding },
                    400 * u64::from(ranks),
                );
            }
        }
    }
}

/// On 1, 8 and 64 objects, of 8 bytes, 64 bytes and 64 KiB.
#[test]
#[ignore = "cargo ci deep: ten million accesses"]
fn histories_of_ten_million_accesses() {
    let mut made = 0;
    for (padding, accesses) in [(0, 500_000), (7, 300_000), (8191, 33_000)] {
        for objects in [1, 8, 64] {
            for (ranks, workers) in [(1, 4), (2, 2), (4, 1), (4, 2)] {
                check(ranks, workers, Shape { objects, padding }, accesses);
                made += accesses;
            }
        }
    }
    assert!(made >= 9_990_000, "{made}");
}

/// The check finds a number that is given out twice or never, and a read of the past.
#[test]
fn broken_histories_are_found() {
    let access = |order, begin, end| Access { begin, end, order };
    let whole = [
        access(1, 0, 9),
        access(2, 1, 3),
        access(3, 2, 8),
        access(4, 4, 6),
        access(5, 5, 7),
    ];
    assert_eq!(flaw(whole.to_vec()), None);
    let broken = |change: &dyn Fn(&mut [Access; 5])| {
        let mut history = whole;
        change(&mut history);
        flaw(history.to_vec())
    };
    // A change is missing, and one is there twice.
    assert!(broken(&|all| all[3].order = 6).is_some());
    assert!(broken(&|all| all[4].order = 4).is_some());
    // The changes are swapped.
    assert!(broken(&|all| (all[1].order, all[3].order) = (4, 2)).is_some());
    // A read begins after the change that it has not seen, or ends before the one that it has.
    assert!(broken(&|all| (all[0].begin, all[0].end) = (4, 5)).is_some());
    assert!(broken(&|all| (all[4].begin, all[4].end) = (2, 3)).is_some());
}
