//! A protocol of one's own: ranks enter a section one at a time, by a token that moves along a
//! tree.
mod turnstile;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use tautline::protocol::{Handler, Ranks, Service, WireHandler};
use tautline::world::{self, Rank, World};
use turnstile::{Entered, Event, Message, Refusal, Turnstile};

const RANKS: u32 = 4;
const TURNS: u32 = 500;

type Gate = Service<Turnstile, Ranks<Message>, Doorman>;

/// Passes each entry, or why there will be no further one, to the thread that waits.
struct Doorman(Sender<Result<(), String>>);

impl Handler<Turnstile, Ranks<Message>> for Doorman {
    fn effect(&self, Entered: Entered, _: &Gate) {
        // The thread waits unless it has given up.
        _ = self.0.send(Ok(()));
    }

    fn refused(&self, from: Rank, refusal: Refusal, _: &Gate) {
        _ = self.0.send(Err(format!("a message of {from}: {refusal}")));
    }
}

impl WireHandler<Turnstile, Ranks<Message>> for Doorman {
    fn failed(&self, error: &tautline::protocol::Error, _: &Gate) {
        _ = self.0.send(Err(error.to_string()));
    }
}

/// The turnstile, as a rank uses it.
struct Entrance {
    gate: Arc<Gate>,
    entered: Receiver<Result<(), String>>,
}

impl Entrance {
    fn new(world: &World) -> Self {
        let (doorman, entered) = mpsc::channel();
        let machine = Turnstile::new(world.rank(), world.ranks(), 2);
        let gate = world.serve("turnstile", machine, Box::new(()), Doorman(doorman));
        Self { gate, entered }
    }

    /// Calls `act` while no other rank is in such a call.
    fn pass<R>(&self, act: impl FnOnce() -> R) -> Result<R, String> {
        self.gate.event(Event::Enter);
        self.entered.recv().expect("the gate has the sender")?;
        let result = act();
        self.gate.event(Event::Leave);
        Ok(result)
    }
}

fn main() -> Result<(), String> {
    let (inside, passed) = (AtomicU32::new(0), AtomicU32::new(0));
    let ended = world::loopback(RANKS, |world| {
        let entrance = Entrance::new(world);
        for _ in 0..TURNS {
            entrance.pass(|| {
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two at once");
                passed.fetch_add(1, Ordering::Relaxed);
                inside.fetch_sub(1, Ordering::Relaxed);
            })?;
        }
        // Others may still need this rank's part.
        world.barrier().map_err(|error| error.to_string())?;
        entrance.gate.stop();
        Ok(())
    });
    ended.into_iter().collect::<Result<(), String>>()?;
    println!(
        "{} turns of {RANKS} ranks, one at a time",
        passed.into_inner()
    );
    Ok(())
}
