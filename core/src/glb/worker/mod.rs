//! One worker of a place: polls, computes, polls again.
//!
//! # Algorithm
//! Finnerty 2022, worker routine. A turn is: start an idle worker, feed the reserve of this place,
//! feed the one for other places, answer recorded thieves, send a better bound, let messages be
//! served, process one grain. A dry worker checks the place's reserve, then the other one, then
//! leaves.
//!
//! It is written as steps, between which the caller may let time pass: threads run them in
//! sequence, a simulator charges each with its cost. Where the order of two workers matters (the
//! flag of a reserve is read in one step, the work is added in the next) their steps can
//! interleave.
//!
//! In the steady state a turn costs a few plain loads of words that rarely change and one store to
//! a line of the worker's own; the clock is read in a few turns only, and in none if the grain is
//! fixed.

mod progress;
mod published;
mod step;

use crate::glb::laws::divide;
use crate::glb::team::put;
use crate::glb::{
    Bag, Control, Fairness, Grain, Message, Meter, Observer, Share, State, Team, Times,
};
use crate::grain::{Pace, Sample};
use crate::id::WorkerId;
use crate::lifeline::{Key, Reserve};
use crate::port::{Park, Port};
use progress::Progress;
use published::Published;
use step::Next;
pub use step::{Pile, Step};

/// A thread that works for a place.
pub struct Worker<'a, B: Bag, P, O> {
    team: &'a Team<B>,
    me: WorkerId,
    port: P,
    control: &'a Control,
    next: Next<B>,
    /// The worker's own work, from its start until it leaves.
    bag: Option<B>,
    pace: Option<Pace>,
    meter: Meter<O>,
    tasks: u64,
    published: Published,
    progress: Progress,
}

/// The account of a worker at the end.
#[derive(Debug)]
pub struct Account<O> {
    /// Tasks done.
    pub tasks: u64,
    /// The ticks spent in each state.
    pub times: Times,
    /// The observer of the worker.
    pub observer: O,
}

impl<'a, B: Bag, P: Port<Message<B>>, O: Observer> Worker<'a, B, P, O> {
    /// Creates thread `me` of the [`Config::threads_of`](crate::glb::Config::threads_of) the place.
    pub fn new(
        team: &'a Team<B>,
        me: WorkerId,
        port: P,
        control: &'a Control,
        observer: O,
    ) -> Self {
        let now = port.now();
        let pace = match &team.config.grain {
            Grain::Fixed(_) => None,
            Grain::Tuned(tuning) => Some(Pace::new(tuning, now)),
        };
        Self {
            team,
            me,
            port,
            control,
            next: Next::Aside,
            bag: None,
            pace,
            meter: Meter::new(State::Idle, now, observer),
            tasks: 0,
            published: Published::new(now),
            progress: Progress::default(),
        }
    }

    /// Works and serves until the computation is closed, on a dedicated thread.
    pub fn run(mut self) -> Account<O>
    where
        P: Park,
    {
        loop {
            match self.step() {
                Step::Parked => self.port.park(self.me),
                Step::Ended => return self.close(),
                _ => {}
            }
        }
    }

    /// Returns the account of a worker that has [`Ended`](Step::Ended).
    pub fn close(mut self) -> Account<O> {
        self.report();
        let (times, observer) = self.meter.finish(self.port.now());
        Account {
            tasks: self.tasks,
            times,
            observer,
        }
    }

    /// Returns the reserve that the next step locks, if it does.
    pub fn wants(&self) -> Option<Pile> {
        match self.next {
            Next::Put(pile, _) | Next::Take(pile) => Some(pile),
            _ => None,
        }
    }

    /// Whether the next step processes tasks.
    pub fn will_work(&self) -> bool {
        matches!(self.next, Next::Work)
    }

    /// Performs the next step.
    #[inline]
    pub fn step(&mut self) -> Step {
        self.step_with(B::process)
    }

    /// As [`step`](Self::step), with `process` in place of [`Bag::process`].
    #[inline]
    pub fn step_with(&mut self, process: impl FnOnce(&mut B, usize, &B::Shared) -> usize) -> Step {
        match core::mem::replace(&mut self.next, Next::Turn) {
            Next::Turn => self.turn(),
            Next::Work => self.work(process),
            Next::Aside => self.aside(),
            Next::FeedIntra => self.feed_intra(),
            Next::FeedInter => self.feed_inter(),
            Next::Put(pile, work) => self.put(pile, work),
            Next::Answer => self.answer(),
            Next::Announce => self.announce(),
            Next::Serve => self.let_serve(),
            Next::StepBack => self.stay_back(),
            Next::Take(pile) => self.take(pile),
            Next::Leave => self.leave(),
        }
    }

