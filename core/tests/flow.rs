//! Data-driven cells: facts 12 to 14 of Chatterjee, bad input, and what a cell costs.
#![cfg(not(tautline_loom))]

use std::future::Future;
use std::mem::size_of;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};
use tautline_core::flow::{
    All, AlreadyFull, Ddf, DdfList, EmptyAny, Fired, Inputs, NoIndex, Node, NodeBox, NotReady,
    Ready, Waiter, wait_all, wait_any, when_all, when_all_scoped, when_any, when_any_scoped,
};

/// What waiters did, in order.
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

/// Says its name when it is released, and another word when it is dropped.
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
        "the value comes back"
    );
    assert_eq!(cell.get().map(String::as_str), Ok("first"));
    assert_eq!(cell.into_inner().as_deref(), Some("first"));
    assert_eq!(Ddf::<u8>::new().into_inner(), None);
}

#[test]
fn errors_are_one_line_that_says_what_is_allowed() {
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

/// Calls `visit` with all orders of `0..n`.
fn permutations(n: usize, visit: &mut impl FnMut(&[usize])) {
    fn go(order: &mut Vec<usize>, n: usize, visit: &mut impl FnMut(&[usize])) {
        if order.len() == n {
            return visit(order);
        }
        for next in 0..n {
            if !order.contains(&next) {
                order.push(next);
                go(order, n, visit);
                order.pop();
            }
        }
    }
    go(&mut Vec::new(), n, visit);
}

/// For every order of puts, and every point in it at which the waiting begins.
#[test]
fn chatterjee_13_all_runs_once_after_the_last_put_in_every_order() {
    let mut runs = 0;
    for n in 0..=5 {
        permutations(n, &mut |order| {
            for begin in 0..=n {
                let cells: Vec<Ddf<usize>> = (0..n).map(|_| Ddf::new()).collect();
                let seen = Mutex::new(Vec::new());
                for (done, put) in order.iter().chain([&n]).enumerate() {
                    if done == begin {
                        let inputs: Vec<&Ddf<usize>> = cells.iter().collect();
                        let ready = |values: Vec<&usize>| {
                            seen.lock()
                                .unwrap()
                                .push(values.into_iter().copied().collect::<Vec<_>>());
                        };
                        // SAFETY: every cell is put before `cells` and `seen` end.
                        unsafe { when_all_scoped(inputs, ready) };
                    }
                    let full = done == n && begin <= n;
                    assert_eq!(
                        seen.lock().unwrap().len(),
                        usize::from(full),
                        "{order:?} {begin} {done}"
                    );
                    if let Some(cell) = cells.get(*put) {
                        cell.put(10 + put).unwrap();
                    }
                }
                assert_eq!(*seen.lock().unwrap(), [(10..10 + n).collect::<Vec<_>>()]);
                runs += 1;
            }
        });
    }
    assert_eq!(runs, 1 + 2 + 2 * 3 + 6 * 4 + 24 * 5 + 120 * 6);
}

#[test]
fn inputs_come_in_many_forms() {
    let one = Ddf::new();
    let two = Ddf::new();
    one.put(1).unwrap();
    two.put("two").unwrap();
    assert_eq!((&one).values(), Ok(&1));
    assert_eq!((&one,).values(), Ok((&1,)));
    assert_eq!((&one, &two).values(), Ok((&1, &"two")));
    assert_eq!([&one, &one].values(), Ok([&1, &1]));
    assert_eq!([&one; 0].values(), Ok([]));
    assert_eq!((&[&one, &one][..]).values(), Ok(vec![&1, &1]));
    let eight = (&one, &two, &one, &two, &one, &two, &one, &Ddf::<u8>::new());
    assert_eq!(eight.values(), Err(NotReady));
    assert!(eight.latch_at(7).is_some_and(|latch| !latch.is_full()));
    assert!(eight.latch_at(8).is_none());
    assert!((&one).latch_at(0).is_some() && (&one).latch_at(1).is_none());
}

#[test]
fn chatterjee_14_any_is_released_once_by_the_first_put_in_every_order() {
    for n in 1..=4 {
        permutations(n, &mut |order| {
            for begin in 0..=n {
                let cells: Vec<Ddf<usize>> = (0..n).map(|_| Ddf::new()).collect();
                let seen = Mutex::new(Vec::new());
                let ready =
                    |(index, value): (usize, &usize)| seen.lock().unwrap().push((index, *value));
                for (done, put) in order.iter().chain([&n]).enumerate() {
                    if done == begin {
                        let list: Vec<_> = cells.iter().collect();
                        // SAFETY: a cell is put before `cells` and `seen` end.
                        unsafe { when_any_scoped(&list, ready) }.unwrap();
                    }
                    if let Some(cell) = cells.get(*put) {
                        cell.put(10 + put).unwrap();
                    }
                }
                let first = order[..begin].iter().min().unwrap_or(&order[0]);
                assert_eq!(
                    *seen.lock().unwrap(),
                    [(*first, 10 + first)],
                    "{order:?} {begin}"
                );
            }
        });
    }
}

#[test]
fn chatterjee_14_any_under_threads_names_a_full_cell() {
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 2_000 };
    for _ in 0..ROUNDS {
        let cells = [Ddf::new(), Ddf::new(), Ddf::new()];
        let seen = Mutex::new(Vec::new());
        let list = cells.each_ref();
        thread::scope(|scope| {
            for (index, cell) in cells.iter().enumerate() {
                scope.spawn(move || cell.put(index * 10).unwrap());
            }
            let ready =
                |(index, value): (usize, &usize)| seen.lock().unwrap().push((index, *value));
            // SAFETY: the puts are over when the scope is, and `seen` and the cells end later.
            unsafe { when_any_scoped(list, ready) }.unwrap();
        });
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() == 1 && seen[0].1 == seen[0].0 * 10, "{seen:?}");
    }
}

