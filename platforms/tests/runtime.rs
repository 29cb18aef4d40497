//! The runtime as programs see it.

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use tautline::Platform;
use tautline::balance::Reason;
use tautline::hierarchy::Domain;
use tautline::prelude::*;
use tautline::runtime::Cancelled;
use tautline::runtime::Wait;

/// Set in a process of its own, to say what it finds.
const INSIDE: &str = "TEST_OF_TAUTLINE_INSIDE";

fn one_line(error: &tautline::Error) -> String {
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

/// Numbers of workers that cannot be are refused in one line that names what is allowed.
#[test]
fn numbers_that_cannot_be_are_refused() {
    for wrong in [0, 4097] {
        let error = Runtime::builder().workers(wrong).build().unwrap_err();
        let line = one_line(&error);
        assert!(
            line.contains(&wrong.to_string()) && line.contains("1 to 4096"),
            "{line}"
        );
    }
    let rt = Runtime::builder()
        .workers(2)
        .at_most(3)
        .pinned(false)
        .build()
        .unwrap();
    let most = std::thread::available_parallelism()
        .map_or(1, |n| n.get())
        .max(3);
    for wrong in [0, most + 1000] {
        let line = one_line(&rt.set_workers(wrong).unwrap_err());
        assert!(
            line.contains(&wrong.to_string()) && line.contains("1 to "),
            "{line}"
        );
    }
    assert_eq!(rt.workers(), 2, "unchanged");
}

/// The number of workers can be changed up to the requested maximum, and the same runtime
/// continues.
#[test]
fn workers_are_changed_between_runs() {
    let rt = Runtime::builder()
        .workers(1)
        .at_most(4)
        .pinned(false)
        .build()
        .unwrap();
    for workers in [1, 4, 2, 3, 1] {
        rt.set_workers(workers).unwrap();
        assert_eq!(rt.workers(), workers);
        let done = AtomicUsize::new(0);
        rt.run(|cx| (0..100).for_each(|_| cx.spawn(|_| _ = done.fetch_add(1, SeqCst))));
        assert_eq!(done.into_inner(), 100);
    }
}

/// Chatterjee, acceptance fact 9: a runtime without a description of its platform has one place,
/// and that place has all workers; one with a description has the places described.
#[test]
fn without_a_description_one_place_has_all_workers() {
    for workers in [1, 2, 3, 5] {
        let rt = Runtime::builder().workers(workers).pinned(false);
        let rt = rt.build().unwrap();
        let (places, below, leaves) = rt.run(|cx| {
            let tree = cx.pool().tree();
            let all = 0..tree.workers();
            let leaves: Vec<_> = all.map(|worker| tree.leaf_of(worker)).collect();
            (tree.len(), tree.subtree(Domain::ROOT), leaves)
        });
        assert_eq!((places, below), (1, 0..workers as u32));
        assert_eq!(leaves, vec![Domain::ROOT; workers]);
    }
    let text = r#"<HPT version="0.1"><place num="1" type="mem"><place num="2" type="cache">
        <worker num="1"/></place></place></HPT>"#;
    let platform = Platform::from_xml("two.hpt", text).unwrap();
    let rt = Runtime::builder().platform(platform).pinned(false);
    let rt = rt.build().unwrap();
    assert_eq!(rt.run(|cx| cx.pool().tree().len()), 3);
}

/// Saying so in the environment is enough; what is no number is refused.
#[test]
fn the_environment_sets_the_workers() {
    let name = "the_environment_sets_the_workers";
    if let Ok(expected) = std::env::var(INSIDE) {
        match Runtime::new() {
            Ok(rt) => assert_eq!(rt.workers().to_string(), expected),
            Err(error) => {
                let line = one_line(&error);
                assert!(
                    line.contains("TAUTLINE_WORKERS") && line.contains(&expected),
                    "{line}"
                );
            }
        }
        return;
    }
    for (set, expected) in [("3", "3"), ("1", "1"), ("many", "many")] {
        let own = std::env::current_exe().unwrap();
        let status = Command::new(own)
            .args(["--exact", name])
            .env("TAUTLINE_WORKERS", set)
            .env(INSIDE, expected)
            .status();
        assert!(status.unwrap().success(), "TAUTLINE_WORKERS={set}");
    }
}

/// Results, cancellations and waits come through the facade as they are.
#[test]
fn the_facade_adds_nothing() {
    let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
    let mut out = [0; 2];
    let (found, sum) = rt.run(|cx| {
        let [a, b] = &mut out;
        cx.scope_with(Wait::Own, |cx| {
            cx.spawn(|_| *a = 1);
            cx.spawn(|_| *b = 2);
        });
        let found = cx.finish(|cx| cx.spawn(|cx| _ = cx.cancel(Reason::Found)));
        (found, cx.join(|_| 1, |_| 2))
    });
    let reason = Reason::Found;
    assert_eq!(
        (found, sum, out),
        (Err(Cancelled { reason }), (1, 2), [1, 2])
    );
}

/// A runtime may be made and dropped in a task of another, and go right after its only run.
#[test]
fn runtimes_come_and_go() {
    let outer = Runtime::builder().workers(2).pinned(false).build().unwrap();
    for _ in 0..50 {
        let (a, b) = outer.run(|cx| {
            let inner = |_: &mut Cx| {
                let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
                rt.run(|cx| cx.join(|_| 1, |_| 1))
            };
            cx.join(inner, inner)
        });
        assert_eq!((a, b), ((1, 1), (1, 1)));
    }
}

/// Two runtimes whose tasks enter each other, also through futures, from threads that start in
/// either.
#[test]
fn runtimes_nest_through_futures() {
    fn nest(here: &Runtime, there: &Runtime, cx: &mut Cx, left: u32, ran: &AtomicUsize) {
        if left == 0 {
            cx.spawn(|_| ());
            ran.fetch_add(1, SeqCst);
            return;
        }
        let through_future = async |task: TaskCx| {
            let outer = task.clone();
            task.fork(|_| async {}).await;
            let spawned = task.finish(|task| async move { task.spawn(|_| ()) });
            assert!(spawned.await.is_ok());
            outer.spawn(|cx| _ = cx.join(|_| (), |_| ()));
            here.run(|cx| nest(here, there, cx, left - 1, ran));
        };
        cx.join(
            |_| there.run(|cx| nest(there, here, cx, left - 1, ran)),
            |_| there.block_on(through_future),
        );
    }
    const DEPTH: u32 = 4;
    for round in 0..10 {
        let [a, b] = [1 + round % 3, 2].map(|workers| {
            let rt = Runtime::builder().workers(workers).pinned(false);
            rt.build().unwrap()
        });
        let ran = &AtomicUsize::new(0);
        std::thread::scope(|threads| {
            for (here, there) in [(&a, &b), (&b, &a), (&a, &b)] {
                threads.spawn(move || here.run(|cx| nest(here, there, cx, DEPTH, ran)));
            }
        });
        assert_eq!(ran.load(SeqCst), 3 << DEPTH, "round {round}");
    }
}

/// A second runtime on the processors of the first one reports that.
#[test]
fn a_second_runtime_on_the_same_processors_is_explained() {
    let shares = |runtime: &Runtime| {
        let choices = runtime.explain();
        let mut lines = choices
            .iter()
            .filter(|choice| choice.setting == "placement");
        lines.any(|choice| choice.value.contains("have workers of another runtime"))
    };
    let pinned = || Runtime::builder().workers(1).pinned(true).build();
    let (first, second) = (pinned().unwrap(), pinned().unwrap());
    assert!(shares(&second));
    let unpinned = Runtime::builder().workers(1).pinned(false).build().unwrap();
    assert!(!shares(&unpinned));
    drop(first);
}