    /// Proceeds without work: starts if it was claimed, serves, or parks.
    fn aside(&mut self) -> Step {
        self.next = Next::Aside;
        if self.port.is_closed() {
            return Step::Ended;
        }
        if self.may_work() && self.team.slots[self.me.index()].take_start() {
            return self.start();
        }
        if self.serve(None) {
            return Step::Served;
        }
        self.report();
        // A worker that yields at the gate waits for this thread, not for a message.
        self.open_gate();
        self.enter(if self.team.is_stealing() {
            State::Stealing
        } else {
            State::Idle
        });
        Step::Parked
    }

    fn may_work(&self) -> bool {
        self.me != self.team.server()
    }

    fn start(&mut self) -> Step {
        if !self.team.lender.inbox.is_empty() {
            // This worker may have been woken for that message: pass the wake-up on.
            self.team.wake_server(&self.port);
        }
        let slot = &self.team.slots[self.me.index()];
        self.bag = slot.bag.lock(&self.port).take();
        self.next = Next::Turn;
        Step::Started
    }

    #[inline]
    fn turn(&mut self) -> Step {
        if let Some(pace) = &mut self.pace {
            if let Some(sample) = pace.begin(|| self.port.now()) {
                self.tune(sample);
            }
        }
        if self.control.is_stopped() {
            self.port.close();
        }
        if self.port.is_closed() {
            return self.leave();
        }
        if self.is_dry() {
            return self.look_for_work();
        }
        if !self.team.crew.is_full() && self.is_splittable() {
            return self.grow();
        }
        self.feed_intra()
    }

    #[cold]
    fn tune(&mut self, sample: Sample) {
        if let Some(grain) = self.team.tune(sample, &self.port) {
            self.meter.grain(grain, self.port.now());
        }
    }

    #[cold]
    fn grow(&mut self) -> Step {
        self.enter(State::Distributing);
        self.next = Next::FeedIntra;
        if let Some(worker) = self.team.crew.claim(self.me) {
            let part = self.split(Share::Half);
            self.team.start(worker, part, &self.port);
            self.team.crew_changed(&self.port);
        }
        Step::Grew
    }

    #[inline]
    fn feed_intra(&mut self) -> Step {
        if self.team.crew.has_several() && self.team.intra.is_empty() && self.is_splittable() {
            return self.divide(Pile::Intra, Share::Half);
        }
        self.feed_inter()
    }

    #[inline]
    fn feed_inter(&mut self) -> Step {
        if self.team.lends() && self.team.lender.inter.is_empty() && self.is_splittable() {
            return self.divide(Pile::Inter, self.team.config.steal.into());
        }
        self.answer()
    }

    #[cold]
    fn divide(&mut self, pile: Pile, share: Share) -> Step {
        self.enter(State::Distributing);
        self.next = match self.split(share) {
            Some(work) => Next::Put(pile, work),
            None => Self::after(pile),
        };
        Step::Divided
    }

    /// The flag is not read again: two workers that both observed it feed both (Finnerty 2022, T5).
    #[cold]
    fn put(&mut self, pile: Pile, work: B) -> Step {
        self.reserve(pile).feed(work, B::merge, &self.port);
        self.next = Self::after(pile);
        Step::Fed(pile)
    }

    /// Returns the step of a turn that follows the feeding of this reserve.
    fn after(pile: Pile) -> Next<B> {
        match pile {
            Pile::Intra => Next::FeedInter,
            Pile::Inter => Next::Answer,
        }
    }

    #[inline]
    fn answer(&mut self) -> Step {
        let team = self.team;
        if team.has_thieves() && (self.is_splittable() || !team.lender.inter.is_empty()) {
            self.enter(State::Distributing);
            if let Some(bag) = &mut self.bag {
                team.surplus(bag, self.me, &mut self.meter, &self.port);
            }
            self.next = Next::Announce;
            return Step::Answered;
        }
        self.announce()
    }

    #[inline]
    fn announce(&mut self) -> Step {
        match self.news() {
            Some(bound) => self.announce_bound(bound, Next::Serve),
            None => self.let_serve(),
        }
    }

    /// Returns a bound that has not been sent to the other places.
    #[inline]
    fn news(&self) -> Option<Key> {
        let bound = B::bound(&self.team.shared)?.key();
        self.team.is_news(bound, &self.port).then_some(bound)
    }

    #[cold]
    fn announce_bound(&mut self, bound: Key, next: Next<B>) -> Step {
        self.enter(State::Distributing);
        self.team
            .announce(bound, self.me, &mut self.meter, &self.port);
        self.next = next;
        Step::Announced
    }

    /// Serves messages, or lets them be served, while this worker has work.
    #[inline]
    fn let_serve(&mut self) -> Step {
        if !self.team.lender.inbox.is_empty() {
            match self.team.config.fairness {
                Fairness::Inline => {
                    let mut own = self.bag.take();
                    let served = self.serve(own.as_mut());
                    self.bag = own;
                    if served {
                        self.next = Next::Serve;
                        return Step::Served;
                    }
                }
                Fairness::Yield if self.team.crew.is_full() && self.team.gate.try_hold(self.me) => {
                    return self.step_back();
                }
                _ => {}
            }
        }
        self.next = Next::Work;
        Step::Looked
    }

