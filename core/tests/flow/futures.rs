//! Cells as futures.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use tautline_core::flow::{Ddf, wait_all, wait_any};

/// A panic of one waker propagates to the put, or to the drop of what a fill returns; the remaining
/// futures are woken regardless.
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
    let ends: [fn(&Ddf<i32>); 2] = [
        |cell| cell.put(7).unwrap(),
        |cell| drop(cell.fill(7).unwrap()),
    ];
    for end in ends {
        let cell = Ddf::new();
        let woken: [Arc<Woken>; 3] = Default::default();
        let [first, second, third] = woken.clone().map(Waker::from);
        let wakers = [first, Waker::from(Arc::new(Bad)), second, third];
        let mut waits = [(); 4].map(|()| Box::pin(cell.wait()));
        for (wait, waker) in waits.iter_mut().zip(&wakers) {
            let mut context = Context::from_waker(waker);
            assert!(wait.as_mut().poll(&mut context).is_pending());
        }
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| end(&cell)));
        assert!(ended.is_err());
        assert_eq!(woken.map(|w| w.0.load(Ordering::Relaxed)), [1, 1, 1]);
        assert_eq!(cell.get(), Ok(&7));
    }
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

/// Futures that are dropped early leave no waker, and their slots are reused.
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
