//! The balancer along lifelines, as in [`Balance`](crate::explore::Balance): the same states by the
//! driver of all machines, which is slower, as what follows from an event is not kept.

use crate::explore::world::{Tasks, loot};
use crate::explore::{At, Checked, Flaw, Part, PartOf, Parts, Tree, View};
use tautline_core::PlaceId;
use tautline_core::glb::{Effect, Event, Message, Protocol, Share, Steal};
use tautline_core::lifeline::{Graph, Phase};
use tautline_core::machine::Pick;

/// Places that search a tree, and steal along lifelines alone.
#[derive(Clone, Debug)]
pub struct Search {
    /// The number of places.
    pub places: u32,
    /// The lifelines.
    pub graph: Graph,
    /// The share of a bag that a request takes.
    pub steal: Steal,
    /// The tasks, whose roots are at the home.
    pub tree: Tree,
}

/// The worker of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    bag: Tasks,
}

impl Pick for Worker {
    fn pick(&mut self, _: u32) -> u32 {
        unreachable!("no place steals at random")
    }
}

/// An act of a place's worker.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Does a task.
    Work,
    /// Serves the thieves that are recorded.
    Surplus,
    /// Finds its bag empty.
    Dry,
}

/// The history, as far as checks need it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    processed: u32,
    done: u32,
}

impl Checked for Search {
    type Machine = Protocol<Tasks>;
    type Driver = Worker;
    type Act = Act;
    type Ghost = Ghost;

    fn peers(&self) -> u32 {
        self.places
    }

    fn start(&self, here: PlaceId) -> PartOf<Self> {
        let bag = match here {
            PlaceId::HOME => self.tree.roots().to_vec(),
            _ => Tasks::new(),
        };
        Part {
            machine: Protocol::new(here, self.places, self.graph, 0),
            driver: Worker { bag },
        }
    }

    fn acts(&self, _: PlaceId, Part { machine, driver }: &PartOf<Self>, _: &Ghost) -> Vec<Act> {
        let place = machine.place();
        match (driver.bag.is_empty(), place.thieves().next()) {
            (false, Some(_)) => vec![Act::Work, Act::Surplus],
            (false, None) => vec![Act::Work],
            (true, _) if place.phase() == Phase::Active => vec![Act::Dry],
            (true, _) => Vec::new(),
        }
    }

    fn event(&self, at: &mut At<'_, Self>, act: Act) -> Option<Event<Tasks>> {
        match act {
            Act::Work => {
                let kind = at.driver.bag.pop().expect("a place that has work");
                let children = self.tree.children(kind);
                at.driver.bag.extend_from_slice(children);
                at.ghost.processed += 1;
                None
            }
            Act::Surplus => Some(Event::Surplus),
            Act::Dry => Some(Event::Dry),
        }
    }

    fn calls(worker: &mut Worker) -> &mut (dyn Pick + 'static) {
        worker
    }

    fn effect(
        &self,
        at: &mut At<'_, Self>,
        _: &Protocol<Tasks>,
        effect: Effect<Tasks>,
    ) -> Option<Event<Tasks>> {
        let bag = &mut at.driver.bag;
        match effect {
            Effect::Work(loot) => bag.extend(loot),
            Effect::Take(demand) => {
                let steal: Share = self.steal.into();
                return Some(Event::Taken(demand, loot(bag, steal, demand)));
            }
            Effect::Improve(_) => unreachable!("these trees have no bound"),
            Effect::Done => at.ghost.done += 1,
        }
        None
    }

    /// Of all tasks, each is done once or somewhere; at the end all are done.
    fn judge(&self, view: &View<Parts<Self>>) -> Option<Flaw> {
        let Ghost { processed, done } = view.ghost.ghost;
        let bags = view.sites.iter().map(|part| &part.driver.bag);
        let moving = view
            .parcels
            .iter()
            .filter_map(|parcel| match &parcel.message {
                Some(Message::Answer(Some(loot)) | Message::Loot(loot)) => Some(loot),
                _ => None,
            });
        let left: u32 = bags.chain(moving).map(|bag| self.tree.size(bag)).sum();
        let is_right = processed + left == self.tree.size(self.tree.roots());
        let is_quiet = |part: &PartOf<Self>| part.machine.place().phase() == Phase::Quiet;
        let are_quiet = view.parcels.is_empty() && view.sites.iter().all(|part| is_quiet(part));
        match done {
            _ if !is_right => Some(Flaw::Count),
            0 => None,
            _ if left > 0 || !are_quiet => Some(Flaw::Early),
            1 => None,
            _ => Some(Flaw::Repeated),
        }
    }

    fn is_final(&self, view: &View<Parts<Self>>) -> bool {
        view.ghost.ghost.done == 1
    }
}
