//! Distributions of the times of iterations, with mean 1.

use crate::random::SplitMix;
use std::f64::consts::{PI, TAU};
use std::fmt;
use std::str::FromStr;

/// A distribution of the times of iterations. All have the same mean, which the caller chooses.
///
/// The random ones are those of Lucco 1995 (figures 4.3 to 4.6; spec 5.4); the others depend on the
/// position in the loop, x from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Distribution {
    /// All the same.
    Constant,
    /// Uniform from 0 to twice the mean: σ/μ = 0.58.
    Uniform,
    /// Exponential: σ/μ = 1.
    Exponential,
    /// Normal with this coefficient of variation, 0 where that is negative.
    Normal(f64),
    /// 60000 with probability 0.1, otherwise 200: σ/μ = 2.9.
    Long,
    /// 10 with probability 0.9, otherwise 1: σ/μ = 0.3.
    Short,
    /// 9.7 with probability 0.1, otherwise 0.03: σ/μ = 2.9.
    Bimodal,
    /// Proportional to x.
    Rising,
    /// Proportional to 1 − x.
    Falling,
    /// 0.2 + 4.5 exp(−((x − 0.4)/0.1)²).
    HotSpot,
    /// The first tenth has nine tenths of the work.
    Head,
}

/// The names, in the order in which they are listed.
const NAMED: [(&str, Distribution); 11] = [
    ("constant", Distribution::Constant),
    ("uniform", Distribution::Uniform),
    ("exponential", Distribution::Exponential),
    ("normal", Distribution::Normal(0.3)),
    ("long", Distribution::Long),
    ("short", Distribution::Short),
    ("bimodal", Distribution::Bimodal),
    ("rising", Distribution::Rising),
    ("falling", Distribution::Falling),
    ("hot-spot", Distribution::HotSpot),
    ("head", Distribution::Head),
];

impl Distribution {
    /// Returns all distributions; the normal one with the coefficient of variation 0.3.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMED.into_iter().map(|(_, distribution)| distribution)
    }

    /// Draws the time of the iteration at `x`, in means.
    pub(super) fn draw(self, x: f64, random: &mut SplitMix) -> f64 {
        let two = |unit: f64, p: f64, high: f64, low: f64| {
            let mean = p * high + (1.0 - p) * low;
            if unit < p { high / mean } else { low / mean }
        };
        match self {
            Self::Constant => 1.0,
            Self::Uniform => 2.0 * random.unit(),
            Self::Exponential => -(1.0 - random.unit()).ln(),
            Self::Normal(cv) => {
                // Box and Muller 1958.
                let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
                (1.0 + cv * radius * (TAU * random.unit()).cos()).max(0.0)
            }
            Self::Long => two(random.unit(), 0.1, 60_000.0, 200.0),
            Self::Short => two(random.unit(), 0.9, 10.0, 1.0),
            Self::Bimodal => two(random.unit(), 0.1, 9.7, 0.03),
            Self::Rising => 2.0 * x,
            Self::Falling => 2.0 * (1.0 - x),
            Self::HotSpot => {
                let mean = 0.2 + 0.45 * PI.sqrt();
                (0.2 + 4.5 * (-((x - 0.4) / 0.1).powi(2)).exp()) / mean
            }
            Self::Head => {
                if x < 0.1 {
                    9.0
                } else {
                    1.0 / 9.0
                }
            }
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, distribution)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*distribution);
        }
        let cv = text.strip_prefix("normal:").map(str::parse::<f64>);
        match cv {
            Some(Ok(cv)) if (0.0..=1.0).contains(&cv) => Ok(Self::Normal(cv)),
            Some(_) => Err("normal:CV with a coefficient of variation from 0 to 1".to_owned()),
            None => {
                let names: Vec<_> = NAMED.iter().map(|(name, _)| *name).collect();
                Err(format!("a distribution: {}, normal:CV", names.join(", ")))
            }
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMED.iter().find(|(_, named)| named == self)) {
            (_, Some((name, _))) => f.pad(name),
            (Self::Normal(cv), None) => f.pad(&format!("normal:{cv}")),
            (other, None) => unreachable!("{other:?} has a name"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for distribution in Distribution::all().chain([Distribution::Normal(0.75)]) {
            assert_eq!(distribution.to_string().parse(), Ok(distribution));
        }
        for wrong in ["", "gauss", "normal:", "normal:2", "normal:NaN"] {
            assert!(wrong.parse::<Distribution>().is_err(), "{wrong}");
        }
    }
}
