//! Static divisions and chunk policies by name.

use std::fmt;
use std::str::FromStr;
use tautline_core::taper::{Division, Policy, Q16, Taper};

/// A rule by which iterations are assigned to processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// Before the loop.
    Static(Division),
    /// The single chunk of Kruskal and Weiss (SSO), which follows from the times and the overhead.
    KruskalWeiss,
    /// A chunk at a time, from a shared counter.
    Policy(Policy),
}

/// The names, with the schemes that they denote.
const NAMED: [(&str, Scheme); 14] = [
    ("blocked", Scheme::Static(Division::Blocked)),
    ("cyclic", Scheme::Static(Division::Cyclic)),
    ("random", Scheme::Static(Division::Random { seed: 1 })),
    ("ss", Scheme::Policy(Policy::SelfScheduling)),
    ("sso", Scheme::KruskalWeiss),
    ("gss", Scheme::Policy(Policy::Guided)),
    ("fac", Scheme::Policy(Policy::Factoring)),
    ("tss", Scheme::Policy(Policy::Trapezoid)),
    ("taper", Scheme::Policy(Policy::Taper(ALPHA))),
    (
        "taper-exact",
        Scheme::Policy(Policy::Taper(Taper::exact(Q16::ratio(13, 10)))),
    ),
    (
        "taper-chebyshev",
        Scheme::Policy(Policy::Taper(Taper::chebyshev(Q16::ratio(1, 10)))),
    ),
    (
        "taper-3",
        Scheme::Policy(Policy::Taper(Taper::unmeasured())),
    ),
    ("distance", Scheme::Policy(Policy::Distance(ALPHA))),
    ("evenstart", Scheme::Policy(Policy::EvenStart(ALPHA))),
];

/// The α of all published results, 1.3 (Lucco 1995, 003:736).
const ALPHA: Taper = Taper::published(Q16::ratio(13, 10));

impl Scheme {
    /// Returns all schemes that need no parameter.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMED.into_iter().map(|(_, scheme)| scheme)
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, scheme)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*scheme);
        }
        match text.strip_prefix("fixed:").map(str::parse) {
            Some(Ok(chunk @ 1..)) => Ok(Self::Policy(Policy::Fixed(chunk))),
            Some(_) => Err("fixed:K with a chunk of at least 1 iteration".to_owned()),
            None => {
                let names: Vec<_> = NAMED.iter().map(|(name, _)| *name).collect();
                Err(format!("a policy: {}, fixed:K", names.join(", ")))
            }
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (NAMED.iter().find(|(_, named)| named == self), self) {
            (Some((name, _)), _) => f.pad(name),
            (None, Self::Policy(Policy::Fixed(chunk))) => f.pad(&format!("fixed:{chunk}")),
            (None, other) => f.pad(&format!("{other:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for scheme in Scheme::all().chain([Scheme::Policy(Policy::Fixed(7))]) {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
        for wrong in ["", "guided?", "fixed:", "fixed:0", "fixed:-1"] {
            assert!(wrong.parse::<Scheme>().is_err(), "{wrong}");
        }
    }
}
