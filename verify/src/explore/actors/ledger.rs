//! The ledgers and the home of the balancer's finish, as in [`Counts`](crate::explore::Counts).

use super::super::{Actors, Flaw, Out, View};
use tautline_core::PlaceId;
use tautline_core::finish::{Home, Ledger, Report};

/// Activities that spawn each other anywhere.
#[derive(Clone, Copy, Debug)]
pub struct Ledgers {
    /// The number of places.
    pub places: u32,
    /// Activities, at most, the first included.
    pub activities: u32,
    /// Whether only reports are exposed to faults of the network, and refused reports are ignored.
    pub tolerant: bool,
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    ledger: Ledger,
    home: Option<Home>,
    running: u32,
}

/// What places send each other, and themselves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// An activity.
    Activity,
    /// A report for the home.
    Report(Report),
}

/// What an activity does.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Spawns an activity.
    Spawn(PlaceId),
    /// Ends.
    End,
}

/// What the checks remember.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    spawned: u32,
    done: u32,
    is_refused: bool,
}

impl Ledgers {
    fn report(&self, site: &mut Site, from: PlaceId, report: Report, out: &mut Out<Self>) {
        match site.home.as_mut().map(|home| home.on(from, report)) {
            Some(Ok(done)) => out.ghost.done += u32::from(done),
            _ => out.ghost.is_refused |= !self.tolerant,
        }
    }
}

impl Actors for Ledgers {
    type Site = Site;
    type Message = Sent;
    type Act = Act;
    type Ghost = Ghost;

    fn places(&self) -> u32 {
        self.places
    }

    fn start(&self, here: PlaceId, out: &mut Out<Self>) -> Site {
        let is_home = here == PlaceId::HOME;
        out.ghost.spawned = 1;
        Site {
            ledger: Ledger::new(here),
            home: is_home.then(|| Home::new(here, self.places)),
            running: u32::from(is_home),
        }
    }

    fn acts(&self, _: PlaceId, site: &Site, ghost: &Ghost) -> Vec<Act> {
        let mut acts = Vec::new();
        if site.running > 0 {
            acts.push(Act::End);
            if ghost.spawned < self.activities {
                acts.extend((0..self.places).map(|at| Act::Spawn(PlaceId(at))));
            }
        }
        acts
    }

    fn act(&self, here: PlaceId, site: &mut Site, act: Act, out: &mut Out<Self>) {
        if let Act::Spawn(at) = act {
            site.ledger.spawned(at);
            out.ghost.spawned += 1;
            out.sent.push((at, Sent::Activity));
            return;
        }
        site.running -= 1;
        site.ledger.ended();
        if site.running == 0 {
            let report = site.ledger.report();
            match here {
                PlaceId::HOME => self.report(site, here, report, out),
                _ => out.sent.push((PlaceId::HOME, Sent::Report(report))),
            }
        }
    }

    fn deliver(
        &self,
        _: PlaceId,
        site: &mut Site,
        from: PlaceId,
        message: Sent,
        out: &mut Out<Self>,
    ) {
        match message {
            Sent::Activity => site.running += 1,
            Sent::Report(report) => self.report(site, from, report, out),
        }
    }

    fn is_exposed(&self, message: &Sent) -> bool {
        !self.tolerant || matches!(message, Sent::Report(_))
    }

    fn judge(&self, view: &View<Self>) -> Option<Flaw> {
        let Ghost {
            done, is_refused, ..
        } = *view.ghost;
        let runs = view.sites.iter().any(|site| site.running > 0);
        let comes = |parcel: &Option<Sent>| *parcel == Some(Sent::Activity);
        let comes = view.parcels.iter().any(|parcel| comes(&parcel.message));
        match done {
            _ if is_refused => Some(Flaw::Refused),
            0 => None,
            _ if runs || comes => Some(Flaw::Early),
            1 => None,
            _ => Some(Flaw::Repeated),
        }
    }

    fn is_final(&self, view: &View<Self>) -> bool {
        view.ghost.done == 1
    }
}
