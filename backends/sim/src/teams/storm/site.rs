//! A rank's part in the finishes: what a driver adds to `Finishes`.

use super::Storm;
use std::collections::BTreeMap;
use tautline_core::collective::Branch;
use tautline_core::finish::{self, Arrival, FinishId, Finishes, Message, Refusal, Spawn};
use tautline_core::machine::{Action, Machine, Step, no_calls};
use tautline_core::{Layout, PlaceId, Rank};

/// An activity.
#[derive(Clone, Debug)]
pub(super) struct Gust {
    /// Its finish.
    pub(super) finish: FinishId,
    /// Its contribution to the sums, and the seed of what it does.
    pub(super) number: u64,
    /// The generations after it.
    pub(super) generations: u32,
}

/// A message between two ranks.
pub(super) enum Sent {
    Spawn(Gust),
    Finish(Message),
    /// The finish of all ranks has ended.
    End,
}

/// A report of the driver.
pub(super) enum Event {
    /// The body begins.
    Begin,
    /// The duration of an activity has passed.
    Ran(Gust),
    /// No message is left to serve.
    Flush,
}

/// A request to the driver, or a fact for its account.
pub(super) enum Effect {
    Run(Gust),
    Spawned(FinishId, u64),
    Ended(FinishId, u64),
    Done(FinishId),
    Over,
}

/// A rank's part.
pub(super) struct Site {
    storm: Storm,
    here: PlaceId,
    /// The tree in which the end is passed on.
    branch: Branch,
    finishes: Finishes,
    all: FinishId,
    /// By finish, the activities here that have not ended.
    live: BTreeMap<FinishId, u64>,
    /// By finish, the activity here that waits for it.
    waiting: BTreeMap<FinishId, Gust>,
    /// Whether reports of other ranks may wait to be forwarded.
    pub(super) holds: bool,
    /// The number of times at which the activities of a finish had ended here.
    pub(super) quiet: u64,
    /// The reports about these that were sent.
    pub(super) reports: u64,
}

impl Site {
    pub(super) fn new(storm: Storm, branch: Branch) -> Self {
        let here = PlaceId(branch.here().0);
        let layout = Layout::new(storm.costs.ranks, 1);
        let mut finishes = Finishes::with_radix(here, layout, storm.radix);
        let mut act = |_: Action<Finishes>| unreachable!("nothing is sent at the beginning");
        let all = finishes.open_everywhere(&mut Step::new(no_calls(), &mut act));
        Self {
            storm,
            here,
            branch,
            finishes,
            all,
            live: BTreeMap::from([(all, 1)]),
            waiting: BTreeMap::new(),
            holds: false,
            quiet: 0,
            reports: 0,
        }
    }

