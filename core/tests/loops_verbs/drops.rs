//! Each item is dropped once, also if a body panics or the loop is cancelled.

use super::{Cx, WORKERS, on};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;

/// Counts the values that are alive; a second drop of one makes it negative.
struct Counted(usize, Arc<AtomicIsize>);

impl Counted {
    fn new(n: usize, alive: &Arc<AtomicIsize>) -> Self {
        alive.fetch_add(1, SeqCst);
        Self(n, Arc::clone(alive))
    }
}

impl Clone for Counted {
    fn clone(&self) -> Self {
        Self::new(self.0, &self.1)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

/// A verb that consumes counted items, and calls its last argument with each.
type Owning = (
    &'static str,
    fn(&mut Cx<'_, '_>, Vec<Counted>, &(dyn Fn(usize) + Sync)),
);

const OWNING: &[Owning] = &[
    ("filter_map", |cx, items, step| {
        let some = |item: Counted| {
            step(item.0);
            item.0.is_multiple_of(3).then_some(item)
        };
        _ = cx.par(items).filter_map(some).collect::<Vec<_>>();
    }),
    ("flat_map", |cx, items, step| {
        let twice = |item: Counted| [item.clone(), item];
        _ = cx
            .par(items)
            .flat_map(twice)
            .inspect(|item| step(item.0))
            .collect::<Vec<_>>();
    }),
    ("flatten", |cx, items, step| {
        let lists: Vec<_> = items.into_iter().map(|item| vec![item]).collect();
        cx.par(lists).flatten().for_each(|item| step(item.0));
    }),
    ("cloned", |cx, items, step| {
        _ = cx
            .par(&items)
            .cloned()
            .update(|item| step(item.0))
            .collect::<VecDeque<_>>();
    }),
    ("rev", |cx, items, step| {
        _ = cx
            .par(items)
            .rev()
            .inspect(|item| step(item.0))
            .collect::<Vec<_>>();
    }),
    ("step_by, skip, take", |cx, items, step| {
        let some = cx.par(items).skip(5).take(2000).step_by(3);
        some.for_each(|item| step(item.0));
    }),
    ("chain", |cx, mut items, step| {
        let second = items.split_off(items.len() / 2);
        _ = cx
            .par(items)
            .chain(second)
            .inspect(|item| step(item.0))
            .collect::<Vec<_>>();
    }),
    ("map_init", |cx, items, step| {
        let keep = |last: &mut Option<_>, item: Counted| {
            step(item.0);
            last.replace(item)
        };
        _ = cx.par(items).map_init(|| None, keep).collect::<Vec<_>>();
    }),
    ("collect into a set", |cx, items, step| {
        let numbers = cx.par(items).map(|item| {
            step(item.0);
            item.0
        });
        _ = numbers.collect::<HashSet<_>>();
    }),
    ("partition", |cx, items, step| {
        _ = cx.par(items).partition::<Vec<_>, Vec<_>>(|item| {
            step(item.0);
            item.0.is_multiple_of(2)
        });
    }),
    ("unzip", |cx, items, step| {
        let pairs = cx.par(items).map(|item| {
            step(item.0);
            (item.clone(), item)
        });
        _ = pairs.unzip::<_, _, Vec<_>, Vec<_>>();
    }),
    ("try_collect", |cx, items, step| {
        let some = |item: Counted| {
            step(item.0);
            (item.0 < 2900).then_some(item)
        };
        _ = cx.par(items).map(some).try_collect::<Option<Vec<_>>>();
    }),
    ("try_fold", |cx, items, step| {
        let last = |_: Option<Counted>, item: Counted| {
            step(item.0);
            if item.0 < 2900 {
                Ok(Some(item))
            } else {
                Err(item.0)
            }
        };
        _ = cx.par(items).try_fold(|| None, last, |a, b| Ok(a.or(b)));
    }),
    ("find_first", |cx, items, step| {
        _ = cx.par(items).find_first(|item| {
            step(item.0);
            item.0 > 2500
        });
    }),
    ("min_by_key", |cx, items, step| {
        _ = cx.par(items).min_by_key(|item| {
            step(item.0);
            item.0
        });
    }),
    ("max_by", |cx, items, step| {
        _ = cx.par(items).max_by(|a, b| {
            step(a.0);
            a.0.cmp(&b.0)
        });
    }),
    ("sort_by_cached_key", |cx, mut items, step| {
        cx.par(&mut items).sort_by_cached_key(|item| {
            step(item.0);
            item.0 % 100
        });
    }),
    ("sort_by_key", |cx, mut items, step| {
        cx.par(&mut items).sort_by_key(|item| {
            step(item.0);
            item.0 % 100
        });
    }),
];

#[test]
fn each_item_is_dropped_once_whether_a_body_panics_or_not() {
    for workers in WORKERS {
        for (name, run) in OWNING {
            for panics_at in [0, 1, 1499, usize::MAX] {
                let alive = Arc::new(AtomicIsize::new(0));
                let items = (0..3000).map(|n| Counted::new(n, &alive)).collect();
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    on(workers, |cx| {
                        // Some verbs do not see each item.
                        run(cx, items, &|n| {
                            assert!(n < panics_at || n > panics_at + 5, "item")
                        });
                    });
                }));
                assert_eq!(ended.is_err(), panics_at < 3000, "{name}, {panics_at}");
                assert_eq!(
                    alive.load(SeqCst),
                    0,
                    "{name}, {workers} workers, {panics_at}"
                );
            }
        }
    }
}

#[test]
fn a_cancelled_loop_drops_its_items_and_unwinds() {
    for workers in WORKERS {
        on(workers, |cx| {
            for (name, run) in OWNING {
                for is_early in [true, false] {
                    let (alive, steps) = (Arc::new(AtomicIsize::new(0)), AtomicUsize::new(0));
                    let items = (0..3000).map(|n| Counted::new(n, &alive)).collect();
                    let ended = cx.finish(|cx| {
                        if is_early {
                            cx.cancel(Reason::Found);
                        }
                        let task = cx.task();
                        run(cx, items, &|_| {
                            assert!(!is_early, "{name}: an item of a cancelled loop");
                            if steps.fetch_add(1, SeqCst) == 50 {
                                task.cancel(Reason::Found);
                            }
                        });
                        assert!(!is_early, "{name} has returned");
                    });
                    assert!(ended.is_err(), "{name}");
                    assert_eq!(alive.load(SeqCst), 0, "{name}, {workers} workers");
                }
            }
        });
    }
}
