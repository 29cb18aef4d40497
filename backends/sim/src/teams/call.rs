//! The calls of a team by name, and their counts.

use super::costs::log;
use std::fmt;
use std::str::FromStr;
use tautline_core::collective::Pairs;

/// A collective call of a team.
///
/// | name | along | ends at a rank when |
/// |---|---|---|
/// | `barrier`, `all-reduce`, `all-gather`, `scan` | the tree, up and down | the result comes down |
/// | `reduce`, `gather` | the tree, up | its value is sent; rank 0 has all |
/// | `broadcast`, `scatter` | the tree, down | its value comes |
/// | `all-reduce-pairs` | pairs, of at most 16 ranks | its last round ends |
/// | `all-to-all` | directly, of at most 1024 ranks | all values have come |
///
/// They are the machines alone. A team adds to those with a root the way back, by which no rank is
/// ahead of the others by more than a call: each then takes the time of an `all-reduce`. Up to 16
/// ranks, its barriers and sums are `all-reduce-pairs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the calls")]
pub enum TeamOp {
    Barrier,
    Broadcast,
    Reduce,
    AllReduce,
    AllReducePairs,
    Gather,
    AllGather,
    Scatter,
    Scan,
    AllToAll,
}

impl TeamOp {
    /// All calls, with their names.
    pub const ALL: [(&str, Self); 10] = [
        ("barrier", Self::Barrier),
        ("broadcast", Self::Broadcast),
        ("reduce", Self::Reduce),
        ("all-reduce", Self::AllReduce),
        ("all-reduce-pairs", Self::AllReducePairs),
        ("gather", Self::Gather),
        ("all-gather", Self::AllGather),
        ("scatter", Self::Scatter),
        ("scan", Self::Scan),
        ("all-to-all", Self::AllToAll),
    ];

    /// Returns the ranks that can make it here, at most.
    pub fn most_ranks(self) -> u32 {
        match self {
            Self::AllReducePairs => Pairs::<(), fn((), ()) -> ()>::MOST,
            Self::AllToAll => 1 << 10,
            _ => 1 << 20,
        }
    }

    /// Returns the messages of all `ranks`.
    pub fn messages(self, ranks: u32) -> u64 {
        let others = u64::from(ranks) - 1;
        match self {
            Self::Barrier | Self::AllReduce | Self::AllGather | Self::Scan => 2 * others,
            Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter => others,
            Self::AllToAll => u64::from(ranks) * others,
            Self::AllReducePairs => {
                let blocks = 1 << ranks.ilog2();
                let rounds = u64::from(ranks.ilog2());
                blocks * rounds + 2 * (u64::from(ranks) - blocks)
            }
        }
    }

    /// Returns the messages that one of `ranks` sends, at most, in a tree of this radix.
    pub fn most_sent(self, ranks: u32, radix: u32) -> u64 {
        let (others, radix) = (u64::from(ranks) - 1, u64::from(radix));
        match self {
            Self::Barrier | Self::AllReduce | Self::AllGather | Self::Scan => radix + 1,
            Self::Broadcast | Self::Scatter => radix,
            Self::Reduce | Self::Gather => 1,
            Self::AllReducePairs => u64::from(ranks.ilog2()) + 1,
            Self::AllToAll => others,
        }
    }

    /// Returns the latencies of the bound: from the last entry to the last return, if the ways of
    /// messages alone take time. Up and down a tree of this radix, `log_radix` of the ranks each;
    /// in pairs, `log2` of the ranks.
    pub fn latencies(self, ranks: u32, radix: u32) -> u32 {
        match self {
            Self::Barrier | Self::AllReduce | Self::AllGather | Self::Scan => 2 * log(ranks, radix),
            Self::Broadcast | Self::Reduce | Self::Gather | Self::Scatter => log(ranks, radix),
            Self::AllReducePairs => log(ranks, 2),
            Self::AllToAll => u32::from(ranks > 1),
        }
    }
}

impl FromStr for TeamOp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, call)| *call).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name);
            format!("a call of a team: {}", names.join(", "))
        })
    }
}

impl fmt::Display for TeamOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = Self::ALL[*self as usize];
        f.pad(name)
    }
}
