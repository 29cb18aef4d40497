//! Messages that no correct place sends.

use tautline_core::PlaceId;
use tautline_core::finish::{PeerErrorKind, Report};
use tautline_core::glb::{Actions, Message, Protocol};
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

/// A report that no correct place sends is an error with the peer's name, not a panic.
#[test]
fn false_reports_name_the_peer() {
    let place = |here| Protocol::new(PlaceId(here), 3, Graph::Ring, 0);
    let report = |number| {
        let counts = Vec::new();
        Message::Report(Report { number, counts })
    };
    for (here, from, number, kind) in [
        (1, 2, 1, PeerErrorKind::NotHome),
        (0, 9, 1, PeerErrorKind::Place(PlaceId(9))),
        (0, 2, 0, PeerErrorKind::Doubled(PlaceId(2), 0)),
    ] {
        let error = place(here).on(PlaceId(from), report(number), &mut Idle);
        let error = error.expect_err("it is refused");
        assert_eq!((error.from, error.kind), (PlaceId(from), kind));
    }
}

/// So are an answer without a request, and a second request along one lifeline; the place continues as before.
#[test]
fn answers_and_requests_out_of_turn_name_the_peer() {
    let mut place = Protocol::new(PlaceId(0), 3, Graph::Full, 0);
    let lifeline = true;
    let request = Message::Request { lifeline };
    place
        .on(PlaceId(2), request.clone(), &mut Idle)
        .expect_err("it waits here from the start");
    let before = place.clone();
    for (from, message, kind) in [
        (1, Message::Answer(None), PeerErrorKind::Unasked),
        (1, Message::Answer(Some(())), PeerErrorKind::Unasked),
        (2, request, PeerErrorKind::Recorded),
    ] {
        let error = place.on(PlaceId(from), message, &mut Idle);
        let error = error.expect_err("it is refused");
        assert_eq!((error.from, error.kind), (PlaceId(from), kind));
        assert_eq!(place, before);
    }
    place.dry::<()>(&mut Idle);
    let asked = place.place().waits_for().expect("the first lifeline");
    assert_eq!(place.on(asked, Message::Answer(None), &mut Idle), Ok(()));
}
