//! The environment of one place's protocol.

use tautline_core::PlaceId;
use tautline_core::glb::{Effect, Event, Message, Protocol, Share};
use tautline_core::lifeline::Demand;
use tautline_core::machine::{Action, Pick, Step, drive};

/// Tasks by kind: the owner works at the back, thieves take from the front.
pub(super) type Tasks = Vec<u8>;

/// Takes the loot for a demand out of a bag, if there is something to spare.
pub(super) fn loot(bag: &mut Tasks, steal: Share, demand: Demand) -> Option<Tasks> {
    let share = match demand {
        Demand::Request { .. } => steal,
        Demand::Ration { thieves } => Share::Ration(thieves),
    };
    let tasks = share.of(bag.len());
    (tasks > 0).then(|| bag.drain(..tasks).collect())
}

/// The world around one place during one event.
pub(super) struct World {
    pub(super) bag: Tasks,
    steal: Share,
    pub(super) sent: Vec<(PlaceId, Message<Tasks>)>,
    pub(super) done: u32,
    pub(super) draws: Draws,
}

/// The numbers to draw, each with its bound; what is drawn beyond them is 0 and noted.
pub(super) struct Draws {
    pub(super) numbers: Vec<(u32, u32)>,
    drawn: usize,
}

impl Pick for Draws {
    fn pick(&mut self, n: u32) -> u32 {
        if self.drawn == self.numbers.len() {
            self.numbers.push((0, n));
        }
        self.drawn += 1;
        self.numbers[self.drawn - 1].0
    }
}

impl World {
    pub(super) fn new(bag: &[u8], steal: Share, numbers: Vec<(u32, u32)>) -> Self {
        Self {
            bag: bag.to_vec(),
            steal,
            sent: Vec::new(),
            done: 0,
            draws: Draws { numbers, drawn: 0 },
        }
    }

    /// Lets the protocol take a step.
    pub(super) fn step<R>(
        &mut self,
        protocol: &mut Protocol<Tasks>,
        take: impl FnOnce(&mut Protocol<Tasks>, &mut Step<'_, Protocol<Tasks>>) -> R,
    ) -> R {
        let Self {
            bag,
            steal,
            sent,
            done,
            draws,
        } = self;
        let act = |action| match action {
            Action::Send(to, message) => {
                sent.push((to, message));
                None
            }
            Action::Effect(Effect::Work(loot)) => {
                bag.extend(loot);
                None
            }
            Action::Effect(Effect::Take(demand)) => {
                Some(Event::Taken(demand, loot(bag, *steal, demand)))
            }
            // These trees have no bound.
            Action::Effect(Effect::Improve(_)) => None,
            Action::Effect(Effect::Done) => {
                *done += 1;
                None
            }
        };
        drive(protocol, draws, act, take)
    }
}
