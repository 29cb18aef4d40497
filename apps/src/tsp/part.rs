//! A part of the search tree: one path, and at each of its cities the branches not taken yet.

use super::ascent::Priced;
use super::fixed::Fixed;
use serde::{Deserialize, Serialize};

/// A candidate for the next city.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Branch {
    /// A lower bound for the tours that go there.
    bound: i64,
    city: u16,
}

/// A city of the path and its open branches.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Level {
    /// The index of its first branch; those from `low` to `high` are open, the nearest first.
    base: u32,
    low: u32,
    high: u32,
    /// The weight of the path up to this city.
    weight: i64,
}

impl Level {
    fn open(&self) -> usize {
        (self.high - self.low) as usize
    }
}

/// # Words
///
/// `cities[..left]` are those not visited; after them the path, its last city first. `at` is the
/// position of each city. `levels` and the path are equally long between two steps; the branches of
/// each level follow those of the level before. `tasks` is the number of open branches.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Part {
    cities: Vec<u16>,
    at: Vec<u16>,
    left: usize,
    levels: Vec<Level>,
    branches: Vec<Branch>,
    tasks: usize,
}

/// Workspace for the bound: allocated once a bag, not once a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    outside: Vec<u16>,
    distance: Vec<i32>,
}

impl Part {
    /// Creates the whole search: the path is city 0. `limit` as in [`step`](Self::step).
    pub(super) fn root(priced: &Priced, limit: i64) -> Self {
        let cities = priced.cities as u16;
        let mut part = Self {
            cities: (0..cities).rev().collect(),
            at: (0..cities).rev().collect(),
            left: priced.cities - 1,
            ..Self::default()
        };
        part.open(0, priced, limit, &mut Scratch::default());
        part
    }

    /// Whether positions, branches and tasks agree with each other.
    pub(super) fn is_consistent(&self) -> bool {
        let cities = self.cities.len();
        let is_at = |(at, city): (usize, &u16)| {
            let found = self.at.get(usize::from(*city));
            found.is_some_and(|found| usize::from(*found) == at)
        };
        let is_within = |level: &Level| {
            let branches = level.base..=self.branches.len() as u32;
            level.low <= level.high
                && branches.contains(&level.low)
                && branches.contains(&level.high)
        };
        self.at.len() == cities
            && self.cities.iter().enumerate().all(is_at)
            && self.left <= cities
            && self.levels.len() < cities.max(1)
            && self.levels.iter().all(is_within)
            && self
                .branches
                .iter()
                .all(|branch| usize::from(branch.city) < cities)
            && self.levels.iter().map(Level::open).sum::<usize>() == self.tasks
    }

    pub(super) fn tasks(&self) -> usize {
        self.tasks
    }

    /// Takes one branch, if there is one. Returns true if the path is then a tour not heavier than
    /// `limit`, which [`tour`](Self::tour) returns until the next step.
    #[inline]
    pub(super) fn step(&mut self, priced: &Priced, limit: i64, scratch: &mut Scratch) -> bool {
        while let Some(level) = self.levels.last_mut() {
            if level.low == level.high {
                self.branches.truncate(level.base as usize);
                self.levels.pop();
                continue;
            }
            let branch = self.branches[level.low as usize];
            let weight = level.weight;
            level.low += 1;
            self.tasks -= 1;
            if branch.bound > limit {
                // The bound has fallen since; farther candidates are not better.
                self.tasks -= level.open();
                level.low = level.high;
                return false;
            }
            self.left = self.cities.len() - self.levels.len();
            let here = self.cities[self.left];
            let weight = weight + i64::from(priced.row(here)[usize::from(branch.city)]);
            self.visit(branch.city);
            if self.left > 1 {
                self.open(weight, priced, limit, scratch);
                return false;
            }
            let last = self.cities[0];
            let row = priced.row(last);
            let ends = [branch.city, 0].map(|end| i64::from(row[usize::from(end)]));
            return weight + ends[0] + ends[1] <= limit && self.has_all(&priced.fixed);
        }
        false
    }

    /// Returns the tour found by the last step, from city 0.
    pub(super) fn tour(&self) -> Vec<u16> {
        self.cities.iter().rev().copied().collect()
    }

    /// Appends a city to the path.
    #[inline]
    fn visit(&mut self, city: u16) {
        self.left -= 1;
        let (from, to) = (usize::from(self.at[usize::from(city)]), self.left);
        let other = self.cities[to];
        self.cities.swap(from, to);
        self.at[usize::from(other)] = from as u16;
        self.at[usize::from(city)] = to as u16;
    }

