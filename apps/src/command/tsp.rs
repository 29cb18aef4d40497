//! `tautline tsp`: the shortest round trip.

use super::app::{About, App, Findings, Problem};
use super::balancer::whole;
use super::number::grouped;
use super::quote::escaped;
use super::show::object;
use super::story::Pending;
use super::{Failure, Outcome};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tautline::FileError;
use tautline_cli::program::digest;
use tautline_cli::text::Input;
use tautline_cli::tsp::{
    Found, Incumbent, Instance, Search, Tour, Tsp as Bag, draw_tour, held_karp, tsplib, write_tour,
};

const CITIES_MAX: u64 = Instance::CITIES_MAX as u64;
const SIDE_MAX: u64 = Instance::SIDE_MAX as u64;
/// The number of cities for which a sequential program takes about a second, or a tenth of one,
/// with the default seed.
const CITIES: usize = 75;
const CITIES_SMALL: usize = 70;
const SEED: u64 = 6;
/// Above, dynamic programming takes too long for a check.
const CHECKED_CITIES_MAX: usize = 14;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline tsp                           75 cities drawn at random, on all processors
  tautline tsp gr17.tsp --places 4       an instance of TSPLIB, four places
  tautline tsp --cities 24 -r 1 --plain  fewer cities, a weaker bound, much work
  tautline tsp gr17.tsp --output gr17.tour --svg gr17.svg
                                         the tour in the format of TSPLIB, and a picture of it
  tautline tsp --target 7300             stop at the first tour of at most 7300";

/// Find the shortest round trip through all cities by branch and bound
#[derive(Args, Debug)]
#[command(next_help_heading = "Instance", after_help = EXAMPLES)]
pub(super) struct Tsp {
    /// A file of TSPLIB 95, TYPE TSP, or - for standard input [default: cities drawn at random]
    #[arg(value_name = "FILE", conflicts_with_all = ["cities", "instance_seed", "side"])]
    file: Option<PathBuf>,
    /// Cities in a square, Euclidean distances rounded [default: 75, simulated 70]
    #[arg(long, value_name = "N", value_parser = whole::<usize, CITIES_MAX>(), allow_negative_numbers = true)]
    cities: Option<usize>,
    /// Seed of the cities [default: 6]
    #[arg(
        id = "instance_seed",
        short = 'r',
        long = "instance-seed",
        value_name = "SEED"
    )]
    #[arg(value_parser = whole::<u64, { u64::MAX }>(), allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Side of the square [default: 1000]
    #[arg(long, value_name = "LENGTH", value_parser = whole::<u32, SIDE_MAX>(), allow_negative_numbers = true)]
    side: Option<u32>,
    /// Stop at the first tour that is not longer, or show that there is none
    #[arg(long, value_name = "L", value_parser = whole::<usize, { u64::MAX }>(), allow_negative_numbers = true)]
    target: Option<usize>,
    /// A bound from the plain distances: a far larger tree, the same tour
    #[arg(long)]
    plain: bool,
    /// Write the tour in the format of TSPLIB 95
    #[arg(long, value_name = "FILE.tour", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Draw the tour on the map of the cities
    #[arg(long, value_name = "FILE.svg", help_heading = "Output")]
    svg: Option<PathBuf>,
}

impl Tsp {
    /// Returns the instance, and what is known of the file that it is from.
    fn instance(&self, small: bool) -> Result<(Instance, Option<Source>), Failure> {
        if let Some(path) = &self.file {
            let (instance, source) = read(path)?;
            return Ok((instance, Some(source)));
        }
        let usual = if small { CITIES_SMALL } else { CITIES };
        let cities = self.cities.unwrap_or(usual);
        let side = self.side.unwrap_or(1000);
        let made = Instance::random(cities, side, self.seed.unwrap_or(SEED));
        let made = made.map_err(|error| Failure::Usage(format!("tsp: {error}")))?;
        Ok((made, None))
    }
}

/// The longest file: the largest matrix, with numbers of 64 characters.
const BYTES_MAX: u64 = 1 << 26;

/// The digest of a file, how it was read, and its published optimum.
#[derive(Debug)]
struct Source {
    digest: String,
    /// The form in which distances are given, and the keywords that were ignored.
    form: String,
    published: Option<usize>,
}

fn read(path: &Path) -> Result<(Instance, Source), FileError> {
    let input = Input::read(path, BYTES_MAX)?;
    let digest = digest([input.peek().as_bytes()]);
    let contents = tsplib::read(input)?;
    let mut form = format!("TSPLIB, {}", contents.form);
    if contents.first == 0 {
        form += ", cities counted from 0 there, from 1 here";
    }
    if !contents.ignored.is_empty() {
        form = format!("{form}, ignored: {}", contents.ignored.join(" "));
    }
    let mut instance = contents.instance;
    let published = tsplib::optimum(instance.name()).filter(|_| instance.fixed_edges() == 0);
    if instance.name().is_empty() {
        let stem = path.file_stem().unwrap_or_default();
        instance = instance.named(escaped(&stem.to_string_lossy()));
    }
    let source = Source {
        digest,
        form,
        published,
    };
    Ok((instance, source))
}

