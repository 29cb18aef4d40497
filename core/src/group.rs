//! The ranks that take part in something, and names that need no agreement.
#![forbid(unsafe_code)]

use crate::id::Rank;
use alloc::sync::Arc;
use core::fmt;

/// Up to this number of ranks, each is next to all others.
const ALL: u32 = 32;

/// The name of an object that one rank has made: no other rank gives the same, so it needs no
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Name {
    /// The rank that has made it.
    pub home: Rank,
    /// Its number among those of that rank.
    pub number: u32,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.home)
    }
}

/// Its number among the groups that have operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub enum GroupId {
    /// All ranks: the groups that they make in the same order are numbered from 0.
    All(u32),
    /// Some ranks.
    Some(Name),
}

/// Displayed as a suffix of an operation; empty for the first group of all ranks.
impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(0) => Ok(()),
            Self::All(number) => write!(f, " of group {number}"),
            Self::Some(name) => write!(f, " of group {name}"),
        }
    }
}

/// A group of ranks, seen from one of them. Its ranks are numbered from 0, in the order of the
/// ranks of the program.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::group::Group;
///
/// let odd = Group::of(Rank(3), [Rank(1), Rank(3), Rank(5)]).expect("3 is one of them");
/// assert_eq!((odd.here(), odd.ranks()), (Rank(1), 3));
/// assert_eq!(odd.member(Rank(2)), Rank(5));
/// assert_eq!(odd.rank_of(Rank(5)), Some(Rank(2)));
/// assert_eq!(odd.rank_of(Rank(4)), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    here: Rank,
    members: Members,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Members {
    /// All ranks of the program.
    All(u32),
    /// In order.
    Some(Arc<[Rank]>),
}

impl Group {
    /// Returns the group of all `ranks` of the program.
    ///
    /// # Panics
    /// If `here` is not one of them.
    pub fn all(here: Rank, ranks: u32) -> Self {
        assert!(here.0 < ranks, "{here} of {ranks} ranks");
        let members = Members::All(ranks);
        Self { here, members }
    }

    /// Returns the group of these ranks of the program, in order, each once; `None` if `here` is
    /// not one of them.
    pub fn of(here: Rank, members: impl IntoIterator<Item = Rank>) -> Option<Self> {
        let mut members: alloc::vec::Vec<Rank> = members.into_iter().collect();
        members.sort_unstable();
        members.dedup();
        let at = members.binary_search(&here).ok()?;
        Some(Self {
            here: Rank(at as u32),
            members: Members::Some(members.into()),
        })
    }

    /// Returns the rank of the caller in the group.
    pub fn here(&self) -> Rank {
        self.here
    }

    /// Returns the number of ranks in the group.
    #[inline]
    pub fn ranks(&self) -> u32 {
        match &self.members {
            Members::All(ranks) => *ranks,
            Members::Some(members) => members.len() as u32,
        }
    }

    /// Returns the rank of the program that has this rank in the group.
    ///
    /// # Panics
    /// If the group has no such rank.
    pub fn member(&self, rank: Rank) -> Rank {
        match &self.members {
            Members::All(ranks) => {
                assert!(rank.0 < *ranks, "{rank} of {ranks} ranks");
                rank
            }
            Members::Some(members) => members[rank.index()],
        }
    }

    /// Returns the rank in the group of a rank of the program; `None` if it is no member.
    pub fn rank_of(&self, member: Rank) -> Option<Rank> {
        match &self.members {
            Members::All(ranks) => (member.0 < *ranks).then_some(member),
            Members::Some(members) => {
                let at = members.binary_search(&member).ok()?;
                Some(Rank(at as u32))
            }
        }
    }
}

/// Returns the ranks next to `here`: all others where they are few, else those next to it in a
/// binary tree. If no two neighbours disagree, all ranks agree.
pub fn neighbours(here: Rank, ranks: u32) -> impl Iterator<Item = Rank> {
    let all = if ranks <= ALL { 0..ranks } else { 0..0 };
    let at = u64::from(here.0);
    let tree = [
        at.checked_sub(1).map(|a| a / 2),
        Some(2 * at + 1),
        Some(2 * at + 2),
    ];
    let tree = tree.into_iter().flatten().filter(move |_| ranks > ALL);
    let tree = tree.filter_map(move |r| u32::try_from(r).ok().filter(|r| *r < ranks));
    all.chain(tree).filter(move |r| *r != here.0).map(Rank)
}
