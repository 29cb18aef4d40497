//! Models of the data-driven cells (`tautline_core::flow`; V5, V6 and V7, and futures).
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use loom::thread::{self, JoinHandle, Thread};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tautline_core::flow::{
    AlreadyFull, Ddf, DdfList, Fired, NodeBox, Ready, Waiter, wait_all, wait_any, when_all_scoped,
    when_any_scoped,
};
use tautline_verify::model::Model;

/// The value is in a cell of loom's, which reports a race on `get` if the writing does not come
/// before it.
type Cell = Ddf<usize>;

/// A value that belongs to a waiter; loom reports a race if its write does not happen before.
fn read(value: &UnsafeCell<usize>) -> usize {
    // SAFETY: the value is not written concurrently; otherwise loom reports a race.
    value.with(|value| unsafe { *value })
}

fn put(cell: &Cell, value: usize) {
    assert!(cell.put(value).is_ok(), "put once, and refused");
}

fn putter<const N: usize>(cells: &Arc<Cells<N>>, at: usize) -> JoinHandle<()> {
    let cells = Arc::clone(cells);
    thread::spawn(move || put(&cells.cells[at], 10 + at))
}

/// Cells, and the number of released waiters.
struct Cells<const N: usize> {
    cells: [Cell; N],
    released: AtomicUsize,
}

impl<const N: usize> Cells<N> {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            cells: std::array::from_fn(|_| Ddf::new()),
            released: AtomicUsize::new(0),
        })
    }

    fn releases(&self) -> usize {
        self.released.load(Relaxed)
    }
}

/// Waits for the only cell of `scene`; has a part of its own, that must be seen where it is
/// released.
struct One {
    scene: Arc<Cells<1>>,
    own: UnsafeCell<usize>,
}

impl One {
    fn node(scene: &Arc<Cells<1>>, own: usize) -> NodeBox<Self> {
        NodeBox::new(Self {
            scene: Arc::clone(scene),
            own: UnsafeCell::new(own),
        })
    }
}

impl Waiter for One {
    fn released(node: NodeBox<Self>) {
        let scene = &node.waiter.scene;
        assert_eq!(*scene.cells[0].get().unwrap(), 10);
        // SAFETY: a node that is released is ours.
        node.waiter.own.with_mut(|own| unsafe { *own += 1 });
        scene.released.fetch_add(read(&node.waiter.own), Relaxed);
    }
}

/// Each of two that register is released once, by the put or by itself, and sees the value.
#[test]
fn v5_put_register() {
    Model::new("v5_put_register").floor(10_000).check(|| {
        let scene = Cells::<1>::new();
        let registrar = |own| {
            let scene = Arc::clone(&scene);
            thread::spawn(move || {
                if let Err(node) = scene.cells[0].register(One::node(&scene, own)) {
                    Waiter::released(node);
                }
            })
        };
        let registrars = [registrar(1), registrar(100)];
        put(&scene.cells[0], 10);
        registrars.into_iter().for_each(|r| r.join().unwrap());
        assert_eq!(scene.releases(), 2 + 101, "each of them once");
    });
}

/// Of two puts one wins; the other gets its value back and has touched nothing.
#[test]
fn two_puts() {
    Model::new("two_puts").floor(30).check(|| {
        let scene = Cells::<1>::new();
        assert!(scene.cells[0].register(One::node(&scene, 0)).is_ok());
        let theirs = Arc::clone(&scene);
        let refused = |put: Result<(), AlreadyFull<usize>>| put.err().map(|AlreadyFull(back)| back);
        let other = thread::spawn(move || refused(theirs.cells[0].put(10)));
        let ours = refused(scene.cells[0].put(10));
        let theirs = other.join().unwrap();
        assert!(matches!(
            (ours, theirs),
            (None, Some(10)) | (Some(10), None)
        ));
        assert_eq!((scene.releases(), *scene.cells[0].get().unwrap()), (1, 10));
    });
}

