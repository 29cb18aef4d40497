//! Inputs that own their cells: a table of shared entries, of which tasks read or take the values.

use super::WORKERS;
use super::crew::{Cx, on, panic_of, wait_until};
use std::collections::HashMap;
use std::ops::Deref;
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use tautline_core::finish::Reason;
use tautline_core::flow::{CellRef, Ddf, Inputs, OneInput, wait_all, when_all};

/// An entry of a table: a cell, and the number of reads that have ended.
struct Entry {
    cell: Ddf<Mutex<Option<String>>>,
    reads: AtomicUsize,
}

/// Entries by key. Each is made by the first call that names it.
#[derive(Default)]
struct Table(Mutex<HashMap<u32, Arc<Entry>>>);

impl Table {
    fn entry(&self, key: u32) -> Arc<Entry> {
        let new = || {
            Arc::new(Entry {
                cell: Ddf::new(),
                reads: AtomicUsize::new(0),
            })
        };
        Arc::clone(self.0.lock().unwrap().entry(key).or_insert_with(new))
    }

    fn put(&self, key: u32, value: &str) {
        let value = Mutex::new(Some(value.to_owned()));
        assert!(self.entry(key).cell.put(value).is_ok());
    }

    fn get(&self, key: u32) -> Get {
        Get(self.entry(key))
    }

    fn take(&self, key: u32) -> Take {
        Take(self.entry(key))
    }

    /// Removes an entry, as a table does with a value that has no further reader.
    fn remove(&self, key: u32) -> Weak<Entry> {
        Arc::downgrade(&self.0.lock().unwrap().remove(&key).unwrap())
    }
}

/// Waits for an entry that it owns, and becomes an [`Item`].
struct Get(Arc<Entry>);

/// A value that is read; dropping it counts the read.
struct Item(Arc<Entry>);

impl Item {
    fn text(&self) -> String {
        let value = self.0.cell.get().unwrap().lock();
        let value = value.unwrap_or_else(PoisonError::into_inner);
        value.deref().clone().unwrap_or_default()
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.0.reads.fetch_add(1, SeqCst);
    }
}

// SAFETY: one cell, always the same; nothing panics.
unsafe impl<'a> Inputs<'a> for Get {
    type Values = Item;

    fn count(&self) -> usize {
        1
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        let share = || CellRef::shared(Arc::clone(&self.0), |entry| entry.cell.latch());
        (index == 0).then(share)
    }

    fn is_full(&self) -> bool {
        self.0.cell.is_full()
    }

    fn into_values(self) -> Item {
        Item(self.0)
    }
}

// SAFETY: one cell.
unsafe impl OneInput<'_> for Get {}

/// Waits for an entry that it owns, and moves the value out of it.
struct Take(Arc<Entry>);

// SAFETY: one cell, always the same; nothing panics.
unsafe impl<'a> Inputs<'a> for Take {
    type Values = Option<String>;

    fn count(&self) -> usize {
        1
    }

    fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
        let share = || CellRef::shared(Arc::clone(&self.0), |entry| entry.cell.latch());
        (index == 0).then(share)
    }

    fn is_full(&self) -> bool {
        self.0.cell.is_full()
    }

    fn into_values(self) -> Option<String> {
        let value = self.0.cell.get().ok()?.lock();
        value.unwrap_or_else(PoisonError::into_inner).take()
    }
}

// SAFETY: one cell.
unsafe impl OneInput<'_> for Take {}

/// Owned and borrowed inputs in one wait, in both orders of puts and before the spawn: the values
/// are moved out or counted, and the entries are freed once the table gives them up.
#[test]
fn owned_and_borrowed_inputs_are_waited_for_together() {
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]];
    for (workers, order) in WORKERS.into_iter().flat_map(|w| orders.map(|o| (w, o))) {
        for early in 0..=order.len() {
            let (table, own, seen) = (Table::default(), Ddf::new(), Mutex::new(None));
            let put = |at: usize| match at {
                0 => own.put(7).unwrap(),
                at => table.put(at as u32, ["", "one", "two", "three"][at]),
            };
            order[..early].iter().for_each(|at| put(*at));
            on(workers, |cx| {
                cx.scope(|cx| {
                    let inputs = (&own, table.take(1), vec![table.get(2), table.get(3)]);
                    cx.spawn_when(inputs, |(own, one, rest), _| {
                        let rest: Vec<_> = rest.iter().map(Item::text).collect();
                        *seen.lock().unwrap() = Some((*own, one, rest));
                    });
                    cx.spawn(|_| order[early..].iter().for_each(|at| put(*at)));
                });
            });
            let seen = seen.into_inner().unwrap().unwrap();
            let rest = vec!["two".to_owned(), "three".to_owned()];
            assert_eq!(seen, (7, Some("one".to_owned()), rest), "{order:?} {early}");
            let reads = |key| table.entry(key).reads.load(SeqCst);
            assert_eq!([1, 2, 3].map(reads), [0, 1, 1]);
            assert_eq!(table.take(1).into_values(), None, "moved out");
            for key in 1..=3 {
                assert_eq!(table.remove(key).strong_count(), 0, "{key} is freed");
            }
        }
    }
}

