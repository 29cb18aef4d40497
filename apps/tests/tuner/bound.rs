//! A bound found at place 0 travels along the lifelines to all others.

use std::sync::Arc;
use std::time::Duration;
use tautline::Runtime;
use tautline::balance::{AnyBound, Bag, Bound, Config, Graph, PlaceId, Share};
use tautline_sim::{Machine, Simulation};

const BEST: usize = 7;

/// State shared by the workers of a place, with the bounds of all places.
struct Known {
    here: PlaceId,
    bounds: Arc<Vec<Bound>>,
}

impl Known {
    fn of(places: u32) -> impl Fn(PlaceId) -> Self {
        let bounds: Vec<_> = (0..places).map(|_| Bound::default()).collect();
        let bounds = Arc::new(bounds);
        move |here| Self {
            here,
            bounds: bounds.clone(),
        }
    }

    fn everywhere(&self) -> bool {
        self.bounds.iter().all(|bound| bound.get() == BEST)
    }
}

/// Work that has no end before all places know the bound, which only place 0 finds.
struct Wait(usize);

impl Bag for Wait {
    type Shared = Known;
    type Output = u64;

    fn process(&mut self, n: usize, known: &Known) -> usize {
        if known.here == PlaceId::HOME {
            known.bounds[0].improve(BEST);
        }
        if known.everywhere() {
            return std::mem::take(&mut self.0);
        }
        std::thread::yield_now();
        n
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.0);
        self.0 -= taken;
        (taken > 0).then_some(Self(taken))
    }

    fn merge(&mut self, other: Self) {
        self.0 += other.0;
    }

    fn len(&self) -> usize {
        self.0
    }

    fn bound(known: &Known) -> Option<&dyn AnyBound> {
        Some(&known.bounds[known.here.index()])
    }

    fn submit(self, output: &mut u64) {
        *output += self.0 as u64;
    }
}

const GRAPHS: [Graph; 3] = [Graph::Ring, Graph::Hypercube { radix: 2 }, Graph::Full];

/// 1: nearly all places are without work. 1000: all have some.
const WORK: [usize; 2] = [1, 1000];

#[test]
fn a_bound_reaches_all_places_on_threads() {
    for graph in GRAPHS {
        for work in WORK {
            let rt = Runtime::builder().places(5).workers(2).build().unwrap();
            let balancer = rt.balancer().lifelines(graph).grain(1);
            let run = balancer
                .deadline(Duration::from_secs(60))
                .run(Wait(work), Known::of(5), 0);
            let run = run.expect("threads start");
            assert!(
                run.complete,
                "{graph:?} {work}: some place never received the bound"
            );
        }
    }
}

#[test]
fn a_bound_reaches_all_places_in_virtual_time() {
    for graph in GRAPHS {
        for work in WORK {
            for places in [2, 5, 64] {
                let config = Config {
                    places,
                    workers: 2,
                    lifelines: graph,
                    grain: 1.into(),
                    ..Config::default()
                };
                let simulation = Simulation::new(config, Machine::default());
                let simulation = simulation.deadline_ns(100_000_000);
                let outcome = simulation.run(Wait(work), Known::of(places), 0, |_, _| ());
                assert!(
                    outcome.complete,
                    "{graph:?} {work} {places}: some place never received the bound"
                );
            }
        }
    }
}
