//! The lifeline graphs, the state machine of a place, and the lock-free structures, on one thread.

#[path = "lifeline/bounds.rs"]
mod bounds;
#[path = "lifeline/mailbox.rs"]
mod mailbox;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use tautline_core::lifeline::{
    Crew, Demand, Effect, Event, Gate, Graph, Message, Neighbours, Phase, Place, Refusal, Reserve,
};
use tautline_core::machine::{Action, Machine, Pick, Step, drive};
use tautline_core::port::Spin;
use tautline_core::{PlaceId, WorkerId};

/// Returns z with h^(z-1) < places ≤ h^z.
fn dimensions(places: u32, radix: u32) -> u32 {
    let (mut z, mut labels) = (0, 1u64);
    while labels < places.into() {
        labels *= u64::from(radix);
        z += 1;
    }
    z
}

/// Returns whether every place is reachable from place 0 along the edges of `next`.
fn reaches_all(places: u32, next: impl Fn(PlaceId) -> Neighbours) -> bool {
    let mut seen = vec![false; places as usize];
    let mut stack = vec![PlaceId(0)];
    seen[0] = true;
    while let Some(place) = stack.pop() {
        for q in next(place) {
            if !std::mem::replace(&mut seen[q.index()], true) {
                stack.push(q);
            }
        }
    }
    seen.into_iter().all(|s| s)
}

/// Asserts that place 0 reaches all places and is reachable from all, that degrees are at most
/// `degree`, and that the reverse edges are the reverse of the edges.
fn check_graph(graph: Graph, places: u32, degree: u32) {
    let (mut edges, mut reverse) = (0, 0);
    for p in (0..places).map(PlaceId) {
        let out = graph.outgoing(p, places);
        let (out_degree, in_degree) = (out.clone().count(), graph.incoming(p, places).count());
        assert!(
            out_degree.max(in_degree) <= degree as usize,
            "{graph:?} {places}: degrees of {p}"
        );
        assert!(
            places == 1 || out_degree > 0,
            "{graph:?} {places}: {p} has no lifeline"
        );
        for q in out {
            assert!(q.0 < places && q != p, "{graph:?} {places}: {p} to {q}");
            assert!(
                degree > 64 || graph.incoming(q, places).any(|r| r == p),
                "{graph:?} {places}: {p} at {q}"
            );
        }
        edges += out_degree;
        reverse += in_degree;
    }
    assert_eq!(edges, reverse, "{graph:?} {places}");
    assert!(
        reaches_all(places, |p| graph.outgoing(p, places)),
        "{graph:?} {places}: from 0"
    );
    assert!(
        reaches_all(places, |p| graph.incoming(p, places)),
        "{graph:?} {places}: to 0"
    );
}

/// Saraswat, acceptance fact 2, for every size up to 128 and every radix.
#[test]
fn hypercube_connected_every_size_and_radix() {
    for places in 1..=128 {
        for radix in 2..=places.max(2) {
            check_graph(
                Graph::Hypercube { radix },
                places,
                dimensions(places, radix),
            );
        }
    }
}

/// Saraswat 2011 gives z and P: the radix is the least that has room for P places.
#[test]
fn the_least_radix_gives_no_more_dimensions_than_requested() {
    for z in 1..=12 {
        for places in (1..600).chain([4_095, 4_096, 4_097, 131_072, u32::MAX]) {
            let Graph::Hypercube { radix } = Graph::of_dimensions(z, places) else {
                panic!("no hypercube");
            };
            assert!(dimensions(places, radix) <= z, "{z} {places}: {radix}");
            assert!(
                radix == 2 || dimensions(places, radix - 1) > z,
                "{z} {places}: {radix}"
            );
        }
    }
    let radix = |z, places| Graph::of_dimensions(z, places);
    assert_eq!(radix(3, 1_000), Graph::Hypercube { radix: 10 });
    assert_eq!(radix(1, 64), Graph::Hypercube { radix: 64 });
}

/// Saraswat, acceptance fact 2, for sizes up to 4096: radix 2, and one other radix that varies with
/// the size. All pairs: [`hypercube_connected_every_radix_up_to_4096`].
#[test]
fn hypercube_connected_up_to_4096() {
    for places in (3..=512)
        .chain((513..=4096).step_by(61))
        .chain([1023, 1024, 1025, 4095, 4096])
    {
        for radix in [2, 2 + 2_654_435 % (places - 1)] {
            check_graph(
                Graph::Hypercube { radix },
                places,
                dimensions(places, radix),
            );
        }
    }
}

