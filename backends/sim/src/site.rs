//! One simulated place: its protocol, its bag, its inbox and its clock.

use crate::PlaceRun;
use crate::network::{Network, Random};
use std::mem;
use tautline_core::PlaceId;
use tautline_core::glb::{
    Actions, Bag, Config, Fairness, Message, Meter, Observer, Protocol, Share, State, Tally,
};
use tautline_core::lifeline::Phase;

/// A place with one worker.
#[derive(Debug)]
pub(crate) struct Site<B: Bag, O> {
    protocol: Protocol,
    shared: B::Shared,
    inbox: Vec<(PlaceId, Message<B>)>,
    /// A turn is under way: whatever arrives waits for its end.
    in_turn: bool,
    desk: Desk<B, O>,
}

/// What the protocol of a place acts upon.
#[derive(Debug)]
struct Desk<B, O> {
    here: PlaceId,
    bag: Option<B>,
    steal: Share,
    random: Random,
    /// Up to when the place's time is accounted for.
    now: u64,
    quiet: bool,
    done: bool,
    tally: Tally,
    unasked: u64,
    meter: Meter<O>,
}

impl<B: Bag, O: Observer> Site<B, O> {
    pub(crate) fn new(here: PlaceId, config: &Config, shared: B::Shared, observer: O) -> Self {
        Self {
            protocol: Protocol::new(here, config.places, config.lifelines, config.random_steals),
            shared,
            inbox: Vec::new(),
            in_turn: false,
            desk: Desk {
                here,
                bag: None,
                steal: config.steal.into(),
                random: Random::new(config.seed, here.0.into()),
                now: 0,
                quiet: here != PlaceId::HOME,
                done: false,
                tally: Tally::default(),
                unasked: 0,
                meter: Meter::new(State::Idle, 0, observer),
            },
        }
    }

    /// The computation begins with `bag` here.
    pub(crate) fn start(&mut self, bag: B) {
        self.desk.bag = Some(bag);
        self.in_turn = true;
    }

    /// The turn under way has ended.
    pub(crate) fn end_turn(&mut self) {
        self.in_turn = false;
    }

    /// A message has arrived.
    pub(crate) fn accept(&mut self, from: PlaceId, message: Message<B>) {
        self.inbox.push((from, message));
    }

    /// Unless a turn is under way: serves what has come, gives to who waits, and begins a turn or
    /// looks for work. The time of the end, if this place has learned of it.
    pub(crate) fn look(
        &mut self,
        now: u64,
        config: &Config,
        network: &mut Network<B>,
    ) -> Option<u64> {
        if self.in_turn {
            return None;
        }
        // What came while an earlier message was served has waited for that.
        self.desk.now = self.desk.now.max(now);
        if config.fairness != Fairness::Never || !self.has_work() {
            self.serve(network);
        }
        if self.has_work() && self.protocol.place().thieves().len() > 0 {
            self.protocol.surplus(&mut self.desk.with(network));
        }
        if self.has_work() {
            self.begin_turn(config.grain, network);
        } else {
            self.protocol.dry(&mut self.desk.with(network));
            let state = match self.protocol.place().phase() {
                Phase::Quiet => State::Idle,
                _ => State::Stealing,
            };
            self.desk.enter(state);
        }
        self.desk.done.then_some(self.desk.now)
    }

    fn has_work(&self) -> bool {
        self.desk.bag.as_ref().is_some_and(|bag| !bag.is_empty())
    }

    fn serve(&mut self, network: &mut Network<B>) {
        let machine = *network.machine();
        self.desk.charge(State::Probing, machine.look_ns);
        let mut inbox = mem::take(&mut self.inbox);
        for (from, message) in inbox.drain(..) {
            self.desk.charge(State::Probing, machine.serve_ns);
            self.desk.tally.on_receive(&message);
            self.desk.quiet = self.protocol.place().phase() == Phase::Quiet;
            let mut outside = self.desk.with(network);
            self.protocol.on(from, message, &mut outside);
        }
        self.desk.quiet = self.protocol.place().phase() == Phase::Quiet;
        // The empty buffer is kept for what comes next.
        self.inbox = inbox;
    }

    /// Does the work of a turn now and lets its time pass.
    fn begin_turn(&mut self, grain: usize, network: &mut Network<B>) {
        let bag = self.desk.bag.as_mut().expect("there is work");
        let tasks = bag.process(grain, &self.shared) as u64;
        assert!(tasks > 0, "a bag that is not empty did nothing");
        self.desk.tally.tasks += tasks;
        self.desk.charge(
            State::Computing,
            tasks.saturating_mul(network.machine().task_ns),
        );
        self.in_turn = true;
        network.wake(self.desk.now, self.desk.here);
    }

    /// Ends the account at `end`.
    pub(crate) fn close(self, end: u64, output: &mut B::Output) -> (PlaceRun, O) {
        let desk = self.desk;
        if let Some(bag) = desk.bag {
            bag.submit(output);
        }
        let (times, observer) = desk.meter.finish(end);
        let place = PlaceRun {
            tally: desk.tally,
            times,
            unasked: desk.unasked,
        };
        (place, observer)
    }
}

impl<B: Bag, O: Observer> Desk<B, O> {
    fn with<'a>(&'a mut self, network: &'a mut Network<B>) -> Outside<'a, B, O> {
        Outside {
            desk: self,
            network,
        }
    }

    /// The next `ns` go to `state`.
    fn charge(&mut self, state: State, ns: u64) {
        if ns > 0 {
            self.enter(state);
            self.now = self.now.saturating_add(ns);
        }
    }

    fn enter(&mut self, state: State) {
        if self.meter.state() != state {
            self.meter.enter(state, self.now);
        }
    }
}

/// A place's desk and the world around it.
struct Outside<'a, B, O> {
    desk: &'a mut Desk<B, O>,
    network: &'a mut Network<B>,
}

impl<B: Bag, O: Observer> Outside<'_, B, O> {
    fn split(&mut self, share: Share) -> Option<B> {
        let loot = self.desk.bag.as_mut()?.split(share)?;
        self.desk
            .charge(State::Distributing, self.network.machine().split_ns);
        Some(loot)
    }
}

impl<B: Bag, O: Observer> Actions<B> for Outside<'_, B, O> {
    fn send(&mut self, to: PlaceId, message: Message<B>) {
        self.desk.tally.on_send(&message);
        if self.desk.quiet && !matches!(message, Message::Answer(_)) {
            self.desk.unasked += 1;
        }
        self.desk
            .charge(State::Probing, self.network.machine().send_ns);
        self.network
            .send(self.desk.now, self.desk.here, to, message);
    }

    fn work(&mut self, loot: B) {
        self.desk
            .charge(State::Probing, self.network.machine().merge_ns);
        match &mut self.desk.bag {
            Some(bag) => bag.merge(loot),
            None => self.desk.bag = Some(loot),
        }
    }

    fn steal(&mut self) -> Option<B> {
        self.split(self.desk.steal)
    }

    fn ration(&mut self, thieves: usize) -> Option<B> {
        self.split(Share::Ration(thieves))
    }

    fn pick(&mut self, n: usize) -> usize {
        self.desk.random.below(n as u64) as usize
    }

    fn done(&mut self) {
        self.desk.done = true;
    }
}
