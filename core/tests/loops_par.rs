//! Parallel iteration: each item once, in every source and adaptor; results in order; early ends,
//! panics and drops.

#[path = "task/crew.rs"]
#[allow(dead_code, reason = "shared with the tests of tasks")]
mod crew;

use crew::on;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;

const WORKERS: [usize; 4] = [1, 2, 4, 8];
const LENGTHS: [usize; 6] = [0, 1, 2, 7, 1000, 50_000];

/// A counter of drops, which counts each item once at most.
struct Item<'d> {
    index: usize,
    drops: &'d [AtomicU32],
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.drops[self.index].fetch_add(1, SeqCst);
    }
}

fn counters(len: usize) -> Vec<AtomicU32> {
    (0..len).map(|_| AtomicU32::new(0)).collect()
}

fn items(drops: &[AtomicU32]) -> Vec<Item<'_>> {
    (0..drops.len())
        .map(|index| Item { index, drops })
        .collect()
}

fn all_once(counters: &[AtomicU32]) -> bool {
    counters.iter().all(|count| count.load(SeqCst) == 1)
}

#[test]
fn each_item_of_each_source_is_taken_once() {
    for workers in WORKERS {
        for len in LENGTHS {
            let (mut numbers, drops) = ((0..len).collect::<Vec<_>>(), counters(len));
            let expected: Vec<usize> = (0..len).map(|i| 2 * i + 1).collect();
            on(workers, |cx| {
                cx.par(&mut numbers).for_each(|n| *n = 2 * *n + 1);
                assert_eq!(numbers, expected);
                assert_eq!(cx.par(&numbers).map(|n| *n).collect::<Vec<_>>(), expected);
                assert_eq!(
                    cx.par(0..len).map(|i| 2 * i + 1).collect::<Vec<_>>(),
                    expected
                );
                assert_eq!(
                    cx.par(items(&drops))
                        .map(|item| 2 * item.index + 1)
                        .collect::<Vec<_>>(),
                    expected
                );
            });
            assert!(all_once(&drops), "{workers} workers, {len} items");
        }
    }
}

#[test]
fn adaptors_agree_with_sequential_iterators() {
    for workers in WORKERS {
        for len in LENGTHS {
            let x: Vec<usize> = (0..len).map(|i| i * 7 % 31).collect();
            on(workers, |cx| {
                let even = cx
                    .par(&x)
                    .enumerate()
                    .filter(|(i, n)| (i + *n) % 2 == 0)
                    .collect::<Vec<_>>();
                let expected = x.iter().enumerate().filter(|(i, n)| (i + *n) % 2 == 0);
                assert!(expected.eq(even));
                let pairs = cx
                    .par(&x)
                    .zip(3..len + 1)
                    .map(|(a, b)| a * b)
                    .collect::<Vec<_>>();
                assert!(x.iter().zip(3..len + 1).map(|(a, b)| a * b).eq(pairs));
                let chunks = cx
                    .par(&x)
                    .chunks(9)
                    .map(|chunk| chunk.iter().sum::<usize>())
                    .collect::<Vec<_>>();
                assert!(
                    x.chunks(9)
                        .map(|chunk| chunk.iter().sum::<usize>())
                        .eq(chunks)
                );
                assert_eq!(cx.par(&x).map(|n| *n).sum::<usize>(), x.iter().sum());
                assert_eq!(
                    (cx.par(&x).min(), cx.par(&x).max()),
                    (x.iter().min(), x.iter().max())
                );
                assert_eq!(
                    cx.par(&x).filter(|n| **n > 9).count(),
                    x.iter().filter(|n| **n > 9).count()
                );
            });
        }
    }
}

