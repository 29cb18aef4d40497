//! Code of the program that panics inside a table: no lock stays taken, nothing is lost.

use super::crew::{on, panic_of};
use super::table::{declared, undeclared};
use super::{Counted, Drops};
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use tautline_core::flow::{Inputs, when_all};
use tautline_core::port::Spin;
use tautline_core::space::{Item, Local, Misuse, Table};

thread_local! {
    /// The function of keys that panics next, on this thread.
    static FAILING: Cell<Option<&'static str>> = const { Cell::new(None) };
}

fn fail(function: &'static str) {
    if FAILING.get() == Some(function) {
        FAILING.set(None);
        panic_any(function);
    }
}

fn failing<R>(function: &'static str, act: impl FnOnce() -> R) {
    FAILING.set(Some(function));
    assert_eq!(panic_of(act), Some(function));
    assert_eq!(FAILING.get(), None);
}

/// A key whose functions panic on demand.
#[derive(Debug)]
struct Key(u32);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        fail("hash");
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        fail("eq");
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Self {
        fail("clone");
        Self(self.0)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        fail("key dropped");
    }
}

/// After a panic in a function of a key, or of the program, each call does what it would have done.
#[test]
fn functions_of_keys_may_panic() {
    for function in ["hash", "eq", "clone", "readers"] {
        let readers = |_: &Key| {
            fail("readers");
            2
        };
        let (table, drops) = (
            Table::new(1, Local::new(Spin).readers(readers)),
            Drops::default(),
        );
        table.put(&Key(0), Counted::new(&drops)).unwrap();
        if function == "eq" {
            failing(function, || table.get(&Key(0)));
            failing(function, || table.put(&Key(0), Counted::new(&drops)));
            failing(function, || table.is_full(&Key(0)));
            assert_eq!(drops.count(), 1, "the value of the second put");
        } else {
            failing(function, || table.get(&Key(1)));
            failing(function, || table.put(&Key(1), Counted::new(&drops)));
            assert_eq!(drops.count(), 1, "the value of the failed put");
        }
        for key in [Key(0), Key(1)] {
            let early = table.get(&key).unwrap();
            assert_eq!(table.put(&key, Counted::new(&drops)).is_ok(), key.0 == 1);
            let items = [early, table.get(&key).unwrap()].map(Inputs::into_values);
            let more = table.get(&key).map(|_| ());
            assert_eq!(more, Err(Misuse::Undeclared(2)));
            drop(items);
            assert!(!table.is_full(&key));
        }
        assert_eq!(drops.count(), 4);
    }
}

/// A key that is forgotten may panic when it is dropped: in a call, and never in a task's input.
#[test]
fn the_drop_of_a_forgotten_key_may_panic() {
    let one = Local::new(Spin).readers(|_: &Key| 1).remembering(1);
    let table = Table::new(1, one);
    for key in 0..3 {
        table.put(&Key(key), key).unwrap();
    }
    let takes = [0, 1, 2].map(|key| table.take(&Key(key)).unwrap());
    FAILING.set(Some("key dropped"));
    let taken = takes.map(Inputs::into_values);
    assert_eq!((taken, FAILING.take()), ([0, 1, 2], Some("key dropped")));
    let key = Key(3);
    failing("key dropped", || table.get(&key));
    let get = table.get(&key).unwrap();
    table.put(&key, 3).unwrap();
    assert_eq!(*get.into_values(), 3);
}

/// Panics when it is dropped, once `armed`.
#[derive(Debug)]
struct Sprung(
    Arc<AtomicBool>,
    #[expect(dead_code, reason = "dropped")] Counted,
);

impl Drop for Sprung {
    fn drop(&mut self) {
        if self.0.swap(false, SeqCst) {
            panic_any("value dropped");
        }
    }
}

/// The drop of a value may panic wherever it is dropped: the key is gone, and others are as before.
#[test]
fn the_drop_of_a_value_may_panic() {
    let armed = Arc::new(AtomicBool::new(false));
    let drops = Drops::default();
    let value = || Sprung(Arc::clone(&armed), Counted::new(&drops));
    let fails = |act: &mut dyn FnMut()| {
        armed.store(true, SeqCst);
        assert_eq!(panic_of(act), Some("value dropped"));
    };
    let table = declared(1);
    // By the last read.
    table.put(&1, value()).unwrap();
    let mut item = Some(table.get(&1).unwrap().into_values());
    fails(&mut || drop(item.take()));
    // By the put, whose read was given up. A continuation of another key is released.
    drop(table.get(&2).unwrap());
    fails(&mut || table.put(&2, value()).unwrap());
    for key in [1, 2] {
        assert!(table.get(&key).is_err() && table.put(&key, value()).is_err());
    }
    table.put(&3, value()).unwrap();
    drop(table.get(&3).unwrap());
    assert_eq!(drops.count(), 5, "three, and two of refused puts");
    // With the table: all others are dropped, too.
    let mut table = Some(undeclared());
    for key in 0..20 {
        let table = table.as_ref().unwrap();
        table.put(&key, value()).unwrap();
    }
    fails(&mut || drop(table.take()));
    assert_eq!(drops.count(), 25);
}

/// A continuation that panics in a put: the others are released, and the value is read.
#[test]
fn a_waiter_may_panic() {
    let (table, ran) = (declared(3), Arc::new(AtomicUsize::new(0)));
    for fails in [false, true, false] {
        let ran = Arc::clone(&ran);
        when_all(table.get(&1).unwrap(), move |item: Item<u32>| {
            ran.fetch_add(*item as usize, SeqCst);
            assert!(!fails, "this one");
        });
    }
    assert!(panic_of(|| table.put(&1, 1)).is_some());
    assert_eq!(ran.load(SeqCst), 3);
    assert!(!table.is_full(&1));
}

/// A task that panics ends its reads.
#[test]
fn a_task_that_panics_ends_its_reads() {
    for workers in [1, 2, 4] {
        let (table, drops) = (declared(1), Drops::default());
        let word = panic_of(|| {
            on(workers, |cx| {
                cx.scope(|cx| {
                    let both = (table.get(&0).unwrap(), table.take(&1).unwrap());
                    cx.spawn_when(both, |_, _| panic_any("body"));
                    (0..2).for_each(|key| table.put(&key, Counted::new(&drops)).unwrap());
                });
            });
        });
        assert_eq!(word, Some("body"));
        assert_eq!(drops.count(), 2);
    }
}
