//! Services of machines, on one thread: their order, their end, and panics.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, mpsc};
use tautline_core::PlaceId;
use tautline_core::machine::{Machine, Step, Tolerance};
use tautline_core::service::{Handler, Service};

/// Records what it is given.
struct Echo;

impl Machine for Echo {
    type Peer = PlaceId;
    type Message = &'static str;
    type Event = &'static str;
    type Effect = String;
    type Calls = ();
    type Refusal = &'static str;

    fn event(&mut self, event: &'static str, step: &mut Step<'_, Self>) {
        assert_ne!(event, "panic", "as the test wants");
        step.send(PlaceId(1), event);
        step.effect(event.into());
    }

    fn receive(
        &mut self,
        from: PlaceId,
        message: &'static str,
        step: &mut Step<'_, Self>,
    ) -> Result<(), &'static str> {
        step.effect(format!("{message} of {from}"));
        (message != "false").then_some(()).ok_or("it is false")
    }

    fn lost(&mut self, place: PlaceId, step: &mut Step<'_, Self>) -> Tolerance {
        step.effect(format!("{place} is lost"));
        match place.0 {
            0 => Tolerance::Fatal,
            _ => Tolerance::Tolerated,
        }
    }
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Log {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

type Send = Box<dyn FnMut(PlaceId, &'static str) + std::marker::Send>;

impl Handler<Echo, Send> for Log {
    fn effect(&self, effect: String, service: &Service<Echo, Send, Self>) {
        if effect == "twice" {
            service.event("once more");
        }
        if effect == "stop" {
            let (machine, carrier) = service.stop();
            assert!(machine.is_some() && carrier.is_some());
        }
        self.add(effect);
    }

    fn refused(&self, from: PlaceId, why: &'static str, _: &Service<Echo, Send, Self>) {
        self.add(format!("{from} is refused: {why}"));
    }
}

fn service() -> Service<Echo, Send, Log> {
    Service::new(Echo, Box::new(()), Log::default())
}

fn connected() -> Service<Echo, Send, Log> {
    let service = service();
    service.connect(Box::new(|_, _| ()));
    service
}

#[test]
fn messages_wait_for_their_carrier() {
    let service = service();
    service.event("first");
    service.receive(PlaceId(2), "second");
    assert_eq!(service.lost(PlaceId(0)), Tolerance::Fatal);
    let expected = ["first", "second of place 2", "place 0 is lost"];
    assert_eq!(service.handler().take(), expected);
    let (sent, left) = mpsc::channel();
    service.connect(Box::new(move |to, message| {
        sent.send((to, message)).unwrap()
    }));
    service.event("third");
    let all: Vec<_> = left.try_iter().collect();
    assert_eq!(all, [(PlaceId(1), "first"), (PlaceId(1), "third")]);
}

#[test]
fn effects_submit_events() {
    let service = connected();
    service.event("twice");
    service.event("then");
    let expected = ["twice", "once more", "then"];
    assert_eq!(service.handler().take(), expected);
}

#[test]
fn refusals_are_reported_after_the_effects_before() {
    let service = connected();
    service.receive(PlaceId(3), "false");
    let expected = ["false of place 3", "place 3 is refused: it is false"];
    assert_eq!(service.handler().take(), expected);
}

#[test]
fn losses_are_tolerated_as_the_machine_decides() {
    let service = connected();
    assert_eq!(service.lost(PlaceId(0)), Tolerance::Fatal);
    assert_eq!(service.lost(PlaceId(1)), Tolerance::Tolerated);
    let expected = ["place 0 is lost", "place 1 is lost"];
    assert_eq!(service.handler().take(), expected);
}

#[test]
fn an_effect_may_stop_the_service() {
    let service = connected();
    service.event("stop");
    service.event("late");
    assert_eq!(service.lost(PlaceId(0)), Tolerance::Tolerated);
    service.connect(Box::new(|_, _| panic!("all was sent before")));
    assert_eq!(service.handler().take(), ["stop"]);
    let (machine, carrier) = service.stop();
    assert!(machine.is_none() && carrier.is_none());
}

#[test]
fn a_machine_that_panics_takes_no_further_step() {
    let service = connected();
    let ended = catch_unwind(AssertUnwindSafe(|| service.event("panic")));
    assert!(ended.is_err());
    service.event("late");
    service.receive(PlaceId(1), "late");
    assert_eq!(service.lost(PlaceId(0)), Tolerance::Tolerated);
    assert!(service.handler().take().is_empty());
    assert!(service.stop().0.is_none());
}
