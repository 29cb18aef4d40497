//! The search as a bag, and what its places share.

use super::ascent::Priced;
use super::part::{Part, Scratch};
use super::{Instance, first};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tautline_core::glb::{Bag, Reason, Share};
use tautline_core::lifeline::{AnyBound, Bound};

/// A round trip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tour {
    /// Its length.
    pub length: usize,
    /// Its cities in order, from city 0.
    pub cities: Vec<u16>,
}

/// The parameters of a search: a prepared instance.
#[derive(Debug)]
pub struct Search {
    instance: Instance,
    priced: Priced,
    first: Tour,
    target: Option<usize>,
}

impl Search {
    /// Creates a search for the shortest tour, or with a `target` for the first one found that is
    /// not longer. With a target, longer tours are ignored: a search that ends without one has
    /// shown that none exists, and nothing else.
    pub fn new(instance: Instance, target: Option<usize>) -> Self {
        Self::with(instance, target, true)
    }

    /// Creates the same without prices: the bound is that of the plain distances, and the tree
    /// larger by orders of magnitude. For comparison, and where a small instance must be much work.
    pub fn plain(instance: Instance, target: Option<usize>) -> Self {
        Self::with(instance, target, false)
    }

    fn with(instance: Instance, target: Option<usize>, is_priced: bool) -> Self {
        let cities = first::tour(&instance);
        let first = Tour {
            length: instance.length(&cities),
            cities,
        };
        Self {
            priced: Priced::new(&instance, is_priced.then_some(first.length)),
            instance,
            first,
            target,
        }
    }

    /// Returns the instance.
    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Returns the initial tour: nearest neighbour, improved by exchanges of two edges.
    pub fn first(&self) -> &Tour {
        &self.first
    }

    /// Returns the maximum length of the tour that is sought, unless it is the shortest.
    pub fn target(&self) -> Option<usize> {
        self.target
    }

    /// Only shorter tours are sought.
    fn bound(&self) -> usize {
        let target = self
            .target
            .map_or(usize::MAX, |target| target.saturating_add(1));
        self.first.length.min(target)
    }
}

/// State shared by the workers of a place: the search, and the length of the best known tour.
#[derive(Debug)]
pub struct Incumbent {
    search: Arc<Search>,
    bound: Bound,
}

impl Incumbent {
    /// Creates the incumbent for which only the initial tour is known.
    pub fn new(search: &Arc<Search>) -> Self {
        Self {
            bound: Bound::new(search.bound()),
            search: Arc::clone(search),
        }
    }

    /// Returns the length that a tour must be below, as far as this place knows.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The best tour; `None` only before a bag has submitted.
    pub best: Option<Tour>,
    /// Nodes visited: branches taken, whether or not pruned then. The number may change with places
    /// and workers, in either direction.
    pub nodes: u64,
    /// The number of times that a tour was better than the best one known at its place.
    pub improvements: u64,
}

impl Found {
    /// Adds the result of another part of the same search.
    pub fn add(&mut self, other: Self) {
        self.nodes += other.nodes;
        self.improvements += other.improvements;
        if let Some(tour) = other.best {
            self.take(tour);
        }
    }

    fn take(&mut self, tour: Tour) {
        if self.length().is_none_or(|length| tour.length < length) {
            self.best = Some(tour);
        }
    }

    /// Returns the length of the best tour.
    pub fn length(&self) -> Option<usize> {
        self.best.as_ref().map(|tour| tour.length)
    }
}

/// Some of the branches of a search.
///
/// A task is a node of the tree that is not visited yet; with a better bound it and its siblings
/// may be pruned, which then is one task.
#[derive(Debug)]
pub struct Tsp {
    /// Each has branches; the last one is walked. Received parts come before.
    parts: Vec<Part>,
    tasks: usize,
    target: Option<usize>,
    found: Found,
    scratch: Scratch,
}

/// Searches to the end on the calling thread.
pub fn sequential(search: &Arc<Search>) -> Found {
    const GRAIN: usize = 511;
    let mut bag = Tsp::root(search);
    let shared = Incumbent::new(search);
    while !bag.is_empty() && bag.verdict().is_none() {
        bag.process(GRAIN, &shared);
    }
    bag.found
}

