//! Programs over ranks that continue without a lost rank.

mod cut;
mod ranks;

use cut::cuttable;
use ranks::runtime;
use serde::{Deserialize, Serialize};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use tautline::balance::Reason;
use tautline::phaser::Mode;
use tautline::prelude::*;
use tautline::team::{RankError, RankErrorKind, Team, handler};
use tautline::world::{Rank, World};

const RANKS: u32 = 4;

/// Runs a program at ranks that tolerate losses, each with what cuts the ranks off.
fn with_cuts<R: Send>(program: impl Fn(&World, &[Arc<AtomicBool>]) -> R + Sync) -> Vec<R> {
    with_deaf(None, program)
}

/// As [`with_cuts`]; the links of a rank withhold losses.
fn with_deaf<R: Send>(
    deaf: Option<u32>,
    program: impl Fn(&World, &[Arc<AtomicBool>]) -> R + Sync,
) -> Vec<R> {
    let (mut links, cuts) = cuttable(RANKS);
    if let Some(deaf) = deaf {
        links[deaf as usize].is_deaf = true;
    }
    let begun = Barrier::new(RANKS as usize);
    World::builder().links(links, |world: &World| {
        world.tolerate_losses();
        // A rank that hears of a loss before would end.
        begun.wait();
        program(world, &cuts)
    })
}

/// Waits in a task, beside others, until a condition holds that other threads make true.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    let is_so = poll_fn(|cx| {
        if is_so() {
            return Poll::Ready(());
        }
        assert!(since.elapsed() < Duration::from_secs(20), "{what}");
        thread::yield_now();
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    is_so.await;
}

/// Asserts that a result is an error by the loss of this rank.
fn is_loss_of<T>(lost: u32, ended: tautline::Result<T>) {
    let Err(tautline::Error::Rank(error)) = ended else {
        panic!("no error of a rank: {:?}", ended.err());
    };
    check(lost, &error);
}

fn check(lost: u32, error: &RankError) {
    assert_eq!(
        (error.kind(), error.rank()),
        (RankErrorKind::Lost, Rank(lost)),
        "{error}"
    );
    assert!(
        error.to_string().contains(&format!("rank {lost} was lost")),
        "{error}"
    );
}

/// A team of the ranks but these, which have one of theirs.
fn without<const N: usize>(cx: &mut Cx<'_, '_>, world: &World, lost: [u32; N]) -> Team {
    let mut team = world.team();
    let colour = u32::from(lost.contains(&world.rank().0));
    let part = team.split(Some(colour)).wait(cx);
    let part = part.expect("no rank is lost yet");
    part.expect("each rank has a colour")
}

/// An argument whose values are counted, in this process.
#[derive(Serialize, Deserialize)]
#[serde(from = "u64")]
struct Counted(u64);

static LIVE: AtomicI64 = AtomicI64::new(0);

impl From<u64> for Counted {
    fn from(n: u64) -> Self {
        LIVE.fetch_add(1, Relaxed);
        Self(n)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Relaxed);
    }
}