/// Two puts while a third thread polls and registers: the claim is not lost to a registration.
#[test]
fn two_puts_and_a_registrar() {
    Model::new("two_puts_and_a_registrar")
        .bound(3)
        .floor(100)
        .check(|| {
            let scene = Cells::<1>::new();
            let putter = || {
                let scene = Arc::clone(&scene);
                thread::spawn(move || usize::from(scene.cells[0].put(10).is_ok()))
            };
            let putters = [putter(), putter()];
            match scene.cells[0].register(One::node(&scene, 0)) {
                Ok(()) => {}
                Err(node) => Waiter::released(node),
            }
            let won: usize = putters.into_iter().map(|p| p.join().unwrap()).sum();
            assert_eq!((won, scene.releases()), (1, 1));
        });
}

/// E1: a reader sees nothing or the whole value.
#[test]
fn get_sees_the_value() {
    Model::new("get_sees_the_value").floor(8).check(|| {
        let scene = Cells::<1>::new();
        let other = putter(&scene, 0);
        if let Ok(value) = scene.cells[0].get() {
            assert_eq!(*value, 10);
        }
        other.join().unwrap();
        assert_eq!(*scene.cells[0].get().unwrap(), 10);
    });
}

/// Counts its calls, and reads what it is given; `own` must be seen where it is called.
struct Count<const N: usize> {
    scene: Arc<Cells<N>>,
    own: UnsafeCell<usize>,
}

impl<const N: usize> Count<N> {
    fn new(scene: &Arc<Cells<N>>) -> Self {
        let (scene, own) = (Arc::clone(scene), UnsafeCell::new(1));
        Self { scene, own }
    }

    fn called(self) {
        let before = self.scene.released.fetch_add(read(&self.own), Relaxed);
        assert_eq!(before, 0, "released twice");
    }
}

impl<const N: usize> Ready<(usize, &usize)> for Count<N> {
    fn ready(self, (index, value): (usize, &usize)) {
        assert!(
            self.scene.cells[index].is_full(),
            "the index names an empty cell"
        );
        assert_eq!(*value, 10 + index);
        self.called();
    }
}

impl<const N: usize> Ready<[&usize; N]> for Count<N> {
    fn ready(self, values: [&usize; N]) {
        let expected: [usize; N] = std::array::from_fn(|at| 10 + at);
        assert_eq!(values.map(|v| *v), expected);
        self.called();
    }
}

/// One that waits for either of two cells, which are put while it registers.
#[test]
fn v6_any() {
    Model::new("v6_any").bound(3).floor(1_000).check(|| {
        let scene = Cells::<2>::new();
        let putters = [putter(&scene, 0), putter(&scene, 1)];
        let list = scene.cells.each_ref();
        // SAFETY: both cells are put before the scene ends.
        unsafe { when_any_scoped(list, Count::new(&scene)) }.unwrap();
        putters.into_iter().for_each(|p| p.join().unwrap());
        assert_eq!(scene.releases(), 1, "not released");
    });
}

/// The registrar finds the cell full after it has polled: it must try the token itself.
#[test]
fn v6_any_one_put() {
    Model::new("v6_any_one_put").floor(50).check(|| {
        let scene = Cells::<2>::new();
        let putter = putter(&scene, 1);
        let list = scene.cells.each_ref();
        // SAFETY: the second cell is put before the scene ends.
        unsafe { when_any_scoped(list, Count::new(&scene)) }.unwrap();
        putter.join().unwrap();
        assert_eq!(scene.releases(), 1, "not released");
    });
}

/// One that waits for both of two cells, which are put while it registers.
#[test]
fn v7_all() {
    Model::new("v7_all").bound(3).floor(200).check(|| {
        let scene = Cells::<2>::new();
        let putters = [putter(&scene, 0), putter(&scene, 1)];
        let list = scene.cells.each_ref();
        // SAFETY: both cells are put before the scene ends.
        unsafe { when_all_scoped(list, Count::new(&scene)) };
        putters.into_iter().for_each(|p| p.join().unwrap());
        assert_eq!(scene.releases(), 1, "not released");
    });
}