/// Returns whether place 0 reaches all places and as many lifelines enter each place as leave it,
/// at most `degree`. Such a graph is strongly connected: no set of places can be entered but not
/// left.
fn is_balanced(graph: Graph, places: u32, degree: usize, room: &mut Room) -> bool {
    room.entered.clear();
    room.entered.resize(places as usize, 0);
    room.left.clear();
    room.left.resize(places as usize, 0);
    room.stack.push(PlaceId(0));
    let mut reached = 1;
    while let Some(place) = room.stack.pop() {
        for to in graph.outgoing(place, places) {
            room.left[place.index()] += 1;
            let entered = &mut room.entered[to.index()];
            if *entered == 0 && to != PlaceId(0) {
                reached += 1;
                room.stack.push(to);
            }
            *entered += 1;
        }
    }
    let fits = room.left.iter().all(|&count| usize::from(count) <= degree);
    reached == places && fits && room.entered == room.left
}

/// The edges of each place, and the places to visit.
#[derive(Default)]
struct Room {
    entered: Vec<u8>,
    left: Vec<u8>,
    stack: Vec<PlaceId>,
}

/// Saraswat, acceptance fact 2, in full: every size up to 4096 with every radix, 8.4 million
/// graphs.
#[test]
#[ignore = "cargo ci deep: minutes, with --release"]
fn hypercube_connected_every_radix_up_to_4096() {
    const PLACES: u32 = 4096;
    let (next, graphs) = (AtomicU32::new(1), AtomicU64::new(0));
    let work = || {
        let mut room = Room::default();
        loop {
            let places = next.fetch_add(1, Relaxed);
            if places > PLACES {
                return;
            }
            for radix in 2..=places.max(2) {
                let graph = Graph::Hypercube { radix };
                let degree = dimensions(places, radix) as usize;
                assert!(
                    is_balanced(graph, places, degree, &mut room),
                    "{places} places, radix {radix}"
                );
                graphs.fetch_add(1, Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    // One graph of one place, and P - 1 of each larger size.
    let expected = 1 + u64::from(PLACES - 1) * u64::from(PLACES) / 2;
    assert_eq!(graphs.into_inner(), expected);
}

/// Finnerty, acceptance fact 10: degrees 2, 3, 4 for 4, 8, 16 places.
#[test]
fn binary_hypercube_degrees() {
    for (places, degree) in [(4, 2), (8, 3), (16, 4)] {
        for p in 0..places {
            assert_eq!(
                Graph::Hypercube { radix: 2 }
                    .outgoing(PlaceId(p), places)
                    .count(),
                degree
            );
        }
    }
}

#[test]
fn ring_and_full() {
    for places in 1..=64 {
        check_graph(Graph::Ring, places, 1);
        check_graph(Graph::Full, places, places - 1);
    }
    assert_eq!(
        Graph::Ring.outgoing(PlaceId(2), 3).collect::<Vec<_>>(),
        [PlaceId(0)]
    );
    assert_eq!(Graph::Full.outgoing(PlaceId(1), 4).count(), 3);
}

/// Records all actions of a place; the work to spare is a number of units.
#[derive(Default)]
struct Log {
    units: usize,
    done: Vec<String>,
}

impl Log {
    fn act(&mut self, action: Action<Place<usize>>) -> Option<Event<usize>> {
        let done = match action {
            Action::Send(to, Message::Request { lifeline: true }) => {
                format!("ask {} lifeline", to.0)
            }
            Action::Send(to, Message::Request { lifeline: false }) => {
                format!("ask {} random", to.0)
            }
            Action::Send(to, Message::Answer(loot)) => format!("answer {} {loot:?}", to.0),
            Action::Send(to, Message::Loot(loot)) => format!("give {} {loot}", to.0),
            Action::Effect(Effect::Ended) => "ended".into(),
            Action::Effect(Effect::Work(loot)) => {
                self.units += loot;
                format!("work {loot}")
            }
            Action::Effect(Effect::Take(demand)) => {
                let share = match demand {
                    Demand::Request { .. } => self.units / 2,
                    Demand::Ration { thieves } => self.units / (thieves + 1),
                };
                self.units -= share;
                return Some(Event::Taken(demand, (share > 0).then_some(share)));
            }
        };
        self.done.push(done);
        None
    }
}

/// Picks the first.
struct First;

impl Pick for First {
    fn pick(&mut self, _: u32) -> u32 {
        0
    }
}

/// An input of a place.
enum Input {
    Event(Event<usize>),
    Message(u32, Message<usize>),
}

/// Passes an event or a message to a place and returns its actions.
fn play(place: &mut Place<usize>, log: &mut Log, input: Input) -> String {
    log.done.clear();
    let act = |action| log.act(action);
    let taken = drive(place, &mut First, act, |place, step| match input {
        Input::Event(event) => {
            place.event(event, step);
            Ok(())
        }
        Input::Message(from, message) => place.receive(PlaceId(from), message, step),
    });
    assert_eq!(taken, Ok(()));
    log.done.join(", ")
}

/// Saraswat, attemptSteal: w random places, then the lifelines in order, then quiet. Finnerty,
/// acceptance fact 9: at most one request outstanding along a lifeline.
#[test]
fn search_order() {
    let graph = Graph::Hypercube { radix: 2 };
    let (mut place, mut log) = (Place::new(PlaceId(0), 4, graph, 2), Log::default());
    let none = |from| Input::Message(from, Message::Answer(None));
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Dry)),
        "ask 1 random"
    );
    assert_eq!(place.waits_for(), Some(PlaceId(1)));
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Dry)),
        "",
        "a place is dry only once"
    );
    assert_eq!(play(&mut place, &mut log, none(1)), "ask 1 random");
    assert_eq!(play(&mut place, &mut log, none(1)), "ask 1 lifeline");
    assert_eq!(play(&mut place, &mut log, none(1)), "ask 2 lifeline");
    assert_eq!(play(&mut place, &mut log, none(2)), "ended");
    assert_eq!(place.phase(), Phase::Quiet);

    // A lifeline delivers loot; dry again, the place sends a request only along the lifeline that
    // was satisfied.
    let loot = Input::Message(2, Message::Loot(5));
    assert_eq!(play(&mut place, &mut log, loot), "work 5");
    assert_eq!(place.phase(), Phase::Active);
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Dry)),
        "ask 1 random"
    );
    play(&mut place, &mut log, none(1));
    assert_eq!(play(&mut place, &mut log, none(1)), "ask 2 lifeline");
    assert_eq!(play(&mut place, &mut log, none(2)), "ended");
}