impl App for Tsp {
    type Problem = Trip;

    const NAME: &'static str = "tsp";

    fn problem(&self, small: bool) -> Result<Trip, Failure> {
        let (instance, source) = self.instance(small)?;
        if let (Some(path), None) = (&self.svg, instance.places()) {
            let (path, name) = (path.display(), instance.name());
            let line = format!("--svg {path}: {name} has distances only, no coordinates to draw");
            return Err(Failure::Usage(line));
        }
        let tour = Pending::open("--output", self.output.as_deref())?;
        let picture = Pending::open("--svg", self.svg.as_deref())?;
        let search = match self.plain {
            false => Search::new(instance, self.target),
            true => Search::plain(instance, self.target),
        };
        Ok(Trip {
            search: Arc::new(search),
            source,
            tour,
            picture,
        })
    }
}

/// A search, and what is known of its result.
#[derive(Debug)]
pub(super) struct Trip {
    search: Arc<Search>,
    source: Option<Source>,
    /// The files that receive the tour.
    tour: Option<Pending>,
    picture: Option<Pending>,
}

impl Trip {
    fn published(&self) -> Option<usize> {
        self.source.as_ref()?.published
    }

    /// Checks that the tour visits every city, and is not shorter than possible; and if all was
    /// searched, that it is the best.
    fn verdict(&self, best: &Tour, complete: bool) -> Option<Result<(), String>> {
        let instance = self.search.instance();
        if !instance.is_tour(&best.cities) {
            let all = match instance.fixed_edges() {
                0 => "does not visit every city once",
                _ => "does not visit every city once along all fixed edges",
            };
            return Some(Err(format!("the tour {all}")));
        }
        let length = instance.length(&best.cities);
        if length != best.length {
            let claimed = best.length;
            return Some(Err(format!("the tour is {length} long, not {claimed}")));
        }
        let (known, by) = match self.published() {
            Some(optimum) => (Some(optimum), "as published"),
            None if instance.cities() <= CHECKED_CITIES_MAX => {
                (held_karp(instance), "by dynamic programming")
            }
            None => (None, ""),
        };
        let meets = self.search.target().map(|target| length <= target);
        let wrong = match (known, self.search.target()) {
            (Some(optimum), _) if length < optimum => true,
            (Some(optimum), None) => complete && length != optimum,
            (Some(optimum), Some(target)) => complete && meets == Some(false) && optimum <= target,
            (None, _) => false,
        };
        if let (true, Some(optimum)) = (wrong, known) {
            return Some(Err(format!(
                "found {length}, but the optimum is {optimum} {by}"
            )));
        }
        // A tour within the target needs no further comparison.
        let is_proved = meets == Some(true) || complete && known.is_some();
        is_proved.then_some(Ok(()))
    }

    /// Returns what a result without contradiction is called: only a published optimum is
    /// independent of the distances read.
    fn agrees(&self, best: &Tour) -> &'static str {
        match (self.published(), self.search.target()) {
            (_, Some(target)) if best.length <= target => "within the target",
            (Some(_), _) => "",
            (None, _) => "as by dynamic programming",
        }
    }
}

impl Problem for Trip {
    type Bag = Bag;

    fn about(&self) -> About {
        let instance = self.search.instance();
        let wanted = match self.search.target() {
            None => "the shortest".to_owned(),
            Some(target) => format!("at most {}", grouped(target as u64)),
        };
        let first = self.search.first().length;
        let source = self.source.as_ref();
        let form = source.map(|source| ("read as", source.form.clone()));
        let fixed = match instance.fixed_edges() {
            0 => None,
            fixed => Some(("fixed edges", grouped(fixed as u64))),
        };
        let rest = [("tour", wanted), ("first tour", grouped(first as u64))];
        About {
            unit: "nodes",
            kind: "instance",
            title: format!("tsp {}, {} cities", instance.name(), instance.cities()),
            facts: form.into_iter().chain(fixed).chain(rest).collect(),
            task_ns: 10 * instance.cities().max(1) as u64,
            input: source.map(|source| source.digest.clone()),
            ..About::default()
        }
    }

    fn bag(&self) -> Bag {
        Bag::root(&self.search)
    }

    fn shared(&self) -> Incumbent {
        Incumbent::new(&self.search)
    }

    fn deliver(&self, found: &Found) -> Outcome {
        let (Some(best), instance) = (&found.best, self.search.instance()) else {
            return Ok(());
        };
        let tour = self.tour.as_ref().map_or(Ok(()), |file| {
            file.write(|out| write_tour(out, instance, &best.cities))
        });
        let picture = self.picture.as_ref().map_or(Ok(()), |file| {
            file.write(|out| draw_tour(out, instance, &best.cities))
        });
        tour.and(picture)
    }

