//! Calls over ranks that have not ended, as a program reads them while they are open.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tautline::phaser::{Mode, Op};
use tautline::prelude::*;
use tautline::team::handler;
use tautline::world::{self, OpenCall, Rank, World};

/// The time within which a rank learns what the others do.
const KNOWN: Duration = Duration::from_secs(30);

fn runtime(world: &World) -> Runtime {
    let builder = Runtime::builder().world(world).workers(2).pinned(false);
    builder.build().expect("threads start")
}

/// Waits until the open calls are as `are` requests, and returns them.
fn until(world: &World, are: impl Fn(&[OpenCall]) -> bool) -> Vec<OpenCall> {
    let begun = Instant::now();
    loop {
        let open = world.open_calls();
        if are(&open) {
            return open;
        }
        assert!(begun.elapsed() < KNOWN, "{open:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Lets the handlers of all ranks end.
#[derive(Default)]
struct Gate(AtomicBool);

impl Gate {
    fn open(&self) {
        self.0.store(true, Relaxed);
    }

    fn wait(&self) {
        while !self.0.load(Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether the only open call ends so.
fn ends(with: &str) -> impl Fn(&[OpenCall]) -> bool {
    move |open| open.len() == 1 && open[0].to_string().ends_with(with)
}

/// A call names the ranks that have not made it and those that have, as they come; of a team, by
/// their ranks in the program.
#[test]
fn a_call_names_the_ranks_that_have_not_made_it() {
    let seen = [(); 2].map(|()| Barrier::new(2));
    world::loopback(4, |world| {
        runtime(world).run(|cx| {
            let mut team = world.team();
            let colour = (world.rank() != Rank(1)).then_some(0);
            let Some(mut some) = team.split(colour).wait(cx).expect("all make it") else {
                return;
            };
            if world.rank() != Rank(0) {
                seen[world.rank().index() - 2].wait();
            }
            let line = line!() + 1;
            let sum = some.all_reduce(1, |a, b| a + b);
            let sum = match world.rank() {
                Rank(0) => {
                    let open = until(world, |open| open.len() == 1 && open[0].absent().len() == 2);
                    assert_eq!(open[0].absent(), [Rank(2), Rank(3)]);
                    assert_eq!(
                        (open[0].kind(), open[0].site().line()),
                        ("all-reduce", line)
                    );
                    assert_eq!(open[0].site().file(), file!());
                    assert_eq!(open[0].activities(), []);
                    let text = open[0].to_string();
                    let start = "rank 0: operation 0 of group 0 of rank 0 (all-reduce) at ";
                    assert!(text.starts_with(start), "{text}");
                    assert!(
                        text.contains(", of rank 0, rank 2, rank 3, open for "),
                        "{text}"
                    );
                    assert!(
                        text.ends_with(": rank 2, rank 3 have not begun it"),
                        "{text}"
                    );
                    seen[0].wait();
                    until(world, ends(": rank 3 has not begun it; rank 2 has"));
                    seen[1].wait();
                    sum.wait(cx)
                }
                _ => sum.wait(cx),
            };
            assert_eq!(sum.expect("all make it"), 3);
            assert!(world.open_calls().is_empty());
        });
    });
}

/// A finish, and each scope in it, counts the activities that it waits for, by rank; also a scope
/// of an activity that another rank has started.
#[test]
fn a_finish_counts_the_activities_that_it_waits_for() {
    let [first, second] = [Gate::default(), Gate::default()];
    world::loopback(3, |world| {
        let slow = handler(|_, _, is_first: bool| match is_first {
            true => first.wait(),
            false => second.wait(),
        });
        let nested = handler(|cx, at, (): ()| {
            let line = line!() + 1;
            cx.scope(|cx| at.spawn(cx, Rank(2), &slow, false));
            line
        });
        let scope = |line: u32| {
            let file = file!();
            format!("the scope that first spawned elsewhere at {file}:{line}:")
        };
        let mut team = world.team();
        runtime(world).run(|cx| {
            let line = line!() + 1;
            let ended = team.finish(cx, &(&slow, &nested), |cx, at| {
                if at.rank() != Rank(0) {
                    return;
                }
                let begun = line!() + 2;
                cx.scope(|cx| {
                    at.spawn(cx, Rank(1), &slow, true);
                    at.spawn(cx, Rank(1), &slow, true);
                    at.spawn(cx, Rank(2), &slow, true);
                    let counts = " waits for 2 activities at rank 1, 1 activity at rank 2";
                    let open = until(world, ends(counts));
                    assert_eq!((open[0].kind(), open[0].site().line()), ("finish", line));
                    let text = open[0].to_string();
                    assert!(text.contains(&scope(begun)), "{text}");
                    let activities = open[0].activities();
                    assert!(activities.contains(&(Rank(0), 1)), "its body: {text}");
                    assert!(
                        activities
                            .iter()
                            .any(|(rank, n)| *rank == Rank(1) && *n >= 2)
                    );
                    first.open();
                });
                let call = line!() + 1;
                let reply = at.call(cx, Rank(1), &nested, ());
                let result = "; 1 call at other ranks without a result yet";
                let text = until(world, ends(result))[0].to_string();
                let waits = format!(" waits for 1 activity at rank 1{result}");
                assert!(
                    text.contains(&scope(call)) && text.ends_with(&waits),
                    "{text}"
                );
                assert!(!text.contains(&scope(begun)), "{text}");
                // Rank 2 runs what rank 1 has started, and its body has ended.
                thread::sleep(Duration::from_millis(10));
                second.open();
                assert!(reply.wait(cx).is_ok());
            });
            assert!(ended.is_ok(), "{ended:?}");
            assert!(world.open_calls().is_empty());
        });
    });
}

/// The rank of an activity that waits in a scope names it; the others wait for rank 0, which
/// counts.
#[test]
fn the_scope_of_an_activity_is_named_where_it_waits() {
    let (gate, seen) = (Gate::default(), Barrier::new(3));
    world::loopback(3, |world| {
        let slow = handler(|_, _, (): ()| gate.wait());
        let nested = handler(|cx, at, (): ()| {
            cx.scope(|cx| {
                at.spawn(cx, Rank(2), &slow, ());
                let scope = format!(
                    ": it waits for rank 0, which counts the activities; \
                     the scope that first spawned elsewhere at {}:",
                    file!()
                );
                let waits = " waits for 1 activity at rank 2";
                let is = |text: String| text.contains(&scope) && text.ends_with(waits);
                until(world, |open| open.len() == 1 && is(open[0].to_string()));
                seen.wait();
            });
        });
        let mut team = world.team();
        runtime(world).run(|cx| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    match world.rank() {
                        // Its body has ended, and rank 1 has not reported.
                        Rank(0) => _ = until(world, ends(" waits for 1 activity at rank 1")),
                        Rank(1) => return,
                        _ => {
                            until(
                                world,
                                ends(": it waits for rank 0, which counts the activities"),
                            );
                        }
                    }
                    seen.wait();
                    gate.open();
                });
                let ended = team.finish(cx, &(&slow, &nested), |cx, at| {
                    if at.rank() == Rank(0) {
                        at.spawn(cx, Rank(1), &nested, ());
                    }
                });
                assert!(ended.is_ok(), "{ended:?}");
            });
        });
    });
}

/// A task that waits for room names the rank that does not keep up.
#[test]
fn a_task_that_waits_for_room_names_the_rank() {
    let gate = Gate::default();
    world::loopback(2, |world| {
        let slow = handler(|_, _, _: Vec<u8>| gate.wait());
        let mut team = world.team();
        runtime(world).run(|cx| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    if world.is_home() {
                        until(world, ends("; 1 task waits for room on the way to rank 1"));
                        gate.open();
                    }
                });
                let ended = team.finish(cx, &slow, |cx, at| {
                    let count = if at.rank() == Rank(0) { 100 } else { 0 };
                    (0..count).for_each(|_| at.spawn(cx, Rank(1), &slow, vec![0; 1 << 15]));
                });
                assert!(ended.is_ok(), "{ended:?}");
                let waits = [team.statistics(), world.statistics()].map(|it| it.waits);
                assert!(
                    waits[0] == waits[1] && (waits[0] > 0) == world.is_home(),
                    "{waits:?}"
                );
            });
        });
    });
}

