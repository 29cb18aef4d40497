//! Calls of a team, and tasks at another rank, by tasks of two ranks of one worker.

use super::Options;
use std::hint::black_box;
use std::time::Instant;
use tautline::prelude::*;
use tautline::team::{Team, handler};
use tautline::world::{Rank, World};

/// The other rank of the one that measures.
const OTHER: Rank = Rank(1);

/// Runs a task with a team of all ranks.
fn in_task<R: Send>(task: impl FnOnce(&mut Cx<'_, '_>, &mut Team) -> R + Send) -> R {
    let world = World::join().expect("launched");
    let rt = Runtime::builder().world(&world).workers(1).build();
    rt.expect("a worker").run(|cx| task(cx, &mut world.team()))
}

/// Nanoseconds of a barrier.
pub(super) fn barrier(options: &Options) -> Option<f64> {
    in_task(|cx, team| {
        options
            .launches
            .per_trip(team.rank(), |_| team.barrier().wait(cx).expect("all live"))
    })
}

/// Nanoseconds of a sum of 8 bytes.
pub(super) fn sum(options: &Options) -> Option<f64> {
    in_task(|cx, team| {
        options.launches.per_trip(team.rank(), |number| {
            let ranks = u64::from(team.ranks());
            let sum = team.all_reduce(black_box(number), |a, b| a + b).wait(cx);
            assert_eq!(sum.expect("all live"), ranks * number);
        })
    })
}

/// Nanoseconds of a phase of one task of each rank.
pub(super) fn phase(options: &Options) -> Option<f64> {
    in_task(|cx, team| {
        let here = team.rank();
        let (all, warm_up) = (options.launches.trips(), options.launches.trips() / 10);
        let measured = cx.scope(|cx| {
            let mut barrier = team.phaser(cx).expect("all live");
            let spawned = cx.spawn_phased_value(barrier.signal_wait(), async move |mut task| {
                for _ in 0..warm_up {
                    task.next().await.expect("a phase");
                }
                let begun = Instant::now();
                for _ in 0..all {
                    task.next().await.expect("a phase");
                }
                begun.elapsed().as_nanos() as f64 / all as f64
            });
            drop(barrier);
            spawned.expect("in the scope").join(cx)
        });
        (here == Rank(0)).then(|| measured.expect("no panic"))
    })
}

/// Nanoseconds of a finish of the team in which nothing is spawned.
pub(super) fn finish(options: &Options) -> Option<f64> {
    let nothing = handler(|_, _, (): ()| ());
    in_task(|cx, team| {
        options.launches.per_trip(team.rank(), |_| {
            team.finish(cx, &nothing, |_, _| ()).expect("all live");
        })
    })
}

/// Nanoseconds of a finish of a team of one rank around one task.
pub(super) fn finish_around_task(options: &Options) -> Option<f64> {
    let nothing = handler(|_, _, (): ()| ());
    in_task(|cx, team| {
        options.launches.per_trip(team.rank(), |number| {
            let ended = team.finish(cx, &nothing, |cx, _| {
                cx.spawn(move |_| _ = black_box(number))
            });
            ended.expect("all live");
        })
    })
}

/// Nanoseconds of a finish inside a rank around one task.
pub(super) fn local_finish(options: &Options) -> Option<f64> {
    in_task(|cx, team| {
        options.launches.per_trip(team.rank(), |number| {
            let ended = cx.finish(|cx| cx.spawn(move |_| _ = black_box(number)));
            ended.expect("not cancelled");
        })
    })
}

/// Nanoseconds of a finish around one task at the other rank.
pub(super) fn spawn(options: &Options) -> Option<f64> {
    let nothing = handler(|_, _, (): ()| ());
    in_task(|cx, team| {
        let ended = team.finish(cx, &nothing, |cx, at| {
            let measures = at.rank() == Rank(0);
            let mut spawn = |_| {
                cx.finish(|cx| at.spawn(cx, OTHER, &nothing, ()))
                    .expect("not cancelled")
            };
            measures
                .then(|| options.launches.per_trip(at.rank(), &mut spawn))
                .flatten()
        });
        ended.expect("all live")
    })
}

/// Nanoseconds of a call with 64 bytes there and back.
pub(super) fn call(options: &Options) -> Option<f64> {
    let echo = handler(|_, _, value: [u64; 8]| black_box(value));
    in_task(|cx, team| {
        let ended = team.finish(cx, &echo, |cx, at| {
            let measures = at.rank() == Rank(0);
            let mut call = |number| {
                let value = [u64::MAX - number; 8];
                assert_eq!(
                    at.call(cx, OTHER, &echo, value).wait(cx).expect("all live"),
                    value
                );
            };
            measures
                .then(|| options.launches.per_trip(at.rank(), &mut call))
                .flatten()
        });
        ended.expect("all live")
    })
}

/// Nanoseconds of each of many tasks that are spawned at the other rank, one by one.
pub(super) fn spawns(options: &Options) -> Option<f64> {
    let nothing = handler(|_, _, number: u64| _ = black_box(number)).short();
    in_task(|cx, team| {
        let begun = Instant::now();
        let ended = team.finish(cx, &nothing, |cx, at| {
            for number in 0..options.launches.trips() * u64::from(at.rank() == Rank(0)) {
                at.spawn(cx, OTHER, &nothing, number);
            }
        });
        ended.expect("all live");
        let each = begun.elapsed().as_nanos() as f64 / options.launches.trips() as f64;
        (team.rank() == Rank(0)).then_some(each)
    })
}

/// Nanoseconds of each of many calls with 16 bytes in batches.
pub(super) fn batch(options: &Options) -> Option<f64> {
    let nothing = handler(|_, _, numbers: (u64, u64)| _ = black_box(numbers)).short();
    in_task(|cx, team| {
        let (begun, all) = (Instant::now(), 10 * options.launches.trips());
        let ended = team.finish(cx, &nothing, |cx, at| {
            let mut batch = at.batch(cx, &nothing);
            for number in 0..all * u64::from(at.rank() == Rank(0)) {
                batch.push(cx, OTHER, (u64::MAX, number));
            }
        });
        ended.expect("all live");
        let each = begun.elapsed().as_nanos() as f64 / all as f64;
        (team.rank() == Rank(0)).then_some(each)
    })
}
