//! The balancer's rules as options and variables spell them.
#![forbid(unsafe_code)]

use std::fmt;
use std::str::FromStr;
use tautline_core::glb::{Fairness, Grain, Steal};
use tautline_core::grain::{GRAIN_MAX, Rule, Tuning};
use tautline_core::lifeline::Graph;

/// The lifeline graphs, in words.
pub(super) const LIFELINES: &str =
    "auto, ring, full, hypercube:H with a radix H from 2, or dimension:Z from 1";
/// The shares of a thief.
pub(super) const STEAL: &str = "half, or a count from 1";
/// The tasks between two polls.
pub(super) const GRAIN: &str = "auto, merge-empty, split-merge, a number from 1, or frozen:N";
/// The workers that serve messages.
pub(super) const FAIRNESS: &str = "inline, yield, one-core-free, or never";

/// A graph, or what determines it once the number of places is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifelines {
    /// This graph.
    Graph(Graph),
    /// The hypercube of this number of dimensions with the least radix.
    Dimensions(u32),
}

impl From<Graph> for Lifelines {
    fn from(graph: Graph) -> Self {
        Self::Graph(graph)
    }
}

impl Lifelines {
    /// The graph of this number of places.
    ///
    /// ```
    /// use tautline::balance::Graph;
    /// use tautline::internal::spelling::Lifelines;
    ///
    /// assert_eq!(Lifelines::Graph(Graph::Ring).of(8), Graph::Ring);
    /// assert_eq!(Lifelines::Dimensions(3).of(8), Graph::Hypercube { radix: 2 });
    /// ```
    pub fn of(self, places: u32) -> Graph {
        match self {
            Self::Graph(graph) => graph,
            Self::Dimensions(dimensions) => Graph::of_dimensions(dimensions, places),
        }
    }
}

/// Parses a number that is not negative, for a setting that allows `MOST`. Bounds within `T` are
/// checked by the setting, which knows them all; a larger number is refused by the same bound.
///
/// ```
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::whole::<u8, 255>("12"), Ok(12));
/// assert_eq!(spelling::whole::<u8, 255>("300"), Err("at most 255".to_owned()));
/// ```
///
/// # Errors
/// The allowed values.
pub fn whole<T: FromStr, const MOST: u64>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("at most {MOST}"),
            false => "a whole number, not negative".to_owned(),
        }
    })
}

/// The values of a switch, in words.
pub(super) const TRUTH: &str = "1, true, 0 or false";

/// Parses the value of a switch.
///
/// ```
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::truth("1"), Ok(true));
/// assert_eq!(spelling::truth("yes"), Err("1, true, 0 or false".to_owned()));
/// ```
///
/// # Errors
/// The allowed values.
pub fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(TRUTH.to_owned()),
    }
}

/// Parses the number of random steals; `None` is `auto`.
///
/// ```
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::random_steals("3"), Ok(Some(3)));
/// assert_eq!(spelling::random_steals("auto"), Ok(None));
/// ```
///
/// # Errors
/// The allowed values.
pub fn random_steals(text: &str) -> Result<Option<usize>, String> {
    const MOST: u64 = u32::MAX as u64;
    match text {
        "auto" => Ok(None),
        _ => match whole::<u32, MOST>(text) {
            Ok(tries) => Ok(Some(tries as usize)),
            Err(reason) if reason.starts_with("at most") => Err(reason),
            Err(_) => Err("auto, or a whole number, not negative".to_owned()),
        },
    }
}

/// Parses a lifeline graph; `None` is `auto`.
///
/// ```
/// use tautline::balance::Graph;
/// use tautline::internal::spelling::{self, Lifelines};
///
/// assert_eq!(spelling::lifelines("ring"), Ok(Some(Lifelines::Graph(Graph::Ring))));
/// assert!(spelling::lifelines("star").is_err());
/// ```
///
/// # Errors
/// The allowed values.
pub fn lifelines(text: &str) -> Result<Option<Lifelines>, String> {
    if text == "auto" {
        return Ok(None);
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
    let lifelines = graph.map(Lifelines::Graph);
    let lifelines = lifelines.or(dimensions.map(Lifelines::Dimensions));
    lifelines.map(Some).ok_or_else(|| LIFELINES.to_owned())
}

/// Parses what a thief gets.
///
/// ```
/// use tautline::balance::Steal;
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::steal("7"), Ok(Steal::Count(7)));
/// ```
///
/// # Errors
/// The allowed values.
pub fn steal(text: &str) -> Result<Steal, String> {
    let count = || text.parse().map(Steal::Count);
    match text {
        "half" => Ok(Steal::Half),
        _ => count().map_err(|_| STEAL.to_owned()),
    }
}

/// Parses the tasks between two polls.
///
/// ```
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::grain("511").unwrap().initial(), 511);
/// assert!(spelling::grain("coarse").unwrap_err().starts_with("auto, "));
/// ```
///
/// # Errors
/// The allowed values.
pub fn grain(text: &str) -> Result<Grain, String> {
    const MOST: u64 = GRAIN_MAX as u64;
    let tasks = |text: &str| {
        whole::<usize, MOST>(text).map_err(|reason| match reason.starts_with("at most") {
            true => reason,
            false => GRAIN.to_owned(),
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

/// Parses which worker serves messages.
///
/// ```
/// use tautline::balance::Fairness;
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::fairness("inline"), Ok(Fairness::Inline));
/// ```
///
/// # Errors
/// The allowed values.
pub fn fairness(text: &str) -> Result<Fairness, String> {
    let known = [
        Fairness::Inline,
        Fairness::Yield,
        Fairness::OneCoreFree,
        Fairness::Never,
    ];
    let named = |fairness: &Fairness| Spelled(*fairness).to_string() == text;
    let found = known.into_iter().find(named);
    found.ok_or_else(|| FAIRNESS.to_owned())
}

/// Parses a seed.
///
/// ```
/// use tautline::internal::spelling;
///
/// assert_eq!(spelling::seed("42"), Ok(42));
/// ```
///
/// # Errors
/// The allowed values.
pub fn seed(text: &str) -> Result<u64, String> {
    whole::<u64, { u64::MAX }>(text)
}

/// A setting as options and variables spell it.
///
/// ```
/// use tautline::balance::Graph;
/// use tautline::internal::spelling::Spelled;
///
/// assert_eq!(Spelled(Graph::Hypercube { radix: 2 }).to_string(), "hypercube:2");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Spelled<T>(pub T);

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
