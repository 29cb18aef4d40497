//! The options of the balancer, for every command that runs it.

use clap::{Args, ValueEnum};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tautline::choice;
use tautline::glb::{Config, Control, Fairness, Glb, Grain, Graph, Rule, Steal, Tuning};
use tautline::pinning::{Bind, Pinning, PlaceList};
use tautline::runtime::Builder;
use tautline_core::lifeline::Crew;

const PLACES_MAX: u64 = <Glb>::THREADS_MAX as u64;
const WORKERS_MAX: u64 = Crew::MAX as u64;
const RANDOM_STEALS_MAX: u64 = u32::MAX as u64;
const GRAIN_MAX: u64 = <Glb>::GRAIN_MAX as u64;
/// In less a run has hardly begun.
const DEADLINE_MIN_NS: u64 = 1_000_000;
/// Some three years.
const SECONDS_MAX: Duration = Duration::from_secs(100_000_000);

/// How the work is balanced.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
pub(super) struct Balancer {
    /// Places: shares of the machine that exchange work by messages [default: as few as the workers need]
    #[arg(long, value_name = "P", env = "TAUTLINE_PLACES")]
    #[arg(value_parser = places, allow_hyphen_values = true, hide_env_values = true)]
    places: Option<u32>,
    /// Processors to pin the workers to, a list as in OMP_PLACES: cores, sockets(1), {0:4},{8:4}
    #[arg(long, value_name = "LIST", env = "TAUTLINE_PIN")]
    #[arg(value_parser = list, allow_hyphen_values = true, hide_env_values = true)]
    pin: Option<PlaceList>,
    /// Workers of a place, 1 to 64 [default: the allowed processors, divided among the places]
    #[arg(long, value_name = "W", env = "TAUTLINE_WORKERS")]
    #[arg(value_parser = whole::<usize, WORKERS_MAX>, allow_negative_numbers = true, hide_env_values = true)]
    workers: Option<usize>,
    #[command(flatten)]
    rules: Rules,
    /// Let the system move workers between processors
    #[arg(long, env = "TAUTLINE_NO_PIN", hide_env_values = true)]
    no_pin: bool,
    /// Stop after this many seconds, and show the partial result
    #[arg(
        long,
        value_name = "SECONDS",
        env = "TAUTLINE_DEADLINE",
        hide_env_values = true
    )]
    #[arg(value_parser = seconds::<DEADLINE_MIN_NS>, allow_negative_numbers = true)]
    deadline: Option<Duration>,
}

/// The options of places, on threads and simulated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Balancer")]
pub(super) struct Rules {
    /// Random steals before a place uses its lifelines
    #[arg(
        short = 'w',
        long,
        value_name = "auto|N",
        env = "TAUTLINE_RANDOM_STEALS",
        default_value = "auto"
    )]
    #[arg(value_parser = random_steals, allow_negative_numbers = true, hide_env_values = true)]
    random_steals: Tries,
    /// Lifeline graph: by the number of places (auto), ring, full, hypercube:H with radix H, or dimension:Z, the hypercube of Z
    /// dimensions with the least radix
    #[arg(
        long,
        value_name = "GRAPH",
        env = "TAUTLINE_LIFELINES",
        default_value = "auto"
    )]
    #[arg(value_parser = lifelines, hide_env_values = true)]
    lifelines: Lifelines,
    /// What a thief gets: half, or this number of tasks
    #[arg(
        long,
        value_name = "half|K",
        env = "TAUTLINE_STEAL",
        default_value = "half"
    )]
    #[arg(value_parser = steal, allow_negative_numbers = true, hide_env_values = true)]
    steal: Steal,
    /// Tasks between two polls: measured (auto), by a rule of Finnerty's from 10 on (merge-empty,
    /// split-merge), fixed (N), or frozen:N (fixed; the tuner runs but its result is ignored)
    #[arg(
        short = 'n',
        long,
        value_name = "auto|RULE|N",
        env = "TAUTLINE_GRAIN",
        default_value = "auto"
    )]
    #[arg(value_parser = grain, allow_negative_numbers = true, hide_env_values = true)]
    grain: Grain,
    /// The thread that serves messages while all workers of a place are busy
    #[arg(
        long,
        env = "TAUTLINE_FAIRNESS",
        default_value = "inline",
        hide_env_values = true
    )]
    fairness: Service,
    /// Seed of the choice of victims
    #[arg(long, value_name = "N", env = "TAUTLINE_SEED", default_value = "1")]
    #[arg(value_parser = whole::<u64, { u64::MAX }>, allow_negative_numbers = true, hide_env_values = true)]
    seed: u64,
}

