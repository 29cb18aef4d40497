//! Balanced computations over ranks: exact results whatever the shape, over a link that delays
//! parcels at random.

mod chunks;

use chunks::Setting;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tautline::balance::backtrack;
use tautline::balance::{Bag, Control, Graph, PlaceId, Reason, Run, Steal};
use tautline::prelude::*;
use tautline::world::{self, World};
use tautline_cli::bc;
use tautline_cli::nqueens::{Queens, Size};
use tautline_cli::pentomino::{Board, Pieces, Tilings};
use tautline_cli::synthetic::{self, Synthetic, Work};
use tautline_cli::tsp::{Incumbent, Instance, Search, Tsp, held_karp};
use tautline_cli::uts::{self, Counts, Tree, Uts};
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};
use tautline_core::wire::Portable;
use tautline_node::Loopback;

/// Ranks, places of each, and workers of each place.
const RANKS: [u32; 5] = [1, 2, 3, 5, 8];
const PLACES: [(u32, usize); 4] = [(1, 1), (2, 1), (1, 2), (2, 2)];

/// A link that holds parcels back for a number of polls that it draws from a seed; those of one
/// rank stay in order.
struct Delayed {
    link: Loopback,
    random: u64,
    held: Vec<VecDeque<Vec<u8>>>,
    lost: Vec<Lost>,
}

impl Delayed {
    fn new(link: Loopback, random: u64) -> Self {
        Self {
            held: (0..link.ranks()).map(|_| VecDeque::new()).collect(),
            link,
            random,
            lost: Vec::new(),
        }
    }
}

impl Link for Delayed {
    fn here(&self) -> Rank {
        self.link.here()
    }

    fn ranks(&self) -> u32 {
        self.link.ranks()
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.link.bell()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let held = &mut self.held;
        let polled = self
            .link
            .poll(&mut |from, parcel| held[from.index()].push_back(parcel.to_vec()));
        self.lost.extend(polled.err());
        let mut moved = polled == Ok(true);
        for (from, parcels) in (0..).map(Rank).zip(held) {
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            if self.random >> 63 == 0 {
                if let Some(parcel) = parcels.pop_front() {
                    take(from, &parcel);
                    moved = true;
                }
            }
        }
        let ready = |lost: &Lost| self.held[lost.rank.index()].is_empty();
        match self.lost.iter().position(ready) {
            Some(at) => Err(self.lost.remove(at)),
            None => Ok(moved),
        }
    }

