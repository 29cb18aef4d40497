//! Messages that no correct place sends.

use tautline_core::PlaceId;
use tautline_core::finish::{self, Report};
use tautline_core::glb::{Effect, Event, Message, Protocol, Refusal};
use tautline_core::lifeline::{self, Graph};
use tautline_core::machine::{Action, Machine, Pick, Step, drive};

type Place = Protocol<()>;

/// Picks the first.
struct First;

impl Pick for First {
    fn pick(&mut self, _: u32) -> u32 {
        0
    }
}

/// Delivers a message to a place that has no work to give.
fn receive(place: &mut Place, from: u32, message: Message<()>) -> Result<(), Refusal> {
    let idle = |action| match action {
        Action::Effect(Effect::Take(demand)) => Some(Event::Taken(demand, None)),
        _ => None,
    };
    drive(place, &mut First, idle, |place, step| {
        place.receive(PlaceId(from), message, step)
    })
}

/// A report that no correct place sends is an error, not a panic.
#[test]
fn false_reports_are_refused() {
    let place = |here| Place::new(PlaceId(here), 3, Graph::Ring, 0);
    let report = |number| {
        let counts = Vec::new();
        Message::Report(Report { number, counts })
    };
    for (here, from, number, kind) in [
        (1, 2, 1, finish::Refusal::NotHome),
        (0, 9, 1, finish::Refusal::Place(PlaceId(9))),
        (0, 2, 0, finish::Refusal::Doubled(PlaceId(2), 0)),
    ] {
        let received = receive(&mut place(here), from, report(number));
        assert_eq!(received, Err(Refusal::Report(kind)));
    }
}

/// So are an answer without a request, and a second request along one lifeline; the place continues
/// as before.
#[test]
fn answers_and_requests_out_of_turn_are_refused() {
    let mut place = Place::new(PlaceId(0), 3, Graph::Full, 0);
    let lifeline = true;
    let request = Message::Request { lifeline };
    receive(&mut place, 2, request.clone()).expect_err("it waits here from the start");
    let before = place.clone();
    for (from, message, kind) in [
        (1, Message::Answer(None), lifeline::Refusal::Unasked),
        (1, Message::Answer(Some(())), lifeline::Refusal::Unasked),
        (2, request, lifeline::Refusal::Recorded),
    ] {
        let received = receive(&mut place, from, message);
        assert_eq!(received, Err(Refusal::Lifeline(kind)));
        assert_eq!(place, before);
    }
    let step = |place: &mut Place, step: &mut Step<'_, Place>| place.event(Event::Dry, step);
    drive(&mut place, &mut First, |_| None, step);
    let asked = place.place().waits_for().expect("the first lifeline");
    assert_eq!(receive(&mut place, asked.0, Message::Answer(None)), Ok(()));
}