/// A phase of all ranks has its number, the call that has made the phaser, and the ranks whose
/// tasks have not signalled it.
#[test]
fn a_phase_names_the_ranks_that_have_not_signalled() {
    let gates = [(); 2].map(|()| Barrier::new(2));
    world::loopback(2, |world| {
        let ended: tautline::Result<()> = runtime(world).run(|cx| {
            let line = line!() + 1;
            let (_, mut phases) = world.team().accumulator::<u64>(cx, Op::Sum)?;
            let gates = &gates;
            cx.spawn_phased(phases.signal_wait(), async move |mut task| {
                for gate in gates {
                    if !world.is_home() {
                        gate.wait();
                    }
                    task.next().await.expect("the phase ends");
                }
            })?;
            drop(phases);
            if world.is_home() {
                for (phase, gate) in gates.iter().enumerate() {
                    let start = format!("rank 0: operation {phase} of group ");
                    let is_phase = |open: &OpenCall| {
                        let text = open.to_string();
                        text.starts_with(&start) && text.ends_with(": rank 1 has not begun it")
                    };
                    let open = until(world, |open| open.len() == 1 && is_phase(&open[0]));
                    assert_eq!(
                        (open[0].kind(), open[0].absent()),
                        ("phase", &[Rank(1)][..])
                    );
                    assert_eq!(
                        (open[0].site().file(), open[0].site().line()),
                        (file!(), line)
                    );
                    gate.wait();
                }
            }
            Ok(())
        });
        assert!(ended.is_ok(), "{ended:?}");
    });
}

/// The same among threads: while those of a rank wait, its call is open.
#[test]
fn a_phase_of_threads_names_the_ranks_that_have_not_signalled() {
    let is_seen = Barrier::new(2);
    world::loopback(2, |world| {
        let line = line!() + 1;
        let mut first = world.team().phaser_for_threads(2).expect("both make it");
        let mut second = first.register(Mode::SignalWait).expect("signal-wait");
        thread::scope(|threads| {
            threads.spawn(|| {
                for _ in 0..2 {
                    second.next_blocking().expect("a phase");
                }
            });
            first.next_blocking().expect("a phase");
            if world.is_home() {
                let waits = threads.spawn(|| first.next_blocking());
                let open = until(world, ends(": rank 1 has not begun it"));
                let [open] = &open[..] else { panic!("one") };
                assert!(
                    open.to_string()
                        .starts_with("rank 0: operation 1 of group ")
                );
                assert_eq!((open.kind(), open.absent()), ("phase", &[Rank(1)][..]));
                let (file, made) = (open.site().file(), open.site().line());
                assert_eq!((file, made), (file!(), line));
                is_seen.wait();
                waits.join().expect("no panic").expect("a phase");
            } else {
                is_seen.wait();
                first.next_blocking().expect("a phase");
            }
        });
        assert!(world.open_calls().is_empty());
    });
}
