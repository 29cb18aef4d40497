//! The table of named cells: values, refused calls, cancelled reads.

use super::crew::{Cx, on, wait_until};
use super::{Counted, Drops};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use tautline_core::finish::Reason;
use tautline_core::flow::{Inputs, wait_all, when_all};
use tautline_core::port::Spin;
use tautline_core::space::{Item, Local, Misuse, Table};

pub(super) type Named<V> = Table<u32, V, Local<u32>>;

const WORKERS: [usize; 3] = [1, 2, 4];

pub(super) fn undeclared<V>() -> Named<V> {
    Table::new(4, Local::new(Spin))
}

/// A table with this number of reads of each key.
pub(super) fn declared<V>(reads: u32) -> Named<V> {
    Table::new(4, Local::new(Spin).readers(move |_| reads))
}

fn read<V: Send + Sync + 'static>(table: &Named<V>, key: u32) -> Item<V> {
    let get = table.get(&key).unwrap();
    assert!(get.is_full());
    get.into_values()
}

#[test]
fn a_value_is_read_any_number_of_times_and_put_once() {
    let table = undeclared();
    assert!(!table.is_full(&1));
    table.put(&1, "one").unwrap();
    assert!(table.is_full(&1));
    for _ in 0..100 {
        assert_eq!(*read(&table, 1), "one");
    }
    assert_eq!(table.put(&1, "two"), Err(("two", Misuse::AlreadyPut)));
    assert_eq!(*read(&table, 1), "one");
    let take = table.take(&1).map(|_| ());
    assert_eq!(take, Err(Misuse::Shared(None)));
}

/// The last declared read drops the value, and later calls are refused.
#[test]
fn declared_reads_are_counted() {
    for reads in 1..5 {
        let (table, drops) = (declared(reads), Drops::default());
        let early: Vec<_> = (1..reads).map(|_| table.get(&1).unwrap()).collect();
        table.put(&1, Counted::new(&drops)).unwrap();
        let last = read(&table, 1);
        let more = table.get(&1).map(|_| ()).unwrap_err();
        assert_eq!(more, Misuse::Undeclared(reads));
        drop(last);
        for get in early {
            assert_eq!(drops.count(), 0);
            drop(get.into_values());
        }
        assert_eq!(drops.count(), 1);
        assert!(!table.is_full(&1));
        let late = table.get(&1).map(|_| ()).unwrap_err();
        assert_eq!(late, Misuse::Undeclared(reads));
        let second = table
            .put(&1, Counted::new(&drops))
            .map_err(|(_, misuse)| misuse);
        assert_eq!(second, Err(Misuse::AlreadyPut));
        assert_eq!(drops.count(), 2, "the refused one");
    }
}

#[test]
fn a_value_without_reads_is_dropped_by_its_put() {
    let (table, drops) = (declared(0), Drops::default());
    table.put(&1, Counted::new(&drops)).unwrap();
    assert_eq!(drops.count(), 1);
    let get = table.get(&1).map(|_| ());
    assert_eq!(get, Err(Misuse::Undeclared(0)));
    let second = table
        .put(&1, Counted::new(&drops))
        .map_err(|(_, misuse)| misuse);
    assert_eq!(second, Err(Misuse::AlreadyPut));
}

/// A value is moved out by the only read, and by no read of several.
#[test]
fn the_only_read_may_take_the_value() {
    let (table, drops) = (declared(1), Drops::default());
    let early = table.take(&1).unwrap();
    assert_eq!(
        table.get(&1).map(|_| ()),
        Err(Misuse::Undeclared(1)),
        "the one read has begun"
    );
    table.put(&1, Counted::new(&drops)).unwrap();
    let value = early.into_values();
    assert!(!table.is_full(&1));
    assert_eq!(drops.count(), 0);
    drop(value);
    assert_eq!(drops.count(), 1);
    drop(table);
    assert_eq!(drops.count(), 1);
    let shared = declared::<u8>(2).take(&1).map(|_| ());
    assert_eq!(shared, Err(Misuse::Shared(Some(2))));
}

/// Reads that are given up count, before the put and after it.
#[test]
fn reads_that_are_given_up_have_ended() {
    let (table, drops) = (declared(2), Drops::default());
    drop(table.get(&1).unwrap());
    drop(table.get(&1).unwrap());
    table.put(&1, Counted::new(&drops)).unwrap();
    assert_eq!(drops.count(), 1, "no read is left");
    table.put(&2, Counted::new(&drops)).unwrap();
    drop(table.get(&2).unwrap());
    assert_eq!(drops.count(), 1);
    drop(read(&table, 2));
    assert_eq!(drops.count(), 2);
    let (table, drops) = (declared(1), Drops::default());
    let take = table.take(&1).unwrap();
    table.put(&1, Counted::new(&drops)).unwrap();
    drop(take);
    assert_eq!(drops.count(), 1);
}

/// Keys are forgotten in the order of their last reads, once there are more than are remembered.
#[test]
fn the_last_keys_are_remembered() {
    let table = Table::new(1, Local::new(Spin).readers(|_: &u32| 1).remembering(10));
    for key in 0..100 {
        table.put(&key, key).unwrap();
        drop(table.get(&key).unwrap());
    }
    let is_known = |key: &u32| table.put(key, 0).is_err();
    assert!((90..100).all(|key| is_known(&key)));
    assert!(!is_known(&0));
}

/// A table that remembers nothing takes a key for a new one.
#[test]
fn a_table_may_remember_no_key() {
    let table = Table::new(1, Local::new(Spin).readers(|_: &u32| 1).remembering(0));
    for value in 0..100 {
        table.put(&7, value).unwrap();
        assert_eq!(*table.get(&7).unwrap().into_values(), value);
    }
}