#[test]
fn mutable_chunks_and_tiles_cover_a_slice_once() {
    for workers in WORKERS {
        let (rows, columns) = (37, 53);
        let mut grid = vec![0; rows * columns];
        on(workers, |cx| {
            cx.par(&mut grid)
                .chunks(10)
                .for_each(|chunk| chunk.iter_mut().for_each(|n| *n += 1));
            assert!(grid.iter().all(|n| *n == 1));
            cx.par(&mut grid)
                .tiles_mut(columns, (8, 6))
                .for_each(|mut tile| {
                    let (top, left) = tile.origin();
                    let width = tile.width();
                    for (row, cells) in tile.rows_mut().enumerate() {
                        assert_eq!(cells.len(), width);
                        for (column, cell) in cells.iter_mut().enumerate() {
                            *cell += columns * (top + row) + left + column;
                        }
                    }
                });
        });
        assert!(grid.into_iter().eq(1..=rows * columns));
    }
}

#[test]
fn shared_tiles_cover_a_slice_once() {
    for workers in WORKERS {
        let (rows, columns) = (37, 53);
        let grid: Vec<usize> = (0..rows * columns).collect();
        let tiles = on(workers, |cx| {
            let tiles = cx.par(&grid).tiles(columns, (8, 6));
            tiles.map(|tile| (tile.origin(), tile)).collect::<Vec<_>>()
        });
        let mut seen = vec![0; grid.len()];
        for (number, ((top, left), tile)) in tiles.into_iter().enumerate() {
            assert_eq!((top, left), (number / 9 * 8, number % 9 * 6));
            assert_eq!(tile.rows().count(), tile.height());
            for (row, cells) in tile.rows().enumerate() {
                assert_eq!((cells, cells.len()), (&tile[row], tile.width()));
                for (column, cell) in cells.iter().enumerate() {
                    assert_eq!(*cell, columns * (top + row) + left + column);
                    seen[*cell] += 1;
                }
            }
        }
        assert!(seen.into_iter().all(|n| n == 1));
    }
}

#[test]
fn a_grid_without_whole_rows_has_no_tiles() {
    for (columns, tile) in [(0, (1, 1)), (7, (1, 1)), (5, (0, 1)), (5, (1, 0))] {
        let refused = catch_unwind(|| on(1, |cx| cx.par(&[1; 10]).tiles(columns, tile).count()));
        assert!(refused.is_err(), "{columns} columns, tiles of {tile:?}");
    }
}

#[test]
fn a_search_ends_a_loop_without_end() {
    for workers in WORKERS {
        on(workers, |cx| {
            assert!(cx.par(0..usize::MAX as u64).any(|i| i == 12_345));
            assert!(!cx.par(0..usize::MAX).all(|i| i != 12_345));
            assert_eq!(
                cx.par(i64::MIN..i64::MIN + isize::MAX as i64)
                    .find_any(|i| *i == i64::MIN + 3),
                Some(i64::MIN + 3)
            );
            // Beyond 2^32, and longer where words are.
            let far = (1u64 << 33) + 5;
            assert_eq!(
                cx.par(1u64 << 33..(1 << 33) + (usize::MAX as u64 >> 24))
                    .find_any(|i| *i == far),
                Some(far)
            );
            assert_eq!(cx.par(-5..5i32).find_any(|_| false), None);
        });
    }
}

#[test]
fn items_without_a_size_are_counted() {
    for workers in WORKERS {
        on(workers, |cx| {
            assert_eq!(cx.par(vec![(); 100_000]).collect::<Vec<_>>().len(), 100_000);
            assert_eq!(cx.par(&mut [(); 1000]).count(), 1000);
            assert_eq!(cx.par(&vec![(); 1000]).map(|()| 1).sum::<u32>(), 1000);
        });
    }
}

