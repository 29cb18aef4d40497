//! Channels, semaphores and timers of tokio in async tasks: each wait is woken.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tautline::prelude::*;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};

/// A runtime of tokio for timers, and one whose workers are in its context.
fn runtimes(workers: usize) -> (tokio::runtime::Runtime, Runtime) {
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build();
    let tokio = tokio.unwrap();
    let handle: &'static _ = Box::leak(Box::new(tokio.handle().clone()));
    let builder = Runtime::builder().workers(workers).pinned(false);
    let builder = builder.on_thread_start(|| std::mem::forget(handle.enter()));
    (tokio, builder.build().unwrap())
}

/// Every message of many senders goes through a channel with room for one, and never are more
/// permits given than there are.
#[test]
fn bounded_channels_and_semaphores_wake_tasks() {
    const SENDERS: usize = 50;
    const EACH: usize = 100;
    for workers in [1, 2, 4] {
        let runtime = Runtime::builder()
            .workers(workers)
            .pinned(false)
            .build()
            .unwrap();
        let (sender, mut receiver) = mpsc::channel(1);
        let (permits, inside) = (Semaphore::new(3), AtomicUsize::new(0));
        let (permits, inside) = (&permits, &inside);
        let received = runtime.block_on(async |task: TaskCx| {
            for from in 0..SENDERS {
                let sender = sender.clone();
                task.spawn_async(move |_| async move {
                    for n in 0..EACH {
                        let _permit = permits.acquire().await.unwrap();
                        assert!(inside.fetch_add(1, SeqCst) < 3);
                        sender.send((from, n)).await.unwrap();
                        inside.fetch_sub(1, SeqCst);
                    }
                });
            }
            drop(sender);
            let (mut next, mut received) = ([0; SENDERS], 0);
            while let Some((from, n)) = receiver.recv().await {
                assert_eq!(next[from], n, "in the order of its sender");
                next[from] += 1;
                received += 1;
            }
            received
        });
        assert_eq!(received, SENDERS * EACH, "{workers} workers");
    }
}

/// A timer of tokio ends waits of tasks on all workers, which are in its context from their start
/// on.
#[test]
fn timers_wake_tasks() {
    for workers in [1, 2, 4] {
        let (tokio, runtime) = runtimes(workers);
        let _here = tokio.enter();
        let (slept, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let never = Ddf::<()>::new();
        let (slept, late, never) = (&slept, &late, &never);
        runtime.block_on(async |task: TaskCx| {
            for n in 0..40 {
                task.spawn_async(move |_| async move {
                    sleep(Duration::from_millis(n % 7)).await;
                    slept.fetch_add(1, SeqCst);
                    let waited = timeout(Duration::from_millis(n % 5), never.wait()).await;
                    late.fetch_add(usize::from(waited.is_err()), SeqCst);
                });
            }
        });
        assert_eq!(
            (slept.load(SeqCst), late.load(SeqCst)),
            (40, 40),
            "{workers} workers"
        );
    }
}