/// Returns the requested number of random steals, if any.
#[derive(Clone, Copy, Debug)]
struct Tries(Option<u32>);

/// A graph, or what it is found by once the number of places is known.
#[derive(Clone, Copy, Debug)]
enum Lifelines {
    /// What suits this number of places.
    Auto,
    Graph(Graph),
    /// The hypercube of this number of dimensions.
    Dimensions(u32),
}

/// [`Fairness`] in the spelling of the command line.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Service {
    /// A worker, between two grains
    Inline,
    /// One worker yields until another thread has served them
    Yield,
    /// One worker fewer: its thread only serves messages
    OneCoreFree,
    /// No thread, until a worker runs dry
    Never,
}

impl Balancer {
    /// Returns the computation that the options describe, on this machine.
    ///
    /// # Errors
    /// A list of places without an allowed processor.
    pub(super) fn glb<'a>(&self, control: &'a Control) -> Result<Glb<'a>, tautline::Error> {
        let mut builder = Builder::new();
        if let Some(list) = &self.pin {
            builder = self.pinned_to(list, builder)?;
        }
        if self.no_pin {
            builder = builder.pinned(false);
        }
        let mut glb = Glb::with(builder);
        if let Some(places) = self.places {
            glb = glb.places(places);
        }
        if let Some(workers) = self.workers {
            glb = glb.workers(workers);
        }
        if let Some(deadline) = self.deadline {
            glb = glb.deadline(deadline);
        }
        let places = glb.plan()?.balancing.places;
        Ok(self.rules.of(glb, places).control(control))
    }

    fn pinned_to(&self, list: &PlaceList, builder: Builder) -> Result<Builder, tautline::Error> {
        let pinning = Pinning::listed(builder.machine(), list, Bind::Close)?;
        Ok(builder.pinning(pinning))
    }
}

impl Rules {
    /// Applies these rules to `glb`, for `places` places.
    pub(super) fn of<'a>(&self, glb: Glb<'a>, places: u32) -> Glb<'a> {
        glb.random_steals(self.random_steals(places))
            .lifelines(self.lifelines(places))
            .steal(self.steal)
            .grain(self.grain)
            .seed(self.seed)
            .fairness(self.fairness())
    }

    /// Returns the number of random steals, for `places` places.
    pub(super) fn random_steals(&self, places: u32) -> usize {
        let Tries(asked) = self.random_steals;
        asked.map_or_else(|| choice::random_steals(places), |tries| tries as usize)
    }

    /// Returns the lifelines, for `places` places.
    pub(super) fn lifelines(&self, places: u32) -> Graph {
        match self.lifelines {
            Lifelines::Auto => choice::lifelines(places),
            Lifelines::Graph(graph) => graph,
            Lifelines::Dimensions(dimensions) => Graph::of_dimensions(dimensions, places),
        }
    }

    /// Returns which thread serves messages while all workers of a place are busy.
    pub(super) fn fairness(&self) -> Fairness {
        match self.fairness {
            Service::Inline => Fairness::Inline,
            Service::Yield => Fairness::Yield,
            Service::OneCoreFree => Fairness::OneCoreFree,
            Service::Never => Fairness::Never,
        }
    }
}

/// A number that is not negative, for a setting that allows `MOST`. What fits `T` is left to the setting,
/// which knows all its bounds; what does not is refused by the same bound.
pub(super) fn whole<T: FromStr, const MOST: u64>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("at most {MOST}"),
            false => "a whole number, not negative".to_owned(),
        }
    })
}

fn places(text: &str) -> Result<u32, String> {
    whole::<u32, PLACES_MAX>(text)
}

fn list(text: &str) -> Result<PlaceList, String> {
    text.parse()
        .map_err(|error: tautline::pinning::ListError| error.to_string())
}

fn random_steals(text: &str) -> Result<Tries, String> {
    match text {
        "auto" => Ok(Tries(None)),
        _ => match whole::<u32, RANDOM_STEALS_MAX>(text) {
            Ok(tries) => Ok(Tries(Some(tries))),
            Err(reason) if reason.starts_with("at most") => Err(reason),
            Err(_) => Err("auto, or a whole number, not negative".to_owned()),
        },
    }
}

