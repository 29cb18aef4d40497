//! The time of collective operations over a tree of ranks, from the costs of the cluster.

use super::relay::FREE;
use tautline_core::Rank;
use tautline_core::collective::{Branch, Combine, CombineForAll, Copies, Meet, Operation, Wave};
use tautline_sim::Cluster;
use tautline_sim::protocol::{Driver, EventOf, MessageOf, Outcome, Part, Setup, Weight};

const FAR_NS: u64 = 2_500;
const BYTES: u64 = 64;

/// A rank: what it begins with, how long it serves a message, and when it has ended with what.
struct Member<O: Operation> {
    own: Option<O::Own>,
    serve_ns: Option<u64>,
    ended: Option<(u64, O::Output)>,
}

impl<O: Operation> Driver for Member<O> {
    type Machine = Wave<O>;
    type Calls = ();

    fn calls(calls: &mut ()) -> &mut () {
        calls
    }

    fn work(&mut self, _: &Wave<O>, _: u64) -> Option<(u64, EventOf<Self>)> {
        Some((0, self.own.take()?))
    }

    fn effect(&mut self, output: O::Output, now: u64) -> Option<EventOf<Self>> {
        assert!(self.ended.replace((now, output)).is_none(), "a second end");
        None
    }

    fn weigh(&self, _: &MessageOf<Self>) -> Weight {
        Weight {
            bytes: BYTES,
            ..Weight::default()
        }
    }

    fn serve_ns(&self, _: &MessageOf<Self>) -> Option<u64> {
        self.serve_ns
    }
}

/// The locations of ranks, and their costs.
#[derive(Clone, Copy, Debug)]
struct Tree {
    cluster: Cluster,
    ranks: u32,
    radix: u32,
    serve_ns: Option<u64>,
}

impl Tree {
    fn branch(&self, rank: u32) -> Branch {
        Branch::new(Rank(rank), self.ranks, self.radix)
    }

    /// Runs an operation. Returns by rank when it has ended, and with what.
    fn run<O: Operation>(
        &self,
        operation: impl Fn() -> O,
        own: impl Fn(u32) -> Option<O::Own>,
    ) -> Vec<(u64, O::Output)> {
        let part = |rank| {
            let member = Member {
                own: own(rank),
                serve_ns: self.serve_ns,
                ended: None,
            };
            Part::new(Wave::new(self.branch(rank), operation()), member)
        };
        let setup = Setup {
            cluster: self.cluster,
            ..Setup::default()
        };
        let outcome: Outcome<Member<O>> = setup.run((0..self.ranks).map(part).collect());
        let ended = outcome.parts.into_iter().map(|part| part.driver.ended);
        let ended: Vec<_> = ended.map(|ended| ended.expect("each rank ends")).collect();
        assert_eq!(Some(outcome.ns), ended.iter().map(|(ns, _)| *ns).max());
        ended
    }

    /// Returns by rank how many levels of the tree are below it, and above.
    fn levels(&self) -> (Vec<u64>, Vec<u64>) {
        let parent = |rank| self.branch(rank).parent().map(|parent| parent.0 as usize);
        let mut below = vec![0; self.ranks as usize];
        let mut above = vec![0; self.ranks as usize];
        for rank in 1..self.ranks {
            above[rank as usize] = 1 + parent(rank).map_or(0, |parent| above[parent]);
        }
        for rank in (1..self.ranks).rev() {
            let parent = parent(rank).expect("rank 0 alone has no parent");
            below[parent] = below[parent].max(1 + below[rank as usize]);
        }
        (below, above)
    }

