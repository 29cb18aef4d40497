//! The figures of a simulated run.

use super::engine::{Bound, Simulated};
use super::losses::Losses;
use crate::command::number::grouped;
use crate::command::show::object;
use serde_json::{Value, json};
use tautline::balance::{Config, PlaceRun, State, Times, Traffic};

/// The figures of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    /// Sequential over parallel virtual time, a worker.
    pub efficiency: f64,
    /// The bound of it, and what is lost.
    pub losses: Losses,
    /// The same for all workers.
    pub speedup: f64,
    /// From the start to the end.
    pub virtual_seconds: f64,
    /// Units of the problem, a virtual second.
    pub rate: f64,
    /// Messages sent.
    pub messages: u64,
    /// Loot that travelled between places.
    pub loot: u64,
    /// Requests to other places, and those without result.
    pub search: Search,
    /// The use of the workers' time.
    pub shares: Shares,
    /// The traffic of the reserves that workers of a place share.
    pub reserve: Reserve,
    /// The distances of loot.
    pub distance: Distance,
    /// The grain of the places at the end.
    pub grain: Grain,
    /// Events simulated.
    pub events: u64,
}

/// Requests for work, of all places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Search {
    /// Requests sent.
    asked: u64,
    /// Requests without work until the end.
    pub fails: u64,
}

/// The workers' time, by [`State`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shares(Times);

/// The traffic of all places' own reserves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reserve(Traffic);

/// The distances of loot.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Distance {
    /// By the number of hops; 0 is within a node.
    by_hops: Vec<u64>,
}

/// Grains of all places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grain {
    least: usize,
    /// Of an even number the upper median.
    pub median: usize,
    most: usize,
    home: usize,
}

impl Figures {
    /// Returns the figures of `run`, whose `rate` is known.
    pub(super) fn of(run: &Simulated, bound: Option<Bound>, config: &Config, rate: f64) -> Self {
        let threads = f64::from(config.places) * config.workers as f64;
        Self {
            efficiency: run.efficiency,
            losses: Losses::of(bound, run.virtual_seconds, run.phases),
            speedup: run.efficiency * threads,
            virtual_seconds: run.virtual_seconds,
            rate,
            messages: run.messages,
            loot: run.distances.iter().sum(),
            search: Search::of(&run.places),
            shares: Shares::of(&run.places),
            reserve: Reserve::of(&run.places),
            distance: Distance {
                by_hops: run.distances.clone(),
            },
            grain: Grain::of(&run.places),
            events: run.events,
        }
    }

    /// Returns the rows of the table of one run.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = vec![("loot", self.distance.line())];
        if let (Some(merge_empty), Some(split_merge)) =
            (self.reserve.merge_empty(), self.reserve.split_merge())
        {
            let fed = grouped(self.reserve.0.fed);
            let line = format!(
                "{merge_empty:.3} merge/empty, {split_merge:.3} split/merge of {fed} merges"
            );
            rows.push(("reserves", line));
        }
        let Grain {
            least,
            median,
            most,
            home,
        } = self.grain;
        let [least, median, most, home] = [least, median, most, home].map(|n| grouped(n as u64));
        rows.push((
            "grain at the end",
            format!("{least} to {most}, median {median}, place 0 {home}"),
        ));
        rows
    }

    /// Returns the JSON keys that only simulated runs have.
    pub(super) fn json(&self) -> [(&'static str, Value); 7] {
        let Grain {
            least,
            median,
            most,
            home,
        } = self.grain;
        let Traffic {
            fed,
            split,
            emptied,
        } = self.reserve.0;
        [
            ("speedup", self.speedup.into()),
            ("loot", self.loot.into()),
            (
                "steals",
                json!({"asked": self.search.asked, "fails": self.search.fails}),
            ),
            ("time", self.shares.json()),
            (
                "steal_distance",
                json!({
                    "by_hops": self.distance.by_hops, "mean_hops": self.distance.mean_hops(),
                    "within_node": self.distance.within_node(),
                }),
            ),
            (
                "reserve",
                json!({
                    "fed": fed, "split": split, "emptied": emptied,
                    "merge_empty": self.reserve.merge_empty(), "split_merge": self.reserve.split_merge(),
                }),
            ),
            (
                "grain",
                json!({"min": least, "median": median, "max": most, "home": home}),
            ),
        ]
    }
}

impl Search {
    fn of(places: &[PlaceRun]) -> Self {
        let mut search = Self::default();
        let ways = |place: &PlaceRun| [place.tally.random, place.tally.lifeline];
        for way in places.iter().flat_map(ways) {
            search.asked += way.asked;
            search.fails += way.asked.saturating_sub(way.answered);
        }
        search
    }
}

