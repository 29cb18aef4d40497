//! Protocols of the program between ranks: refusals, panics, and the end of the world.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tautline::protocol::{Error, Handler, Machine, Ranks, Service, Step, WireHandler};
use tautline::world::{self, Rank, World};

const LONG: Duration = Duration::from_secs(60);

/// Sends numbers to the other rank, which refuses 0.
struct Sending(Rank);

impl Machine for Sending {
    type Peer = Rank;
    type Message = u32;
    type Event = u32;
    type Effect = u32;
    type Calls = ();
    type Refusal = &'static str;

    fn event(&mut self, number: u32, step: &mut Step<'_, Self>) {
        step.send(self.0, number);
    }

    fn receive(
        &mut self,
        _: Rank,
        number: u32,
        step: &mut Step<'_, Self>,
    ) -> Result<(), &'static str> {
        if number == 0 {
            return Err("nothing is sent");
        }
        step.effect(number);
        Ok(())
    }
}

#[derive(Debug, PartialEq)]
enum Heard {
    Number(u32),
    Refused(Rank, &'static str),
    Failed(String),
}

/// Passes on all that happens; panics at 13.
struct Log(Sender<Heard>);

impl<C> Handler<Sending, C> for Log {
    fn effect(&self, number: u32, _: &Service<Sending, C, Self>) {
        assert_ne!(number, 13, "as the test wants");
        self.0
            .send(Heard::Number(number))
            .expect("the test listens");
    }

    fn refused(&self, from: Rank, why: &'static str, _: &Service<Sending, C, Self>) {
        self.0
            .send(Heard::Refused(from, why))
            .expect("the test listens");
    }
}

impl<C> WireHandler<Sending, C> for Log {
    fn failed(&self, error: &Error, _: &Service<Sending, C, Self>) {
        // The test may have ended.
        _ = self.0.send(Heard::Failed(error.to_string()));
    }
}

type Served = Arc<Service<Sending, Ranks<u32>, Log>>;

fn serve(world: &World) -> (Served, Receiver<Heard>) {
    let (log, heard) = channel();
    let machine = Sending(Rank(1 - world.rank().0));
    (
        world.serve("numbers", machine, Box::new(()), Log(log)),
        heard,
    )
}

#[test]
fn numbers_arrive_in_order_and_a_refusal_names_the_sender() {
    let heard = world::loopback(2, |world| {
        let (service, heard) = serve(world);
        for number in [3, 0, 5] {
            service.event(number);
        }
        let heard: Vec<_> = (0..3).map(|_| heard.recv_timeout(LONG).unwrap()).collect();
        // The other rank may not have received all.
        world.barrier().unwrap();
        service.stop();
        heard
    });
    let of = |rank| {
        let refused = Heard::Refused(Rank(rank), "nothing is sent");
        [Heard::Number(3), refused, Heard::Number(5)]
    };
    assert_eq!(heard, [Vec::from(of(1)), Vec::from(of(0))]);
}

#[test]
fn a_panic_of_an_effect_ends_the_channels_of_all_ranks() {
    let heard = world::loopback(2, |world| {
        let (service, heard) = serve(world);
        if world.is_home() {
            service.event(13);
        }
        heard.recv_timeout(LONG).unwrap()
    });
    for heard in heard {
        assert!(matches!(heard, Heard::Failed(_)), "{heard:?}");
    }
}

/// A service that is not stopped ends with the world, and nothing of it is kept.
#[test]
fn the_end_of_the_world_ends_a_service() {
    let world = World::alone();
    let (log, heard) = channel();
    let service = world.serve("numbers", Sending(Rank(0)), Box::new(()), Log(log));
    let kept: Weak<_> = Arc::downgrade(&service);
    drop(service);
    assert!(kept.upgrade().is_some(), "its channel keeps it");
    drop(world);
    assert!(matches!(
        heard.recv_timeout(LONG).unwrap(),
        Heard::Failed(_)
    ));
    assert!(kept.upgrade().is_none());
}