/// Each rank starts an endless activity at each other one, in a finish of its own; then a rank is
/// lost. The finish of all ranks and those in it end, with an error, all values are dropped, and a
/// team of the ranks that are left has its values.
fn lost_in_a_finish(lost: u32, workers: usize) {
    let began = Arc::new(AtomicU32::new(0));
    let ended = with_cuts(|world, cuts| {
        let here = world.rank();
        let mut team = world.team();
        let endless = handler(|cx: &mut Cx<'_, '_>, _, n: Counted| {
            let began = Arc::clone(&began);
            cx.spawn_async(move |_| async move {
                let _n = n;
                began.fetch_add(1, Relaxed);
                std::future::pending::<()>().await;
            });
        });
        runtime(world, workers).run(|cx| {
            let mut rest = without(cx, world, [lost]);
            let (mut inner, mut error) = (None, None);
            let ended = team.finish(cx, &endless, |cx, at| {
                inner = Some(cx.finish(|cx| {
                    let others = at.all().filter(|to| *to != here);
                    others.for_each(|to| at.spawn(cx, to, &endless, u64::from(to.0).into()));
                    if here.0 == lost {
                        let (began, cut) = (Arc::clone(&began), Arc::clone(&cuts[lost as usize]));
                        cx.spawn_async(async move |_| {
                            let all = RANKS * (RANKS - 1);
                            until("the activities begin", || began.load(Relaxed) == all).await;
                            cut.store(true, Relaxed);
                        });
                    }
                }));
                error = at.lost();
            });
            let inner = inner
                .expect("the body ran")
                .expect_err("an activity has no end");
            assert_eq!(inner.reason, Reason::Lost);
            if here.0 == lost {
                return assert!(ended.is_err());
            }
            is_loss_of(lost, ended);
            check(lost, &error.expect("the scope has ended by a loss"));
            left_continue(cx, &mut rest, here.0, 6 - lost);
            // What its team does next ends at once, also what needs no message of the lost rank.
            is_loss_of(lost, team.barrier().wait(cx));
            is_loss_of(lost, team.broadcast(here, here.0).wait(cx));
            is_loss_of(lost, team.reduce(Rank(0), here.0, |a, b| a + b).wait(cx));
            let ended = team.finish(cx, &endless, |cx, at| {
                at.all().for_each(|to| at.spawn(cx, to, &endless, 0.into()));
            });
            is_loss_of(lost, ended);
        });
    });
    assert_eq!(ended.len(), RANKS as usize);
    assert_eq!(LIVE.load(Relaxed), 0);
}

#[test]
fn a_lost_rank_ends_the_finishes_that_know_it() {
    for lost in 0..RANKS {
        for workers in [1, 2] {
            lost_in_a_finish(lost, workers);
        }
    }
}

/// A call of a team ends at all ranks that are left, and the calls after it; those of other teams
/// continue.
#[test]
fn a_lost_rank_ends_the_calls_of_its_teams() {
    for lost in 0..RANKS {
        let entered = AtomicU32::new(0);
        with_cuts(|world, cuts| {
            let here = world.rank();
            let mut team = world.team();
            runtime(world, 1).run(|cx| {
                let mut rest = without(cx, world, [lost]);
                if here.0 == lost {
                    let all = || entered.load(Relaxed) == RANKS - 1;
                    cx.block_on(until("the others call", all));
                    return cuts[lost as usize].store(true, Relaxed);
                }
                let call = team.all_gather(here.0);
                entered.fetch_add(1, Relaxed);
                is_loss_of(lost, call.wait(cx));
                is_loss_of(lost, team.barrier().wait(cx));
                let all = rest.all_gather(here.0).wait(cx);
                let left: Vec<_> = (0..RANKS).filter(|rank| *rank != lost).collect();
                assert_eq!(all.expect("no rank of it is lost"), left);
            });
        });
    }
}

/// A rank is lost for which another one waits in its body, without a finish of its own: the bodies
/// of all ranks are cancelled, and know the lost rank, also where the own link has not noticed it.
#[test]
fn bodies_know_the_loss_that_cancels_them() {
    for lost in 1..RANKS {
        for round in 0..20 {
            let deaf = (round % 2 == 0).then_some((lost + 2) % RANKS);
            let (entered, began) = (AtomicU32::new(0), AtomicU32::new(0));
            with_deaf(deaf, |world, cuts| {
                let here = world.rank();
                let mut team = world.team();
                let endless = handler(|cx: &mut Cx<'_, '_>, _, (): ()| {
                    began.fetch_add(1, Relaxed);
                    cx.spawn_async(async |_| std::future::pending().await);
                });
                let ended = runtime(world, 1).run(|cx| {
                    let mut error = None;
                    let ended = team.finish(cx, &endless, |cx, at| {
                        if here.0 == lost {
                            let all = || entered.load(Relaxed) + began.load(Relaxed) == RANKS;
                            cx.block_on(until("all begin", all));
                            return cuts[lost as usize].store(true, Relaxed);
                        }
                        entered.fetch_add(1, Relaxed);
                        if here.0 == (lost + 1) % RANKS {
                            at.spawn(cx, Rank(lost), &endless, ());
                        }
                        let ended = cx.finish(|cx| {
                            cx.spawn_async(async |_| std::future::pending().await);
                        });
                        assert_eq!(ended.expect_err("it has no end").reason, Reason::Lost);
                        error = at.lost();
                    });
                    (ended, error)
                });
                if here.0 != lost {
                    is_loss_of(lost, ended.0);
                    check(lost, &ended.1.expect("a loss"));
                }
            });
        }
    }
}