/// Opens a finish that is cancelled once `body` has returned.
fn cancelled<'e>(workers: usize, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) + Send + 'e) {
    let ended = on(workers, |cx| {
        cx.finish(|cx| {
            body(cx);
            cx.spawn(|cx: &mut Cx<'_, '_>| _ = cx.cancel(Reason::Found));
        })
    });
    assert_eq!(ended.unwrap_err().reason, Reason::Found);
}

/// A cancelled wait drops its inputs before the scope ends, and with them cells that only they own,
/// in which the task itself waits.
#[test]
fn a_cancelled_wait_drops_its_inputs() {
    for workers in WORKERS {
        let (table, never) = (Table::default(), Ddf::<()>::new());
        let dropped = AtomicUsize::new(0);
        struct Body<'a>(&'a AtomicUsize);
        impl Drop for Body<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
            }
        }
        let entries: Vec<Weak<Entry>> = (0..4).map(|k| Arc::downgrade(&table.entry(k))).collect();
        table.put(2, "early");
        cancelled(workers, |cx| {
            let bodies = [(); 3].map(|()| Body(&dropped));
            let [a, b, c] = bodies;
            cx.spawn_when(table.get(0), move |_, _| drop(a));
            cx.spawn_when((table.get(2), table.take(1)), move |_, _| drop(b));
            cx.spawn_when((&never, table.take(3)), move |_, _| drop(c));
            (0..4).for_each(|key| _ = table.remove(key));
            let alive = entries.iter().map(Weak::strong_count).collect::<Vec<_>>();
            assert_eq!(alive, [1; 4], "the inputs own the entries");
        });
        assert_eq!(dropped.load(SeqCst), 3);
        let left = entries.iter().map(Weak::strong_count).sum::<usize>();
        assert_eq!(left, 0, "{workers} workers");
        never.put(()).unwrap();
    }
}

/// Inputs of a task that was ready, but is dropped as its scope is cancelled, are dropped: no value
/// is read.
#[test]
fn inputs_of_a_dropped_task_are_dropped() {
    let table = Table::default();
    let entry = table.entry(0);
    cancelled(1, |cx| {
        cx.cancel(Reason::Found);
        cx.spawn_when(table.get(0), |_, _| unreachable!("the scope is cancelled"));
        cx.spawn_when((table.get(0), table.get(0)), |_, _| {
            unreachable!("likewise")
        });
        table.put(0, "late");
        cx.spawn_when(table.get(0), |_, _| unreachable!("likewise"));
    });
    table.remove(0);
    assert_eq!(entry.reads.load(SeqCst), 0);
    assert_eq!(Arc::strong_count(&entry), 1);
}

/// Puts race with the abort, and with the table that gives up its entries: each task runs or is
/// dropped, and each entry is freed.
#[test]
fn puts_race_with_the_abort_and_the_table() {
    const MANY: u32 = 30;
    for workers in WORKERS {
        for _ in 0..60 {
            let (table, go) = (Table::default(), AtomicBool::new(false));
            let entries: Vec<_> = (0..MANY).map(|k| Arc::downgrade(&table.entry(k))).collect();
            let fates = AtomicUsize::new(0);
            struct Fate<'a>(&'a AtomicUsize);
            impl Drop for Fate<'_> {
                fn drop(&mut self) {
                    self.0.fetch_add(1, SeqCst);
                }
            }
            thread::scope(|threads| {
                for parity in 0..2 {
                    let (table, go) = (&table, &go);
                    threads.spawn(move || {
                        wait_until("the tasks wait", || go.load(SeqCst));
                        for key in (0..MANY).filter(|key| key % 2 == parity) {
                            table.put(key, "value");
                            table.remove(key);
                        }
                    });
                }
                _ = on(workers, |cx| {
                    cx.finish(|cx| {
                        for key in 0..MANY {
                            let [one, two] = [(); 2].map(|()| Fate(&fates));
                            let next = (key + 1) % MANY;
                            cx.spawn_when(table.get(key), |item, _| drop((item, one)));
                            let both = (table.get(next), table.take(key));
                            cx.spawn_when(both, |both, _| drop((both, two)));
                        }
                        cx.spawn(|cx| {
                            go.store(true, SeqCst);
                            wait_until("the first put", || {
                                entries[0].strong_count() == 0
                                    || entries[0]
                                        .upgrade()
                                        .is_some_and(|entry| entry.cell.is_full())
                            });
                            cx.cancel(Reason::Found);
                        });
                    })
                });
            });
            assert_eq!(fates.load(SeqCst), 2 * MANY as usize);
            let left = entries.iter().map(Weak::strong_count).sum::<usize>();
            assert_eq!(left, 0, "{workers} workers");
        }
    }
}