fn lifelines(text: &str) -> Result<Lifelines, String> {
    if text == "auto" {
        return Ok(Lifelines::Auto);
    }
    let graph = match text.split_once(':') {
        None if text == "ring" => Some(Graph::Ring),
        None if text == "full" => Some(Graph::Full),
        // The radix itself is checked with all other settings.
        Some(("hypercube", radix)) => radix.parse().ok().map(|radix| Graph::Hypercube { radix }),
        _ => None,
    };
    let dimensions = text.strip_prefix("dimension:");
    let dimensions = dimensions.and_then(|z| z.parse().ok()).filter(|&z| z > 0);
    graph
        .map(Lifelines::Graph)
        .or(dimensions.map(Lifelines::Dimensions))
        .ok_or_else(|| {
            "auto, ring, full, hypercube:H with a radix H from 2, or dimension:Z from 1".to_owned()
        })
}

fn grain(text: &str) -> Result<Grain, String> {
    let tasks = |text: &str| {
        whole::<usize, GRAIN_MAX>(text).map_err(|reason| match reason.starts_with("at most") {
            true => reason,
            false => "auto, merge-empty, split-merge, a number from 1, or frozen:N".to_owned(),
        })
    };
    Ok(match text {
        "auto" => Grain::default(),
        "merge-empty" => Tuning::thesis(Rule::MergeEmpty).into(),
        "split-merge" => Tuning::thesis(Rule::SplitMerge).into(),
        _ => match text.strip_prefix("frozen:") {
            Some(fixed) => Tuning::frozen(tasks(fixed)?).into(),
            None => tasks(text)?.into(),
        },
    })
}

fn steal(text: &str) -> Result<Steal, String> {
    match text {
        "half" => Ok(Steal::Half),
        _ => text
            .parse()
            .map(Steal::Count)
            .map_err(|_| "half, or a count from 1".to_owned()),
    }
}

/// Parses a time of at least `LEAST` nanoseconds, given in seconds.
pub(super) fn seconds<const LEAST: u64>(text: &str) -> Result<Duration, String> {
    let least = Duration::from_nanos(LEAST);
    let seconds = text.parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| (least..=SECONDS_MAX).contains(time))
        .ok_or_else(|| {
            let (least, most) = (least.as_secs_f64(), SECONDS_MAX.as_secs());
            format!("seconds, from {least} to {most}")
        })
}

/// A setting in the spelling of the command line.
pub(super) struct Spelled<T>(pub T);

impl fmt::Display for Spelled<Graph> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Graph::Ring => f.write_str("ring"),
            Graph::Full => f.write_str("full"),
            Graph::Hypercube { radix } => write!(f, "hypercube:{radix}"),
        }
    }
}

impl fmt::Display for Spelled<Steal> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Steal::Half => f.write_str("half"),
            Steal::Count(tasks) => write!(f, "{tasks}"),
        }
    }
}

impl fmt::Display for Spelled<Grain> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Grain::Fixed(tasks) => write!(f, "{tasks}"),
            Grain::Tuned(Tuning {
                frozen: true,
                initial,
                ..
            }) => write!(f, "frozen:{initial}"),
            Grain::Tuned(tuning) => f.write_str(match tuning.rule {
                Rule::Direct => "auto",
                Rule::MergeEmpty => "merge-empty",
                Rule::SplitMerge => "split-merge",
            }),
        }
    }
}

impl fmt::Display for Spelled<Fairness> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Fairness::Inline => "inline",
            Fairness::Yield => "yield",
            Fairness::OneCoreFree => "one-core-free",
            Fairness::Never => "never",
        })
    }
}

/// Returns the settings in one line.
pub(super) fn line(config: &Config) -> String {
    format!(
        "random steals {}, lifelines {}, steal {}, grain {}, fairness {}, seed {}",
        config.random_steals,
        Spelled(config.lifelines),
        Spelled(config.steal),
        Spelled(config.grain),
        Spelled(config.fairness),
        config.seed
    )
}

/// Returns the settings and their reasons, as rows of a table.
pub(super) fn reasons(config: &Config) -> Vec<(&'static str, String)> {
    let row = |choice: choice::Choice| {
        let how = if choice.chosen { "" } else { "as asked; else " };
        (choice.setting, format!("{how}{}", choice.why))
    };
    choice::explain(config).into_iter().map(row).collect()
}

/// Returns the settings as data.
pub(super) fn json(config: &Config) -> serde_json::Value {
    serde_json::json!({
        "random_steals": config.random_steals,
        "lifelines": Spelled(config.lifelines).to_string(),
        "steal": Spelled(config.steal).to_string(),
        "grain": match config.grain {
            Grain::Fixed(tasks) => tasks.into(),
            tuned @ Grain::Tuned(_) => serde_json::Value::from(Spelled(tuned).to_string()),
        },
        "fairness": Spelled(config.fairness).to_string(),
        "seed": config.seed,
    })
}
