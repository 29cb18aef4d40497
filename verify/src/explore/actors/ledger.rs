//! The ledgers and the home of the balancer's finish, driven by every program of a few activities.

use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, View};
use std::collections::BTreeMap;
use tautline_core::PlaceId;
use tautline_core::finish::{Home, Ledger, Refusal, Report};
use tautline_core::machine::{Machine, Step, no_calls};

/// Activities that spawn each other anywhere, under one finish.
#[derive(Clone, Copy, Debug)]
pub struct Ledgers {
    /// The number of places.
    pub places: u32,
    /// Activities, at most, the first included.
    pub activities: u32,
    /// Whether activities spawn at their own place, too.
    pub spawn_here: bool,
    /// Whether states differ by the senders of activities that are in flight, which do not matter.
    pub senders: bool,
    /// Whether only reports are exposed to faults of the network, and refused reports are ignored.
    pub tolerant: bool,
    /// An error: the home takes reports as if they were numbered in the order of their arrival.
    pub ignore_numbers: bool,
}

impl Ledgers {
    /// Creates every program of up to `activities` activities over `places` places.
    pub const fn new(places: u32, activities: u32) -> Self {
        Self {
            places,
            activities,
            spawn_here: true,
            senders: false,
            tolerant: false,
            ignore_numbers: false,
        }
    }
}

/// The ledger of one place, with the number of activities that it counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Books {
    here: PlaceId,
    ledger: Ledger,
    home: Option<Home>,
    running: u32,
}

/// Messages of places to each other, and to themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// An activity.
    Activity,
    /// A report for the home.
    Report(Report),
}

/// An act of an activity.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Spawns an activity.
    Spawn(PlaceId),
    /// Ends.
    End,
}

/// All activities have ended.
#[derive(Clone, Copy, Debug)]
pub struct Done;

impl Books {
    /// At the home: adds a report.
    fn add(
        &mut self,
        from: PlaceId,
        report: Report,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        let home = self.home.as_mut().ok_or(Refusal::NotHome)?;
        if home.on(from, report)? {
            step.effect(Done);
        }
        Ok(())
    }
}

impl Machine for Books {
    type Peer = PlaceId;
    type Message = Sent;
    type Event = Act;
    type Effect = Done;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, act: Act, step: &mut Step<'_, Self>) {
        if let Act::Spawn(at) = act {
            self.ledger.spawned(at);
            step.send(at, Sent::Activity);
            return;
        }
        self.running -= 1;
        self.ledger.ended();
        if self.running == 0 {
            let report = self.ledger.report();
            match self.here {
                PlaceId::HOME => self.add(self.here, report, step).expect("its own report"),
                _ => step.send(PlaceId::HOME, Sent::Report(report)),
            }
        }
    }

    fn receive(
        &mut self,
        from: PlaceId,
        message: Sent,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Refusal> {
        match message {
            Sent::Activity => self.running += 1,
            Sent::Report(report) => self.add(from, report, step)?,
        }
        Ok(())
    }
}

/// By place, reports received: only kept where their own numbers are ignored.
type Received = BTreeMap<PlaceId, u64>;

/// The history, for the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    spawned: u32,
    done: u32,
}

impl Checked for Ledgers {
    type Machine = Books;
    type Driver = Received;
    type Act = Act;
    type Ghost = Ghost;

    fn peers(&self) -> u32 {
        self.places
    }

    fn start(&self, here: PlaceId) -> PartOf<Self> {
        let is_home = here == PlaceId::HOME;
        Part {
            machine: Books {
                here,
                ledger: Ledger::new(here),
                home: is_home.then(|| Home::new(here, self.places)),
                running: u32::from(is_home),
            },
            driver: Received::new(),
        }
    }

    fn remember(&self) -> Ghost {
        let (spawned, done) = (1, 0);
        Ghost { spawned, done }
    }

    fn acts(&self, here: PlaceId, Part { machine, .. }: &PartOf<Self>, ghost: &Ghost) -> Vec<Act> {
        let mut acts = Vec::new();
        if machine.running > 0 {
            acts.push(Act::End);
            if ghost.spawned < self.activities {
                let all = (0..self.places).map(PlaceId);
                let places = all.filter(|at| self.spawn_here || *at != here);
                acts.extend(places.map(Act::Spawn));
            }
        }
        acts
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Act> {
        at.ghost.spawned += u32::from(matches!(act, Act::Spawn(_)));
        Some(act)
    }

    fn calls(_: &mut Received) -> &mut () {
        no_calls()
    }

    fn effect(&self, at: &mut At<'_, Self>, _: &Books, Done: Done) -> Option<Act> {
        at.ghost.done += 1;
        None
    }

    fn receive(
        &self,
        at: &mut At<'_, Self>,
        from: PlaceId,
        mut message: Sent,
    ) -> Option<(PlaceId, Sent)> {
        if let (true, Sent::Report(report)) = (self.ignore_numbers, &mut message) {
            let received = at.driver.entry(from).or_default();
            *received += 1;
            report.number = *received;
        }
        Some((from, message))
    }

    fn tolerates(&self, _: &Sent) -> bool {
        self.tolerant
    }

    fn is_exposed(&self, message: &Sent) -> bool {
        !self.tolerant || matches!(message, Sent::Report(_))
    }

    fn is_anonymous(&self, message: &Sent) -> bool {
        !self.senders && *message == Sent::Activity
    }

    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let runs = view.sites.iter().any(|part| part.machine.running > 0);
        // A report that is delivered twice may still be in flight.
        let counts = |message: &Sent| !self.tolerant || *message == Sent::Activity;
        let comes = view
            .parcels
            .iter()
            .any(|parcel| parcel.message.as_ref().is_some_and(counts));
        match view.ghost.ghost.done {
            0 => None,
            _ if runs || comes => Some(Flaw::Early),
            1 => None,
            _ => Some(Flaw::Repeated),
        }
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.ghost.ghost.done == 1
    }
}
