//! The balancer's rules that the program, options or variables ask for.
#![forbid(unsafe_code)]

use crate::choice;
use crate::spelling::Lifelines;
use tautline_core::glb::{Config, Fairness, Grain, Steal};
use tautline_core::grain::GRAIN_MAX;
use tautline_core::lifeline::Graph;

/// The variable that sets the number of random steals.
pub const RANDOM_STEALS_VARIABLE: &str = "TAUTLINE_RANDOM_STEALS";
/// The variable that sets the lifeline graph.
pub const LIFELINES_VARIABLE: &str = "TAUTLINE_LIFELINES";
/// The variable that sets what a thief gets.
pub const STEAL_VARIABLE: &str = "TAUTLINE_STEAL";
/// The variable that sets the tasks between two polls.
pub const GRAIN_VARIABLE: &str = "TAUTLINE_GRAIN";
/// The variable that sets which worker serves messages.
pub const FAIRNESS_VARIABLE: &str = "TAUTLINE_FAIRNESS";
/// The variable that sets the seed of the choice of victims.
pub const SEED_VARIABLE: &str = "TAUTLINE_SEED";

/// The requested rules; the others are chosen by the number of places ([`choice`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Steals tried at random before a place turns to its lifelines.
    pub random_steals: Option<usize>,
    /// The lifeline graph.
    pub lifelines: Option<Lifelines>,
    /// What a thief gets.
    pub steal: Option<Steal>,
    /// Tasks between two polls.
    pub grain: Option<Grain>,
    /// Which worker serves messages while all workers of a place are busy.
    pub fairness: Option<Fairness>,
    /// The seed of the choice of victims.
    pub seed: Option<u64>,
}

impl Rules {
    /// These rules, and those of `others` where none is set here.
    ///
    /// ```
    /// use tautline::rules::Rules;
    ///
    /// let program = Rules { seed: Some(1), ..Rules::default() };
    /// let environment = Rules { seed: Some(2), random_steals: Some(3), ..Rules::default() };
    /// let rules = program.or(&environment);
    /// assert_eq!((rules.seed, rules.random_steals), (Some(1), Some(3)));
    /// ```
    #[must_use]
    pub fn or(self, others: &Self) -> Self {
        Self {
            random_steals: self.random_steals.or(others.random_steals),
            lifelines: self.lifelines.or(others.lifelines),
            steal: self.steal.or(others.steal),
            grain: self.grain.or(others.grain),
            fairness: self.fairness.or(others.fairness),
            seed: self.seed.or(others.seed),
        }
    }

    /// All parameters for the places and workers of `shape`.
    ///
    /// ```
    /// use tautline::glb::Config;
    /// use tautline::rules::Rules;
    ///
    /// let shape = Config { places: 64, workers: 1, ..Config::default() };
    /// assert_eq!(Rules::default().over(shape).random_steals, 6);
    /// ```
    pub fn over(&self, shape: Config) -> Config {
        let (places, default) = (shape.places, Config::default());
        let lifelines = self.lifelines.map(|lifelines| lifelines.of(places));
        let random_steals = self.random_steals;
        Config {
            random_steals: random_steals.unwrap_or_else(|| choice::random_steals(places)),
            lifelines: lifelines.unwrap_or_else(|| choice::lifelines(places)),
            steal: self.steal.unwrap_or(choice::STEAL),
            grain: self.grain.unwrap_or(default.grain),
            fairness: self.fairness.unwrap_or(default.fairness),
            seed: self.seed.unwrap_or(default.seed),
            ..shape
        }
    }
}

/// A parameter out of its bounds: its name, its value, and what is allowed.
pub(crate) type Refusal = (&'static str, String, String);

/// Checks what holds wherever the computation runs, except for the number of workers.
pub(crate) fn check(config: &Config) -> Result<(), Refusal> {
    let grain = config.grain.initial();
    if !(1..=GRAIN_MAX).contains(&grain) {
        return Err(("grain", grain.to_string(), format!("from 1 to {GRAIN_MAX}")));
    }
    if config.steal == Steal::Count(0) {
        let allowed = "half, or a count from 1".to_owned();
        return Err(("steal", "0".to_owned(), allowed));
    }
    if let Graph::Hypercube {
        radix: radix @ 0..2,
    } = config.lifelines
    {
        let allowed = "ring, full, or hypercube:H with a radix H from 2".to_owned();
        return Err(("lifelines", format!("hypercube:{radix}"), allowed));
    }
    let least = 2 * config.places as usize;
    if config.fairness == Fairness::OneCoreFree && config.all_workers() < least {
        let allowed = "at least 2 workers a place: one of them only serves messages".to_owned();
        return Err(("fairness", "one-core-free".to_owned(), allowed));
    }
    Ok(())
}

/// Returns the parameters for fewer workers in the same places, of which each keeps as many as it must have.
pub(crate) fn reduced(config: Config, workers: usize) -> Config {
    let reduced = config.divided(config.places, workers.max(config.places as usize));
    match check(&reduced) {
        Ok(()) => reduced,
        // A worker of each place only serves messages.
        Err(_) => config.divided(config.places, 2 * config.places as usize),
    }
}

/// The variable that sets a parameter which [`check`] refuses.
pub(crate) fn variable(setting: &str) -> Option<&'static str> {
    match setting {
        "random steals" => Some(RANDOM_STEALS_VARIABLE),
        "lifelines" => Some(LIFELINES_VARIABLE),
        "steal" => Some(STEAL_VARIABLE),
        "grain" => Some(GRAIN_VARIABLE),
        "fairness" => Some(FAIRNESS_VARIABLE),
        "seed" => Some(SEED_VARIABLE),
        _ => None,
    }
}