    fn arm(&mut self) -> bool {
        let holds_nothing = self.lost.is_empty() && self.held.iter().all(VecDeque::is_empty);
        holds_nothing && self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}

/// Runs `program` as each rank, over links that hold parcels back.
fn delayed<T: Send>(ranks: u32, seed: u64, program: impl Fn(&World) -> T + Sync) -> Vec<T> {
    let links = Loopback::new(ranks).into_iter().zip(seed..);
    let links = links.map(|(link, seed)| Delayed::new(link, seed));
    World::builder().links(links, program)
}

fn runtime(places: u32, workers: usize) -> Runtime {
    let builder = Runtime::builder().places(places).workers(workers);
    builder.pinned(false).build().unwrap()
}

/// Runs a bag over all shapes, and checks the output of each rank.
fn everywhere<B>(
    bag: impl Fn() -> B + Sync,
    shared: impl Fn(PlaceId) -> B::Shared + Sync,
    check: impl Fn(&Run<B::Output>),
) where
    B: Bag<Output: Default + Send> + Portable + 'static,
{
    for ranks in RANKS {
        for ((places, workers), seed) in PLACES.into_iter().zip(1..) {
            let runs = delayed(ranks, seed, |world| {
                let rt = runtime(places, workers);
                let balancer = rt.balancer().across(world);
                balancer.run(bag(), &shared, Default::default())
            });
            for run in runs {
                let run = run.unwrap();
                assert!(run.complete, "{ranks} x {places} x {workers}");
                assert_eq!(run.places.len() as u32, ranks * places);
                assert_eq!(run.bytes > 0, ranks > 1, "{ranks} ranks");
                check(&run);
            }
        }
    }
}

/// Saraswat, acceptance fact 1, over ranks: every node is counted once.
#[test]
fn unbalanced_trees() {
    let params = uts::named::find("T3").unwrap().params;
    let tree = || Tree::new(params).unwrap();
    let expected = uts::sequential(&tree());
    everywhere(
        || Uts::root(&tree()),
        |_| tree(),
        |run: &Run<Counts>| assert_eq!(run.output, expected),
    );
}

#[test]
fn queens() {
    let size = Size::new(10).unwrap();
    everywhere(
        || Queens::new(&size),
        |_| size,
        |run| assert_eq!(run.output.sum, 724),
    );
}

#[test]
fn pentominoes() {
    let board = Board::new(3, 20, Pieces::TwoSided, false).unwrap();
    let expected = backtrack::sequential::<tautline_cli::pentomino::Tiling>(&board);
    everywhere(
        || Tilings::new(&board),
        |_| board.clone(),
        |run| assert_eq!(run.output, expected),
    );
}

#[test]
fn betweenness_to_the_last_bit() {
    let rmat = bc::Rmat {
        scale: 7,
        seed: 3,
        ..bc::Rmat::default()
    };
    let graph = Arc::new(rmat.graph().unwrap());
    let expected = bc::sequential(&graph);
    everywhere(
        || bc::Bc::root(&graph),
        |_| Arc::clone(&graph),
        |run| assert_eq!(run.output.checksum(), expected.checksum()),
    );
}

#[test]
fn shortest_tours() {
    let instance = Instance::random(12, 1000, 7).unwrap();
    let optimum = held_karp(&instance).unwrap();
    let search = Arc::new(Search::new(instance.clone(), None));
    everywhere(
        || Tsp::root(&search),
        |_| Incumbent::new(&search),
        |run| {
            let best = run.output.best.as_ref().unwrap();
            assert_eq!(best.length, optimum);
            assert!(instance.is_tour(&best.cities));
        },
    );
}

fn small_units() -> Work {
    let params = synthetic::Params {
        seed: 5,
        ..synthetic::Params::default()
    };
    let spins = false;
    Work { params, spins }
}

#[test]
fn synthetic_trees() {
    let work = small_units();
    let mut alone = Synthetic::new(&work.params);
    alone.process(usize::MAX, &work);
    let mut expected = synthetic::Found::default();
    alone.submit(&mut expected);
    everywhere(
        || Synthetic::new(&work.params),
        |_| work,
        |run| assert_eq!(run.output, expected),
    );
}

#[test]
fn sums() {
    let climbs = |n: u32, todo: &mut tautline::balance::Local<u32>| {
        todo.extend([1, 2].into_iter().filter(|k| *k <= n).map(|k| n - k));
        u64::from(n == 0)
    };
    for ranks in RANKS {
        for (places, workers) in PLACES {
            let runs = delayed(ranks, 9, |world| {
                runtime(places, workers)
                    .balancer()
                    .across(world)
                    .sum([20_u32], climbs)
            });
            for run in runs {
                let found = run.unwrap().output;
                assert_eq!(found, 10_946, "{ranks} x {places} x {workers}");
            }
        }
    }
}

/// Counts the tree of `setting` over links that hold parcels back.
fn counts_exactly(setting: &Setting) {
    let params = uts::named::find(setting.tree).unwrap().params;
    let tree = || Tree::new(params).unwrap();
    let runs = delayed(setting.ranks, 25, |world| {
        let rt = runtime(1, setting.workers);
        let balancer = rt.balancer().steal(Steal::Count(setting.chunk));
        let balancer = balancer.grain(setting.interval).across(world);
        balancer.run(Uts::root(&tree()), |_| tree(), Counts::default())
    });
    for run in runs {
        let run = run.unwrap();
        assert!(run.complete, "{setting:?}");
        assert_eq!(run.output.nodes, setting.nodes, "{setting:?}");
    }
}

/// Chatterjee, acceptance fact 25, over ranks whose messages are late: each tree, number of ranks
/// and of workers once; each chunk with each interval.
#[test]
fn chunks_and_intervals() {
    let all = chunks::all();
    let pairs = 9;
    let shapes = all.chunks(pairs).enumerate();
    shapes.for_each(|(shape, settings)| counts_exactly(&settings[shape % pairs]));
}

/// Chatterjee, acceptance fact 25, to the letter: every combination, with each tree.
#[test]
#[ignore = "cargo ci deep: 0.6 thousand million nodes, with --release"]
fn every_chunk_and_interval() {
    let all = chunks::all();
    assert_eq!(all.len(), 2 * 4 * 2 * 3 * 3);
    all.iter().for_each(counts_exactly);
}

/// Saraswat, acceptance fact 4, over ranks whose messages are late: lifelines alone, the ring, one
/// place.
#[test]
fn lifelines_alone_and_the_ring() {
    let params = uts::named::find("T3").unwrap().params;
    let tree = || Tree::new(params).unwrap();
    for ranks in RANKS {
        for (tries, lifelines) in [(0, Graph::Ring), (2, Graph::Ring), (0, Graph::Full)] {
            let runs = delayed(ranks, 8, |world| {
                let rt = runtime(1, 1);
                let balancer = rt.balancer().random_steals(tries).lifelines(lifelines);
                let balancer = balancer.steal(Steal::Count(7)).across(world);
                balancer.run(Uts::root(&tree()), |_| tree(), Counts::default())
            });
            for run in runs {
                let run = run.unwrap();
                assert!(run.complete);
                assert_eq!(run.output.nodes, 4_112_897, "{ranks}, {lifelines:?}");
            }
        }
    }
}

/// Several computations in a row, over one world.
#[test]
fn one_after_the_other() {
    let totals = delayed(3, 1, |world| {
        let rt = runtime(1, 1);
        let balancer = rt.balancer().across(world);
        let sum = |n| balancer.sum(0..n, |k: u64, _| k).unwrap().output;
        [10, 1000, 1].map(sum)
    });
    assert_eq!(totals, [[45, 499_500, 0]; 3]);
}

/// Work without an end, of which each unit is counted.
fn endless(n: u64, todo: &mut tautline::balance::Local<u64>) -> u64 {
    todo.extend([n + 1, n + 2].into_iter().take(2 - (n % 5 == 0) as usize));
    1
}

/// A stop at any rank stops all, for its reason; whatever was done until then is in the result of
/// each, once.
#[test]
fn partial_results_are_exact() {
    for ranks in RANKS {
        for (by, (places, workers)) in (0..ranks).zip(PLACES.into_iter().cycle()) {
            let runs = delayed(ranks, 3, |world| {
                let control = Control::new();
                let deadline = Duration::from_secs(if world.rank().0 == by { 0 } else { 1000 });
                let rt = runtime(places, workers);
                let balancer = rt.balancer().control(&control).deadline(deadline);
                balancer.across(world).sum([1_u64], endless)
            });
            for run in runs {
                let run = run.unwrap();
                assert_eq!((run.complete, run.stopped), (false, Some(Reason::Deadline)));
                let tasks: u64 = run.tasks();
                assert_eq!(run.output, tasks, "{ranks} x {places} x {workers}");
            }
        }
    }
}

/// The rank at which a task panics has the panic; the others have an error that names it.
#[test]
fn a_panic_reaches_all_ranks() {
    for panics in 0..3 {
        let ended = delayed(3, 4, |world| {
            let is_here = world.rank().0 == panics;
            let armed = move |n: u64, todo: &mut tautline::balance::Local<u64>| {
                assert!(!is_here || n <= 100, "at {n}");
                endless(n, todo)
            };
            catch_unwind(AssertUnwindSafe(|| {
                runtime(1, 1).balancer().across(world).sum([1_u64], armed)
            }))
        });
        for (rank, ended) in ended.into_iter().enumerate() {
            match ended {
                Err(payload) => {
                    assert_eq!(rank as u32, panics);
                    assert!(payload.downcast::<String>().unwrap().starts_with("at "));
                }
                Ok(run) => {
                    let message = run.map(|_: Run<u64>| ()).unwrap_err().to_string();
                    let expected =
                        format!("rank {panics} left the computation: a task panicked there: at ");
                    assert!(message.starts_with(&expected), "{message}");
                }
            }
        }
    }
}

/// Ranks that do not make the same calls end with an error that names both calls.
#[test]
fn calls_that_differ_are_an_error() {
    let is_first = AtomicBool::new(true);
    let ended = world::loopback(2, |world| {
        let rt = runtime(1, 1);
        let balancer = rt.balancer().across(world);
        // ORDERING: Relaxed: one of the two ranks takes the other branch.
        let run = match is_first.swap(false, Ordering::Relaxed) {
            true => balancer.sum([1_u64], |n, _| n),
            false => balancer.sum([1_u64], |n, _| n),
        };
        run.map(|_: Run<u64>| ()).unwrap_err().to_string()
    });
    for message in ended {
        assert!(message.matches("ranks.rs").count() == 2, "{message}");
    }
}

/// A rank that ends without the call is an error of the others, not a hang.
#[test]
fn a_rank_that_does_not_come_is_an_error() {
    let ended = delayed(3, 6, |world| {
        let is_here = world.rank().0 < 2;
        is_here.then(|| runtime(1, 1).balancer().across(world).sum([1_u64], endless))
    });
    for run in ended.into_iter().flatten() {
        let message = run.map(|_: Run<u64>| ()).unwrap_err().to_string();
        assert!(message.contains("rank 2 has not opened it"), "{message}");
    }
}

/// Two places with three workers: the last place of each rank has one fewer.
#[test]
fn places_of_a_rank_may_differ() {
    let runs = delayed(3, 2, |world| {
        let rt = Runtime::builder().workers(3).pinned(false).build()?;
        let balancer = rt.balancer().places(2).across(world);
        balancer.sum(0..1000_u64, |n, _| n).map(|run: Run<u64, _>| {
            let seats: Vec<_> = run
                .observers
                .iter()
                .map(|(place, worker, ())| (place.0, worker.0))
                .collect();
            (run.output, seats)
        })
    });
    for (rank, run) in (0..).zip(runs) {
        let (sum, seats) = run.unwrap();
        assert_eq!(sum, 499_500);
        assert_eq!(seats, [(2 * rank, 0), (2 * rank, 1), (2 * rank + 1, 0)]);
    }
}

/// Ranks that shared a runtime would wait for each other's workers.
#[test]
fn ranks_do_not_share_a_runtime() {
    let rt = runtime(1, 1);
    let runs = delayed(2, 5, |world| {
        world.wait_at_most(Duration::from_secs(10));
        let run = rt.balancer().across(world).sum([1_u64], endless);
        run.map(|_: Run<u64>| ()).unwrap_err().to_string()
    });
    let needs = "now: each rank of a process needs a runtime of its own";
    assert!(runs.iter().any(|run| run.ends_with(needs)), "{runs:?}");
}

/// A sum that cannot be decoded.
#[derive(Default, serde::Serialize)]
struct Locked(u64);

impl std::ops::AddAssign for Locked {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl<'de> serde::Deserialize<'de> for Locked {
    fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        panic!("it stays where it is")
    }
}

#[test]
fn a_panic_while_decoding_is_an_error() {
    let ended = delayed(3, 7, |world| {
        runtime(1, 1)
            .balancer()
            .across(world)
            .sum(0..10_u64, |n, _| Locked(n))
    });
    for run in ended {
        let message = run.map(|_: Run<Locked>| ()).unwrap_err().to_string();
        assert!(
            message.contains("encoding or decoding, which panicked"),
            "{message}"
        );
    }
}

/// A computation without work at a rank is stopped there too.
#[test]
fn a_rank_without_work_can_stop_all() {
    let runs = delayed(2, 11, |world| {
        let control = Control::new();
        if !world.is_home() {
            control.stop(Reason::Interrupted);
        }
        let rt = runtime(1, 1);
        let balancer = rt.balancer().control(&control).grain(1);
        balancer.across(world).sum([1_u64], endless)
    });
    for run in runs {
        assert_eq!(run.unwrap().stopped, Some(Reason::Interrupted));
    }
}