/// A walker that continues to its next cell leaves the nodes after it in the list to be released.
#[test]
fn v7_all_and_another() {
    Model::new("v7_all_and_another")
        .bound(3)
        .floor(20)
        .check(|| {
            let scene = Cells::<2>::new();
            let (one, both) = (Arc::clone(&scene), Arc::clone(&scene));
            let one = move |_: &usize| assert!(one.released.fetch_add(1, Relaxed) % 10 == 0);
            let both = move |_: [&usize; 2]| assert!(both.released.fetch_add(10, Relaxed) < 10);
            // SAFETY: both cells are put before the scene ends.
            unsafe {
                when_all_scoped(&scene.cells[0], one);
                when_all_scoped(scene.cells.each_ref(), both);
            }
            let putter = putter(&scene, 1);
            put(&scene.cells[0], 10);
            putter.join().unwrap();
            assert_eq!(scene.releases(), 11, "each of them once");
        });
}

/// E4: the index of an OR list is that of a full cell.
#[test]
fn list_index() {
    Model::new("list_index").floor(5).check(|| {
        let scene = Cells::<1>::new();
        let cells: &[Cell] = &scene.cells;
        // SAFETY: the list ends before the scene.
        let cells: &'static [Cell] = unsafe { &*std::ptr::from_ref(cells) };
        let list = Arc::new(DdfList::any(cells));
        let ready = |fired: Fired<'_, usize>| assert!(matches!(fired, Fired::Any(0, _)));
        // SAFETY: the cell is put before the scene ends.
        unsafe { list.when_scoped(ready) }.unwrap();
        let putter = putter(&scene, 0);
        if let Ok(index) = list.index() {
            assert_eq!(*list.cells()[index].get().unwrap(), 10);
        }
        putter.join().unwrap();
        assert_eq!(list.index(), Ok(0));
    });
}

/// Wakes a thread of the model.
struct Bell(Thread);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Waker::from(Arc::new(Bell(thread::current())))
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = waker();
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll_once<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
    Pin::new(&mut future).poll(&mut Context::from_waker(&waker()))
}

/// A future against the put: the wake-up is not lost (else loom reports a deadlock).
#[test]
fn future_put() {
    Model::new("future_put").bound(3).floor(50).check(|| {
        let scene = Cells::<1>::new();
        let putter = putter(&scene, 0);
        assert_eq!(*block_on(scene.cells[0].wait()), 10);
        putter.join().unwrap();
    });
}

/// A future that is dropped while the put runs.
#[test]
fn future_dropped() {
    Model::new("future_dropped").bound(3).floor(300).check(|| {
        let scene = Cells::<1>::new();
        let putter = putter(&scene, 0);
        if let Poll::Ready(value) = poll_once(scene.cells[0].wait()) {
            assert_eq!(*value, 10);
        }
        assert_eq!(*block_on(scene.cells[0].wait()), 10);
        putter.join().unwrap();
    });
}

/// Futures on two threads find or make the same list of wakers; one of them is dropped, then the
/// put comes.
#[test]
fn futures_share() {
    Model::new("futures_share").bound(3).floor(500).check(|| {
        let scene = Cells::<1>::new();
        let theirs = Arc::clone(&scene);
        let other = thread::spawn(move || assert_eq!(*block_on(theirs.cells[0].wait()), 10));
        assert!(poll_once(scene.cells[0].wait()).is_pending());
        put(&scene.cells[0], 10);
        other.join().unwrap();
    });
}

/// AND and OR as futures, against two puts.
#[test]
fn futures_all_any() {
    Model::new("futures_all_any")
        .bound(2)
        .floor(2_000)
        .check(|| {
            let scene = Cells::<2>::new();
            let putters = [putter(&scene, 0), putter(&scene, 1)];
            let list = scene.cells.each_ref();
            let (index, value) = block_on(wait_any(list).unwrap());
            assert_eq!(*value, 10 + index);
            assert_eq!(block_on(wait_all(list)), [&10, &11]);
            putters.into_iter().for_each(|p| p.join().unwrap());
        });
}