/// A panic of an input that a cancelled wait drops is discarded, as the scope has its cause, and
/// does not keep the other inputs.
#[test]
fn an_input_may_panic_when_it_is_dropped() {
    struct Spring(Get);
    impl Drop for Spring {
        fn drop(&mut self) {
            panic_any("dropped");
        }
    }
    // SAFETY: those of `Get`.
    unsafe impl<'a> Inputs<'a> for Spring {
        type Values = ();

        fn count(&self) -> usize {
            1
        }

        fn latch_at(&self, index: usize) -> Option<CellRef<'a>> {
            self.0.latch_at(index)
        }

        fn is_full(&self) -> bool {
            self.0.is_full()
        }

        fn into_values(self) {}
    }
    for workers in WORKERS {
        let table = Table::default();
        let entries = [0, 1].map(|key| Arc::downgrade(&table.entry(key)));
        let word = panic_of(|| {
            cancelled(workers, |cx| {
                let inputs = (Spring(table.get(0)), table.get(1));
                cx.spawn_when(inputs, |_, _| unreachable!("never put"));
                (0..2).for_each(|key| _ = table.remove(key));
            });
        });
        assert_eq!(word, None);
        assert_eq!(entries.map(|entry| entry.strong_count()), [0, 0]);
    }
}

/// A body that panics drops its values.
#[test]
fn a_panic_drops_the_values() {
    for workers in WORKERS {
        let table = Table::default();
        table.put(1, "early");
        let word = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| {
                    cx.spawn_when((table.get(0), table.get(1)), |_, _| panic_any("body"));
                    table.put(0, "value");
                });
            });
        });
        assert_eq!(word, Some("body"));
        let reads = [0, 1].map(|key| table.entry(key).reads.load(SeqCst));
        assert_eq!(reads, [1, 1]);
        let left = [0, 1].map(|key| table.remove(key).strong_count());
        assert_eq!(left, [0, 0]);
    }
}

/// Futures and continuations take the same inputs.
#[test]
fn futures_and_continuations_take_owned_inputs() {
    static SEEN: Mutex<Option<String>> = Mutex::new(None);
    let table = Table::default();
    when_all(
        (table.get(0), table.take(1)),
        |(item, taken): (Item, Option<String>)| {
            *SEEN.lock().unwrap() = Some(item.text() + &taken.unwrap());
        },
    );
    table.put(1, "b");
    table.put(0, "a");
    assert_eq!(SEEN.lock().unwrap().take().as_deref(), Some("ab"));
    for workers in WORKERS {
        let (table, text) = (Table::default(), Mutex::new(String::new()));
        on(workers, |cx| {
            cx.scope(|cx| {
                let inputs = (table.get(0), [table.take(1), table.take(2)]);
                let text = &text;
                cx.spawn_async(async move |_| {
                    let (item, [one, two]) = wait_all(inputs).await;
                    *text.lock().unwrap() = item.text() + &one.unwrap() + &two.unwrap();
                });
                cx.spawn(|_| {
                    [(2, "c"), (0, "a"), (1, "b")]
                        .into_iter()
                        .for_each(|(k, v)| table.put(k, v))
                });
            });
        });
        assert_eq!(*text.lock().unwrap(), "abc");
        let reads = [0, 1, 2].map(|key| table.entry(key).reads.load(SeqCst));
        assert_eq!(reads, [1, 0, 0]);
        let left = [0, 1, 2].map(|key| table.remove(key).strong_count());
        assert_eq!(left, [0; 3]);
    }
}
