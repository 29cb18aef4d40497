//! Data-driven cells: facts 12 to 14 of Chatterjee, invalid arguments, and the memory of a cell.
#![cfg(not(tautline_loom))]

#[path = "flow/futures.rs"]
mod futures;
#[path = "flow/lists.rs"]
mod lists;
#[path = "flow/memory.rs"]
mod memory;

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use tautline_core::flow::{
    AlreadyFull, Ddf, EmptyAny, Inputs, Latch, NoIndex, NodeBox, NotReady, Waiter, when_all_scoped,
    when_any_scoped,
};

/// The actions of waiters, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn say(&self, text: impl ToString) {
        self.0.lock().unwrap().push(text.to_string());
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Logs its name when it is released, and another word when it is dropped.
struct Named(&'static str, Log);

impl Waiter for Named {
    fn released(node: NodeBox<Self>) {
        node.waiter.1.say(node.waiter.0);
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.1.say(format!("drop {}", self.0));
    }
}

fn named(name: &'static str, log: &Log) -> NodeBox<Named> {
    NodeBox::new(Named(name, log.clone()))
}

#[test]
fn chatterjee_12_early_get_and_second_put_are_errors() {
    let cell = Ddf::new();
    assert_eq!(cell.get(), Err(NotReady));
    assert!(!cell.is_full());
    assert_eq!(cell.put(String::from("first")), Ok(()));
    let second = cell.put(String::from("second"));
    assert_eq!(
        second,
        Err(AlreadyFull("second".into())),
        "the value is returned"
    );
    assert_eq!(cell.get().map(String::as_str), Ok("first"));
    assert_eq!(cell.into_inner().as_deref(), Some("first"));
    assert_eq!(Ddf::<u8>::new().into_inner(), None);
}

#[test]
fn errors_are_one_line_with_what_is_allowed() {
    let lines = [
        AlreadyFull(1).to_string(),
        NotReady.to_string(),
        EmptyAny(()).to_string(),
        NoIndex::NotAnyList.to_string(),
        NoIndex::NotReady.to_string(),
    ];
    assert!(
        lines.iter().all(|l| !l.contains('\n') && l.contains(':')),
        "{lines:?}"
    );
    assert!(lines[2].contains("0 cells") && lines[2].contains("1 or more"));
}

#[test]
fn inputs_come_in_many_forms() {
    let one = Ddf::new();
    let two = Ddf::new();
    one.put(1).unwrap();
    two.put("two").unwrap();
    assert_eq!((&one).into_values(), &1);
    assert_eq!((&one,).into_values(), (&1,));
    assert_eq!((&one, &two).into_values(), (&1, &"two"));
    assert_eq!([&one, &one].into_values(), [&1, &1]);
    assert_eq!([&one; 0].into_values(), [&0; 0]);
    assert_eq!((&[&one, &one][..]).into_values(), [&1, &1]);
    assert_eq!(vec![&one, &one].into_values(), [&1, &1]);
    let nested = ((&one, [&two; 2]), vec![&one], &two);
    let latches = |at| std::ptr::from_ref::<Latch>(&nested.latch_at(at).unwrap());
    assert_eq!(nested.count(), 5);
    assert_eq!([0, 3].map(latches), [std::ptr::from_ref(one.latch()); 2]);
    assert_eq!([1, 2, 4].map(latches), [std::ptr::from_ref(two.latch()); 3]);
    assert!(nested.latch_at(5).is_none() && nested.is_full());
    let values = ((&1, [&"two"; 2]), vec![&1], &"two");
    assert_eq!(nested.into_values(), values);
    let eight = (&one, &two, &one, &two, &one, &two, &one, &Ddf::<u8>::new());
    assert!(!eight.is_full() && eight.count() == 8);
    assert!(eight.latch_at(7).is_some_and(|latch| !latch.is_full()));
    assert!(eight.latch_at(8).is_none());
    assert!((&one).latch_at(0).is_some() && (&one).latch_at(1).is_none());
}

#[test]
fn waiters_are_released_by_the_thread_that_puts() {
    let cells = [Ddf::new(), Ddf::new()];
    let seen: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());
    let put = |cell: &Ddf<()>| {
        cell.put(()).unwrap();
        thread::current().id()
    };
    let last = thread::scope(|scope| {
        let ready = |_: [&(); 2]| seen.lock().unwrap().push(thread::current().id());
        // SAFETY: both cells are put in this scope.
        unsafe { when_all_scoped(cells.each_ref(), ready) };
        scope.spawn(|| put(&cells[0])).join().unwrap();
        scope.spawn(|| put(&cells[1])).join().unwrap()
    });
    assert_eq!(*seen.lock().unwrap(), [last]);
}

