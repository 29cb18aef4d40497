//! The work of a port while its workers have no task.

use super::{Threads, wait_until};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;
use tautline_node::pool::{Idle, Plan};

/// A future that is woken by its own worker, in the last moment before that sleeps: the worker does
/// not sleep beside it, although its port states that there was nothing to do.
#[test]
fn a_worker_that_wakes_a_future_while_it_is_idle_runs_it() {
    const PATIENCE: Duration = Duration::from_millis(1);
    /// Idle calls between a suspension and a wake-up: one of these is that before the sleep.
    const CALLS: std::ops::Range<u32> = 32..68;
    let calls = Arc::new(AtomicU32::new(0));
    let (registered, wake_at) = (Arc::new(Mutex::new(None::<Waker>)), Arc::clone(&calls));
    let wake = {
        let registered = Arc::clone(&registered);
        move || {
            let waker = registered.lock().expect("no panic").take();
            waker.into_iter().for_each(Waker::wake);
        }
    };
    let wake_late = wake.clone();
    let act = move || {
        if calls.fetch_sub(1, SeqCst) == 1 {
            // Longer than the patience of the worker, which so sleeps after this call, if it reads
            // the clock then.
            thread::sleep(2 * PATIENCE);
            wake();
        }
        false
    };
    let plan = Plan {
        idle: Some(Idle::new(PATIENCE, act, || ())),
        ..Plan::flat(1)
    };
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    // Detached: a failing test leaves it asleep.
    thread::spawn(move || {
        let mut rounds = CALLS.chain(CALLS);
        let woken = poll_fn(move |cx| {
            let Some(calls) = rounds.next() else {
                return Poll::Ready(());
            };
            *registered.lock().expect("no panic") = Some(cx.waker().clone());
            wake_at.store(calls, SeqCst);
            Poll::Pending
        });
        Threads::start(&plan).run(|cx| cx.scope(|cx| cx.spawn_async(move |_| woken)));
        done.store(true, SeqCst);
    });
    wait_until("the worker sleeps beside its task", || {
        // A worker that the system has kept from searching may sleep before it would wake it.
        thread::sleep(20 * PATIENCE);
        wake_late();
        is_done.load(SeqCst)
    });
}
