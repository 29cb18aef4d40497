//! Models of the table of named cells (`tautline_core::space::Table`).
#![cfg(tautline_loom)]

use loom::thread::{self, JoinHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline_core::flow::{Inputs, when_all};
use tautline_core::port::Relax;
use tautline_core::space::{Declared, Item, Misuse, Policy, Table};
use tautline_verify::model::{Model, Turns};

/// Counts of an execution, outside of the model.
#[derive(Default)]
struct Counts {
    values: AtomicUsize,
    policies: AtomicUsize,
    read: AtomicUsize,
}

/// Declares this number of reads of each key.
struct Reads(u32, Arc<Counts>);

impl Relax for Reads {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

impl Policy<usize> for Reads {
    fn declared(&self, _: &usize) -> Option<Declared> {
        let (here, total) = (self.0, self.0);
        Some(Declared { here, total })
    }

    fn remembered(&self) -> usize {
        100
    }
}

impl Drop for Reads {
    fn drop(&mut self) {
        self.1.policies.fetch_add(1, SeqCst);
    }
}

/// Ten times its key.
struct Value(usize, Arc<Counts>);

impl Drop for Value {
    fn drop(&mut self) {
        self.1.values.fetch_add(1, SeqCst);
    }
}

struct Scene {
    table: Table<usize, Value, Reads>,
    counts: Arc<Counts>,
}

impl Scene {
    fn new(reads: u32) -> Arc<Self> {
        let counts = Arc::default();
        let table = Table::new(1, Reads(reads, Arc::clone(&counts)));
        Arc::new(Self { table, counts })
    }

    fn put(&self, key: usize) {
        let value = Value(10 * key, Arc::clone(&self.counts));
        let refused = self.table.put(&key, value).err();
        assert!(refused.is_none(), "the only put");
    }

    /// Reads a key in a continuation.
    fn read(&self, key: usize) {
        let counts = Arc::clone(&self.counts);
        when_all(self.table.get(&key).unwrap(), move |item: Item<Value>| {
            assert_eq!(item.0, 10 * key);
            counts.read.fetch_add(1, SeqCst);
        });
    }

    /// Checks that `keys` are gone, with their values, and that nothing is left of the table.
    fn end(self: Arc<Self>, keys: usize, read: usize) {
        let scene = Arc::into_inner(self).expect("all threads have ended");
        for key in 1..=keys {
            assert!(!scene.table.is_full(&key));
            assert!(matches!(scene.table.get(&key), Err(Misuse::Undeclared(_))));
        }
        assert_eq!(scene.counts.values.load(SeqCst), keys, "each dropped once");
        assert_eq!(scene.counts.read.load(SeqCst), read);
        drop(scene.table);
        assert_eq!(scene.counts.policies.load(SeqCst), 1, "no entry is left");
    }
}

fn on(scene: &Arc<Scene>, act: impl FnOnce(&Scene) + Send + 'static) -> JoinHandle<()> {
    let scene = Arc::clone(scene);
    thread::spawn(move || act(&scene))
}

/// Two reads and the put of a key that the table does not have: each read sees the value once.
#[test]
fn space_put_get() {
    Model::new("space_put_get").bound(2).floor(9_000).check(|| {
        let scene = Scene::new(2);
        let readers = [
            on(&scene, |scene| scene.read(1)),
            on(&scene, |scene| scene.read(1)),
        ];
        scene.put(1);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        scene.end(1, 2);
    });
}

/// Two reads end while a third thread uses the key: the value is dropped after both, once.
#[test]
fn space_last_read() {
    Model::new("space_last_read").floor(45_000).check(|| {
        let scene = Scene::new(2);
        scene.put(1);
        let item = || scene.table.get(&1).unwrap().into_values();
        let readers = [item(), item()].map(|item| {
            let end = move || {
                assert_eq!(item.0, 10);
                drop(item);
            };
            thread::spawn(end)
        });
        assert!(matches!(scene.table.get(&1), Err(Misuse::Undeclared(2))));
        let second = scene.table.put(&1, Value(20, Arc::default()));
        assert!(matches!(second, Err((_, Misuse::AlreadyPut))));
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        drop(second);
        scene.end(1, 0);
    });
}

/// The only read moves the value out while the put ends.
#[test]
fn space_take() {
    Model::new("space_take").floor(14_000).check(|| {
        let scene = Scene::new(1);
        let taker = on(&scene, |scene| {
            let counts = Arc::clone(&scene.counts);
            when_all(scene.table.take(&1).unwrap(), move |value: Value| {
                assert_eq!((value.0, counts.values.load(SeqCst)), (10, 0));
                counts.read.fetch_add(1, SeqCst);
            });
        });
        scene.put(1);
        taker.join().unwrap();
        scene.end(1, 1);
    });
}

/// The only read is given up while the put fills the cell: the value is dropped by the later one.
#[test]
fn space_given_up() {
    Model::new("space_given_up").floor(350).check(|| {
        let scene = Scene::new(1);
        let reader = on(&scene, |scene| drop(scene.table.get(&1).unwrap()));
        scene.put(1);
        reader.join().unwrap();
        scene.end(1, 0);
    });
}

/// A wait for two keys is released while it registers: its reads are the last, so both entries are
/// freed.
#[test]
fn space_free_while_registering() {
    Model::new("space_free_while_registering")
        .bound(2)
        .floor(6_000)
        .check(|| {
            let scene = Scene::new(1);
            let putters = [
                on(&scene, |scene| scene.put(1)),
                on(&scene, |scene| scene.put(2)),
            ];
            let both = (scene.table.get(&1).unwrap(), scene.table.take(&2).unwrap());
            let counts = Arc::clone(&scene.counts);
            when_all(both, move |(one, two): (Item<Value>, Value)| {
                assert_eq!((one.0, two.0), (10, 20));
                counts.read.fetch_add(1, SeqCst);
            });
            putters
                .into_iter()
                .for_each(|putter| putter.join().unwrap());
            scene.end(2, 1);
        });
}

/// Both declared reads end while the put is kept, and a further read of it: the value is dropped
/// after all of them.
#[test]
fn space_kept() {
    Model::new("space_kept").floor(2_900).check(|| {
        let scene = Scene::new(2);
        let value = Value(10, Arc::clone(&scene.counts));
        let kept = scene.table.keep(&1, value).map_err(|(_, misuse)| misuse);
        let (waiters, put) = kept.unwrap();
        drop(waiters);
        let item = put.item().expect("no read takes the value");
        let readers = [(); 2].map(|()| on(&scene, |scene| drop(scene.table.get(&1).unwrap())));
        drop(put);
        assert_eq!((item.0, scene.counts.values.load(SeqCst)), (10, 0));
        drop(item);
        readers
            .into_iter()
            .for_each(|reader| reader.join().unwrap());
        scene.end(1, 0);
    });
}

/// The table ends while a put comes: the read gets the value, or learns that it is missing and the
/// put is refused.
#[test]
fn space_failed() {
    Model::new("space_failed").floor(65).check(|| {
        let scene = Scene::new(1);
        let get = scene.table.get(&1).unwrap();
        let putter = on(&scene, |scene| {
            let value = Value(10, Arc::clone(&scene.counts));
            let is_put = scene.table.put(&1, value).is_ok();
            scene.counts.read.fetch_add(usize::from(is_put), SeqCst);
        });
        drop(scene.table.fail());
        // A put that has begun fills the cell once it ends.
        putter.join().unwrap();
        assert!(get.is_full());
        let is_missing = Inputs::is_missing(&get);
        if !is_missing {
            assert_eq!(get.into_values().0, 10);
        } else {
            drop(get);
        }
        assert_eq!(scene.counts.read.load(SeqCst), usize::from(!is_missing));
        let values = scene.counts.values.load(SeqCst);
        assert_eq!(values, 1, "read, or refused, and dropped");
    });
}
