//! Inside of programs of tokio and rayon: each may call the others.
use rayon::prelude::*;
use std::{sync::Arc, time::Duration};
use tautline::prelude::*;
use tokio::time::timeout;

/// The number of ways to climb stairs by ones and twos, by forks; less if it is cancelled.
fn ways(cx: &mut Cx, stairs: u64) -> u64 {
    if stairs < 2 || cx.cancelled().is_some() {
        return 1;
    }
    let (one, two) = cx.join(|cx| ways(cx, stairs - 1), |cx| ways(cx, stairs - 2));
    one + two
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The system may move the workers: they are not alone on the machine.
    let rt = &Runtime::builder().pinned(false).build()?;
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?;
    tokio.block_on(async {
        // Computations that run while a task of tokio awaits them.
        let requests: Vec<_> = (10..20)
            .map(|stairs| rt.run_async(move |cx| ways(cx, stairs)))
            .collect();
        let mut sum = 0;
        for answer in requests {
            sum += answer.await.expect("no panic, and not cancelled");
        }
        assert_eq!(sum, 17_567);

        // One that takes years is cancelled by the timeout.
        let long = rt.run_async(|cx| ways(cx, 80));
        assert!(timeout(Duration::from_millis(20), long).await.is_err());

        // A value that a task puts while the computation continues.
        let first = Arc::new(Ddf::new());
        let put = Arc::clone(&first);
        let computation = rt.spawn(move |cx| {
            put.put(ways(cx, 10)).expect("the only value");
            ways(cx, 20)
        });
        assert_eq!(first.wait().await, &89);
        assert_eq!(computation.await.expect("no panic"), 10_946);
    });

    // From rayon, and rayon in a task.
    let counted = (10..14).into_par_iter();
    let counts: Vec<u64> = counted
        .map(|stairs| rt.run(|cx| ways(cx, stairs)))
        .collect();
    assert_eq!(counts, [89, 144, 233, 377]);
    let (sum, ways) = rt.run(|cx| cx.join(|_| counts.par_iter().sum::<u64>(), |cx| ways(cx, 11)));
    assert_eq!((sum, ways), (843, 144));
    println!("called from tokio and from rayon");
    Ok(())
}