/// Two ranks are lost, one after the other or at once: the calls of their teams end, and the ranks
/// that are left continue.
#[test]
fn two_lost_ranks() {
    for (first, second) in [(1, 2), (2, 1), (0, 3), (3, 0)] {
        for at_once in [false, true] {
            let entered = [(); 2].map(|()| AtomicU32::new(0));
            let all = |call: usize, ranks| entered[call].load(Relaxed) == ranks;
            with_cuts(|world, cuts| {
                let here = world.rank().0;
                let cut = |lost: u32| cuts[lost as usize].store(true, Relaxed);
                let mut team = world.team();
                runtime(world, 1).run(|cx| {
                    let mut others = without(cx, world, [first]);
                    let mut rest = without(cx, world, [first, second]);
                    if here == first {
                        cx.block_on(until("the others call", || all(0, RANKS - 1)));
                        if at_once {
                            cut(second);
                        }
                        return cut(first);
                    }
                    let call = team.all_gather(here);
                    entered[0].fetch_add(1, Relaxed);
                    let Err(tautline::Error::Rank(error)) = call.wait(cx) else {
                        panic!("the call of four ranks has ended without one");
                    };
                    if here == second && at_once {
                        // It has lost all others.
                        return;
                    }
                    let mut lost = [first, second].into_iter().take(1 + usize::from(at_once));
                    let lost = lost.find(|lost| error.rank() == Rank(*lost));
                    check(lost.expect("one of them"), &error);
                    if here == second {
                        cx.block_on(until("the others call again", || all(1, RANKS - 2)));
                        return cut(second);
                    }
                    let call = others.all_gather(here);
                    entered[1].fetch_add(1, Relaxed);
                    is_loss_of(second, call.wait(cx));
                    left_continue(cx, &mut rest, here, 6 - first - second);
                });
            });
        }
    }
}

/// Ranks of the world whose sum is this have a finish and a call of their team.
fn left_continue(cx: &mut Cx<'_, '_>, rest: &mut Team, here: u32, sum: u32) {
    let count = AtomicU32::new(0);
    let add = handler(|_, _, n: u32| _ = count.fetch_add(n, Relaxed));
    let ended = rest.finish(cx, &add, |cx, at| {
        at.all().for_each(|to| at.spawn(cx, to, &add, here));
    });
    ended.expect("no rank of it is lost");
    assert_eq!(count.load(Relaxed), sum);
    let all = rest.all_reduce(here, |a, b| a + b).wait(cx);
    assert_eq!(all.expect("no rank of it is lost"), sum);
}

/// Lets a task proceed in phases with those of all ranks of a team while `continues` of their
/// number is true. Returns how many have ended.
fn phases(
    cx: &mut Cx<'_, '_>,
    team: &mut Team,
    continues: impl Fn(u32) -> bool + Send + 'static,
) -> u32 {
    let ended = Arc::new(AtomicU32::new(0));
    cx.scope(|cx| {
        let mut phaser = team.phaser(cx).expect("no rank of it is lost");
        let ended = Arc::clone(&ended);
        let spawned = cx.spawn_phased(phaser.signal_wait(), async move |mut task| {
            while continues(ended.load(Relaxed)) && task.next().await.is_ok() {
                ended.fetch_add(1, Relaxed);
            }
        });
        spawned.expect("a registered task");
    });
    ended.load(Relaxed)
}

