//! Balanced computations over ranks that are lost, that cancel, or whose messages are malformed:
//! every rank ends, with an error that names the rank.

mod cut;
mod forged;

use cut::cuttable;
use forged::{Forge, forged};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use tautline::balance::{Local, Reason, Run};
use tautline::prelude::*;
use tautline::team::handler;
use tautline::world::{self, World};
use tautline_core::Rank;
use tautline_core::balance::{Across, Left, RankError};
use tautline_core::glb::Config;
use tautline_core::port::{Link, Spin};
use tautline_core::wire::Exchange;
use tautline_node::Loopback;

const RANKS: u32 = 3;

fn runtime() -> Runtime {
    let builder = Runtime::builder().places(1).workers(1);
    builder.pinned(false).build().unwrap()
}

/// Tasks without an end, counted where they run.
fn counted(
    done: &Arc<AtomicU64>,
) -> impl Fn(u64, &mut Local<u64>) -> u64 + Clone + 'static + use<> {
    let done = Arc::clone(done);
    move |n, todo| {
        done.fetch_add(1, Relaxed);
        todo.extend([n + 1, n + 2].into_iter().take(2 - (n % 5 == 0) as usize));
        1
    }
}

/// Runs an endless computation of which one rank is cut off in the middle, while each has what
/// `prepare` returns. Returns the results of the ranks, and the tasks that each has done.
fn cut_in_the_middle<T>(
    lost: u32,
    prepare: fn(&World) -> T,
) -> (Vec<tautline::Result<Run<u64>>>, Vec<u64>) {
    let done: Vec<_> = (0..RANKS).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let (links, cuts) = cuttable(RANKS);
    let ended = World::builder().links(links, |world: &World| {
        let _kept = prepare(world);
        let here = world.rank();
        let (cut, all) = (Arc::clone(&cuts[here.index()]), done.clone());
        let task = counted(&done[here.index()]);
        runtime()
            .balancer()
            .across(world)
            .sum([1_u64], move |n, todo| {
                // In the middle: every rank has got work.
                if here.0 == lost && all.iter().all(|done| done.load(Relaxed) > 1000) {
                    cut.store(true, Relaxed);
                }
                task(n, todo)
            })
    });
    (ended, done.iter().map(|done| done.load(Relaxed)).collect())
}

/// After the loss of any rank in the middle, the others end with an error that names it, after
/// they have worked.
#[test]
fn the_loss_of_a_rank_is_an_error_that_names_it() {
    for lost in 0..RANKS {
        let (ended, _) = cut_in_the_middle(lost, |_| ());
        for (rank, ended) in (0..).zip(ended) {
            let message = ended.map(|_| ()).unwrap_err().to_string();
            if rank == lost {
                assert!(message.contains("being cut off"), "{message}");
            } else {
                let named = format!("rank {lost} was lost");
                assert!(message.contains(&named), "rank {rank}: {message}");
            }
        }
    }
}

/// If losses are tolerated, the ranks that reach rank 0 end with the results so far, each task
/// counted once; otherwise there is no result.
#[test]
fn without_a_lost_rank_the_others_keep_what_they_have() {
    for lost in 0..RANKS {
        let (ended, done) = cut_in_the_middle(lost, World::tolerate_losses);
        let is_cut = |rank: u32| (rank == lost) != (lost == 0);
        let left = (0..).zip(&done).filter(|(rank, _)| !is_cut(*rank));
        let known: u64 = left.map(|(_, done)| done).sum();
        for (rank, ended) in (0..).zip(ended) {
            if is_cut(rank) {
                let message = ended.map(|_| ()).unwrap_err().to_string();
                assert!(
                    message.contains("rank 0 was lost"),
                    "rank {rank}: {message}"
                );
                continue;
            }
            let run = ended.unwrap_or_else(|error| panic!("rank {rank}: {error}"));
            assert_eq!((run.output, run.tasks()), (known, known), "rank {rank}");
            assert_eq!((run.complete, run.stopped), (false, Some(Reason::Lost)));
            for (rank, place) in (0..RANKS).zip(&run.places) {
                assert_eq!(place.tally.tasks > 0, !is_cut(rank));
            }
        }
    }
}

