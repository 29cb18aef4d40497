//! The ranks of a launch: their processors, places and workers, as the launcher and each rank would
//! choose them.

use super::{Topo, plural};
use crate::command::launch::shares;
use crate::command::number::ranges;
use crate::command::show::{self, WIDTH};
use crate::command::{Failure, balancer};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use tautline::Machine;
use tautline::balance::{Config, PlaceId};
use tautline::internal::PIN;
use tautline::pinning::PlaceList;
use tautline::runtime::Builder;

/// The width of what precedes the numbers of workers and processors.
const NAMES: usize = 10;
/// More workers in a row are hard to count.
const ROW_MAX: usize = 16;

/// A rank.
struct Rank {
    /// Its processors.
    cpus: Vec<usize>,
    config: Config,
    /// The processor of each worker, place by place; empty if they are not pinned.
    pinned: Vec<usize>,
}

/// The ranks of a launch on a machine.
pub(super) struct Ranks {
    machine: Machine,
    ranks: Vec<Rank>,
}

impl Ranks {
    /// Divides the machine of `builder` among `ranks` ranks, as the options of `topo` request.
    pub(super) fn of(topo: &Topo, builder: &Builder, ranks: u32) -> Result<Self, Failure> {
        let machine = builder.machine().clone();
        let rank = |cpus: Vec<usize>| {
            let mut builder = builder.clone().restricted(&cpus);
            if let Some(list) = &topo.pin {
                builder = balancer::pinned_to(list, builder)?;
            }
            let plan = builder.plan()?;
            Ok(Rank {
                cpus,
                config: plan.balancing,
                pinned: plan.cpus,
            })
        };
        let list = listed(topo)?;
        let shares = shares(&machine, ranks as usize, list.as_ref())?;
        let ranks = shares.into_iter().map(rank);
        Ok(Self {
            ranks: ranks.collect::<Result<_, Failure>>()?,
            machine,
        })
    }

    /// Whether all ranks have the same number of places, which a computation over them requires.
    fn is_alike(&self) -> bool {
        let places = |rank: &Rank| rank.config.places;
        let first = places(&self.ranks[0]);
        self.ranks.iter().all(|rank| places(rank) == first)
    }

    /// Returns each rank, with the number of its first place among those of all.
    fn numbered(&self) -> impl Iterator<Item = (u32, &Rank)> {
        self.ranks.iter().scan(0, |next, rank| {
            let first = *next;
            *next += rank.config.places;
            Some((first, rank))
        })
    }

    /// Formats the ranks, each with its places, whose workers stand above their processors.
    pub(super) fn table(&self) -> String {
        let cpus: BTreeSet<usize> = self
            .ranks
            .iter()
            .flat_map(|rank| rank.cpus.clone())
            .collect();
        let cpus = Vec::from_iter(cpus);
        let (ranks, all) = (self.ranks.len(), cpus.len());
        let on = plural(all, "CPU");
        let shared = match ranks {
            1 => format!("1 on {on}"),
            _ if ranks > all => format!("{ranks} on {on}: more ranks than CPUs, which share them"),
            _ => format!("{ranks}, which divide {on}"),
        };
        let model = self.machine.model().unwrap_or("unknown").to_owned();
        let mut text = show::table(&[
            ("processor", model),
            ("CPUs", format!("{all} ({})", list(&cpus))),
            ("ranks", shared),
        ]);
        if !self.is_alike() {
            text += &show::lines(
                "Ranks have different numbers of places, so a computation over all of them is refused unless --places or TAUTLINE_PLACES is set.",
            );
        }
        for (number, (first, rank)) in self.numbered().enumerate() {
            let mut cpus = rank.cpus.clone();
            cpus.sort_unstable();
            let head = format!("rank {number} on CPUs {}", list(&cpus));
            text += &format!("\n{}", show::lines(&head));
            for place in rank.places(first) {
                place.row(&mut text);
            }
        }
        text
    }

    /// Returns the ranks as data.
    pub(super) fn json(&self) -> Value {
        let worker = |(worker, cpu): (usize, Option<usize>)| json!({"worker": worker, "cpu": cpu});
        let place = |place: Place| {
            let workers = place.workers.into_iter().map(worker);
            json!({"place": place.number, "workers": workers.collect::<Vec<_>>()})
        };
        let rank = |(number, (first, rank)): (usize, (u32, &Rank))| {
            let places = rank.places(first);
            json!({
                "rank": number,
                "cpus": rank.cpus,
                "places": places.map(place).collect::<Vec<_>>(),
            })
        };
        self.numbered().enumerate().map(rank).collect()
    }
}

impl Rank {
    /// Returns its places, of which the first one has the number `first`.
    fn places(&self, first: u32) -> impl Iterator<Item = Place> {
        let mut worker = 0;
        (0..self.config.places).map(move |place| {
            let own = worker..worker + self.config.workers_of(PlaceId(place));
            worker = own.end;
            let cpu = |worker: usize| (worker, self.pinned.get(worker).copied());
            Place {
                number: first + place,
                workers: own.map(cpu).collect(),
            }
        })
    }
}

/// A place of a rank.
struct Place {
    /// Its number among those of all ranks.
    number: u32,
    /// The number of each worker among those of the rank, and its processor if it is pinned.
    workers: Vec<(usize, Option<usize>)>,
}

impl Place {
    fn row(&self, text: &mut String) {
        let Self { number, workers } = self;
        let _ = writeln!(text, "  place {number}");
        let (last, _) = workers.last().expect("a place has a worker");
        let widest = workers
            .iter()
            .filter_map(|(_, cpu)| *cpu)
            .chain([*last])
            .max();
        let width = widest.unwrap_or_default().to_string().len().max(2) + 2;
        let of = |cells: Vec<String>| {
            cells
                .iter()
                .fold(String::new(), |row, it| row + &format!("{it:>width$}"))
        };
        for some in workers.chunks(ROW_MAX.min((WIDTH - NAMES) / width)) {
            let numbers = some.iter().map(|(worker, _)| worker.to_string());
            let _ = writeln!(text, "    worker{}", of(numbers.collect()));
            let cpus = some
                .iter()
                .filter_map(|(_, cpu)| cpu.map(|cpu| cpu.to_string()));
            let cpus: Vec<String> = cpus.collect();
            let _ = match cpus.is_empty() {
                true => writeln!(text, "    not pinned to one of the CPUs"),
                false => writeln!(text, "    CPU   {}", of(cpus)),
            };
        }
    }
}

/// Returns the list of places that a launch would divide.
fn listed(topo: &Topo) -> Result<Option<PlaceList>, Failure> {
    if topo.pin.is_some() || topo.what_if.is_some() {
        return Ok(topo.pin.clone());
    }
    let value = env::var(PIN.variable).unwrap_or_default();
    match value.trim() {
        "" => Ok(None),
        text => {
            let list = balancer::list(text);
            list.map(Some)
                .map_err(|error| Failure::Usage(format!("{} {text}: {error}", PIN.variable)))
        }
    }
}

/// Formats numbers of processors such that they can be divided between lines.
fn list(cpus: &[usize]) -> String {
    ranges(cpus).replace(' ', ", ")
}