/// Tasks in phases with those of a lost rank: their scope ends with an error. The phases of a team
/// without it continue.
#[test]
fn a_lost_rank_ends_the_phases_of_its_teams() {
    for lost in 0..RANKS {
        with_cuts(|world, cuts| {
            let here = world.rank();
            let (mut team, cut) = (world.team(), Arc::clone(&cuts[lost as usize]));
            runtime(world, 1).run(|cx| {
                let mut rest = without(cx, world, [lost]);
                let endless = move |phase| {
                    if here.0 == lost && phase == 3 {
                        cut.store(true, Relaxed);
                    }
                    true
                };
                let run = AssertUnwindSafe(|| phases(cx, &mut team, endless));
                let payload = catch_unwind(run).expect_err("no phase ends without the rank");
                if here.0 == lost {
                    return;
                }
                let error = payload.downcast::<tautline::Error>();
                is_loss_of::<()>(lost, Err(*error.expect("an error of a rank")));
                assert_eq!(phases(cx, &mut rest, |phase| phase < 5), 5);
            });
        });
    }
}

/// As [`a_lost_rank_ends_the_phases_of_its_teams`], for threads, of which one of each rank has
/// left.
#[test]
fn a_lost_rank_ends_the_phases_of_threads() {
    for lost in 0..RANKS {
        with_cuts(|world, cuts| {
            let here = world.rank();
            let mut team = world.team();
            let mut rest = runtime(world, 1).run(|cx| without(cx, world, [lost]));
            let mut thread = team.phaser_for_threads(2).expect("no rank is lost yet");
            drop(
                thread
                    .register(Mode::SignalWait)
                    .expect("a thread that leaves"),
            );
            let failed = (0..).find_map(|phase| {
                if here.0 == lost && phase == 3 {
                    cuts[lost as usize].store(true, Relaxed);
                }
                thread.next_blocking().err()
            });
            if here.0 == lost {
                return;
            }
            is_loss_of::<()>(lost, Err(failed.expect("the phases have ended")));
            let mut thread = rest.phaser_for_threads(1).expect("no rank of it is lost");
            (0..5).for_each(|_| thread.next_blocking().expect("a phase of the others"));
        });
    }
}

/// A call to a rank that is lost has no result, and a task that waits for room at it continues.
#[test]
fn no_task_waits_for_a_lost_rank() {
    /// Bytes of an activity, and the number of them for which there is room.
    const BYTES: usize = 1 << 16;
    const ROOM: u32 = 1 << 4;
    for lost in 1..RANKS {
        let begun = Arc::new(AtomicU32::new(0));
        with_cuts(|world, cuts| {
            let here = world.rank();
            let (mut team, begun) = (world.team(), Arc::clone(&begun));
            let keep = handler(|_, _, bytes: Vec<u8>| bytes.len() as u64);
            runtime(world, 1).run(|cx| {
                let (mut replies, mut of_reply) = (Vec::new(), None);
                let ended = team.finish(cx, &keep, |cx, at| {
                    if here.0 == lost {
                        // It takes nothing: its only worker is here.
                        while begun.load(Relaxed) < ROOM {
                            thread::yield_now();
                        }
                        cuts[lost as usize].store(true, Relaxed);
                    } else if here == Rank(0) {
                        for _ in 0..2 * ROOM {
                            begun.fetch_add(1, Relaxed);
                            replies.push(at.call(cx, Rank(lost), &keep, vec![1; BYTES]));
                        }
                        of_reply = replies.pop().map(|reply| reply.wait(cx));
                    }
                });
                if here.0 != lost {
                    is_loss_of(lost, ended);
                }
                if here == Rank(0) {
                    assert!(of_reply.expect("a call was made").is_err());
                    replies
                        .drain(..)
                        .for_each(|reply| assert!(reply.wait(cx).is_err()));
                }
            });
        });
    }
}