/// Loot that arrives while an answer is outstanding starts the place; the answer is taken later.
#[test]
fn loot_overtakes_answer() {
    let (mut place, mut log) = (Place::new(PlaceId(0), 2, Graph::Ring, 0), Log::default());
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Dry)),
        "ask 1 lifeline"
    );
    let loot = Input::Message(1, Message::Loot(3));
    assert_eq!(
        play(&mut place, &mut log, loot),
        "ended, work 3",
        "an activity is running already"
    );
    // Dry again while the answer is outstanding: the place waits for it, and then sends another
    // request.
    assert_eq!(play(&mut place, &mut log, Input::Event(Event::Dry)), "");
    assert_eq!(
        play(
            &mut place,
            &mut log,
            Input::Message(1, Message::Answer(None))
        ),
        "ask 1 lifeline"
    );
}

/// A thief that sends a request along a lifeline is recorded, one that sends it to a random place
/// is not; shares are equal.
#[test]
fn thieves_are_served() {
    let (mut place, mut log) = (Place::new(PlaceId(0), 4, Graph::Full, 0), Log::default());
    // Before the start all places but the home have sent requests along their lifelines.
    assert_eq!(place.thieves().count(), 3);
    log.units = 100;
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Surplus)),
        "give 1 25, give 2 25, give 3 25"
    );
    log.units = 1;
    let ask = |from, lifeline| Input::Message(from, Message::Request { lifeline });
    assert_eq!(play(&mut place, &mut log, ask(1, false)), "answer 1 None");
    assert_eq!(place.thieves().count(), 0);
    assert_eq!(play(&mut place, &mut log, ask(1, true)), "answer 1 None");
    assert_eq!(place.thieves().collect::<Vec<_>>(), [PlaceId(1)]);
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Surplus)),
        "",
        "one unit cannot be shared"
    );
    log.units = 10;
    assert_eq!(
        play(&mut place, &mut log, ask(2, false)),
        "answer 2 Some(5)"
    );
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Surplus)),
        "give 1 2"
    );
}

