//! Default settings of the balancer, and their reasons.
//!
//! The rules are derived from simulations, which `apps/tables/defaults.md` shows with the commands that
//! repeat them. A machine enters by its places and workers: the latency of its network, from a torus of
//! microseconds to the 35 of Ethernet, changes the best settings less than the seed does.
#![forbid(unsafe_code)]

use crate::spelling::Spelled;
use std::fmt;
use tautline_core::glb::{Config, Grain, Steal};
use tautline_core::grain::Rule;
use tautline_core::lifeline::Graph;

/// Up to this many places the binary hypercube is the best graph.
const BINARY_PLACES: u32 = 8192;

/// Returns the number of random steals: one for each doubling of the places. With fewer, many places become quiet after a
/// bad guess and wait; additional ones find little and are served by places that have work.
///
/// ```
/// use tautline::choice::random_steals;
///
/// assert_eq!([1, 2, 64, 1024].map(random_steals), [1, 1, 6, 10]);
/// ```
pub fn random_steals(places: u32) -> usize {
    places.max(2).next_power_of_two().trailing_zeros() as usize
}

/// Returns the lifeline graph: the binary hypercube; for very many places one with fewer dimensions, as every quiet place
/// has sent requests along all of them.
///
/// ```
/// use tautline::{choice::lifelines, glb::Graph};
///
/// assert_eq!(lifelines(64), Graph::Hypercube { radix: 2 });
/// assert_eq!(lifelines(100_000), Graph::Hypercube { radix: 8 });
/// ```
pub fn lifelines(places: u32) -> Graph {
    let radix = if places <= BINARY_PLACES { 2 } else { 8 };
    Graph::Hypercube { radix }
}

/// The share of a thief: half, the only amount that performs acceptably on every tree.
pub const STEAL: Steal = Steal::Half;

/// A setting, its value, where that came from, and why.
///
/// ```
/// let runtime = tautline::Runtime::builder().workers(2).build()?;
/// let workers = runtime.explain().into_iter().find(|choice| choice.setting == "workers").unwrap();
/// assert_eq!(workers.value, "2");
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: String,
    /// Where the value came from.
    pub source: Source,
    /// The default, and its reason.
    pub why: String,
}

/// Where the value of a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A rule of the runtime.
    Rule,
    /// Detected on this machine.
    Detected,
    /// The program, or an option.
    Asked,
    /// This variable of the environment.
    Variable(&'static str),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rule => "rule",
            Self::Detected => "detected",
            Self::Asked => "as asked",
            Self::Variable(name) => name,
        })
    }
}

impl Choice {
    /// A value that nothing was asked about: the text of `why` begins with it.
    ///
    /// ```
    /// use tautline::choice::{Choice, Source};
    ///
    /// let degree = Choice::chosen("degree", 4, Source::Rule, "4, one leaf".to_owned());
    /// assert_eq!(degree.to_string(), "4, one leaf [rule]");
    /// ```
    pub fn chosen(
        setting: &'static str,
        value: impl ToString,
        source: Source,
        why: String,
    ) -> Self {
        Self {
            setting,
            value: value.to_string(),
            source,
            why,
        }
    }

    /// Whether no value was requested, so that the runtime chose it.
    ///
    /// ```
    /// use tautline::choice::{Choice, Source};
    ///
    /// let choice = |source| Choice::chosen("grain", 511, source, String::new());
    /// assert!(choice(Source::Detected).is_chosen() && !choice(Source::Asked).is_chosen());
    /// ```
    pub fn is_chosen(&self) -> bool {
        matches!(self.source, Source::Rule | Source::Detected)
    }
}

/// The reason, and the source; of a requested value, the value, the source, and what would be chosen
/// otherwise.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            value, source, why, ..
        } = self;
        match self.is_chosen() {
            true => write!(f, "{why} [{source}]"),
            false if why.is_empty() => write!(f, "{value} [{source}]"),
            false => write!(f, "{value} [{source}]; else {why}"),
        }
    }
}

/// Explains the rules of `config`, with [`Source::Asked`] where another value than the chosen one is set.
///
/// ```
/// use tautline::choice::explain;
/// use tautline::glb::Glb;
///
/// for choice in explain(&Glb::new().places(64).workers(1).config()?) {
///     println!("{}: {choice}", choice.setting);
/// }
/// # Ok::<(), tautline::Error>(())
/// ```
pub fn explain(config: &Config) -> Vec<Choice> {
    let places = config.places;
    let choice = |setting, value: String, chosen, why| Choice {
        setting,
        value,
        source: if chosen { Source::Rule } else { Source::Asked },
        why,
    };
    let Graph::Hypercube { radix } = lifelines(places) else {
        unreachable!("a hypercube is chosen, above");
    };
    let measured = matches!(config.grain, Grain::Tuned(tuning) if tuning.rule == Rule::Direct && !tuning.frozen);
    vec![
        choice(
            "random steals",
            config.random_steals.to_string(),
            config.random_steals == random_steals(places),
            format!(
                "{}, one for each doubling of the places ({places}): with 1, simulated trees on 1024 places lose up \
                 to a tenth; with more than 16 nothing is gained",
                random_steals(places)
            ),
        ),
        choice(
            "lifelines",
            Spelled(config.lifelines).to_string(),
            config.lifelines == lifelines(places),
            format!(
                "hypercube:{radix}: 2 has the highest efficiency on 1024 places; 8 above {BINARY_PLACES} places \
                 saves messages"
            ),
        ),
        choice(
            "steal",
            Spelled(config.steal).to_string(),
            config.steal == STEAL,
            "half: on 1024 places 7 tasks are better by 4 points of efficiency where the work is near the \
             root, and worse by 14 where it is not"
                .to_owned(),
        ),
        choice(
            "grain",
            Spelled(config.grain).to_string(),
            measured,
            "measured at each place: an empty look outside takes one part in 64 of the time at most, more \
             only where workers wait for work, at this place or at others"
                .to_owned(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_random_steal_for_each_doubling() {
        let all = [1, 2, 3, 4, 5, 1024, 1025, 131_072].map(random_steals);
        assert_eq!(all, [1, 1, 2, 2, 3, 10, 11, 17]);
    }

    #[test]
    fn a_place_never_has_many_lifelines() {
        for places in [2, 1024, 8192, 8193, 131_072] {
            let graph = lifelines(places);
            let out = graph.outgoing(crate::glb::PlaceId(0), places).count();
            assert!(out <= 13, "{places}: {out}");
        }
    }

    #[test]
    fn what_was_asked_for_is_told_from_what_was_chosen() {
        let config = Config {
            places: 64,
            random_steals: 6,
            grain: 511.into(),
            ..Config::default()
        };
        let chosen: Vec<_> = explain(&config).iter().map(Choice::is_chosen).collect();
        assert_eq!(chosen, [true, true, true, false]);
    }
}
