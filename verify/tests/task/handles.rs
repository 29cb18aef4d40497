//! Handles that are polled by threads outside of the pool.

use super::machine::{Cell, with_others};
use loom::sync::Notify;
use loom::thread;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use tautline_verify::model::Model;

/// A thread that sleeps.
struct Sleeper(Notify);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// Sleeps until the future is ready: a wake-up that is lost is a deadlock, which loom reports.
fn block_on<F: Future>(future: F) -> F::Output {
    let sleeper = Arc::new(Sleeper(Notify::new()));
    let waker = Waker::from(Arc::clone(&sleeper));
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => sleeper.0.wait(),
        }
    }
}

/// The task ends while another thread polls its handle: that thread gets the value, and observes
/// what the task did.
#[test]
fn handle_polled() {
    Model::new("handle_polled").bound(2).floor(25).check(|| {
        let done = Arc::new(Cell::default());
        let theirs = Arc::clone(&done);
        let spawned = with_others(0, |cx| {
            let set = Arc::clone(&done);
            let handle = cx.spawn_value(move |_| {
                set.set(1);
                7
            });
            thread::spawn(move || {
                assert_eq!(block_on(handle), Ok(7));
                assert_eq!(theirs.get(), 1, "ended, but what it did is not visible");
            })
        });
        let polls = spawned.unwrap_or_else(|_| panic!("nothing panics"));
        polls.join().unwrap();
    });
}
