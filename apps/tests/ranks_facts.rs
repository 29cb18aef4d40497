//! Saraswat's facts over ranks, observed at the links: what each rank sends and receives.

use std::sync::{Arc, Mutex};
use tautline::balance::{Graph, Run, Steal};
use tautline::prelude::*;
use tautline::world::World;
use tautline_cli::uts::{self, Counts, Tree, Uts};
use tautline_core::Rank;
use tautline_core::finish::Report;
use tautline_core::port::{Bell, Link, Lost};
use tautline_core::wire::unpack;
use tautline_node::Loopback;

const RANKS: [u32; 3] = [2, 3, 5];
const SETTINGS: [(usize, Graph, Steal); 5] = [
    (0, Graph::Ring, Steal::Half),
    (0, Graph::Full, Steal::Count(7)),
    (1, Graph::Hypercube { radix: 2 }, Steal::Half),
    (2, Graph::Ring, Steal::Count(1)),
    (3, Graph::Full, Steal::Half),
];

/// Bytes of the head of a parcel, where it has its sort, and the sorts of one and of several
/// messages.
const HEAD: usize = 16;
const SORT_AT: usize = 12;
const MESSAGE: u8 = 2;
const SEVERAL: u8 = 5;
/// Bytes of a part of several messages, where it has its length, and bytes of their number.
const PART: usize = 12;
const LENGTH_AT: usize = 8;
const NUMBER: usize = 4;

/// Counts of the messages through the link of a rank that has one place.
///
/// An activity of the place begins with loot along a lifeline and ends with a report, when the
/// place is dry and past its requests. Loot that arrives in between belongs to it, and counts as an
/// activity that has ended at once.
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
    /// Loot along lifelines received, and since the last report: the activities that have yet to be
    /// reported.
    loot: u64,
    unreported: i64,
    reports: u64,
    /// The activities yet to be reported when the last answer without loot arrived.
    unreported_then: i64,
    /// Reports that leave an activity open, or end more than there are, and requests without an
    /// activity.
    misplaced: usize,
    /// Whether the end was found, and messages of a round of counting sent before and after.
    has_ended: bool,
    waves: usize,
    rounds: usize,
}

impl Seen {
    /// Before the start, all ranks but rank 0 have asked along their lifelines; rank 0 has an
    /// activity.
    fn new(here: u32, ranks: u32) -> Self {
        Self {
            here,
            lifelines: vec![here != 0; ranks as usize],
            unreported: i64::from(here == 0),
            ..Self::default()
        }
    }

    fn sent(&mut self, to: Rank, body: &[u8]) {
        match *body {
            [0, 0, lifeline] => {
                self.unanswered = self.unanswered.max(1 + usize::from(self.asked.is_some()));
                self.asked = Some((to, lifeline == 1));
                // Rank 0 reports to itself, which no link shows.
                self.misplaced += usize::from(self.here != 0 && self.unreported == 0);
                if lifeline == 1 {
                    let was_asked = std::mem::replace(&mut self.lifelines[to.index()], true);
                    self.doubled += usize::from(was_asked);
                }
            }
            [0, 3, ..] => {
                let report: Report = unpack(&body[2..]).unwrap();
                self.reports += 1;
                let own = report.counts.iter().find(|(place, _)| place.0 == self.here);
                let ended = own.map_or(0, |(_, count)| -count);
                // The place ends its activity at an answer, and may get loot of the next one before
                // the report is sent.
                let is_all = [self.unreported, self.unreported_then].contains(&ended);
                self.misplaced += usize::from(ended == 0 || !is_all);
                self.unreported -= ended;
            }
            [2, ..] => self.has_ended |= self.here == 0,
            [4, 0, ..] if self.has_ended => self.rounds += 1,
            [4, 0, ..] => self.waves += 1,
            _ => {}
        }
    }

    fn received(&mut self, from: Rank, body: &[u8]) {
        match *body {
            [0, 1, has_loot, ..] => {
                let asked = self.asked.take();
                if has_loot == 0 {
                    self.unreported_then = self.unreported;
                } else if asked == Some((from, true)) {
                    self.lifelines[from.index()] = false;
                }
            }
            [0, 2, ..] => {
                self.loot += 1;
                self.unreported += 1;
                self.lifelines[from.index()] = false;
            }
            [2, ..] => self.has_ended = true,
            _ => {}
        }
    }

