//! Stages of async tasks with bounded channels between them: a fast stage waits for a slow one, and
//! occupies no worker.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline::prelude::*;
use tokio::sync::{Mutex, mpsc};

const LINES: usize = 2000;
const ROOM: usize = 4;
type Stage = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> tautline::Result<()> {
    // The lines in flight, and their maximum.
    let (under_way, most) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let primes = Runtime::new()?.block_on(async |task: TaskCx| {
        // Channels of tokio work in any executor.
        let (lines, read) = mpsc::channel::<String>(ROOM);
        let (numbers, mut tested) = mpsc::channel::<Option<u64>>(ROOM);
        let mut stages = vec![task.spawn_async_value(move |_| async move {
            for n in 0..LINES {
                most.fetch_max(under_way.fetch_add(1, Relaxed) + 1, Relaxed);
                lines.send(format!("number {n}")).await?;
            }
            Stage::Ok(())
        })];
        // Three tasks share the second stage.
        let read = Arc::new(Mutex::new(read));
        for _ in 0..3 {
            let (read, numbers) = (read.clone(), numbers.clone());
            stages.push(task.spawn_async_value(move |_| async move {
                loop {
                    let line = read.lock().await.recv().await;
                    let Some(line) = line else { return Ok(()) };
                    let n: u64 = line["number ".len()..].parse()?;
                    let is_prime = n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d > 0);
                    numbers.send(is_prime.then_some(n)).await?;
                }
            }));
        }
        drop(numbers); // the last stage ends when the tasks of the second have
        let mut primes = 0;
        while let Some(tested) = tested.recv().await {
            under_way.fetch_sub(1, Relaxed);
            primes += usize::from(tested.is_some());
        }
        for stage in stages {
            stage.await.expect("no panic").expect("numbers and readers");
        }
        primes
    });
    assert_eq!(primes, 303);
    // In the two channels, in the tasks of the second stage, and one at each end.
    let most = most.load(Relaxed);
    assert!(most <= 2 * ROOM + 3 + 2, "{most}");
    println!("{primes} primes in {LINES} lines, at most {most} lines at a time");
    Ok(())
}
