//! The core's collective operations in virtual time: a barrier, then the sum of a value of each
//! rank.

use tautline_core::Rank;
use tautline_core::collective::{AllReduce, Barrier, Branch, CombineForAll, Meet, Message, Stray};
use tautline_core::machine::{Action, Machine, Step};
use tautline_sim::Cluster;
use tautline_sim::engine::{Fault, Faults};
use tautline_sim::protocol::{Driver, Part, Setup, Weight};

type Add = fn(u64, u64) -> u64;

/// A message of one of the two operations.
#[derive(Clone, Copy, Debug)]
enum Parcel {
    Barrier(Message<(), ()>),
    Sum(Message<u64, u64>),
}

/// The beginning of an operation.
enum Begin {
    Barrier,
    Sum(u64),
}

/// The end of an operation.
enum Ended {
    Barrier,
    Sum(u64),
}

/// Both operations.
struct Both {
    barrier: Barrier,
    sum: AllReduce<u64, Add>,
}

type Act<'a> = &'a mut dyn FnMut(Action<Both>);

fn of_barrier(action: Action<Barrier>, act: Act<'_>) {
    act(match action {
        Action::Send(to, message) => Action::Send(to, Parcel::Barrier(message)),
        Action::Effect(()) => Action::Effect(Ended::Barrier),
    });
}

fn of_sum(action: Action<AllReduce<u64, Add>>, act: Act<'_>) {
    act(match action {
        Action::Send(to, message) => Action::Send(to, Parcel::Sum(message)),
        Action::Effect(sum) => Action::Effect(Ended::Sum(sum)),
    });
}

impl Machine for Both {
    type Peer = Rank;
    type Message = Parcel;
    type Event = Begin;
    type Effect = Ended;
    type Calls = ();
    type Refusal = Stray;

    fn event(&mut self, event: Begin, step: &mut Step<'_, Self>) {
        match event {
            Begin::Barrier => step.within(of_barrier, |step| self.barrier.event((), step)),
            Begin::Sum(own) => step.within(of_sum, |step| self.sum.event(own, step)),
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        parcel: Parcel,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Stray> {
        match parcel {
            Parcel::Barrier(message) => {
                step.within(of_barrier, |step| self.barrier.receive(from, message, step))
            }
            Parcel::Sum(message) => {
                step.within(of_sum, |step| self.sum.receive(from, message, step))
            }
        }
    }
}

/// A rank, which begins the sum when the barrier ends.
struct Member {
    here: Rank,
    has_begun: bool,
    output: Option<u64>,
}

impl Driver for Member {
    type Machine = Both;
    type Calls = ();

    const KINDS: usize = 2;

    fn calls(calls: &mut ()) -> &mut () {
        calls
    }

    fn work(&mut self, _: &Both, _: u64) -> Option<(u64, Begin)> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        is_first.then_some((300, Begin::Barrier))
    }

    fn effect(&mut self, effect: Ended, _: u64) -> Option<Begin> {
        match effect {
            Ended::Barrier => return Some(Begin::Sum(value(self.here.0))),
            Ended::Sum(sum) => self.output = Some(sum),
        }
        None
    }

    fn weigh(&self, parcel: &Parcel) -> Weight {
        let (kind, bytes) = match parcel {
            Parcel::Barrier(_) => (0, 8),
            Parcel::Sum(_) => (1, 16),
        };
        Weight {
            kind,
            bytes,
            delay_ns: 0,
        }
    }

    fn serve_ns(&self, _: &Parcel) -> Option<u64> {
        Some(300)
    }

    fn has_ended(&self, _: &Both) -> bool {
        self.output.is_some()
    }
}

fn value(rank: u32) -> u64 {
    u64::from(rank) * 3 + 1
}

/// The sum that all ranks end with, or the rank that one of them lost.
type Answer = Result<u64, Rank>;

/// Runs both operations over `ranks` ranks. Returns the answer and the time it took; fails if they
/// do not end within a virtual second.
fn run(cluster: Cluster, ranks: u32, faults: Option<Faults>) -> (Answer, u64) {
    let part = |here| {
        let branch = Branch::new(here, ranks, 8);
        let machine = Both {
            barrier: Barrier::new(branch.clone(), Meet),
            sum: AllReduce::new(branch, CombineForAll::by(u64::wrapping_add as Add)),
        };
        let member = Member {
            here,
            has_begun: false,
            output: None,
        };
        Part::new(machine, member)
    };
    let setup = Setup {
        cluster,
        faults,
        deadline_ns: 1_000_000_000,
        ..Setup::default()
    };
    let outcome = setup.run((0..ranks).map(Rank).map(part).collect());
    assert!(!outcome.has_expired, "a hang: {faults:?}");
    if let Some((_, lost)) = outcome.lost {
        return (Err(lost), outcome.ns);
    }
    let members = outcome.parts.iter().map(|part| &part.driver);
    let survivors = members.filter(|member| {
        let crash = faults.and_then(|faults| faults.crash);
        crash.is_none_or(|crash| crash.place.0 != member.here.0)
    });
    let outputs: Vec<_> = survivors.map(|member| member.output).collect();
    let sum = outputs[0].expect("an output, or a lost rank");
    assert!(
        outputs.iter().all(|&output| output == Some(sum)),
        "{faults:?}"
    );
    (Ok(sum), outcome.ns)
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

/// At 1000 ranks with any faults: the right answer, or a lost rank that the faults explain.
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
            Err(rank) => {
                assert!(
                    faults.crash.is_some() || faults.partition.is_some(),
                    "{faults:?}"
                );
                assert!(rank.0 < 1000);
                lost += 1;
            }
        }
    }
    assert!(right > 10 && lost > 10, "{right} right, {lost} lost");
}
