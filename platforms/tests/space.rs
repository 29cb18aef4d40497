//! Spaces of one process: the same results with any number of workers, errors, ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline::balance::Reason;
use tautline::prelude::*;
use tautline::space::{Misuse, Space};

const WORKERS: [usize; 3] = [1, 2, 4];

fn runtime(workers: usize) -> Runtime {
    Runtime::builder().workers(workers).build().unwrap()
}

/// The tile of a wavefront after those above and to the left: floating-point operations whose order
/// matters.
fn tile(above: &[f64], left: &[f64]) -> Vec<f64> {
    let pairs = above.iter().zip(left.iter().rev());
    pairs.map(|(a, b)| (a * 0.7 + b).sin() + 0.1 * a).collect()
}

const SIDE: usize = 20;

fn border(at: usize) -> Vec<f64> {
    (0..8).map(|i| (at * 8 + i) as f64).collect()
}

/// The bits of the corner of a wavefront without tasks.
fn corner_alone() -> Vec<u64> {
    let mut tiles: Vec<Vec<_>> = (0..=SIDE).map(|i| vec![border(i); SIDE + 1]).collect();
    tiles[0] = (0..=SIDE).map(border).collect();
    for (i, j) in (1..=SIDE).flat_map(|i| (1..=SIDE).map(move |j| (i, j))) {
        tiles[i][j] = tile(&tiles[i - 1][j], &tiles[i][j - 1]);
    }
    tiles[SIDE][SIDE].iter().map(|x| x.to_bits()).collect()
}

/// The number of tiles that read a tile, and the corner's read.
fn readers(&(i, j): &(usize, usize)) -> u32 {
    let below = i < SIDE && j > 0;
    let right = j < SIDE && i > 0;
    u32::from(below) + u32::from(right) + u32::from((i, j) == (SIDE, SIDE))
}

fn corner(workers: usize, is_declared: bool, borders_first: bool) -> Vec<u64> {
    let space = Space::<(usize, usize), Vec<f64>>::local();
    let space = match is_declared {
        true => space.readers(readers),
        false => space,
    };
    let put_borders = || {
        space.put((0, 0), border(0)).unwrap();
        for at in 1..=SIDE {
            space.put((0, at), border(at)).unwrap();
            space.put((at, 0), border(at)).unwrap();
        }
    };
    let bits = runtime(workers).run(|cx| {
        if borders_first {
            put_borders();
        }
        cx.scope(|cx| {
            let space = &space;
            for (i, j) in (1..=SIDE).flat_map(|i| (1..=SIDE).map(move |j| (i, j))) {
                let inputs = (space.get((i - 1, j)), space.get((i, j - 1)));
                cx.spawn_when(inputs, move |(above, left), _| {
                    space.put((i, j), tile(&above, &left)).unwrap();
                });
            }
            if !borders_first {
                put_borders();
            }
        });
        let last = space.get((SIDE, SIDE)).into_future();
        cx.block_on(async { last.await.iter().map(|x| x.to_bits()).collect() })
    });
    let left = (0..=SIDE).flat_map(|i| (0..=SIDE).map(move |j| (i, j)));
    let left = left.filter(|key| space.test(key)).count();
    assert_eq!(
        left,
        if is_declared {
            0
        } else {
            (SIDE + 1) * (SIDE + 1)
        }
    );
    space.close().unwrap();
    bits
}

#[test]
fn a_wavefront_has_the_same_bits_with_any_number_of_workers() {
    let expected = corner_alone();
    for workers in WORKERS {
        for (is_declared, borders_first) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            assert_eq!(
                corner(workers, is_declared, borders_first),
                expected,
                "{workers} workers"
            );
        }
    }
}

