//! Places that send messages to each other, right or with a fault.

use super::Broken;
use crate::delivers;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tautline_core::port::{Park, Transport, Unpark};
use tautline_core::{PlaceId, WorkerId};

/// A fault of a [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One message of a hundred is lost.
    Loses,
    /// One message of a hundred arrives twice.
    Doubles,
    /// One message of a hundred arrives at the next place.
    Misdirects,
    /// A message does not unpark a worker.
    Silent,
    /// Only the place that closes the computation observes it.
    ClosesItself,
    /// The end does not unpark workers.
    ClosesSilently,
    /// A message that arrives closes the computation.
    ClosedByMessages,
}

/// One of the places, which has one worker.
#[derive(Debug)]
pub struct Place {
    here: PlaceId,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    fault: Option<Fault>,
    places: Mutex<Vec<State>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mail: VecDeque<u64>,
    received: usize,
    is_unparked: bool,
    is_closed: bool,
}

impl Place {
    /// Connects `places` places; without a fault, they conform.
    pub fn connect(fault: Option<Fault>, places: u32) -> Vec<Self> {
        let states = (0..places).map(|_| State::default()).collect();
        let shared = Arc::new(Shared {
            fault,
            places: Mutex::new(states),
            changed: Condvar::new(),
        });
        let place = |here| Self {
            here: PlaceId(here),
            shared: Arc::clone(&shared),
        };
        (0..places).map(place).collect()
    }

    /// Takes a message that has arrived.
    pub fn receive(&self) -> Option<u64> {
        self.places()[self.here.index()].mail.pop_front()
    }

    fn places(&self) -> MutexGuard<'_, Vec<State>> {
        let places = self.shared.places.lock();
        places.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport<u64> for Place {
    fn send(&self, to: PlaceId, message: u64) {
        let mut places = self.places();
        let count = places.len();
        let is_hundredth = {
            let state = &mut places[to.index()];
            state.received += 1;
            state.received % 100 == 0
        };
        let fault = self.shared.fault;
        let (to, copies) = match fault.filter(|_| is_hundredth) {
            Some(Fault::Loses) => (to.index(), 0),
            Some(Fault::Doubles) => (to.index(), 2),
            Some(Fault::Misdirects) => ((to.index() + 1) % count, 1),
            _ => (to.index(), 1),
        };
        let state = &mut places[to];
        state.mail.extend(std::iter::repeat_n(message, copies));
        state.is_unparked |= fault != Some(Fault::Silent);
        state.is_closed |= fault == Some(Fault::ClosedByMessages);
        self.shared.changed.notify_all();
    }

    fn close(&self) {
        let fault = self.shared.fault;
        for (number, state) in self.places().iter_mut().enumerate() {
            let is_here = number == self.here.index();
            state.is_closed |= is_here || fault != Some(Fault::ClosesItself);
            state.is_unparked |= is_here || fault != Some(Fault::ClosesSilently);
        }
        self.shared.changed.notify_all();
    }

    fn is_closed(&self) -> bool {
        self.places()[self.here.index()].is_closed
    }
}

impl Unpark for Place {
    fn unpark(&self, _: WorkerId) {
        self.places()[self.here.index()].is_unparked = true;
        self.shared.changed.notify_all();
    }
}

impl Park for Place {
    fn park(&self, _: WorkerId) {
        let here = self.here.index();
        let is_parked = |places: &mut Vec<State>| !std::mem::take(&mut places[here].is_unparked);
        let parked = self.shared.changed.wait_while(self.places(), is_parked);
        drop(parked.unwrap_or_else(PoisonError::into_inner));
    }
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let faults = [
        Loses,
        Doubles,
        Misdirects,
        Silent,
        ClosesItself,
        ClosesSilently,
        ClosedByMessages,
    ];
    let broken = |fault| {
        let connect = move |places| Place::connect(Some(fault), places);
        let judge = move || delivers(connect, Place::receive, |_, _| ());
        Broken::new(("Transport", "delivers"), fault, judge)
    };
    faults.map(broken).into()
}