#[test]
fn chatterjee_14_the_index_is_that_of_an_or_list() {
    let cells = [Ddf::new(), Ddf::new(), Ddf::new()];
    let both = DdfList::all(&cells[..2]);
    assert_eq!(both.index(), Err(NoIndex::NotAnyList));
    let mut one = DdfList::any(&cells[..1]);
    one.push(&cells[1]);
    one.push(&cells[2]);
    assert_eq!(
        (one.cells().len(), one.index()),
        (3, Err(NoIndex::NotReady))
    );
    let seen = Mutex::new(Vec::new());
    let ready = |fired: Fired<'_, u32>| {
        let seen = &mut *seen.lock().unwrap();
        match fired {
            Fired::All(values) => seen.push((one.index(), values.into_iter().copied().collect())),
            Fired::Any(index, value) => seen.push((Ok(index), vec![*value])),
        }
    };
    // SAFETY: the cells that they wait for are put before anything ends.
    unsafe {
        (
            both.when_scoped(ready).unwrap(),
            one.when_scoped(ready).unwrap(),
        )
    };
    cells[1].put(11).unwrap();
    assert_eq!(one.index(), Ok(1));
    cells[0].put(10).unwrap();
    assert_eq!(one.index(), Ok(1), "the first counts");
    assert_eq!(
        *seen.lock().unwrap(),
        [(Ok(1), vec![11]), (Ok(1), vec![10, 11])]
    );
}

