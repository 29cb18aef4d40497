//! One worker of a place: compute, look outside, compute.
//!
//! # Algorithm
//! Finnerty 2022, worker routine. A turn is: start an idle worker, feed the reserve for
//! this place, feed the one for other places, answer recorded thieves, let messages be served, work
//! off one grain. A dry worker looks in the place's reserve, then in the other one, then leaves.
//!
//! In the steady state a turn costs a few plain loads of words that rarely change and one store to a
//! line of the worker's own; no clock is read.

use crate::glb::team::put;
use crate::glb::{Bag, Control, Fairness, Message, Meter, Observer, Share, State, Team, Times};
use crate::id::WorkerId;
use crate::port::Port;

/// Tasks after which a worker tells the [`Control`] how far it is: some milliseconds.
const REPORT_AFTER: usize = 1 << 16;

/// A thread that works for a place.
pub struct Worker<'a, B: Bag, P, O> {
    team: &'a Team<B>,
    me: WorkerId,
    port: &'a P,
    control: &'a Control,
    meter: Meter<O>,
    tasks: u64,
    unreported: usize,
}

/// What a worker has to show at the end.
#[derive(Debug)]
pub struct Account<O> {
    /// Tasks done.
    pub tasks: u64,
    /// Where the time went.
    pub times: Times,
    /// What saw it.
    pub observer: O,
}

impl<'a, B: Bag, P: Port<Message<B>>, O: Observer> Worker<'a, B, P, O> {
    /// Thread `me` of the [`Config::threads`](crate::glb::Config::threads) of the place.
    pub fn new(
        team: &'a Team<B>,
        me: WorkerId,
        port: &'a P,
        control: &'a Control,
        observer: O,
    ) -> Self {
        let meter = Meter::new(State::Idle, port.now(), observer);
        Self {
            team,
            me,
            port,
            control,
            meter,
            tasks: 0,
            unreported: 0,
        }
    }

    /// Works and serves until the computation is closed.
    pub fn run(mut self) -> Account<O> {
        while !self.port.is_closed() {
            if self.may_work() && self.team.slots[self.me.index()].take_start() {
                self.work();
            } else if !self.team.inbox.is_empty() {
                self.serve(None);
            } else {
                self.step_aside();
            }
        }
        self.report();
        let (times, observer) = self.meter.finish(self.port.now());
        Account {
            tasks: self.tasks,
            times,
            observer,
        }
    }

    fn may_work(&self) -> bool {
        self.me != self.team.steward()
    }

    /// Parks until somebody has work or a message.
    fn step_aside(&mut self) {
        self.report();
        // A worker that stepped back at the gate waits for this thread, not for a message.
        self.open_gate();
        self.enter(if self.team.is_stealing() {
            State::Stealing
        } else {
            State::Idle
        });
        self.port.park(self.team.here, self.me);
    }

    /// From being started to leaving.
    fn work(&mut self) {
        if !self.team.inbox.is_empty() {
            // This worker may have been woken for that message: pass the call on.
            self.team.ring(self.port);
        }
        let slot = &self.team.slots[self.me.index()];
        let mut bag = slot.bag.lock(self.port).take();
        loop {
            if let Some(bag) = &mut bag {
                while !bag.is_empty() && self.turn(bag) {}
            }
            if !self.port.is_closed() {
                if let Some(more) = self.take_reserve() {
                    put(&mut bag, more);
                    continue;
                }
            }
            *slot.bag.lock(self.port) = bag;
            if self.port.is_closed()
                || !(self.team.crew.leave(self.me) && self.team.dry(self.me, self.port))
            {
                return self.open_gate();
            }
            bag = slot.bag.lock(self.port).take();
        }
    }

    /// One turn. False if the computation is closed.
    #[inline]
    fn turn(&mut self, bag: &mut B) -> bool {
        if self.control.is_stopped() {
            self.port.close();
        }
        if self.port.is_closed() {
            return false;
        }
        let team = self.team;
        if !team.crew.is_full() && bag.is_splittable() {
            self.grow(bag);
        }
        if team.crew.size() > 1 && team.intra.is_empty() && bag.is_splittable() {
            self.enter(State::Distributing);
            if let Some(work) = bag.split(Share::Half) {
                team.intra.feed(work, B::merge, self.port);
            }
        }
        if team.lends() && team.inter.is_empty() && bag.is_splittable() {
            self.enter(State::Distributing);
            if let Some(work) = bag.split(team.config.steal.into()) {
                team.inter.feed(work, B::merge, self.port);
            }
        }
        if team.has_thieves() && (bag.is_splittable() || !team.inter.is_empty()) {
            self.enter(State::Distributing);
            team.surplus(bag, self.me, self.port);
        }
        if !team.inbox.is_empty() {
            self.let_serve(bag);
        }
        if self.meter.state() != State::Computing {
            self.enter(State::Computing);
        }
        let done = bag.process(team.config.grain, &team.shared);
        self.tasks += done as u64;
        self.unreported += done;
        if self.unreported >= REPORT_AFTER {
            self.report();
        }
        true
    }

    #[cold]
    fn grow(&mut self, bag: &mut B) {
        self.enter(State::Distributing);
        if let Some(worker) = self.team.crew.claim(self.me) {
            self.team.start(worker, bag.split(Share::Half), self.port);
        }
    }

    /// Messages wait while this worker has work.
    #[cold]
    fn let_serve(&mut self, bag: &mut B) {
        match self.team.config.fairness {
            Fairness::Inline => self.serve(Some(bag)),
            Fairness::Yield => self.step_back(),
            Fairness::OneCoreFree | Fairness::Never => {}
        }
    }

    fn serve(&mut self, mut own: Option<&mut B>) {
        self.enter(State::Probing);
        while let Some(letter) = self.team.inbox.pop(self.port) {
            self.team.on(letter, own.as_deref_mut(), self.me, self.port);
        }
        self.open_gate();
    }

    /// Gives way to the steward until one message has been served.
    fn step_back(&mut self) {
        let team = self.team;
        if !team.crew.is_full() || !team.gate.try_hold(self.me) {
            return;
        }
        self.enter(State::Idle);
        self.port.unpark(team.here, team.steward());
        while team.gate.is_held_by(self.me) && !self.port.is_closed() {
            self.port.park(team.here, self.me);
        }
    }

    /// An activity has ended: whoever stepped back for it goes on.
    fn open_gate(&self) {
        if let Some(worker) = self.team.gate.release() {
            self.port.unpark(self.team.here, worker);
        }
    }

    /// The whole of the reserve for this place, else of the one for others.
    fn take_reserve(&mut self) -> Option<B> {
        let Team { intra, inter, .. } = self.team;
        [intra, inter].into_iter().find_map(|reserve| {
            if reserve.is_empty() {
                None
            } else {
                reserve.take(self.port)
            }
        })
    }

    fn report(&mut self) {
        if self.unreported > 0 {
            self.control.add_done(core::mem::take(&mut self.unreported));
        }
    }

    fn enter(&mut self, state: State) {
        self.meter.enter(state, self.port.now());
    }
}
