//! The methods by name.

use std::fmt;
use std::str::FromStr;
use tautline_core::defer::Geometry;
use tautline_core::taper::{Policy, Q16, Taper};

/// The method by which ranks balance a loop.
///
/// | name | method |
/// |---|---|
/// | `blocked` | not at all |
/// | `ss`, `fac`, `gss`, `taper` | self-scheduling by epochs |
/// | these with `-cached` | by the work that the instance before predicts |
/// | `placed` | factoring by predicted work, from where iterations were executed before |
/// | `dlb`, `dlb-free` | deferred load balancing, of contiguous blocks or of any iterations |
/// | `dlb-paced`, `dlb-free-paced` | the same with reports at TAPER's pace |
/// | `auto` | what the library chooses by the coherence of the instances so far |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// Each rank executes its block.
    Blocked,
    /// Self-scheduling by number.
    Counted(Policy),
    /// Self-scheduling by predicted work.
    Cached(Policy),
    /// Self-scheduling by predicted work from where iterations were executed before.
    Placed(Policy),
    /// Deferred load balancing, with reports at a pace, or one an instance.
    Deferred(Geometry, Option<Taper>),
    /// The choice of the library.
    Auto {
        /// Whether iterations communicate with their neighbours.
        communicates: bool,
    },
}

const POLICIES: [(&str, Policy); 4] = [
    ("ss", Policy::SelfScheduling),
    ("fac", Policy::Factoring),
    ("gss", Policy::Guided),
    ("taper", Policy::Taper(TAPER)),
];

/// The α of all published results, 1.3 (Lucco 1995, 003:736).
const TAPER: Taper = Taper::published(Q16::ratio(13, 10));

const OTHERS: [(&str, Method); 7] = [
    ("blocked", Method::Blocked),
    ("placed", Method::Placed(Policy::Factoring)),
    ("dlb", Method::Deferred(Geometry::Contiguous, None)),
    (
        "dlb-paced",
        Method::Deferred(Geometry::Contiguous, Some(TAPER)),
    ),
    ("dlb-free", Method::Deferred(Geometry::Free, None)),
    (
        "dlb-free-paced",
        Method::Deferred(Geometry::Free, Some(TAPER)),
    ),
    (
        "auto",
        Method::Auto {
            communicates: false,
        },
    ),
];

impl Method {
    /// Returns all methods with their names.
    pub fn all() -> impl Iterator<Item = (String, Self)> {
        let (blocked, others) = OTHERS.split_at(1);
        let named = |(name, method): &(&str, Self)| ((*name).to_owned(), *method);
        let plain = POLICIES.map(|(name, policy)| (name.to_owned(), Self::Counted(policy)));
        let cached = |name| format!("{name}-cached");
        let by_work = POLICIES.map(|(name, policy)| (cached(name), Self::Cached(policy)));
        let first = blocked.iter().map(named).chain(plain).chain(by_work);
        first.chain(others.iter().map(named))
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::all().find(|(name, _)| name == text);
        found.map(|(_, method)| method).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|(name, _)| name).collect();
            format!("a method over ranks: {}", names.join(", "))
        })
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let same = |method: &Self| match (method, self) {
            (Self::Auto { .. }, Self::Auto { .. }) => true,
            (a, b) => a == b,
        };
        match Self::all().find(|(_, method)| same(method)) {
            Some((name, _)) => f.pad(&name),
            None => f.pad(&format!("{self:?}")),
        }
    }
}
