//! A bounded channel, a semaphore and a timeout of tokio, used by async tasks: what waits occupies
//! no worker.
use std::time::Duration;
use tautline::prelude::*;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

fn main() -> tautline::Result<()> {
    // Timeouts need a thread of tokio; channels and semaphores do not.
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build();
    let tokio = tokio.expect("the system has threads");
    let handle: &'static _ = Box::leak(Box::new(tokio.handle().clone()));
    let builder = Runtime::builder().on_thread_start(|| std::mem::forget(handle.enter()));
    let (runtime, _here) = (builder.build()?, tokio.enter());

    let two_at_a_time = Semaphore::new(2);
    let (sender, mut receiver) = mpsc::channel(4);
    let sum = runtime.block_on(async |task: TaskCx| {
        for number in 0..100u64 {
            let (sender, two_at_a_time) = (sender.clone(), &two_at_a_time);
            task.spawn_async(move |_| async move {
                let _permit = two_at_a_time.acquire().await.expect("nothing closes it");
                // Waits while the channel is full.
                sender.send(number * number).await.expect("it is received");
            });
        }
        drop(sender);
        let mut sum = 0;
        while let Some(square) = receiver.recv().await {
            sum += square;
        }
        sum
    });
    assert_eq!(sum, 328_350);

    let late = runtime.block_on(async |_: TaskCx| {
        let cell = Ddf::<u64>::new();
        timeout(Duration::from_millis(20), cell.wait())
            .await
            .is_err()
    });
    assert!(late, "nothing puts the cell");
    println!("the squares add up to {sum}");
    Ok(())
}