#[test]
fn an_or_list_without_cells_is_refused() {
    let log = Log::default();
    let named = Named("refused", log.clone());
    let refused = when_any([], move |_: (usize, &'static u8)| drop(named));
    assert_eq!(log.taken(), [""; 0], "it comes back whole");
    drop(refused.unwrap_err());
    assert_eq!(log.taken(), ["drop refused"]);
    assert!(
        DdfList::<u8>::any([])
            .when(|_: Fired<'static, u8>| ())
            .is_err()
    );
    assert!(wait_any::<u8>([]).is_err());
}

#[test]
fn an_and_list_without_cells_is_ready_at_once() {
    let log = Log::default();
    let ours = log.clone();
    when_all(Vec::<&'static Ddf<u8>>::new(), move |values: Vec<&u8>| {
        ours.say(values.len())
    });
    assert_eq!(log.taken(), ["0"]);
}

#[test]
fn a_cell_may_be_in_a_list_twice() {
    let cell = Ddf::new();
    let other = Ddf::new();
    let seen = Mutex::new(Vec::new());
    let all = |(a, b, c): (&u8, &u8, &u8)| seen.lock().unwrap().push(100 * a + 10 * b + c);
    let any = |(index, value): (usize, &u8)| seen.lock().unwrap().push(10 * index as u8 + value);
    // SAFETY: both cells are put before anything ends.
    unsafe {
        when_all_scoped((&cell, &other, &cell), all);
        when_any_scoped([&cell, &cell], any).unwrap();
    }
    cell.put(2).unwrap();
    let first = seen.lock().unwrap().pop();
    assert!(matches!(first, Some(2 | 12)), "{first:?}");
    other.put(1).unwrap();
    assert_eq!(*seen.lock().unwrap(), [212]);
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
    assert_eq!(log.taken(), [""; 0], "full: it comes back, unreleased");
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
fn what_waits_in_dropped_cells_is_dropped() {
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

/// A panic of one waiter reaches the put; the others are released all the same.
#[test]
fn a_panic_of_a_waiter_keeps_none_from_being_released() {
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

/// A panic of one waker reaches the put; the futures behind it are woken all the same.
#[test]
fn a_panic_of_a_waker_keeps_no_future_waiting() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    #[derive(Default)]
    struct Woken(AtomicUsize);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let cell = Ddf::new();
    let woken: [Arc<Woken>; 3] = Default::default();
    let [first, second, third] = woken.clone().map(Waker::from);
    let wakers = [first, Waker::from(Arc::new(Bad)), second, third];
    let mut waits = [(); 4].map(|()| Box::pin(cell.wait()));
    for (wait, waker) in waits.iter_mut().zip(&wakers) {
        assert!(
            wait.as_mut()
                .poll(&mut Context::from_waker(waker))
                .is_pending()
        );
    }
    let put = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| cell.put(7)));
    assert!(put.is_err());
    assert_eq!(woken.map(|w| w.0.load(Ordering::Relaxed)), [1, 1, 1]);
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
                assert_eq!(*back, n, "another's value came back");
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

/// A node that becomes a thin pointer and comes back: what a queue of tasks needs.
#[test]
fn a_ready_node_can_wait_in_a_queue_without_more_memory() {
    static QUEUE: Mutex<Vec<Thin>> = Mutex::new(Vec::new());
    struct Thin(*mut Task);
    // SAFETY: a task in the queue is nobody's.
    unsafe impl Send for Thin {}
    #[repr(C)]
    struct Task {
        run: unsafe fn(*mut Task),
        scale: u32,
        done: Arc<AtomicUsize>,
    }
    impl<'v, V: Into<u32> + Copy + 'v> Ready<(&'v V, &'v V)> for Task {
        fn ready(self, (a, b): (&'v V, &'v V)) {
            let sum = self.scale * ((*a).into() + (*b).into());
            self.done.fetch_add(sum as usize, Ordering::Relaxed);
        }

        fn ready_node<'a, I>(mut node: NodeBox<All<I, Self>>)
        where
            I: Inputs<'a, Values = (&'v V, &'v V)>,
        {
            unsafe fn run<'a, 'v, V: Into<u32> + Copy + 'v, I>(task: *mut Task)
            where
                I: Inputs<'a, Values = (&'v V, &'v V)>,
            {
                let waiter = std::ptr::NonNull::new(task).unwrap().cast();
                // SAFETY: made by into_raw below, of this type; the task comes first in the waiter.
                let node = unsafe { NodeBox::<All<I, Task>>::from_raw(waiter) };
                let (values, task) = node.open();
                task.ready(values);
            }
            node.waiter.ready.run = run::<V, I>;
            let thin = node.into_raw().cast::<Task>().as_ptr();
            QUEUE.lock().unwrap().push(Thin(thin));
        }
    }
    unsafe fn never(_: *mut Task) {
        unreachable!("set when the task is ready");
    }
    let done = Arc::new(AtomicUsize::new(0));
    let cells = (Ddf::<u16>::new(), Ddf::<u16>::new());
    let task = Task {
        run: never,
        scale: 10,
        done: Arc::clone(&done),
    };
    // SAFETY: the cells are put below, and nothing is left in the queue.
    unsafe { when_all_scoped((&cells.0, &cells.1), task) };
    cells.0.put(1).unwrap();
    cells.1.put(2).unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 0, "in the queue");
    let Thin(task) = QUEUE.lock().unwrap().pop().unwrap();
    // SAFETY: it was put in the queue once.
    unsafe { ((*task).run)(task) };
    assert_eq!(done.load(Ordering::Relaxed), 30);
}

/// 10^6 cells, each with one who waits, cost less than 100 bytes each beside the value.
#[test]
fn a_cell_costs_two_words_and_its_waiter_three_more_than_it_holds() {
    const WORD: usize = size_of::<usize>();
    assert_eq!(size_of::<Ddf<u64>>() - size_of::<u64>(), 2 * WORD);
    assert_eq!(size_of::<Ddf<[usize; 9]>>(), 11 * WORD);
    struct Body(#[expect(dead_code, reason = "only its size counts")] [usize; 2]);
    let holds = size_of::<Body>() + size_of::<[&Ddf<u64>; 2]>();
    assert_eq!(
        size_of::<Node<All<[&Ddf<u64>; 2], Body>>>(),
        3 * WORD + holds
    );
    let waiter = size_of::<Node<All<&Ddf<u64>, [usize; 2]>>>();
    assert!(2 * WORD + waiter < 100, "{waiter}");
}

/// Wakes a thread, and counts how often.
struct Bell(Thread, AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.unpark();
    }
}

fn bell() -> Arc<Bell> {
    Arc::new(Bell(thread::current(), AtomicUsize::new(0)))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(bell());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn futures_wait_for_puts_of_other_threads() {
    for _ in 0..if cfg!(miri) { 5 } else { 500 } {
        let cells = [Ddf::new(), Ddf::new(), Ddf::new()];
        thread::scope(|scope| {
            for (index, cell) in cells.iter().enumerate() {
                scope.spawn(move || cell.put(index).unwrap());
            }
            let sum = block_on(async {
                let (index, value) = wait_any(cells.each_ref()).unwrap().await;
                assert_eq!(index, *value);
                let [a, b, c] = wait_all(cells.each_ref()).await;
                a + b + c + cells[1].wait().await
            });
            assert_eq!(sum, 4);
        });
    }
}

#[test]
fn a_future_without_cells_is_ready() {
    let none: [&Ddf<u8>; 0] = [];
    assert_eq!(block_on(wait_all(none)), [&0; 0]);
}

#[test]
fn a_future_wakes_the_last_waker_it_was_given() {
    let cell = Ddf::new();
    let (old, new) = (bell(), bell());
    let mut wait = cell.wait();
    assert!(poll(&mut wait, &old.clone().into()).is_pending());
    assert!(poll(&mut wait, &new.clone().into()).is_pending());
    cell.put(1).unwrap();
    assert_eq!(
        (old.1.load(Ordering::Relaxed), new.1.load(Ordering::Relaxed)),
        (0, 1)
    );
    assert_eq!(poll(&mut wait, &new.into()), Poll::Ready(&1));
}

/// Futures that are dropped early leave neither a waker nor memory that grows: the place is used again.
#[test]
fn a_dropped_future_gives_its_place_back() {
    let cell = Ddf::new();
    let kept = bell();
    let mut wait = cell.wait();
    assert!(poll(&mut wait, &kept.clone().into()).is_pending());
    let gone = bell();
    for _ in 0..100 {
        let waker = Waker::from(Arc::clone(&gone));
        assert!(poll(&mut cell.wait(), &waker).is_pending());
        let other = Ddf::<u8>::new();
        let _ = poll(&mut wait_any([&cell, &other]).unwrap(), &waker);
        let _ = poll(&mut wait_all([&cell, &other]), &waker);
    }
    assert_eq!(Arc::strong_count(&gone), 1, "a waker is still held");
    cell.put(1).unwrap();
    assert_eq!(
        (
            gone.1.load(Ordering::Relaxed),
            kept.1.load(Ordering::Relaxed)
        ),
        (0, 1)
    );
}