/// A team whose finish has ended needs no rank any more.
#[test]
fn an_ended_finish_tolerates_a_loss() {
    let with_finish = |world: &World| {
        world.tolerate_losses();
        let mut team = world.team();
        let nothing = handler(|_, _, (): ()| ());
        runtime().run(|cx| {
            let ended = team.finish(cx, &nothing, |cx, at| {
                at.all().for_each(|to| at.spawn(cx, to, &nothing, ()));
            });
            ended.expect("no rank is lost yet");
        });
        team
    };
    let (ended, _) = cut_in_the_middle(2, with_finish);
    for ended in ended.into_iter().take(2) {
        let run = ended.expect("the loss is tolerated");
        assert_eq!(run.stopped, Some(Reason::Lost));
    }
}

/// Units that are never used up.
#[derive(serde::Serialize, serde::Deserialize)]
struct Units(u64);

impl Bag for Units {
    type Shared = Arc<AtomicU64>;
    type Output = ();

    fn process(&mut self, n: usize, done: &Self::Shared) -> usize {
        done.fetch_add(n as u64, Relaxed);
        n
    }

    fn split(&mut self, _: Share) -> Option<Self> {
        let half = self.0 / 2;
        self.0 -= half;
        (half > 0).then_some(Self(half))
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn len(&self) -> usize {
        self.0 as usize
    }

    fn submit(self, (): &mut ()) {}
}

/// Runs `program` over an exchange, whose turns another thread runs.
fn exchanged<T>(link: Loopback, program: impl FnOnce(&Exchange<Loopback>) -> T) -> T {
    let exchange = Exchange::new(link, Spin);
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Relaxed) {
                let _ = exchange.wait(1_000_000);
                exchange.nudge();
            }
            while matches!(exchange.leave(), Ok(false)) {}
        });
        let result = program(&exchange);
        ends.store(true, Relaxed);
        exchange.wake();
        result
    })
}

/// A scope cancelled at one rank ends the computation there by the cancellation, elsewhere by an
/// error that names the rank.
#[test]
fn a_cancelled_scope_reaches_all_ranks() {
    for cancels in 0..RANKS {
        let done = Arc::new(AtomicU64::new(0));
        let ranks = Loopback::new(RANKS);
        let site = std::panic::Location::caller();
        let ended: Vec<_> = thread::scope(|scope| {
            let one = |link: Loopback| {
                let done = &done;
                scope.spawn(move || {
                    let here = link.here();
                    let rt = Runtime::builder().workers(2).pinned(false).build().unwrap();
                    exchanged(link, |exchange| {
                        let mut ended = None;
                        let outcome = rt.run(|cx| {
                            cx.finish(|cx| {
                                if here.0 == cancels {
                                    cx.spawn(|cx| {
                                        while done.load(Relaxed) < 1000 {
                                            thread::yield_now();
                                        }
                                        _ = cx.cancel(Reason::Found);
                                    });
                                }
                                let config = Config::default().divided(1, 1);
                                let balancer = cx.balancer().config(config);
                                let across = Across { exchange, site };
                                let shared = |_| Arc::clone(done);
                                let run = balancer.across(&across, Units(64), shared, ());
                                ended = run.err();
                            })
                        });
                        (ended.unwrap(), outcome.is_err())
                    })
                })
            };
            let running: Vec<_> = ranks.into_iter().map(one).collect();
            running
                .into_iter()
                .map(|rank| rank.join().unwrap())
                .collect()
        });
        for (rank, (ended, is_cancelled)) in (0..).zip(ended) {
            assert_eq!(is_cancelled, rank == cancels);
            match ended {
                RankError::Cancelled(cancelled) if rank == cancels => {
                    assert_eq!(cancelled.reason, Reason::Found);
                }
                RankError::Abandoned { from, why } => {
                    assert_eq!((from, rank == cancels), (Rank(cancels), false));
                    assert_eq!(why, Left::Cancelled(Reason::Found));
                }
                ended => panic!("rank {rank}: {ended}"),
            }
        }
    }
}