    /// Lets the finishes take a step, and does what is due.
    fn finishes<R>(
        &mut self,
        step: &mut Step<'_, Self>,
        take: impl FnOnce(&mut Finishes, &mut Step<'_, Finishes>) -> R,
    ) -> R {
        let (here, all) = (self.here, self.all);
        let (mut done, mut reports) = (Vec::new(), 0);
        let act = |action: Action<Finishes>, act: &mut dyn FnMut(Action<Self>)| match action {
            // `End` states it.
            Action::Send(_, Message::Over(id)) if id == all => {}
            Action::Send(to, message) => {
                if let Message::Report(_, report) = &message {
                    reports += report.parts.iter().filter(|(at, _)| *at == here).count() as u64;
                }
                act(Action::Send(to, Sent::Finish(message)));
            }
            Action::Effect(finish::Effect::Done(id, None)) => done.push(id),
            Action::Effect(other) => unreachable!("no activity fails: {other:?}"),
        };
        let taken = step.within(act, |step| take(&mut self.finishes, step));
        self.reports += reports;
        for id in done {
            step.effect(Effect::Done(id));
            match self.waiting.remove(&id) {
                Some(gust) => self.ended(&gust, step),
                None => self.over(step),
            }
        }
        taken
    }

    /// Spawns what an activity spawns, and ends it, if it waits for nothing.
    fn ran(&mut self, gust: Gust, step: &mut Step<'_, Self>) {
        let (nests, spawned) = self.storm.spawned_by(&gust);
        if !nests || spawned.is_empty() {
            self.spawn(gust.finish, &gust, spawned, step);
            return self.ended(&gust, step);
        }
        let parent = Some(gust.finish);
        let id = self.finishes(step, |finishes, step| finishes.open(parent, step));
        self.live.insert(id, 1);
        self.spawn(id, &gust, spawned, step);
        self.waiting.insert(id, gust);
        self.leave(id, step);
    }

    fn spawn(
        &mut self,
        finish: FinishId,
        by: &Gust,
        spawned: Vec<(PlaceId, u64)>,
        step: &mut Step<'_, Self>,
    ) {
        for (to, number) in spawned {
            let gust = Gust {
                finish,
                number,
                generations: by.generations - 1,
            };
            step.effect(Effect::Spawned(finish, number));
            if to == self.here {
                self.start(gust, step);
                continue;
            }
            let spawn = self.finishes(step, |finishes, step| finishes.spawned(finish, to, step));
            assert_eq!(spawn, Spawn::Counted, "no finish is cancelled");
            step.send(to, Sent::Spawn(gust));
        }
    }

    fn start(&mut self, gust: Gust, step: &mut Step<'_, Self>) {
        *self.live.entry(gust.finish).or_default() += 1;
        step.effect(Effect::Run(gust));
    }

    fn ended(&mut self, gust: &Gust, step: &mut Step<'_, Self>) {
        step.effect(Effect::Ended(gust.finish, gust.number));
        self.leave(gust.finish, step);
    }

    /// Counts an activity as ended; reports the last one of its finish here.
    fn leave(&mut self, id: FinishId, step: &mut Step<'_, Self>) {
        let live = self.live.get_mut(&id).expect("an activity that ends lives");
        *live -= 1;
        if *live == 0 {
            self.live.remove(&id);
            self.quiet += 1;
            self.finishes(step, |finishes, step| {
                finishes.event(finish::Event::Quiet(id), step);
                finishes.event(finish::Event::Flush, step);
            });
        }
    }

    /// Ends the finish of all ranks here and below.
    fn over(&mut self, step: &mut Step<'_, Self>) {
        for Rank(child) in self.branch.children() {
            step.send(PlaceId(child), Sent::End);
        }
        step.effect(Effect::Over);
    }
}

impl Machine for Site {
    type Peer = PlaceId;
    type Message = Sent;
    type Event = Event;
    type Effect = Effect;
    type Calls = ();
    type Refusal = Refusal;

    fn event(&mut self, event: Event, step: &mut Step<'_, Self>) {
        match event {
            Event::Begin => {
                let body = self.storm.body(self.all, self.here);
                step.effect(Effect::Spawned(self.all, body.number));
                step.effect(Effect::Run(body));
            }
            Event::Ran(gust) => self.ran(gust, step),
            Event::Flush => {
                self.holds = false;
                self.finishes(step, |finishes, step| {
                    finishes.event(finish::Event::Flush, step);
                });
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
            Sent::Spawn(gust) => {
                let id = gust.finish;
                let fate =
                    self.finishes(step, |finishes, step| finishes.arrived(id, from, step))?;
                assert_eq!(fate, Arrival::Run, "no finish is cancelled");
                self.start(gust, step);
            }
            Sent::Finish(message) => {
                self.holds |= matches!(message, Message::Report(..));
                self.finishes(step, |finishes, step| finishes.receive(from, message, step))?;
            }
            Sent::End => {
                if self.branch.parent() != Some(Rank(from.0)) {
                    return Err(Refusal::Path(from));
                }
                let over = Message::Over(self.all);
                self.finishes(step, |finishes, step| {
                    finishes.receive(PlaceId(0), over, step)
                })?;
                self.over(step);
            }
        }
        Ok(())
    }
}
