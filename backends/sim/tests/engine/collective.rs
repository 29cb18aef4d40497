//! The core's collective operations over the engine: a barrier, then the sum of a value of each rank.

use std::collections::VecDeque;
use tautline_core::collective::{AllReduce, Barrier, Branch, CombineForAll, Meet, Message};
use tautline_core::machine::{Action, Machine, Step};
use tautline_core::{PlaceId, Rank};
use tautline_sim::Cluster;
use tautline_sim::engine::{Actor, End, Engine, Fault, Faults, Here, Turn, Weigh, World};

type Add = fn(u64, u64) -> u64;

/// A message of one of the two operations.
#[derive(Clone, Copy, Debug)]
enum Parcel {
    Barrier(Message<(), ()>),
    Sum(Message<u64, u64>),
}

impl Weigh for Parcel {
    const KINDS: usize = 2;

    fn kind(&self) -> usize {
        match self {
            Self::Barrier(_) => 0,
            Self::Sum(_) => 1,
        }
    }

    fn bytes(&self) -> u64 {
        [8, 16][self.kind()]
    }
}

/// A rank, whose only thread processes one message a step.
struct Member {
    here: Rank,
    inbox: VecDeque<(Rank, Parcel)>,
    barrier: Barrier,
    sum: AllReduce<u64, Add>,
    has_begun: bool,
    output: Option<u64>,
    lost: Option<PlaceId>,
}

impl Member {
    fn new(here: Rank, ranks: u32) -> Self {
        let branch = Branch::new(here, ranks, 8);
        Self {
            here,
            inbox: VecDeque::new(),
            barrier: Barrier::new(branch.clone(), Meet),
            sum: AllReduce::new(branch, CombineForAll::by(u64::wrapping_add as Add)),
            has_begun: false,
            output: None,
            lost: None,
        }
    }

    /// Lets the barrier take a step, and begins the sum if it ends by that.
    fn meet(
        &mut self,
        here: &Here<'_, Parcel>,
        take: impl FnOnce(&mut Barrier, &mut Step<'_, Barrier>),
    ) {
        let mut has_met = false;
        let mut act = |action: Action<Barrier>| match action {
            Action::Send(to, message) => here.send(PlaceId(to.0), Parcel::Barrier(message), 0),
            Action::Effect(()) => has_met = true,
        };
        take(&mut self.barrier, &mut Step::new(&mut (), &mut act));
        if has_met {
            let own = value(self.here.0);
            self.add(here, |sum, step| sum.event(own, step));
        }
    }

    /// Lets the sum take a step.
    fn add(
        &mut self,
        here: &Here<'_, Parcel>,
        take: impl FnOnce(&mut AllReduce<u64, Add>, &mut Step<'_, AllReduce<u64, Add>>),
    ) {
        let mut act = |action: Action<AllReduce<u64, Add>>| match action {
            Action::Send(to, message) => here.send(PlaceId(to.0), Parcel::Sum(message), 0),
            Action::Effect(sum) => self.output = Some(sum),
        };
        take(&mut self.sum, &mut Step::new(&mut (), &mut act));
    }

    fn process(&mut self, from: Rank, parcel: Parcel, here: &Here<'_, Parcel>) {
        match parcel {
            Parcel::Barrier(message) => self.meet(here, |barrier, step| {
                let received = barrier.receive(from, message, step);
                received.expect("a message of the barrier");
            }),
            Parcel::Sum(message) => self.add(here, |sum, step| {
                let received = sum.receive(from, message, step);
                received.expect("a message of the sum");
            }),
        }
    }
}

fn value(rank: u32) -> u64 {
    u64::from(rank) * 3 + 1
}

impl Actor for Member {
    type Message = Parcel;

    fn step(&mut self, here: &Here<'_, Parcel>) -> Turn {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.meet(here, |barrier, step| barrier.event((), step));
        } else if let Some((from, parcel)) = self.inbox.pop_front() {
            self.process(from, parcel, here);
        } else {
            return Turn::Parked;
        }
        Turn::Took {
            ns: 300,
            private: false,
        }
    }

    fn on(&mut self, from: PlaceId, parcel: Parcel, here: &Here<'_, Parcel>) {
        self.inbox.push_back((Rank(from.0), parcel));
        here.wake(0, 100);
    }

    fn lost(&mut self, place: PlaceId, here: &Here<'_, Parcel>) {
        if self.output.is_none() {
            self.lost = Some(place);
            here.world().close();
        }
    }
}

/// The sum that all ranks end with, or the place that one of them lost.
type Answer = Result<u64, PlaceId>;

/// Runs both operations over `ranks` ranks. Returns the answer and the time it took; fails if they do not end within
/// a virtual second.
fn run(cluster: Cluster, ranks: u32, faults: Option<Faults>) -> (Answer, u64) {
    let mut world = World::new(cluster, ranks, 1, 1);
    if let Some(faults) = faults {
        world = world.with_faults(faults);
    }
    let members = (0..ranks).map(|rank| Member::new(Rank(rank), ranks));
    let mut engine = Engine::new(&world, members.collect());
    for place in 0..ranks {
        world.at(PlaceId(place)).wake(0, 0);
    }
    let (End::Closed(at) | End::Idle(at)) = engine.run(1_000_000_000, || ()) else {
        panic!("a hang: {faults:?}")
    };
    let members = engine.actors();
    if let Some(lost) = members.iter().find_map(|member| member.lost) {
        return (Err(lost), at);
    }
    let survivors = members.iter().filter(|member| {
        let crash = faults.and_then(|faults| faults.crash);
        crash.is_none_or(|crash| crash.place.0 != member.here.0)
    });
    let outputs: Vec<_> = survivors.map(|member| member.output).collect();
    let sum = outputs[0].expect("an output, or a lost place");
    assert!(
        outputs.iter().all(|&output| output == Some(sum)),
        "{faults:?}"
    );
    (Ok(sum), at)
}

fn all(ranks: u32) -> u64 {
    (0..ranks).map(value).sum()
}

#[test]
fn every_rank_ends_with_the_sum() {
    let mut times = Vec::new();
    for ranks in [1, 2, 7, 64, 1000] {
        let (answer, ns) = run(Cluster::default(), ranks, None);
        assert_eq!(answer, Ok(all(ranks)));
        times.push(ns);
    }
    // Four ways through a tree of four levels, not a thousand messages.
    assert!(times.is_sorted() && times[4] < 150_000, "{times:?}");
}

#[test]
fn the_same_run_takes_the_same_time() {
    let faults = Faults::draw(7, &Fault::ALL, &Cluster::default(), 100, 100_000);
    let run = || run(Cluster::default(), 100, Some(faults));
    assert_eq!(run(), run());
}

/// At 1000 ranks with any faults: the right answer, or a lost place that the faults explain.
#[test]
fn faults_end_in_the_answer_or_in_a_lost_rank() {
    let cluster = Cluster::default();
    let (mut right, mut lost) = (0, 0);
    for seed in 0..60 {
        let faults = Faults::draw(seed, &Fault::ALL, &cluster, 1000, 100_000);
        match run(cluster, 1000, Some(faults)).0 {
            Ok(sum) => {
                assert_eq!(sum, all(1000), "{faults:?}");
                right += 1;
            }
            Err(place) => {
                assert!(
                    faults.crash.is_some() || faults.partition.is_some(),
                    "{faults:?}"
                );
                assert!(place.0 < 1000);
                lost += 1;
            }
        }
    }
    assert!(right > 10 && lost > 10, "{right} right, {lost} lost");
}