/// A message between ranks that no correct rank sends ends the computation by an error that names
/// the sender, never by a panic.
#[test]
fn a_malformed_message_between_ranks_names_its_sender() {
    // Bodies: the kind of message (0: between places, with its kind; 2: the ending; 4: of the end),
    // then its fields.
    let forges: [(&str, u32, Forge); 4] = [
        ("the number of a report", 1, |body| {
            let is_report = body.starts_with(&[0, 3]);
            is_report.then(|| body[2] = 0).is_some()
        }),
        ("an answer for a request", 1, |body| {
            let is_request = body.len() == 3 && body.starts_with(&[0, 0]);
            is_request
                .then(|| body.copy_from_slice(&[0, 1, 0]))
                .is_some()
        }),
        ("an ending for a request", 2, |body| {
            let is_request = body.len() == 3 && body.starts_with(&[0, 0]);
            is_request
                .then(|| body.copy_from_slice(&[2, 1, 0]))
                .is_some()
        }),
        ("the number of a round", 1, |body| {
            let is_round = body.starts_with(&[4, 0, 0]);
            is_round.then(|| body[2] = 9).is_some()
        }),
    ];
    for (what, forger, forge) in forges {
        let links = forged(RANKS, forger, forge);
        let messages = World::builder().links(links, |world| {
            let climbs = |n: u32, todo: &mut Local<u32>| {
                todo.extend([1, 2].into_iter().filter(|k| *k <= n).map(|k| n - k));
                u64::from(n == 0)
            };
            let rt = runtime();
            let limited = rt.balancer().deadline(Duration::from_secs(60));
            let balancer = limited.across(world);
            let run = balancer.sum([22_u32], climbs);
            run.map(|run: Run<u64>| format!("{:?}", run.stopped))
                .map_err(|e| e.to_string())
        });
        let named = format!("rank {forger}: ");
        let names = |message: &Result<String, String>| {
            message
                .as_ref()
                .is_err_and(|message| message.starts_with(&named))
        };
        assert!(messages.iter().any(names), "{what}: {messages:?}");
        assert!(messages.iter().all(Result::is_err), "{what}: {messages:?}");
        let left = |message: &Result<String, String>| {
            let message = message.as_ref().err();
            message
                .filter(|message| message.contains("left the computation"))
                .cloned()
        };
        for message in messages.iter().filter_map(left) {
            assert!(
                message.contains("it refused a message: "),
                "{what}: {message}"
            );
        }
    }
}

/// A number that does not add up with one of another rank.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Of {
    /// The rank and 1; 0: of none.
    rank: u32,
    tasks: u64,
}

impl std::ops::AddAssign for Of {
    fn add_assign(&mut self, other: Self) {
        let is_one = self.rank == 0 || other.rank == 0 || self.rank == other.rank;
        assert!(is_one, "numbers of\ntwo ranks");
        self.rank = self.rank.max(other.rank);
        self.tasks += other.tasks;
    }
}

/// The others have its text in one line.
#[test]
fn a_panic_while_results_are_merged_reaches_all_ranks() {
    let has_run: Arc<[AtomicBool; 2]> = Arc::default();
    let ended = world::loopback(2, |world| {
        let (rank, has_run) = (world.rank().0, Arc::clone(&has_run));
        let task = move |n: u32, todo: &mut Local<u32>| {
            has_run[rank as usize].store(true, Relaxed);
            // Both ranks have a result before one has all.
            if !has_run.iter().all(|has| has.load(Relaxed)) {
                todo.push(n);
            }
            Of {
                rank: rank + 1,
                tasks: 1,
            }
        };
        let rt = runtime();
        let balancer = rt.balancer().across(world);
        catch_unwind(AssertUnwindSafe(|| balancer.sum(0..64_u32, task)))
    });
    let [zero, one] = ended.try_into().unwrap_or_else(|_| panic!("two ranks"));
    let payload = zero.map(|_| ()).expect_err("rank 0 merges");
    assert_eq!(
        *payload.downcast::<&str>().unwrap(),
        "numbers of\ntwo ranks"
    );
    let message = one.unwrap().map(|_: Run<Of>| ()).unwrap_err().to_string();
    assert_eq!(
        message,
        "rank 0 left the computation: a task panicked there: numbers of, two ranks"
    );
}
