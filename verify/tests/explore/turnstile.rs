//! The protocol of `docs/protocol.md`: explored, as a scenario, and simulated.

#[path = "../../../platforms/examples/turnstile/turnstile.rs"]
mod turnstile;

use super::{LIMIT, flawless, report};
use std::path::Path;
use std::time::Instant;
use tautline_core::Rank;
use tautline_core::machine::no_calls;
use tautline_sim::Cluster;
use tautline_sim::protocol::{Driver, Part as SimPart, Setup};
use tautline_verify::explore::{
    At, Checked, Delivery, Flaw, Network, Part, PartOf, Parts, View, check, explore,
};
use turnstile::{Entered, Event, Message, Refusal, Turnstile};

/// Ranks that enter a number of times each, at any time.
#[derive(Clone, Copy, Debug)]
struct Ranks {
    ranks: u32,
    radix: u32,
    entries: u32,
    /// The request of this rank is lost: an error that the checks must find.
    mute: Option<Rank>,
}

/// The state of a rank's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Visitor {
    entries: u32,
    waits: bool,
    is_inside: bool,
}

impl Checked for Ranks {
    type Machine = Turnstile;
    type Driver = Visitor;
    type Act = Event;
    type Ghost = ();

    fn peers(&self) -> u32 {
        self.ranks
    }

    fn start(&self, here: Rank) -> PartOf<Self> {
        Part {
            machine: Turnstile::new(here, self.ranks, self.radix),
            driver: Visitor::default(),
        }
    }

    fn acts(&self, _: Rank, Part { driver, .. }: &PartOf<Self>, (): &()) -> Vec<Event> {
        match (driver.is_inside, driver.waits) {
            (true, _) => vec![Event::Leave],
            (false, false) if driver.entries < self.entries => vec![Event::Enter],
            (false, _) => Vec::new(),
        }
    }

    fn event(&self, at: &mut At<'_, Self>, act: Event) -> Option<Event> {
        at.driver.waits = act == Event::Enter;
        at.driver.is_inside = false;
        Some(act)
    }

    fn calls(_: &mut Visitor) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Turnstile, Entered: Entered) -> Option<Event> {
        if !at.driver.waits {
            at.find(Flaw::Activity);
        }
        at.driver.waits = false;
        at.driver.is_inside = true;
        at.driver.entries += 1;
        None
    }

    fn send(&self, at: &mut At<'_, Self>, _: Rank, message: Message) -> Option<Message> {
        let is_lost = self.mute == Some(at.here) && message == Message::Request;
        (!is_lost).then_some(message)
    }

    fn malformed(&self, _: &Turnstile) -> Vec<Message> {
        vec![Message::Request, Message::Token]
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let inside = view.sites.iter().filter(|part| part.driver.is_inside);
        (inside.count() > 1).then_some(Flaw::Repeated)
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        let mut visitors = view.sites.iter().map(|part| &part.driver);
        visitors.all(|visitor| visitor.entries == self.entries && !visitor.is_inside)
    }
}

const TWO: Ranks = Ranks {
    ranks: 2,
    radix: 1,
    entries: 2,
    mute: None,
};

/// One rank at a time is inside, and each enters as often as it requests.
#[test]
fn turnstile() {
    for (ranks, radix, entries, floor) in [
        (2, 1, 3, 136),
        (3, 2, 2, 854),
        (3, 1, 2, 860),
        (4, 2, 2, 11_079),
    ] {
        let began = Instant::now();
        let name = format!("turnstile-p{ranks}-r{radix}-e{entries}");
        let protocol = Ranks {
            ranks,
            radix,
            entries,
            mute: None,
        };
        let mut system = Network::of(protocol, Delivery::Channels);
        report(&name, flawless(&name, &mut system), floor, began);
    }
}

/// A request that overtakes the token is refused: the protocol needs channels that keep the order.
#[test]
fn the_order_of_messages_matters() {
    let found = explore(&mut Network::of(TWO, Delivery::Multiset), LIMIT).found;
    assert!(matches!(found, Some((Flaw::Refused, _))), "{found:?}");
}

#[test]
fn a_lost_request_is_waited_for() {
    let mute = Some(Rank(1));
    let lossy = Network::of(Ranks { mute, ..TWO }, Delivery::Channels);
    let found = explore(&mut { lossy }, LIMIT).found;
    assert!(matches!(found, Some((Flaw::Stuck, _))), "{found:?}");
}

#[test]
fn scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explore/scenarios");
    check(TWO, &folder.join("turnstile.txt")).unwrap_or_else(|why| panic!("{why}"));
}

/// A rank in virtual time, which enters once and stays for a while.
#[derive(Default)]
struct Simulated {
    enters: bool,
    stays: bool,
    entered_ns: Option<u64>,
}

const STAY_NS: u64 = 50_000;

impl Driver for Simulated {
    type Machine = Turnstile;
    type Calls = ();

    fn calls((): &mut ()) -> &mut () {
        no_calls()
    }

    fn work(&mut self, _: &Turnstile, _: u64) -> Option<(u64, Event)> {
        if std::mem::take(&mut self.stays) {
            return Some((STAY_NS, Event::Leave));
        }
        std::mem::take(&mut self.enters).then_some((0, Event::Enter))
    }

    fn effect(&mut self, Entered: Entered, now: u64) -> Option<Event> {
        self.stays = true;
        self.entered_ns = Some(now);
        None
    }
}

/// All of 1000 ranks enter once: the stays do not overlap, and between two of them the token takes
/// a path of the tree.
#[test]
fn a_thousand_ranks_take_turns() {
    const RANKS: u32 = 1000;
    const FAR_NS: u64 = 2_000;
    let part = |rank| {
        let driver = Simulated {
            enters: true,
            ..Simulated::default()
        };
        SimPart::new(Turnstile::new(Rank(rank), RANKS, 2), driver)
    };
    let cluster = Cluster {
        node_places: 1,
        far_ns: FAR_NS,
        jitter_percent: 0,
        ..Cluster::default()
    };
    let setup = Setup {
        cluster,
        ..Setup::default()
    };
    let outcome = setup.run((0..RANKS).map(part).collect());
    let entered = outcome.parts.iter().map(|part| part.driver.entered_ns);
    let mut entered: Vec<u64> = entered.map(|at| at.expect("each rank enters")).collect();
    entered.sort_unstable();
    assert_eq!(entered[0], 0, "rank 0 has the token");
    let gaps = entered.windows(2).map(|pair| pair[1] - pair[0]);
    let moves: Vec<u64> = gaps.map(|gap| (gap - STAY_NS) / FAR_NS).collect();
    // The tree of 1000 ranks has 9 levels below rank 0.
    let is_path = |moves: &u64| (1..=2 * 9).contains(moves);
    assert!(moves.iter().all(is_path), "{moves:?}");
}

/// The refusals are worded for the program, which prints them.
#[test]
fn refusals_are_said() {
    assert_eq!(
        Refusal::Request.to_string(),
        "a request of a rank that may not send one"
    );
    assert_eq!(
        Refusal::Token.to_string(),
        "a token that was not requested from its sender"
    );
}
