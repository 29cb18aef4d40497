//! Protocols of one's own between the ranks of a program.
//!
//! A protocol is a [`Machine`], of which each rank has one: it processes events of the program and
//! messages of the other ranks, and requires effects. [`World::serve`] connects the machines of all
//! ranks. The how-to is `docs/protocol.md`; its program is `examples/turnstile`.

use crate::ranks::world::World;
use std::panic::Location;
use std::sync::Arc;
pub use tautline_core::collective::Branch;
pub use tautline_core::machine::{Action, Machine, Peer, Pick, Step, Tolerance, drive, no_calls};
pub use tautline_core::service::{Carrier, Handler, Ranks, Service, WireHandler, WireMachine};
pub use tautline_core::wire::Error;

impl World {
    /// Starts this rank's part in a collective protocol: every rank makes this call, in the same
    /// order as other calls over the world. `kind` names the protocol in errors, and `calls`
    /// answers the machine within its steps.
    ///
    /// A message is processed by a thread that receives, and an effect carried out by a thread that
    /// has given the service an event or a message: both must be short, and not wait for other
    /// ranks. A panic there ends the calls of all ranks.
    ///
    /// The service lives until it is [stopped](Service::stop), or the world ends.
    ///
    /// ```
    /// use std::sync::mpsc::{Sender, channel};
    /// use tautline::protocol::{Error, Handler, Machine, Ranks, Service, Step, WireHandler};
    /// use tautline::world::{self, Rank};
    ///
    /// /// Greets all other ranks, and is done when all have greeted.
    /// struct Greeter {
    ///     here: u32,
    ///     missing: Vec<Rank>,
    /// }
    ///
    /// impl Machine for Greeter {
    ///     type Peer = Rank;
    ///     type Message = String;
    ///     type Event = String;
    ///     type Effect = String;
    ///     type Calls = ();
    ///     type Refusal = &'static str;
    ///
    ///     fn event(&mut self, name: String, step: &mut Step<'_, Self>) {
    ///         for rank in self.missing.clone() {
    ///             step.send(rank, name.clone());
    ///         }
    ///     }
    ///
    ///     fn receive(
    ///         &mut self,
    ///         from: Rank,
    ///         name: String,
    ///         step: &mut Step<'_, Self>,
    ///     ) -> Result<(), &'static str> {
    ///         let at = self.missing.iter().position(|rank| *rank == from);
    ///         self.missing.remove(at.ok_or("a second greeting")?);
    ///         step.effect(format!("{name} greets {}", self.here));
    ///         Ok(())
    ///     }
    /// }
    ///
    /// struct Log(Sender<String>);
    ///
    /// type Greetings = Service<Greeter, Ranks<String>, Log>;
    ///
    /// impl Handler<Greeter, Ranks<String>> for Log {
    ///     fn effect(&self, greeting: String, _: &Greetings) {
    ///         self.0.send(greeting).expect("the test listens");
    ///     }
    ///
    ///     fn refused(&self, from: Rank, why: &'static str, _: &Greetings) {
    ///         self.0.send(format!("{from}: {why}")).expect("the test listens");
    ///     }
    /// }
    ///
    /// impl WireHandler<Greeter, Ranks<String>> for Log {
    ///     fn failed(&self, error: &Error, _: &Greetings) {
    ///         // The world of the other rank may have ended.
    ///         _ = self.0.send(error.to_string());
    ///     }
    /// }
    ///
    /// let heard = world::loopback(2, |world| {
    ///     let (log, heard) = channel();
    ///     let here = world.rank().0;
    ///     let machine = Greeter { here, missing: vec![Rank(1 - here)] };
    ///     let service = world.serve("greetings", machine, Box::new(()), Log(log));
    ///     service.event(format!("number {here}"));
    ///     let greeting = heard.recv().expect("the other rank greets");
    ///     service.stop();
    ///     greeting
    /// });
    /// assert_eq!(heard, ["number 1 greets 0", "number 0 greets 1"]);
    /// ```
    #[track_caller]
    pub fn serve<M, H>(
        &self,
        kind: &'static str,
        machine: M,
        calls: Box<M::Calls>,
        handler: H,
    ) -> Arc<Service<M, Ranks<M::Message>, H>>
    where
        M: WireMachine,
        H: WireHandler<M, Ranks<M::Message>> + 'static,
    {
        let service = Arc::new(Service::new(machine, calls, handler));
        service.open(self.exchange(), Location::caller(), kind);
        service
    }
}
