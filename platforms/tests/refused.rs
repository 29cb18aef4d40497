//! A program to which the system refuses further threads. A test binary of its own: its only test
//! refuses them to itself.
#![cfg(target_os = "linux")]

mod refusing;

use refusing::{Refused, refuse};
use std::time::Duration;
use tautline::balance::{Control, Reason};
use tautline::prelude::*;
use tautline::runtime::{Deadline, Failure};
use tautline::watch::Observe;

#[test]
fn a_program_works_where_no_thread_is_left() {
    let earlier = Runtime::builder().workers(2).pinned(false).build().unwrap();
    refuse(Refused::Threads(libc::EAGAIN)).expect("a filter for this thread");

    // The report matches the workers that run.
    let builder = Runtime::builder().workers(8).pinned(true);
    let rt = builder.observe(Observe::new()).build().unwrap();
    assert_eq!((rt.workers(), rt.plan().workers()), (1, 1));
    assert_eq!(rt.plan().cpus.len(), 1);
    let why = |setting| {
        let choices = rt.explain().into_iter();
        let of_setting = choices.filter(move |choice| choice.setting == setting);
        of_setting
            .map(|choice| choice.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        why("workers"),
        ["1: the system refused threads for 8 [detected]"]
    );
    // Programs that run with this one may have the same processors.
    let is_stale = |line: &String| line.contains("8 workers");
    assert!(
        !why("placement").iter().any(is_stale),
        "{:?}",
        why("placement")
    );
    assert_eq!(
        rt.dump().to_string().lines().next(),
        Some(
            "tautline: 0 workers; 0 queued tasks of no worker; 0 tasks suspended in a wait for the end of a phase"
        )
    );
    for (places, workers) in [(1, 3), (4, 2)] {
        let builder = Runtime::builder().places(places).workers(workers);
        let builder = builder.pinned(false);
        assert_eq!(builder.plan().unwrap().workers(), places as usize * workers);
        let rt = builder.build().unwrap();
        let balancer = rt.balancer();
        let run = balancer.sum(0..1000u64, |n, _| n).unwrap();
        assert_eq!(run.output, 499_500);
        assert_eq!(run.workers.len(), places as usize, "one in each place");
        assert_eq!(balancer.config().unwrap().all_workers(), places as usize);
    }

    // A deadline ends a run between two tasks.
    let control = Control::new();
    let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
    let late = rt.balancer().control(&control);
    let late = late.deadline(Duration::from_millis(50));
    let run = late.sum([()], |(), todo| {
        todo.push(());
        1u64
    });
    assert_eq!(run.unwrap().stopped, Some(Reason::Deadline));

    // Spawned tasks run at once, on the workers that there are.
    for rt in [&earlier, &rt] {
        let spawned = rt.spawn(|cx| cx.join(|_| 1, |_| 2));
        assert_eq!(spawned.join().unwrap(), (1, 2));
        let panicked = rt.spawn(|_| panic!("as a test does")).join();
        assert!(matches!(panicked, Err::<(), _>(Failure::Panicked(_))));
        let cancelled = rt.spawn(|cx| _ = cx.cancel(Reason::GivenUp)).join();
        assert!(matches!(cancelled, Err(Failure::Cancelled(_))));
        let both = rt.block_on(async |_| rt.run_async(|cx| cx.join(|_| 3, |_| 4)).await);
        assert_eq!(both.unwrap(), (3, 4));
    }

    // A deadline has no thread to watch it.
    let refused = Deadline::try_after(Duration::from_secs(1)).unwrap_err();
    assert!(refused.to_string().starts_with("cannot start 1 thread: "));
    let passed = Deadline::try_after(Duration::ZERO).unwrap();
    let outcome = rt.run(|cx| cx.finish_until(&passed, |_| ()));
    assert_eq!(outcome.unwrap_err().reason, Reason::Deadline);
}
