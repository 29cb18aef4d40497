//! A driver of machines in virtual time: what a thread does when, and how a run ends.

use super::relay::FREE;
use std::collections::VecDeque;
use tautline_core::PlaceId;
use tautline_core::machine::{Machine, Step, Tolerance};
use tautline_sim::Cluster;
use tautline_sim::engine::{Crash, Faults};
use tautline_sim::protocol::{Driver, Outcome, Part, Setup, Weight};

/// The number that is refused.
const REFUSED: u32 = 13;
/// The number that is answered by a message.
const ANSWERED: u32 = 7;

/// Sends the numbers that it is given, and reports those that it receives.
struct Post {
    tolerance: Tolerance,
}

/// A message to be sent.
type Letter = (PlaceId, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happened {
    Sent(u32),
    Received(PlaceId, u32),
    Lost(PlaceId),
}

impl Machine for Post {
    type Peer = PlaceId;
    type Message = u32;
    type Event = Letter;
    type Effect = Happened;
    type Calls = ();
    type Refusal = &'static str;

    fn event(&mut self, (to, number): Letter, step: &mut Step<'_, Self>) {
        step.send(to, number);
        step.effect(Happened::Sent(number));
    }

    fn receive(
        &mut self,
        from: PlaceId,
        number: u32,
        step: &mut Step<'_, Self>,
    ) -> Result<(), &'static str> {
        if number == REFUSED {
            return Err("an unlucky number");
        }
        step.effect(Happened::Received(from, number));
        Ok(())
    }

    fn lost(&mut self, peer: PlaceId, step: &mut Step<'_, Self>) -> Tolerance {
        step.effect(Happened::Lost(peer));
        self.tolerance
    }
}

/// Works on letters, each for some time, and keeps the time of what happens.
#[derive(Clone, Default)]
struct Clerk {
    letters: VecDeque<(u64, Letter)>,
    serve_ns: Option<u64>,
    has_ended: bool,
    happened: Vec<(u64, Happened)>,
}

impl Driver for Clerk {
    type Machine = Post;
    type Calls = ();

    /// Small numbers and large ones.
    const KINDS: usize = 2;

    fn calls(calls: &mut ()) -> &mut () {
        calls
    }

    fn work(&mut self, _: &Post, _: u64) -> Option<(u64, Letter)> {
        self.letters.pop_front()
    }

    fn effect(&mut self, happened: Happened, now: u64) -> Option<Letter> {
        self.happened.push((now, happened));
        match happened {
            Happened::Received(from, ANSWERED) => Some((from, 8)),
            _ => None,
        }
    }

    fn weigh(&self, number: &u32) -> Weight {
        let is_large = *number >= 100;
        Weight {
            kind: usize::from(is_large),
            bytes: 4,
            delay_ns: if is_large { 1_000 } else { 0 },
        }
    }

    fn serve_ns(&self, _: &u32) -> Option<u64> {
        self.serve_ns
    }

    fn has_ended(&self, _: &Post) -> bool {
        self.has_ended
    }
}

/// A network on which a message takes 100 ns, and a thread never sleeps.
const CLUSTER: Cluster = Cluster {
    far_ns: 100,
    spin_ns: u64::MAX,
    ..FREE
};

const SETUP: Setup = Setup {
    cluster: CLUSTER,
    faults: None,
    seed: 1,
    deadline_ns: u64::MAX,
};

/// A clerk that works on `letters`: for how long, to which place, the number.
fn clerk(letters: &[(u64, u32, u32)]) -> Clerk {
    let letter = |&(ns, to, number): &(u64, u32, u32)| (ns, (PlaceId(to), number));
    Clerk {
        letters: letters.iter().map(letter).collect(),
        ..Clerk::default()
    }
}

fn run(setup: Setup, tolerance: Tolerance, clerks: Vec<Clerk>) -> Outcome<Clerk> {
    let part = |clerk| Part::new(Post { tolerance }, clerk);
    setup.run(clerks.into_iter().map(part).collect())
}

/// Returns what happens at each place, where each of the clerks serves a message for so long, and
/// when all has happened.
fn happened(serve_ns: Option<u64>, mut clerks: Vec<Clerk>) -> (Vec<Vec<(u64, Happened)>>, u64) {
    for clerk in &mut clerks {
        clerk.serve_ns = serve_ns;
    }
    let outcome = run(SETUP, Tolerance::Tolerated, clerks);
    assert!(outcome.lost.is_none() && !outcome.has_expired);
    let parts = outcome.parts.into_iter();
    (parts.map(|part| part.driver.happened).collect(), outcome.ns)
}

const fn received(from: u32, number: u32) -> Happened {
    Happened::Received(PlaceId(from), number)
}

/// Two letters to a place that works for 300 ns.
fn two_to_one() -> Vec<Clerk> {
    vec![clerk(&[(10, 1, 1), (20, 1, 2)]), clerk(&[(300, 0, 3)])]
}

#[test]
fn messages_are_processed_when_they_arrive_even_if_the_thread_works() {
    let (happened, ns) = happened(None, two_to_one());
    let sent = |number| Happened::Sent(number);
    assert_eq!(
        happened[0],
        [(10, sent(1)), (30, sent(2)), (400, received(1, 3))]
    );
    assert_eq!(
        happened[1],
        [(110, received(0, 1)), (130, received(0, 2)), (300, sent(3))]
    );
    assert_eq!(ns, 400);
}