/// A place that is not active spawns nothing, regardless of requests (requirement F-1 of the
/// finish).
#[test]
fn quiet_place_gives_nothing() {
    let (mut place, mut log) = (
        Place::new(PlaceId(1), 2, Graph::Ring, 1),
        Log {
            units: 50,
            ..Log::default()
        },
    );
    assert_eq!(place.phase(), Phase::Quiet);
    assert_eq!(play(&mut place, &mut log, Input::Event(Event::Surplus)), "");
    let ask = Input::Message(0, Message::Request { lifeline: true });
    assert_eq!(play(&mut place, &mut log, ask), "answer 0 None");
    assert_eq!(
        play(&mut place, &mut log, Input::Event(Event::Dry)),
        "",
        "a quiet place does not search"
    );
}

#[test]
fn reserve_keeps_units() {
    let reserve = Reserve::new();
    let add = |there: &mut usize, more| *there += more;
    assert!(reserve.is_empty());
    assert_eq!(reserve.take(|_| None, &Spin), None);
    reserve.feed(3, add, &Spin);
    reserve.feed(4, add, &Spin);
    assert!(!reserve.is_empty());
    let one = |pile: &mut usize| (*pile > 1).then(|| (*pile -= 1, 1).1);
    assert_eq!(reserve.take(one, &Spin), Some(1));
    assert_eq!(reserve.take(|_| None, &Spin), Some(6));
    assert!(reserve.is_empty());
    reserve.feed(1, add, &Spin);
    assert_eq!(
        reserve.take(one, &Spin),
        Some(1),
        "an indivisible reserve is taken whole"
    );
    assert!(reserve.is_empty());
    assert_eq!(reserve.into_inner().0, None);
}

/// Finnerty, acceptance fact 8: never more than the maximum.
#[test]
fn crew_counts() {
    let crew = Crew::new(3);
    assert!(crew.is_dry() && !crew.is_full());
    assert_eq!(
        crew.claim(WorkerId(2)),
        Some(WorkerId(2)),
        "the preferred one if it is idle"
    );
    assert_eq!(crew.claim(WorkerId(2)), Some(WorkerId(0)));
    assert_eq!(crew.claim(WorkerId(2)), Some(WorkerId(1)));
    assert_eq!(
        (crew.claim(WorkerId(2)), crew.any_idle(), crew.running()),
        (None, None, 3)
    );
    assert!(crew.is_full());
    assert!(!crew.leave(WorkerId(1)));
    assert_eq!(crew.any_idle(), Some(WorkerId(1)));
    assert!(!crew.leave(WorkerId(0)));
    assert!(crew.leave(WorkerId(2)), "the last one to leave is reported");
    assert!(crew.is_dry());
    assert_eq!(Crew::new(Crew::MAX).size(), Crew::MAX);
}

#[test]
#[should_panic(expected = "0 workers in a place: 1 to")]
fn crew_without_workers() {
    Crew::new(0);
}

/// Finnerty, acceptance fact 13: never two in the gate; any activity that ends opens it.
#[test]
fn gate_holds_one() {
    let gate = Gate::new();
    assert_eq!(gate.release(), None);
    assert!(gate.try_hold(WorkerId(1)) && !gate.try_hold(WorkerId(0)));
    assert!(gate.is_held_by(WorkerId(1)) && !gate.is_held_by(WorkerId(0)));
    assert_eq!(gate.release(), Some(WorkerId(1)));
    assert!(!gate.is_held_by(WorkerId(1)));
}

/// Saraswat, acceptance fact 3, at run time: a second request along one lifeline is refused, and an
/// answer without a request. The first request is there from the start.
#[test]
fn messages_out_of_turn_are_refused() {
    let mut place = Place::<usize>::new(PlaceId(0), 2, Graph::Ring, 0);
    let before = place.clone();
    for (message, refusal) in [
        (Message::Request { lifeline: true }, Refusal::Recorded),
        (Message::Answer(None), Refusal::Unasked),
    ] {
        let receive =
            |place: &mut Place<_>, step: &mut Step<'_, _>| place.receive(PlaceId(1), message, step);
        let received = drive(&mut place, &mut First, |_| None, receive);
        assert_eq!(received, Err(refusal));
        assert_eq!(place, before);
    }
}