impl Shares {
    fn of(places: &[PlaceRun]) -> Self {
        let mut times = Times::default();
        for place in places {
            times.merge(&place.times);
        }
        Self(times)
    }

    /// Returns the share of the time that workers were in `state`.
    pub(super) fn share(&self, state: State) -> f64 {
        self.0.of(state) as f64 / self.0.total().max(1) as f64
    }

    fn json(&self) -> Value {
        let share = |state| (State::name(state), self.share(state).into());
        Value::Object(object(State::BALANCED.map(share)))
    }
}

impl Reserve {
    fn of(places: &[PlaceRun]) -> Self {
        let add = |sum: Traffic, place: &PlaceRun| Traffic {
            fed: sum.fed + place.tally.reserve.fed,
            split: sum.split + place.tally.reserve.split,
            emptied: sum.emptied + place.tally.reserve.emptied,
        };
        Self(places.iter().fold(Traffic::default(), add))
    }

    /// Returns how often it was fed for each time that it was emptied (Finnerty 2022).
    pub(super) fn merge_empty(&self) -> Option<f64> {
        ratio(self.0.fed, self.0.emptied)
    }

    /// Returns how often it was split for each time that it was fed (Finnerty 2022).
    pub(super) fn split_merge(&self) -> Option<f64> {
        ratio(self.0.split, self.0.fed)
    }
}

impl Distance {
    /// Returns the mean number of hops.
    pub(super) fn mean_hops(&self) -> Option<f64> {
        let hops = self.by_hops.iter().zip(0..).map(|(loot, hops)| loot * hops);
        ratio(hops.sum(), self.by_hops.iter().sum())
    }

    /// Returns the share that stayed within a node.
    fn within_node(&self) -> Option<f64> {
        let near = self.by_hops.first().copied().unwrap_or(0);
        ratio(near, self.by_hops.iter().sum())
    }

    fn line(&self) -> String {
        let all = grouped(self.by_hops.iter().sum());
        match (self.within_node(), self.mean_hops()) {
            (Some(near), Some(hops)) => {
                let near = near * 100.0;
                format!("{all}, {near:.1} % of it within a node, {hops:.2} hops on average")
            }
            _ => "none".to_owned(),
        }
    }
}

impl Grain {
    fn of(places: &[PlaceRun]) -> Self {
        let mut all: Vec<usize> = places.iter().map(|place| place.tally.grain).collect();
        let home = all.first().copied().unwrap_or(0);
        all.sort_unstable();
        let at = |position: usize| all.get(position).copied().unwrap_or(0);
        Self {
            least: at(0),
            median: at(all.len() / 2),
            most: at(all.len().saturating_sub(1)),
            home,
        }
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(grain: usize, [fed, split, emptied]: [u64; 3]) -> PlaceRun {
        let mut place = PlaceRun::default();
        place.tally.grain = grain;
        place.tally.reserve = Traffic {
            fed,
            split,
            emptied,
        };
        place
    }

    #[test]
    fn ratios_and_grains_are_those_of_all_places() {
        let places = [
            place(7, [4, 2, 1]),
            place(1, [2, 1, 1]),
            place(9, [0, 0, 0]),
            place(3, [0, 0, 0]),
        ];
        let reserve = Reserve::of(&places);
        assert_eq!(reserve.merge_empty(), Some(3.0));
        assert_eq!(reserve.split_merge(), Some(0.5));
        let grain = Grain::of(&places);
        assert_eq!((grain.least, grain.median), (1, 7));
        assert_eq!((grain.most, grain.home), (9, 7));
        assert_eq!(Reserve::default().merge_empty(), None);
    }

    #[test]
    fn requests_without_loot_are_fails_and_shares_make_the_whole() {
        let mut places = [PlaceRun::default(), PlaceRun::default()];
        for (place, [random, found, lifeline, pushed]) in
            places.iter_mut().zip([[5, 2, 3, 3], [4, 0, 1, 0]])
        {
            place.tally.random.asked = random;
            place.tally.random.answered = found;
            place.tally.lifeline.asked = lifeline;
            place.tally.lifeline.answered = pushed;
            place.times.add(State::Computing, 30);
            place.times.add(State::Stealing, 10);
        }
        let search = Search::of(&places);
        assert_eq!((search.asked, search.fails), (13, 8));
        let shares = Shares::of(&places);
        assert_eq!(shares.share(State::Computing), 0.75);
        assert_eq!(shares.share(State::Stealing), 0.25);
    }

    #[test]
    fn distances_are_weighted() {
        let distance = Distance {
            by_hops: vec![6, 2, 0, 2],
        };
        assert_eq!(distance.mean_hops(), Some(0.8));
        let line = "10, 60.0 % of it within a node, 0.80 hops on average";
        assert_eq!(distance.line(), line);
        assert_eq!(Distance::default().line(), "none");
    }
}