    /// Adds the level of the last city of the path, unless all of it is pruned.
    #[inline]
    fn open(&mut self, weight: i64, priced: &Priced, limit: i64, scratch: &mut Scratch) {
        let here = self.cities[self.left];
        let rest = &self.cities[..self.left];
        let home = priced.row(0);
        let back = rest.iter().map(|city| home[usize::from(*city)]).min();
        let bound = weight + i64::from(back.unwrap_or(0)) + scratch.tree(rest, priced);
        let there = priced.row(here);
        let base = self.branches.len();
        let [before, after] = turn(priced);
        for city in priced.near(here) {
            let bound = bound + i64::from(there[usize::from(*city)]);
            if bound > limit {
                break;
            }
            let is_open = |city: u16| usize::from(self.at[usize::from(city)]) < self.left;
            if is_open(*city) && !(*city == after && is_open(before)) {
                self.branches.push(Branch { bound, city: *city });
            }
        }
        if priced.fixed.edges() > 0 {
            self.prune(base, &priced.fixed);
        }
        if self.branches.len() > base {
            self.tasks += self.branches.len() - base;
            self.levels.push(Level {
                base: base as u32,
                low: base as u32,
                high: self.branches.len() as u32,
                weight,
            });
        }
    }

    /// Whether the tour of the last step has all fixed edges. Out of line: it is found seldom.
    #[cold]
    fn has_all(&self, fixed: &Fixed) -> bool {
        fixed.edges() == 0 || fixed.are_in(&self.tour())
    }

    /// Removes the branches from `base` on with which the path is not that of a tour with all fixed
    /// edges, as far as its last city shows. The fixed edges of city 0 may come last. Out of line,
    /// since most instances have none.
    #[cold]
    fn prune(&mut self, base: usize, fixed: &Fixed) {
        let here = self.cities[self.left];
        let previous = self.cities.get(self.left + 1).copied();
        let keeps = |city: u16| {
            let mut ends = fixed.of(here);
            fixed.allows(here, city)
                && (here == 0 || ends.all(|end| end == city || Some(end) == previous))
        };
        let mut kept = base;
        for at in base..self.branches.len() {
            let branch = self.branches[at];
            if keeps(branch.city) {
                self.branches[kept] = branch;
                kept += 1;
            }
        }
        self.branches.truncate(kept);
    }

    /// Removes some of the open branches of each level, the farthest: `given` returns how many,
    /// from the number of open ones, from the first city on. `None` if none was removed.
    pub(super) fn split(&mut self, mut given: impl FnMut(usize) -> usize) -> Option<Self> {
        let mut thief = Self::default();
        let mut kept = 0;
        for level in &mut self.levels {
            let taken = given(level.open());
            let high = level.high as usize;
            level.high -= taken as u32;
            let base = thief.branches.len() as u32;
            let loot = &self.branches[high - taken..high];
            thief.branches.extend_from_slice(loot);
            thief.levels.push(Level {
                base,
                low: base,
                high: base + taken as u32,
                weight: level.weight,
            });
            if taken > 0 {
                kept = thief.levels.len();
            }
        }
        if kept == 0 {
            return None;
        }
        thief.levels.truncate(kept);
        thief.tasks = thief.branches.len();
        self.tasks -= thief.tasks;
        thief.cities.clone_from(&self.cities);
        thief.at.clone_from(&self.at);
        thief.left = thief.cities.len() - kept;
        Some(thief)
    }
}

/// Two cities, the first of which a path visits before the second: that leaves one direction of
/// every tour. Next to city 0 they prune a branch at the root.
#[inline]
fn turn(priced: &Priced) -> [u16; 2] {
    let near = priced.near(0);
    [near[1], near[0]]
}

impl Scratch {
    /// Returns the weight of the minimum spanning tree of `cities` (Prim 1957).
    #[inline]
    fn tree(&mut self, cities: &[u16], priced: &Priced) -> i64 {
        self.outside.clear();
        self.outside.extend_from_slice(cities);
        self.distance.clear();
        self.distance.resize(cities.len(), i32::MAX);
        let Some(mut newest) = self.outside.pop() else {
            return 0;
        };
        let mut weight = 0;
        let (mut outside, mut distance) = (&mut self.outside[..], &mut self.distance[..]);
        while !outside.is_empty() {
            let row = priced.row(newest);
            let (mut nearest, mut at) = (i32::MAX, 0);
            for (i, (city, distance)) in outside.iter().zip(distance.iter_mut()).enumerate() {
                *distance = row[usize::from(*city)].min(*distance);
                if *distance < nearest {
                    (nearest, at) = (*distance, i);
                }
            }
            weight += i64::from(nearest);
            newest = outside[at];
            let last = outside.len() - 1;
            outside[at] = outside[last];
            distance[at] = distance[last];
            outside = &mut outside[..last];
            distance = &mut distance[..last];
        }
        weight
    }
}