/// A chain of tasks that each take the value of the last one, change and put it.
#[test]
fn a_value_moves_through_a_chain_without_a_copy() {
    for workers in WORKERS {
        let space = Space::<usize, Vec<usize>>::local().readers(|_| 1);
        let (chain, at) = (&space, &AtomicUsize::new(0));
        runtime(workers).run(|cx| {
            for link in 0..1000 {
                cx.spawn_when(chain.take(link), move |mut values, _| {
                    values.push(link);
                    at.fetch_max(values.as_ptr().addr(), SeqCst);
                    chain.put(link + 1, values).unwrap();
                });
            }
            let values = Vec::<usize>::with_capacity(1000);
            at.store(values.as_ptr().addr(), SeqCst);
            chain.put(0, values).unwrap();
            cx.spawn_when(chain.take(1000), move |values, _| {
                assert_eq!(values.as_ptr().addr(), at.load(SeqCst));
                assert!(values.into_iter().eq(0..1000));
            });
        });
        space.close().unwrap();
    }
}

#[test]
fn errors_name_the_space_the_key_and_what_is_allowed() {
    let line = line!() + 1;
    let space = Space::<(u32, u32), String>::local().readers(|(_, reads)| *reads);
    let place = format!("space of {}:{line}:", file!());
    let check = |error: &dyn std::error::Error, end: &str| {
        let text = error.to_string();
        assert!(text.starts_with(&place) && text.ends_with(end), "{text}");
        assert_eq!(text.lines().count(), 1);
    };
    space.put((1, 2), "first".into()).unwrap();
    let error = space.put((1, 2), "second".into()).unwrap_err();
    check(&error, ": (1, 2): put before; a key is put once");
    assert_eq!(error.value, "second");
    let gets = [space.get((1, 2)), space.get((1, 2))];
    let error = space.try_get((1, 2)).unwrap_err();
    check(
        &error,
        ": (1, 2): read more often than `readers` returns for this key: 2",
    );
    drop(gets);
    assert_eq!(
        space.try_get((1, 2)).unwrap_err().misuse(),
        Misuse::Undeclared(2)
    );
    let error = space.try_get((3, 0)).unwrap_err();
    check(
        &error,
        ": (3, 0): read, but `readers` returns 0 for this key",
    );
    let error = space.try_take((3, 2)).unwrap_err();
    check(
        &error,
        ": (3, 2): taken, but `readers` returns 2 for this key; `take` requires 1",
    );
    let many: Vec<_> = (0..7).map(|key| space.get((key, 9))).collect();
    let waiting = space.close().unwrap_err();
    check(&waiting, "and 2 more keys");
    assert!(
        waiting
            .to_string()
            .contains(": closed while 7 reads wait for (")
    );
    drop(many);
    let space = Space::<u32, u32>::local();
    let error = space.try_take(1).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(": 1: taken, but reads are not declared;")
    );
}

/// A call that is refused panics with the line of its caller.
#[test]
fn refused_reads_panic_in_their_caller() {
    let space = Space::<u32, u32>::local().readers(|_| 1);
    let get = space.get(1);
    let acts: [fn(&Space<u32, u32>); 2] = [|space| drop(space.get(1)), |space| drop(space.take(1))];
    for act in acts {
        let panic = catch_unwind(AssertUnwindSafe(|| act(&space))).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(
            text.ends_with("read more often than `readers` returns for this key: 1"),
            "{text}"
        );
    }
    drop(get);
}

/// A finish that is cancelled ends its reads: their values are dropped by later puts.
#[test]
fn a_cancelled_finish_ends_its_reads() {
    for workers in WORKERS {
        let space = Space::<u32, Vec<u32>>::local().readers(|_| 1);
        let ended = runtime(workers).run(|cx| {
            cx.finish(|cx| {
                for key in 0..100 {
                    cx.spawn_when(space.get(key), |_, _| unreachable!("never put"));
                }
                cx.spawn(|cx| _ = cx.cancel(Reason::Found));
            })
        });
        assert!(ended.is_err());
        for key in 0..100 {
            space.put(key, vec![key]).unwrap();
            assert!(!space.test(&key));
        }
        space.close().unwrap();
    }
}