impl Tsp {
    /// Creates the whole search, with its initial tour. No work is left if there are fewer than
    /// four cities, which have one tour, or if the initial tour meets the target.
    pub fn root(search: &Search) -> Self {
        let mut bag = Self::with(Vec::new(), search.target);
        bag.found.best = Some(search.first.clone());
        if search.instance.cities() > 3 && bag.verdict().is_none() {
            let limit = search.priced.limit(search.bound());
            bag.found.nodes = 1;
            bag.parts.push(Part::root(&search.priced, limit));
            bag.sweep();
        }
        bag
    }

    /// Returns the result of this part so far.
    pub fn found(&self) -> &Found {
        &self.found
    }

    fn with(parts: Vec<Part>, target: Option<usize>) -> Self {
        Self {
            tasks: parts.iter().map(Part::tasks).sum(),
            parts,
            target,
            found: Found::default(),
            scratch: Scratch::default(),
        }
    }

    /// Returns the parts, the target and the result.
    pub(super) fn all(&self) -> (&[Part], Option<usize>, &Found) {
        (&self.parts, self.target, &self.found)
    }

    /// Creates a bag of what [`all`](Self::all) returned in another process.
    pub(super) fn received(parts: Vec<Part>, target: Option<usize>, found: Found) -> Self {
        let mut bag = Self::with(parts, target);
        bag.found = found;
        bag.sweep();
        bag
    }

    /// Recounts the tasks, and removes parts without branches.
    fn sweep(&mut self) {
        self.parts.retain(|part| part.tasks() > 0);
        self.tasks = self.parts.iter().map(Part::tasks).sum();
    }
}

impl Bag for Tsp {
    type Shared = Incumbent;
    type Output = Found;

    fn process(&mut self, n: usize, shared: &Incumbent) -> usize {
        let Search {
            instance, priced, ..
        } = &*shared.search;
        let mut done = 0;
        while let Some(part) = self.parts.last_mut() {
            let before = part.tasks();
            while done < n && part.tasks() > 0 {
                done += 1;
                let limit = priced.limit(shared.bound.get());
                if part.step(priced, limit, &mut self.scratch) {
                    let cities = part.tour();
                    let length = instance.length(&cities);
                    if shared.bound.improve(length) {
                        self.found.improvements += 1;
                        self.found.take(Tour { length, cities });
                    }
                }
            }
            self.tasks = self.tasks - before + part.tasks();
            if part.tasks() > 0 {
                break;
            }
            self.parts.pop();
        }
        self.found.nodes += done as u64;
        done
    }

    /// `Half`, `Refill` and `Ration` take the farther branches of every level alike; `Count` takes
    /// those nearest to the root.
    fn split(&mut self, share: Share) -> Option<Self> {
        let (all, amount) = (self.tasks, share.of(self.tasks));
        if amount == 0 {
            return None;
        }
        let (mut seen, mut gone) = (0, 0);
        let is_count = matches!(share, Share::Count(_));
        let mut given = |open: usize| {
            // Rounding the running sum, not each level, makes single branches alternate.
            seen += open;
            let due = match is_count {
                true => seen.min(amount),
                false => (seen as u128 * amount as u128 / all as u128) as usize,
            };
            let given = due - gone;
            gone = due;
            given
        };
        let loot = self
            .parts
            .iter_mut()
            .filter_map(|part| part.split(&mut given));
        let loot = loot.collect();
        self.sweep();
        Some(Self::with(loot, self.target))
    }

    fn merge(&mut self, mut other: Self) {
        self.tasks += other.tasks;
        if self.parts.is_empty() {
            self.parts = other.parts;
        } else {
            other.parts.append(&mut self.parts);
            self.parts = other.parts;
        }
        self.found.add(other.found);
    }

    fn len(&self) -> usize {
        self.tasks
    }

    fn bound(shared: &Incumbent) -> Option<&dyn AnyBound> {
        Some(&shared.bound)
    }

    fn verdict(&self) -> Option<Reason> {
        let length = self.found.length()?;
        (length <= self.target?).then_some(Reason::Found)
    }

    fn drop_tasks(&mut self) {
        self.parts.clear();
        self.tasks = 0;
    }

    fn submit(self, output: &mut Found) {
        output.add(self.found);
    }
}