    fn findings(&self, found: &Found, complete: bool) -> Findings {
        let Some(best) = &found.best else {
            return Findings::default();
        };
        // Counted from 1, as files count them.
        let tour: Vec<_> = best.cities.iter().map(|city| city + 1).collect();
        let is_optimum = complete && self.search.target().is_none();
        let label = match self.search.target() {
            None if complete => "optimum",
            Some(target) if complete && best.length > target => "none; longer",
            _ => "found",
        };
        let mut findings = Findings {
            verdict: self.verdict(best, complete),
            agrees: self.agrees(best),
            ..Findings::default()
        };
        let words: Vec<_> = tour.iter().map(u16::to_string).collect();
        findings.rows = vec![
            (label, grouped(best.length as u64)),
            ("tour", words.join(" ")),
            ("improvements", grouped(found.improvements)),
        ];
        let keys = [
            ("optimum", json!(is_optimum.then_some(best.length))),
            ("length", json!(best.length)),
            ("tour", json!(tour)),
            ("first_length", json!(self.search.first().length)),
            (
                "read_as",
                json!(self.source.as_ref().map(|source| &source.form)),
            ),
            ("fixed_edges", json!(self.search.instance().fixed_edges())),
            ("target", json!(self.search.target())),
            ("improvements", json!(found.improvements)),
        ];
        findings.json = object(keys);
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::app::read;
    use tautline_cli::tsp::sequential;

    fn trip(line: &str) -> Result<Trip, String> {
        read::<Tsp>(line)
    }

    #[test]
    fn a_result_is_checked_and_told() {
        let trip = trip("tsp --cities 9 -r 3 --plain").unwrap();
        let found = sequential(&trip.search);
        let findings = trip.findings(&found, true);
        assert_eq!(findings.verdict, Some(Ok(())));
        let optimum = held_karp(trip.search.instance()).unwrap();
        assert_eq!(findings.json["optimum"], json!(optimum));
        assert_eq!(findings.json["tour"].as_array().unwrap().len(), 9);
        assert_eq!(trip.findings(&found, false).verdict, None);

        let mut wrong = found.clone();
        let best = wrong.best.as_mut().unwrap();
        best.length += 1;
        let said = |found: &Found| trip.findings(found, true).verdict.unwrap().unwrap_err();
        assert_eq!(
            said(&wrong),
            format!("the tour is {optimum} long, not {}", optimum + 1)
        );
        let best = wrong.best.as_mut().unwrap();
        best.cities.swap(2, 5);
        best.length = trip.search.instance().length(&best.cities);
        assert!(best.length > optimum);
        assert!(
            said(&wrong).ends_with(&format!("the optimum is {optimum} by dynamic programming"))
        );
        wrong.best.as_mut().unwrap().cities[1] = 0;
        assert_eq!(said(&wrong), "the tour does not visit every city once");
    }

    #[test]
    fn files_are_checked_by_their_name() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tsplib/gr17.tsp");
        let trip = trip(&format!("tsp {file}")).unwrap();
        assert_eq!(trip.source.as_ref().unwrap().published, Some(2085));
        let findings = trip.findings(&sequential(&trip.search), true);
        assert_eq!(
            (findings.verdict, &findings.json["optimum"]),
            (Some(Ok(())), &json!(2085))
        );
    }

    #[test]
    fn distances_without_coordinates_are_not_drawn() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tsplib/gr17.tsp");
        let error = trip(&format!("tsp {file} --svg t.svg")).unwrap_err();
        assert!(
            error.contains("--svg t.svg: gr17 has distances only, no coordinates to draw"),
            "{error}"
        );
    }

    #[test]
    fn a_target_proves_itself_or_is_refuted() {
        for (target, verdict) in [(1_000_000, Some(Ok(()))), (1, Some(Ok(())))] {
            let trip = trip(&format!("tsp --cities 10 --target {target}")).unwrap();
            let findings = trip.findings(&sequential(&trip.search), true);
            assert_eq!(
                (findings.verdict, &findings.json["optimum"]),
                (verdict, &json!(null))
            );
        }
    }

    #[test]
    fn bad_options_are_one_line() {
        for (line, said) in [
            ("tsp --cities 2000", "tsp: 2000 cities: at most 1024"),
            ("tsp --side 0", "tsp: side 0: from 1 to 33554432"),
            ("tsp /nowhere.tsp", "/nowhere.tsp: No such file"),
            ("tsp --cities x", "a whole number, not negative"),
            ("tsp a.tsp --cities 4", "cannot be used with"),
            (
                "tsp --output /nowhere/a.tour",
                "--output /nowhere/a.tour: a file that can be written",
            ),
        ] {
            let error = trip(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