#[test]
fn a_panic_drops_each_owned_item_once() {
    for workers in WORKERS {
        for at in [0, 1, 500, 9_999] {
            let (taken, made) = (counters(10_000), AtomicUsize::new(0));
            let gone = AtomicUsize::new(0);
            struct Made<'m>(&'m AtomicUsize);
            impl Drop for Made<'_> {
                fn drop(&mut self) {
                    self.0.fetch_add(1, SeqCst);
                }
            }
            let ended = catch_unwind(AssertUnwindSafe(|| {
                on(workers, |cx| {
                    let map = |item: Item| {
                        assert_ne!(item.index, at, "the panic of one item");
                        made.fetch_add(1, SeqCst);
                        Made(&gone)
                    };
                    cx.par(items(&taken)).map(map).collect::<Vec<_>>().len()
                })
            }));
            let payload = ended.expect_err("the panic of the function");
            let message = payload.downcast_ref::<String>().expect("a message");
            assert!(message.contains("the panic of one item"), "{message}");
            assert!(all_once(&taken), "{workers} workers, a panic at {at}");
            assert_eq!(
                made.into_inner(),
                gone.into_inner(),
                "what was collected is dropped"
            );
        }
    }
}

#[test]
fn a_search_drops_each_owned_item_once() {
    for workers in WORKERS {
        let drops = counters(10_000);
        on(workers, |cx| {
            let found = cx.par(items(&drops)).find_any(|item| item.index == 77);
            assert_eq!(found.map(|item| item.index), Some(77));
        });
        assert!(all_once(&drops), "{workers} workers");
    }
}

#[test]
fn a_cancelled_loop_drops_its_items_and_its_finish_reports_it() {
    for workers in WORKERS {
        let drops = counters(10_000);
        on(workers, |cx| {
            let ended = cx.finish(|cx| {
                cx.cancel(Reason::Found);
                _ = cx.par(items(&drops)).collect::<Vec<_>>();
            });
            assert_eq!(
                ended.map_err(|cancelled| cancelled.reason),
                Err(Reason::Found)
            );
        });
        assert!(all_once(&drops), "{workers} workers");
    }
}

/// Items of a loop that is cancelled in its middle are dropped, each once, whether they were
/// collected or not.
#[test]
fn what_a_cancelled_loop_has_collected_is_dropped() {
    for workers in WORKERS {
        let drops = counters(100_000);
        on(workers, |cx| {
            let ended = cx.finish(|cx| {
                let task = cx.task();
                let cancel = |item: &Item| item.index == 30_000 && task.cancel(Reason::Found);
                _ = cx
                    .par(items(&drops))
                    .filter(|item| !cancel(item))
                    .collect::<Vec<_>>();
            });
            assert!(ended.is_err());
        });
        assert!(all_once(&drops), "{workers} workers");
    }
}

#[test]
fn bodies_with_a_context_nest_loops() {
    for workers in WORKERS {
        let rows: Vec<Vec<usize>> = (0..60).map(|row| (0..row * 10).collect()).collect();
        let mut sums = vec![0; rows.len()];
        on(workers, |cx| {
            let sums = cx.par(&rows).zip(&mut sums);
            sums.with_cx()
                .for_each(|cx, (row, sum)| *sum = cx.par(row).sum());
        });
        assert!(rows.iter().map(|row| row.iter().sum::<usize>()).eq(sums));
    }
}

/// A vector of what few indices yield has no place for the others.
#[test]
fn a_filter_needs_memory_for_its_results_only() {
    for workers in WORKERS {
        on(workers, |cx| {
            let few = cx.par(0..1_000_000u32).filter(|i| i % 100_000 == 7);
            let few = few.map(|i| i / 100_000).collect::<Vec<_>>();
            assert_eq!(few, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
            assert!(few.capacity() < 1000, "{}", few.capacity());
        });
    }
}

/// There may be more indices than memory for an item of each.
#[test]
fn a_filter_of_more_indices_than_memory_has_its_results_in_order() {
    const LARGE: usize = 1 << 18;
    on(2, |cx| {
        let few = cx.par(0..1usize << 29).filter(|i| i % (1 << 26) == 77);
        let few = few.map(|i| [(i >> 26) as u8; LARGE]).collect::<Vec<_>>();
        let first: Vec<u8> = few.iter().map(|item| item[0]).collect();
        assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
    });
}