#[test]
fn each_registered_node_is_released_or_dropped_once() {
    let log = Log::default();
    let cell = Ddf::new();
    for name in ["a", "b"] {
        assert!(cell.register(named(name, &log)).is_ok());
    }
    cell.put(()).unwrap();
    assert_eq!(log.taken(), ["b", "drop b", "a", "drop a"]);
    let back = cell.register(named("late", &log)).unwrap_err();
    assert_eq!(
        log.taken(),
        [""; 0],
        "full: the node is returned, not released"
    );
    drop(back);
    drop(cell);
    assert_eq!(log.taken(), ["drop late"]);

    let never = Ddf::<()>::new();
    assert!(never.register(named("left", &log)).is_ok());
    drop(never);
    assert_eq!(log.taken(), ["drop left"]);
    let never = Ddf::<()>::new();
    assert!(never.register(named("inside", &log)).is_ok());
    assert_eq!(never.into_inner(), None);
    assert_eq!(log.taken(), ["drop inside"]);
}

#[test]
fn waiters_of_dropped_cells_are_dropped() {
    let log = Log::default();
    let cells = [Ddf::<u8>::new(), Ddf::new()];
    let (all, any) = (Named("all", log.clone()), Named("any", log.clone()));
    // SAFETY: the cells are dropped before the log.
    unsafe {
        when_all_scoped(cells.each_ref(), move |_: [&u8; 2]| drop(all));
        when_any_scoped(cells.each_ref(), move |_: (usize, &u8)| drop(any)).unwrap();
    }
    let [one, two] = cells;
    drop(two);
    assert_eq!(log.taken(), [""; 0]);
    drop(one);
    let mut dropped = log.taken();
    dropped.sort();
    assert_eq!(dropped, ["drop all", "drop any"]);
}

/// A panic of one waiter propagates to the put; the others are released regardless.
#[test]
fn a_panic_of_a_waiter_does_not_stop_the_release() {
    struct Bad;
    impl Waiter for Bad {
        fn released(_: NodeBox<Self>) {
            panic!("on purpose");
        }
    }
    let log = Log::default();
    let cell = Ddf::new();
    assert!(cell.register(named("first", &log)).is_ok());
    assert!(cell.register(NodeBox::new(Bad)).is_ok());
    assert!(cell.register(named("last", &log)).is_ok());
    let put = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cell.put(7)));
    assert!(put.is_err());
    assert_eq!(log.taken(), ["last", "drop last", "first", "drop first"]);
    assert_eq!(cell.get(), Ok(&7));
}

#[test]
fn values_are_dropped_once() {
    let value = Arc::new(());
    let cell = Ddf::new();
    cell.put(Arc::clone(&value)).unwrap();
    drop(cell.put(Arc::clone(&value)));
    assert_eq!(Arc::strong_count(&value), 2);
    drop(cell);
    assert_eq!(Arc::strong_count(&value), 1);
    let cell = Ddf::new();
    cell.put(Arc::clone(&value)).unwrap();
    assert_eq!(Arc::strong_count(&cell.into_inner().unwrap()), 2);
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn of_many_puts_one_wins_and_the_others_get_their_value_back() {
    const THREADS: usize = 3;
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        let cell = Ddf::new();
        let put = |n: usize| match cell.put(Box::new(n)) {
            Ok(()) => Some(n),
            Err(AlreadyFull(back)) => {
                assert_eq!(*back, n, "another put's value was returned");
                None
            }
        };
        let put = &put;
        let won: Vec<usize> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || put(n))).collect();
            threads
                .into_iter()
                .filter_map(|t| t.join().unwrap())
                .collect()
        });
        assert_eq!(won, [**cell.get().unwrap()]);
    }
}