    /// Returns by rank when its value leaves it, and when it has received the result: adapters pass
    /// one message after the other, and a rank serves one after the other.
    fn waves(&self) -> (Vec<u64>, Vec<u64>) {
        let transmission = self.cluster.transmission_ns(BYTES);
        let (way, apart) = (FAR_NS + transmission, self.cluster.gap_ns + transmission);
        let serve_ns = self.serve_ns.expect("ranks serve messages");
        let mut up = vec![0; self.ranks as usize];
        for rank in (0..self.ranks).rev() {
            let branch = self.branch(rank);
            let children = branch.children();
            let mut arrivals: Vec<u64> = children.map(|child| up[child.index()] + way).collect();
            arrivals.sort_unstable();
            let (mut landed, mut served) = (0, 0);
            for arrival in arrivals {
                let lands = arrival.max(landed);
                landed = lands + apart;
                served = lands.max(served) + serve_ns;
            }
            up[rank as usize] = served;
        }
        let mut down = vec![up[0]; self.ranks as usize];
        for rank in 0..self.ranks {
            for (child, before) in self.branch(rank).children().zip(0..) {
                down[child.index()] = down[rank as usize] + before * apart + way + serve_ns;
            }
        }
        (up, down)
    }
}

/// A cluster of one rank a node, on which only the ways of messages take time.
const LATENCY: Cluster = Cluster {
    far_ns: FAR_NS,
    ..FREE
};

fn value(rank: u32) -> u64 {
    u64::from(rank) * 3 + 1
}

fn add(a: u64, b: u64) -> u64 {
    a + b
}

/// If nothing else takes time, a wave takes the latency once a level.
#[test]
fn a_wave_takes_the_latency_times_the_levels() {
    for (ranks, radix, depth) in [(1, 2, 0), (2, 8, 1), (64, 2, 6), (1000, 2, 9), (1000, 8, 4)] {
        let tree = Tree {
            cluster: LATENCY,
            ranks,
            radix,
            serve_ns: None,
        };
        let (below, above) = tree.levels();
        assert_eq!(below[0], depth, "{ranks} by {radix}");
        let at = |levels: u64| levels * FAR_NS;
        let sum = (0..ranks).map(value).sum::<u64>();
        let reduced = tree.run(|| Combine::by(add), |rank| Some(value(rank)));
        let summed = tree.run(|| CombineForAll::by(add), |rank| Some(value(rank)));
        let met = tree.run(|| Meet, |_| Some(()));
        let copied = tree.run(Copies::default, |rank| (rank == 0).then_some(7));
        for rank in 0..ranks as usize {
            let is_root = rank == 0;
            assert_eq!(reduced[rank], (at(below[rank]), is_root.then_some(sum)));
            let both = depth + above[rank];
            assert_eq!(summed[rank], (at(both), sum));
            assert_eq!(met[rank], (at(both), ()));
            assert_eq!(copied[rank], (at(above[rank]), 7));
        }
    }
}

/// The same where adapters and ranks are occupied by messages.
#[test]
fn messages_of_a_wave_wait_for_adapters_and_ranks() {
    let cluster = Cluster {
        gap_ns: 100,
        mb_per_s: 1_000,
        spin_ns: u64::MAX,
        ..LATENCY
    };
    for serve_ns in [0, 70, 300] {
        for radix in [2, 8, 40] {
            let tree = Tree {
                cluster,
                ranks: 1000,
                radix,
                serve_ns: Some(serve_ns),
            };
            let (up, down) = tree.waves();
            let sum = (0..1000).map(value).sum::<u64>();
            let reduced = tree.run(|| Combine::by(add), |rank| Some(value(rank)));
            let summed = tree.run(|| CombineForAll::by(add), |rank| Some(value(rank)));
            let met = tree.run(|| Meet, |_| Some(()));
            for rank in 0..1000 {
                let is_root = rank == 0;
                assert_eq!(
                    reduced[rank],
                    (up[rank], is_root.then_some(sum)),
                    "{tree:?}"
                );
                assert_eq!(summed[rank], (down[rank], sum), "{tree:?}");
                assert_eq!(met[rank], (down[rank], ()), "{tree:?}");
            }
        }
    }
}
