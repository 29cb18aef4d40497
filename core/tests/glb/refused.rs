//! Messages that no correct place sends.

use tautline_core::PlaceId;
use tautline_core::finish::{self, Report};
use tautline_core::glb::{Actions, Message, Protocol, Refusal};
use tautline_core::lifeline::Graph;

/// Accepts no work, and gives none.
struct Idle;

impl Actions<()> for Idle {
    fn send(&mut self, _: PlaceId, _: Message<()>) {}
    fn work(&mut self, (): ()) {}
    fn steal(&mut self) -> Option<()> {
        None
    }
    fn ration(&mut self, _: usize) -> Option<()> {
        None
    }
    fn pick(&mut self, _: usize) -> usize {
        0
    }
    fn improve(&mut self, _: u128) {}
    fn done(&mut self) {}
}

/// A report that no correct place sends is an error, not a panic.
#[test]
fn false_reports_are_refused() {
    let place = |here| Protocol::new(PlaceId(here), 3, Graph::Ring, 0);
    let report = |number| {
        let counts = Vec::new();
        Message::Report(Report { number, counts })
    };
    for (here, from, number, kind) in [
        (1, 2, 1, finish::Refusal::NotHome),
        (0, 9, 1, finish::Refusal::Place(PlaceId(9))),
        (0, 2, 0, finish::Refusal::Doubled(PlaceId(2), 0)),
    ] {
        let received = place(here).on(PlaceId(from), report(number), &mut Idle);
        assert_eq!(received, Err(Refusal::Report(kind)));
    }
}

/// So are an answer without a request, and a second request along one lifeline; the place continues as before.
#[test]
fn answers_and_requests_out_of_turn_are_refused() {
    let mut place = Protocol::new(PlaceId(0), 3, Graph::Full, 0);
    let lifeline = true;
    let request = Message::Request { lifeline };
    place
        .on(PlaceId(2), request.clone(), &mut Idle)
        .expect_err("it waits here from the start");
    let before = place.clone();
    for (from, message, kind) in [
        (1, Message::Answer(None), Refusal::Unasked),
        (1, Message::Answer(Some(())), Refusal::Unasked),
        (2, request, Refusal::Recorded),
    ] {
        let received = place.on(PlaceId(from), message, &mut Idle);
        assert_eq!(received, Err(kind));
        assert_eq!(place, before);
    }
    place.dry::<()>(&mut Idle);
    let asked = place.place().waits_for().expect("the first lifeline");
    assert_eq!(place.on(asked, Message::Answer(None), &mut Idle), Ok(()));
}