    /// Serves one message, if there is one.
    fn serve(&mut self, own: Option<&mut B>) -> bool {
        if self.team.lender.inbox.is_empty() {
            return false;
        }
        let envelope = self.team.lender.inbox.pop(&self.port);
        // After the pop, so that loot is received later than it was sent.
        self.enter(State::Probing);
        let served = envelope.is_some();
        if let Some(envelope) = envelope {
            self.team
                .on(envelope, own, self.me, &mut self.meter, &self.port);
        }
        self.open_gate();
        served
    }

    /// Yields to the server thread until one message has been served.
    #[cold]
    fn step_back(&mut self) -> Step {
        if let Some(pace) = &mut self.pace {
            pace.waits();
        }
        self.enter(State::Idle);
        self.port.unpark(self.team.server());
        self.next = Next::StepBack;
        Step::Parked
    }

    fn stay_back(&mut self) -> Step {
        if self.team.gate.is_held_by(self.me) && !self.port.is_closed() {
            self.next = Next::StepBack;
            return Step::Parked;
        }
        self.next = Next::Work;
        Step::Looked
    }

    #[inline]
    fn work(&mut self, process: impl FnOnce(&mut B, usize, &B::Shared) -> usize) -> Step {
        // Here and not at the end of the polling phase: a simulator lets its time pass in between.
        if let Some(pace) = &mut self.pace {
            pace.looked(|| self.port.now());
        }
        if self.meter.state() != State::Computing {
            self.enter(State::Computing);
        }
        let bag = self.bag.as_mut().expect("a running worker has a bag");
        let grain = self.team.grain();
        let done = process(bag, grain, &self.team.shared);
        if done == 0 {
            self.progress.nothing_done(bag, self.tasks, grain);
        }
        if let Some(reason) = bag.verdict() {
            self.control.stop(reason);
        }
        if let Some(pace) = &mut self.pace {
            pace.did(done as u64, bag.is_empty());
        }
        self.tasks += done as u64;
        if self.published.is_due(&self.port) {
            self.report();
        }
        Step::Worked(done)
    }

    fn look_for_work(&mut self) -> Step {
        if let Some(bound) = self.news() {
            return self.announce_bound(bound, Next::Turn);
        }
        let (intra, inter) = (&self.team.intra, &self.team.lender.inter);
        self.next = if !intra.is_empty() {
            Next::Take(Pile::Intra)
        } else if !inter.is_empty() {
            Next::Take(Pile::Inter)
        } else {
            return self.leave();
        };
        Step::Looked
    }

    fn take(&mut self, pile: Pile) -> Step {
        self.enter(State::Distributing);
        let part = |pile: &mut B| divide(pile, Share::Refill);
        let found = self.reserve(pile).take(part, &self.port);
        self.next = match found {
            Some(work) => {
                put(&mut self.bag, work);
                Next::Turn
            }
            None if pile == Pile::Intra && !self.team.lender.inter.is_empty() => {
                Next::Take(Pile::Inter)
            }
            None => Next::Leave,
        };
        Step::Took(pile)
    }

    /// The bag is stored, empty or not; the thread that starts this worker again adds to it.
    fn leave(&mut self) -> Step {
        let slot = &self.team.slots[self.me.index()];
        *slot.bag.lock(&self.port) = self.bag.take();
        self.next = Next::Aside;
        if !self.port.is_closed() {
            let last = self.team.crew.leave(self.me);
            self.team.crew_changed(&self.port);
            if last {
                self.enter(State::Stealing);
                if self.team.dry(self.me, &mut self.meter, &self.port) {
                    self.bag = slot.bag.lock(&self.port).take();
                    self.next = Next::Turn;
                    return Step::Left;
                }
            }
        }
        self.open_gate();
        Step::Left
    }

    #[inline]
    fn is_dry(&self) -> bool {
        self.bag.as_ref().is_none_or(B::is_empty)
    }

    #[inline]
    fn is_splittable(&self) -> bool {
        self.bag.as_ref().is_some_and(B::is_splittable)
    }

    fn split(&mut self, share: Share) -> Option<B> {
        divide(self.bag.as_mut()?, share)
    }

    fn reserve(&self, pile: Pile) -> &'a Reserve<B> {
        match pile {
            Pile::Intra => &self.team.intra,
            Pile::Inter => &self.team.lender.inter,
        }
    }

    /// Releases the worker that yields at the gate, since an activity has ended.
    fn open_gate(&self) {
        if let Some(worker) = self.team.gate.release() {
            self.port.unpark(worker);
        }
    }

    fn report(&mut self) {
        let tasks = self.published.take(self.tasks);
        if tasks > 0 {
            self.control.add_done(tasks as usize);
        }
    }

    fn enter(&mut self, state: State) {
        if let (Some(pace), State::Distributing | State::Probing) = (&mut self.pace, state) {
            pace.disturbed();
        }
        self.meter.enter(state, self.port.now());
    }
}
