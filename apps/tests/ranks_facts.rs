//! Saraswat's facts over ranks, observed at the links: what each rank sends and receives.

use std::sync::{Arc, Mutex};
use tautline::glb::{Graph, Run, Steal};
use tautline::prelude::*;
use tautline::world;
use tautline_cli::uts::{self, Counts, Tree, Uts};
use tautline_core::Rank;
use tautline_core::port::{Bell, Link, Lost};
use tautline_node::Loopback;

const RANKS: [u32; 3] = [2, 3, 5];
const SETTINGS: [(usize, Graph, Steal); 5] = [
    (0, Graph::Ring, Steal::Half),
    (0, Graph::Full, Steal::Count(7)),
    (1, Graph::Hypercube { radix: 2 }, Steal::Half),
    (2, Graph::Ring, Steal::Count(1)),
    (3, Graph::Full, Steal::Half),
];

/// Bytes of the head of a parcel, where it has its sort, and the sort of messages.
const HEAD: usize = 16;
const SORT_AT: usize = 12;
const MESSAGE: u8 = 2;

/// What has passed through the link of a rank that has one place.
#[derive(Debug, Default)]
struct Seen {
    here: u32,
    /// By rank: whether a request along the lifeline to it is outstanding.
    lifelines: Vec<bool>,
    /// Whether the outstanding request to this rank is along a lifeline.
    asked: Option<(Rank, bool)>,
    /// The largest number of requests without an answer.
    unanswered: usize,
    /// Requests along a lifeline along which one was outstanding.
    doubled: usize,
    /// Loot along lifelines received, and reports sent.
    loot: u64,
    reports: u64,
    /// Whether the end was found, and messages of a round of counting sent before.
    has_ended: bool,
    waves: usize,
}

impl Seen {
    /// Before the start, all ranks but rank 0 have asked along their lifelines.
    fn new(here: u32, ranks: u32) -> Self {
        Self {
            here,
            lifelines: vec![here != 0; ranks as usize],
            ..Self::default()
        }
    }

    fn sent(&mut self, to: Rank, body: &[u8]) {
        match *body {
            [0, 0, lifeline] => {
                self.unanswered = self.unanswered.max(1 + usize::from(self.asked.is_some()));
                self.asked = Some((to, lifeline == 1));
                if lifeline == 1 {
                    let was_asked = std::mem::replace(&mut self.lifelines[to.index()], true);
                    self.doubled += usize::from(was_asked);
                }
            }
            [0, 3, ..] => self.reports += 1,
            [2, ..] => self.has_ended |= self.here == 0,
            [4, 0, ..] => self.waves += usize::from(!self.has_ended),
            _ => {}
        }
    }

    fn received(&mut self, from: Rank, body: &[u8]) {
        match *body {
            [0, 1, has_loot, ..] => {
                let asked = self.asked.take();
                if has_loot == 1 && asked == Some((from, true)) {
                    self.lifelines[from.index()] = false;
                }
            }
            [0, 2, ..] => {
                self.loot += 1;
                self.lifelines[from.index()] = false;
            }
            [2, ..] => self.has_ended = true,
            _ => {}
        }
    }
}

struct Watched {
    link: Loopback,
    seen: Arc<Mutex<Seen>>,
}

/// Returns the body of a message.
fn message(parcel: &[u8]) -> Option<&[u8]> {
    (parcel[SORT_AT] == MESSAGE).then(|| &parcel[HEAD..])
}

impl Link for Watched {
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
        if let Some(body) = message(parcel) {
            self.seen.lock().unwrap().sent(to, body);
        }
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let seen = &self.seen;
        self.link.poll(&mut |from, parcel| {
            if let Some(body) = message(parcel) {
                seen.lock().unwrap().received(from, body);
            }
            take(from, parcel);
        })
    }

    fn arm(&mut self) -> bool {
        self.link.arm()
    }

    fn unsent(&self, to: Rank) -> usize {
        self.link.unsent(to)
    }
}

/// Counts a tree at all settings over one place of each rank, and passes what each rank has seen to `check`. Ranks must have got work
/// along lifelines.
fn watched(check: impl Fn(&Seen)) {
    let mut loot = 0;
    let params = uts::named::find("T3").unwrap().params;
    let tree = || Tree::new(params).unwrap();
    for ranks in RANKS {
        for (tries, graph, steal) in SETTINGS {
            let seen: Vec<_> = (0..ranks)
                .map(|here| Arc::new(Mutex::new(Seen::new(here, ranks))))
                .collect();
            let links = Loopback::new(ranks).into_iter().zip(&seen);
            let links: Vec<_> = links
                .map(|(link, seen)| Watched {
                    link,
                    seen: Arc::clone(seen),
                })
                .collect();
            let runs = world::over(links, |world| {
                let glb = Glb::new().places(1).workers(1).pinned(false);
                let glb = glb.random_steals(tries).lifelines(graph).steal(steal);
                glb.across(world)
                    .run(Uts::root(&tree()), |_| tree(), Counts::default())
            });
            for run in runs {
                let run: Run<Counts> = run.unwrap();
                assert!(run.complete);
                assert_eq!(
                    run.output.nodes, 4_112_897,
                    "{ranks} ranks, {tries}, {graph:?}, {steal:?}"
                );
            }
            for seen in &seen {
                let seen = seen.lock().unwrap();
                loot += seen.loot;
                check(&seen);
            }
        }
    }
    assert!(loot > 0, "no lifeline has brought work");
}

/// Saraswat, acceptance facts 1, 3 and 4, over ranks: the published count at every setting, lifelines alone and the ring
/// included; one request is outstanding along a lifeline, and one of a place at all. A place that has had work asks before it
/// goes dry.
#[test]
fn one_request_is_outstanding_along_a_lifeline() {
    watched(|seen| {
        let has_worked = seen.here == 0 || seen.loot > 0;
        let requests = usize::from(has_worked)..=1;
        assert_eq!(seen.doubled, 0, "{seen:?}");
        assert!(requests.contains(&seen.unanswered), "{seen:?}");
    });
}

/// Saraswat, acceptance fact 7, over ranks: a place reports no more often than it has got activities, and the end is found
/// before any rank counts messages.
#[test]
fn the_finish_alone_finds_the_end() {
    watched(|seen| {
        assert!(seen.here == 0 || seen.reports <= seen.loot, "{seen:?}");
        assert!(seen.has_ended && seen.waves == 0, "{seen:?}");
    });
}