#[test]
fn messages_that_the_thread_serves_wait_for_it() {
    let (happened, ns) = happened(Some(50), two_to_one());
    assert_eq!(
        happened[1],
        [
            (300, Happened::Sent(3)),
            (350, received(0, 1)),
            (400, received(0, 2))
        ]
    );
    assert_eq!(
        (happened[0].last(), ns),
        (Some(&(450, received(1, 3))), 450)
    );
}

#[test]
fn an_effect_is_answered_at_once() {
    let clerks = vec![clerk(&[(0, 1, ANSWERED)]), clerk(&[])];
    let (happened, ns) = happened(None, clerks);
    let answer = [(100, received(0, ANSWERED)), (100, Happened::Sent(8))];
    assert_eq!(happened[1], answer);
    assert_eq!(
        (happened[0].last(), ns),
        (Some(&(200, received(1, 8))), 200)
    );
}

#[test]
fn a_thread_that_sleeps_is_woken() {
    let cluster = Cluster {
        wake_ns: 30,
        spin_ns: 60,
        ..CLUSTER
    };
    let setup = Setup { cluster, ..SETUP };
    let mut clerks = vec![clerk(&[(0, 1, 1), (20, 1, 2)]), clerk(&[])];
    clerks[1].serve_ns = Some(5);
    let outcome = run(setup, Tolerance::Fatal, clerks);
    // It sleeps until the first message; the second comes before it has served that one.
    let second = &outcome.parts[1].driver.happened;
    assert_eq!(second[..], [(135, received(0, 1)), (140, received(0, 2))]);
}

#[test]
fn messages_are_counted_by_kind() {
    let clerks = vec![clerk(&[(0, 1, 100), (0, 1, 1), (0, 0, 2)]), clerk(&[])];
    let outcome = run(SETUP, Tolerance::Fatal, clerks);
    let counts = outcome.traffic.iter().map(|kind| (kind.count, kind.bytes));
    assert_eq!(counts.collect::<Vec<_>>(), [(2, 8), (1, 4)]);
    // The large one takes longer.
    let second = &outcome.parts[1].driver.happened;
    assert_eq!(
        second[..],
        [(100, received(0, 1)), (1_100, received(0, 100))]
    );
    assert_eq!(outcome.ns, 1_100);
}

#[test]
fn a_run_ends_at_its_deadline() {
    let setup = Setup {
        deadline_ns: 250,
        ..SETUP
    };
    let outcome = run(setup, Tolerance::Fatal, two_to_one());
    assert_eq!((outcome.ns, outcome.has_expired), (250, true));
}

#[test]
#[should_panic(expected = "place 1 refuses a message of place 0: an unlucky number")]
fn a_refusal_is_a_panic() {
    happened(None, vec![clerk(&[(0, 1, REFUSED)]), clerk(&[])]);
}

#[test]
#[should_panic(expected = "place 0 sends to place 2, of 2 peers")]
fn a_message_to_nowhere_is_a_panic() {
    happened(None, vec![clerk(&[(0, 2, 1)]), clerk(&[])]);
}

/// Three places, of which the last crashes at 150 ns; known 50 ns later.
fn crash(tolerance: Tolerance, has_ended: bool) -> Outcome<Clerk> {
    let faults = Faults {
        crash: Some(Crash {
            place: PlaceId(2),
            at_ns: 150,
        }),
        detect_ns: 50,
        ..Faults::default()
    };
    let setup = Setup {
        faults: Some(faults),
        ..SETUP
    };
    // Two messages to the last place, before and after its crash.
    let mut clerks = vec![
        clerk(&[(0, 2, 1), (60, 2, 2), (300, 1, 3)]),
        clerk(&[]),
        clerk(&[]),
    ];
    clerks[1].has_ended = has_ended;
    run(setup, tolerance, clerks)
}

#[test]
fn a_loss_that_is_tolerated_is_reported_once_to_each_peer() {
    let outcome = crash(Tolerance::Tolerated, false);
    let [first, second, third] = [0, 1, 2].map(|at| &outcome.parts[at].driver.happened);
    let lost = (200, Happened::Lost(PlaceId(2)));
    assert_eq!(first[2], lost);
    assert_eq!(second[..], [lost, (460, received(0, 3))]);
    assert_eq!(third[..], [(100, received(0, 1))]);
    assert_eq!((outcome.lost, outcome.ns), (None, 460));
}

#[test]
fn a_loss_that_is_fatal_ends_the_run() {
    let outcome = crash(Tolerance::Fatal, false);
    assert_eq!(outcome.lost, Some((PlaceId(0), PlaceId(2))));
    assert_eq!((outcome.ns, outcome.has_expired), (200, false));
}

#[test]
fn a_peer_that_has_ended_loses_none() {
    let outcome = crash(Tolerance::Tolerated, true);
    let second = &outcome.parts[1].driver.happened;
    assert_eq!(second[..], [(460, received(0, 3))]);
}