#[test]
fn a_close_lists_the_keys_that_reads_wait_for() {
    let table = undeclared();
    let gets = [1, 1, 2, 3].map(|key| table.get(&key).unwrap());
    drop(table.get(&4).unwrap());
    table.put(&3, ()).unwrap();
    let mut waiting = table.close();
    waiting.sort_unstable();
    assert_eq!(waiting, [(1, 2), (2, 1)]);
    drop(gets);
}

/// Values that are left are dropped with the table, or with the last item.
#[test]
fn items_outlive_their_table() {
    let (table, drops) = (undeclared(), Drops::default());
    (0..10).for_each(|key| table.put(&key, Counted::new(&drops)).unwrap());
    let item = read(&table, 3);
    drop(table);
    assert_eq!(drops.count(), 9);
    assert_eq!(item.0.count(), 9);
    drop(item);
    assert_eq!(drops.count(), 10);
    let (table, drops) = (declared(2), Drops::default());
    table.put(&1, Counted::new(&drops)).unwrap();
    let items = [read(&table, 1), read(&table, 1)];
    drop(table);
    assert_eq!(drops.count(), 0);
    drop(items);
    assert_eq!(drops.count(), 1);
}

/// Tasks, continuations and futures wait for keys in any order of puts; each value is read by one
/// and taken by none, or taken.
#[test]
fn inputs_of_all_kinds_wait_for_keys() {
    for workers in WORKERS {
        let (table, sum) = (declared(1), AtomicUsize::new(0));
        on(workers, |cx| {
            cx.scope(|cx| {
                let (table, sum) = (&table, &sum);
                let get = |key| table.get(&key).unwrap();
                let inputs = (get(0), table.take(&1).unwrap(), vec![get(2), get(3)]);
                cx.spawn_when(inputs, move |(a, b, rest), _| {
                    let rest: usize = rest.iter().map(|item| **item).sum();
                    sum.fetch_add(*a + b + rest, SeqCst);
                });
                let inputs = (get(4), [get(5), get(6)]);
                cx.spawn_async(async move |_| {
                    let (a, [b, c]) = wait_all(inputs).await;
                    sum.fetch_add(*a + *b + *c, SeqCst);
                });
                let (get, take) = (get(7), table.take(&8).unwrap());
                cx.spawn_async(async move |_| _ = sum.fetch_add(*get.await + take.await, SeqCst));
                for key in (0..9).rev() {
                    cx.spawn(move |_| table.put(&key, 1 << key).unwrap());
                }
            });
        });
        assert_eq!(sum.load(SeqCst), (1 << 9) - 1);
        assert!((0..9).all(|key| !table.is_full(&key)));
    }
}

/// A scope that is cancelled gives up the reads of tasks that wait, and of those that are ready.
#[test]
fn a_cancelled_scope_gives_its_reads_up() {
    for workers in WORKERS {
        let (table, drops) = (declared(1), Drops::default());
        table.put(&1, Counted::new(&drops)).unwrap();
        let ended = on(workers, |cx: &mut Cx<'_, '_>| {
            cx.finish(|cx| {
                let inputs = (table.get(&0).unwrap(), table.take(&1).unwrap());
                cx.spawn_when(inputs, |_, _| unreachable!("never put"));
                cx.spawn(|cx: &mut Cx<'_, '_>| _ = cx.cancel(Reason::Found));
            })
        });
        assert!(ended.is_err());
        assert_eq!(drops.count(), 1);
        table.put(&0, Counted::new(&drops)).unwrap();
        assert_eq!(drops.count(), 2, "the read was given up");
    }
}

/// Threads put, read and take the same keys; each value is seen by its reads, and dropped once.
#[test]
fn threads_share_a_table() {
    const KEYS: u32 = 500;
    let reads = |key: &u32| key % 4;
    for _ in 0..10 {
        let table = Table::new(4, Local::new(Spin).readers(reads).remembering(64));
        let (table, drops, seen) = (&table, Drops::default(), &AtomicUsize::new(0));
        let go = AtomicBool::new(false);
        thread::scope(|threads| {
            for reader in 0..3 {
                let go = &go;
                threads.spawn(move || {
                    wait_until("all are there", || go.load(SeqCst));
                    for key in (0..KEYS).filter(|key| reader < key % 4) {
                        let check = move |item: Item<(u32, Counted)>| assert_eq!(item.0, key);
                        match reads(&key) {
                            1 => {
                                when_all(table.take(&key).unwrap(), move |value: (u32, Counted)| {
                                    assert_eq!(value.0, key);
                                })
                            }
                            _ => when_all(table.get(&key).unwrap(), check),
                        }
                        seen.fetch_add(1, SeqCst);
                    }
                });
            }
            go.store(true, SeqCst);
            for key in 0..KEYS {
                table.put(&key, (key, Counted::new(&drops))).unwrap();
            }
        });
        assert_eq!(drops.count(), KEYS as usize);
        assert_eq!(
            seen.load(SeqCst),
            (0..KEYS).map(|key| (key % 4) as usize).sum()
        );
    }
}

/// A continuation that is released may call the table, also for the keys of the same shard.
#[test]
fn continuations_call_the_table() {
    use std::sync::Arc;
    let table = Arc::new(Table::new(1, Local::new(Spin).readers(|_: &u32| 1)));
    let seen = Arc::new(Mutex::new(Vec::new()));
    for key in 0..50 {
        let (next, log) = (Arc::clone(&table), Arc::clone(&seen));
        when_all(table.take(&key).unwrap(), move |value: u32| {
            log.lock().unwrap().push(value);
            next.put(&(key + 1), value + 1).unwrap();
        });
    }
    table.put(&0, 0).unwrap();
    assert_eq!(*seen.lock().unwrap(), (0..50).collect::<Vec<_>>());
}