    /// Checks that one request is outstanding along a lifeline, and one of the place at all; and
    /// that the place has one activity at most.
    fn check_requests(&self) {
        // A place that has had work asks before it goes dry.
        let has_worked = self.here == 0 || self.loot > 0;
        let requests = usize::from(has_worked)..=1;
        assert_eq!(self.doubled, 0, "{self:?}");
        assert!(requests.contains(&self.unanswered), "{self:?}");
        assert_eq!(self.misplaced, 0, "{self:?}");
    }

    /// Checks that the place has reported each of its activities, and that messages are counted
    /// after the end only.
    fn check_end(&self) {
        if self.here != 0 {
            let reports = u64::from(self.loot > 0)..=self.loot;
            assert!(reports.contains(&self.reports), "{self:?}");
            assert_eq!(self.unreported, 0, "{self:?}");
        }
        assert!(self.has_ended && self.waves == 0, "{self:?}");
        assert!(self.rounds > 0, "{self:?}");
    }
}

struct Watched {
    link: Loopback,
    seen: Arc<Mutex<Seen>>,
}

fn number(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes.try_into().expect("four bytes")) as usize
}

/// Returns the bodies of the messages in a parcel.
fn messages(parcel: &[u8]) -> Vec<&[u8]> {
    let body = &parcel[HEAD..];
    match parcel[SORT_AT] {
        MESSAGE => vec![body],
        SEVERAL => {
            let (rest, count) = body.split_at(body.len() - NUMBER);
            let (mut bodies, parts) = rest.split_at(rest.len() - PART * number(count));
            let next = |part: &[u8]| {
                let body;
                (body, bodies) = bodies.split_at(number(&part[LENGTH_AT..]));
                body
            };
            parts.chunks(PART).map(next).collect()
        }
        _ => Vec::new(),
    }
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
        for body in messages(parcel) {
            self.seen.lock().unwrap().sent(to, body);
        }
        self.link.send(to, parcel);
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let seen = &self.seen;
        self.link.poll(&mut |from, parcel| {
            for body in messages(parcel) {
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

/// Counts these trees in turn at all settings over one place of each rank, and passes what each
/// rank has seen to `check`. Ranks must have got work along lifelines.
fn watched(trees: &[&str], check: impl Fn(&Seen)) {
    let mut loot = 0;
    let settings = RANKS
        .iter()
        .flat_map(|ranks| SETTINGS.map(|setting| (*ranks, setting)));
    for ((ranks, setting), name) in settings.zip(trees.iter().cycle()) {
        let (tries, graph, steal) = setting;
        let named = uts::named::find(name).unwrap();
        let tree = || Tree::new(named.params).unwrap();
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
        let runs = World::builder().links(links, |world| {
            let rt = Runtime::builder()
                .places(1)
                .workers(1)
                .pinned(false)
                .build()
                .unwrap();
            let balancer = rt.balancer();
            let balancer = balancer.random_steals(tries).lifelines(graph).steal(steal);
            balancer
                .across(world)
                .run(Uts::root(&tree()), |_| tree(), Counts::default())
        });
        for run in runs {
            let run: Run<Counts> = run.unwrap();
            assert!(run.complete);
            let found = (
                run.output.nodes,
                Some(run.output.leaves),
                Some(run.output.max_depth),
            );
            let expected = (named.nodes, named.leaves, named.depth);
            assert_eq!(found, expected, "{name}, {ranks} ranks, {setting:?}");
        }
        for seen in &seen {
            let seen = seen.lock().unwrap();
            loot += seen.loot;
            check(&seen);
        }
    }
    assert!(loot > 0, "no lifeline has brought work");
}

/// Saraswat, acceptance facts 1, 3 and 4, and Chatterjee, acceptance fact 27, over ranks: the
/// published count at every setting, lifelines alone and the ring included; one request is
/// outstanding along a lifeline, and one of a place at all; a place has one activity at most.
#[test]
fn one_request_is_outstanding_along_a_lifeline() {
    watched(&["T3"], Seen::check_requests);
}

/// Saraswat, acceptance fact 7, over ranks: a place reports no more often than it has got
/// activities, and the end is found before any rank counts messages.
#[test]
fn the_finish_alone_finds_the_end() {
    watched(&["T3"], Seen::check_end);
}

/// Saraswat, acceptance facts 1, 3 and 7, over ranks, for trees of all shapes; of those of table 1,
/// the ones with up to 7 million nodes.
#[test]
fn trees_of_all_shapes() {
    watched(&["T1", "T2", "T4", "T5", "anl", "geo"], |seen| {
        seen.check_requests();
        seen.check_end();
    });
}
