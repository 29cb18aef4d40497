//! Inside of programs of tokio and rayon: each may call the others.
use rayon::prelude::*;
use std::sync::Arc;
use tautline::prelude::*;

/// The number of ways to climb stairs by ones and twos, by forks.
fn ways(cx: &mut Cx, stairs: u64) -> u64 {
    if stairs < 2 {
        return 1;
    }
    let (one, two) = cx.join(|cx| ways(cx, stairs - 1), |cx| ways(cx, stairs - 2));
    one + two
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The system may move the workers: they are not alone on the machine.
    let rt = Arc::new(Runtime::builder().pinned(false).build()?);

    // From tokio: a computation blocks its thread, so it is one for `spawn_blocking`.
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()?;
    let sum = tokio.block_on(async {
        let requests = (10..20).map(|stairs| {
            let rt = Arc::clone(&rt);
            tokio::task::spawn_blocking(move || rt.run(|cx| ways(cx, stairs)))
        });
        let mut sum = 0;
        for answer in requests.collect::<Vec<_>>() {
            sum += answer.await.expect("no panic");
        }
        sum
    });
    assert_eq!(sum, 17_567);

    // A value that a task puts while the computation continues, awaited in tokio.
    let first = Arc::new(Ddf::new());
    let (on, put) = (Arc::clone(&rt), Arc::clone(&first));
    let computation = std::thread::spawn(move || {
        on.run(|cx| {
            put.put(ways(cx, 10)).expect("the only value");
            ways(cx, 20)
        })
    });
    assert_eq!(tokio.block_on(first.wait()), &89);
    assert_eq!(computation.join().expect("no panic"), 10_946);

    // From rayon, and rayon in a task.
    let counts: Vec<u64> = (10..14)
        .into_par_iter()
        .map(|stairs| rt.run(|cx| ways(cx, stairs)))
        .collect();
    assert_eq!(counts, [89, 144, 233, 377]);
    let (sum, ways) = rt.run(|cx| cx.join(|_| counts.par_iter().sum::<u64>(), |cx| ways(cx, 11)));
    assert_eq!((sum, ways), (843, 144));
    println!("called from tokio and from rayon");
    Ok(())
}
