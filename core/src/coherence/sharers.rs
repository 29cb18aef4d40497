//! Sets of ranks that may have a copy of an object.

use crate::id::Rank;
use bitvec::boxed::BitBox;
use core::{iter, mem};

/// Ranks that are listed, at most.
const LISTED: u8 = 6;
/// Ranks of a program of which each has a bit of its own, at most.
const EXACT: u32 = 4096;
/// Bits of a word, each of which stands for neighbouring ranks.
const GROUPS: u32 = u64::BITS;

/// The representation of the set of ranks that may have a copy, at the home of an object.
///
/// | members | representation | allocated bytes |
/// |---|---|---|
/// | up to 6 | listed | 0 |
/// | more, of up to 64 ranks | one bit for each rank, in a word | 0 |
/// | more, of up to 4096 ranks | one bit for each rank | an eighth of the ranks: 512 for 4096 |
/// | more, of more ranks | 64 bits, of which each stands for neighbouring ranks | 0 |
///
/// The entry of the object has 32 bytes with any of them, on processors of 64 bits.
///
/// The last one is coarse: an invalidation reaches ranks without a copy, too, which answer it, and
/// a rank that upgrades its copy obtains the value again. While the home waits for the answers, it
/// has one bit for each rank in addition.
///
/// Source: Gupta, Weber, Mowry, Reducing Memory and Traffic Requirements for Scalable
/// Directory-Based Cache Coherence Schemes, 1990 (the coarse vector).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sharing {
    ranks: u32,
    /// Ranks for each bit of a word; 0 if the bits do not fit into one.
    span: u32,
    listed: u8,
}

impl Sharing {
    /// Returns the representation for a program of this number of ranks.
    pub const fn of(ranks: u32) -> Self {
        let span = match ranks.div_ceil(GROUPS) {
            0 => 1,
            2.. if ranks <= EXACT => 0,
            span => span,
        };
        Self {
            ranks,
            span,
            listed: LISTED,
        }
    }

    /// Returns a representation that is coarse with more than `listed` members: each bit stands for
    /// `span` neighbouring ranks, or for more if 64 bits do not suffice; at most 6 are listed.
    pub const fn coarse(ranks: u32, listed: u8, span: u32) -> Self {
        let least = Self {
            span: 0,
            ..Self::of(ranks)
        };
        let fits = ranks.div_ceil(GROUPS);
        Self {
            span: if span < fits { fits } else { span },
            listed: if listed < LISTED { listed } else { LISTED },
            ..least
        }
    }

    /// Returns the number of ranks.
    pub(super) fn ranks(self) -> u32 {
        self.ranks
    }

    /// Whether a set may have members that were not inserted.
    pub(super) fn is_coarse(self) -> bool {
        self.span > 1
    }

    /// Returns the representation that is exact for any number of ranks.
    pub(super) const fn exact(self) -> Self {
        let span = (self.ranks <= GROUPS) as u32;
        Self {
            span,
            listed: LISTED,
            ..self
        }
    }
}

/// A set of ranks. Its methods take the same representation in each call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sharers {
    Listed(Listed),
    /// One bit for each rank.
    Bits(BitBox),
    /// The bits of the ranks `span * i` to `span * (i + 1)`, the end excluded.
    Groups(u64),
}

/// Up to [`LISTED`] ranks in ascending order; those that are not used are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Listed {
    ranks: [u32; LISTED as usize],
    length: u8,
}

impl Listed {
    fn ranks(&self) -> &[u32] {
        &self.ranks[..usize::from(self.length)]
    }

    /// Inserts a rank that is not a member, before position `at`; there must be room.
    fn insert(&mut self, at: usize, rank: u32) {
        let length = usize::from(self.length);
        self.ranks.copy_within(at..length, at + 1);
        self.ranks[at] = rank;
        self.length += 1;
    }

    fn remove(&mut self, at: usize) {
        self.ranks.copy_within(at + 1.., at);
        self.ranks[usize::from(LISTED) - 1] = 0;
        self.length -= 1;
    }
}

impl Default for Sharers {
    fn default() -> Self {
        Self::Listed(Listed::default())
    }
}

impl Sharers {
    /// Returns the set of one rank.
    pub(super) fn one(rank: Rank, sharing: Sharing) -> Self {
        let mut set = Self::default();
        set.insert(rank, sharing);
        set
    }

    /// Inserts a rank, which must be one of the program's.
    pub(super) fn insert(&mut self, rank: Rank, sharing: Sharing) {
        match self {
            Self::Listed(listed) => {
                let Err(at) = listed.ranks().binary_search(&rank.0) else {
                    return;
                };
                if listed.length < sharing.listed {
                    return listed.insert(at, rank.0);
                }
                let Self::Listed(listed) = mem::replace(self, Self::unlisted(sharing)) else {
                    return;
                };
                for member in listed.ranks().iter().copied().chain([rank.0]) {
                    self.insert(Rank(member), sharing);
                }
            }
            Self::Bits(bits) => bits.set(rank.index(), true),
            Self::Groups(groups) => *groups |= 1 << (rank.0 / sharing.span),
        }
    }

    /// Returns an empty set that does not list its members.
    fn unlisted(sharing: Sharing) -> Self {
        match sharing.span {
            0 => Self::Bits(iter::repeat_n(false, sharing.ranks as usize).collect()),
            _ => Self::Groups(0),
        }
    }

    /// Removes a rank. It stays in a set that is coarse.
    pub(super) fn remove(&mut self, rank: Rank, sharing: Sharing) {
        match self {
            Self::Listed(listed) => {
                if let Ok(at) = listed.ranks().binary_search(&rank.0) {
                    listed.remove(at);
                }
            }
            Self::Bits(bits) => bits.set(rank.index(), false),
            Self::Groups(groups) if !sharing.is_coarse() => *groups &= !(1 << rank.0),
            Self::Groups(_) => {}
        }
    }

    /// Whether the rank was inserted, for certain.
    pub(super) fn is_known(&self, rank: Rank, sharing: Sharing) -> bool {
        let is_exact = !matches!(self, Self::Groups(_)) || !sharing.is_coarse();
        is_exact && self.next(rank.0, sharing) == Some(rank.0)
    }

    pub(super) fn is_empty(&self, sharing: Sharing) -> bool {
        self.next(0, sharing).is_none()
    }

    /// Returns the members in ascending order, which include all ranks that were inserted.
    pub(super) fn members(&self, sharing: Sharing) -> impl Iterator<Item = Rank> {
        let mut from = 0;
        iter::from_fn(move || {
            let rank = self.next(from, sharing)?;
            from = rank + 1;
            Some(Rank(rank))
        })
    }

    /// Returns the first member from `from` on.
    fn next(&self, from: u32, sharing: Sharing) -> Option<u32> {
        match self {
            Self::Listed(listed) => listed.ranks().iter().copied().find(|rank| *rank >= from),
            Self::Bits(bits) => {
                let after = bits.get(from as usize..)?.first_one()?;
                Some(from + after as u32)
            }
            Self::Groups(groups) => {
                let group = from / sharing.span;
                let after = groups.checked_shr(group)?.trailing_zeros();
                let rank = match after {
                    0 => from,
                    GROUPS => return None,
                    _ => (group + after) * sharing.span,
                };
                (rank < sharing.ranks).then_some(rank)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::home::Entry;
    use super::{Rank, Sharers, Sharing};
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    /// Sizes of programs, up to those with coarse sets, and small ones whose sets are coarse.
    const SHARINGS: [Sharing; 12] = [
        Sharing::of(1),
        Sharing::of(7),
        Sharing::of(64),
        Sharing::of(65),
        Sharing::of(1000),
        Sharing::of(4096),
        Sharing::of(4097),
        Sharing::of(10_000),
        Sharing::coarse(3, 1, 3),
        Sharing::coarse(5, 0, 2),
        Sharing::coarse(300, 9, 2),
        Sharing::of(4097).exact(),
    ];

    /// Steele, Lea, Flood, `SplitMix`.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = *state;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ it >> 31
    }

    /// Returns the members that a set must have: those of `model`, with their neighbours once it is
    /// coarse.
    fn expected(set: &Sharers, model: &BTreeSet<u32>, sharing: Sharing) -> Vec<Rank> {
        let span = match set {
            Sharers::Groups(_) => sharing.span,
            _ => 1,
        };
        let groups: BTreeSet<u32> = model.iter().map(|rank| rank / span).collect();
        let all = groups
            .iter()
            .flat_map(|group| group * span..(group + 1) * span);
        all.filter(|rank| *rank < sharing.ranks).map(Rank).collect()
    }

    /// Compares a set with a model, after which both have the same members.
    fn compare(set: &Sharers, model: &BTreeSet<u32>, sharing: Sharing) {
        let members: Vec<Rank> = set.members(sharing).collect();
        assert_eq!(members, expected(set, model, sharing), "{sharing:?}");
        assert_eq!(set.is_empty(sharing), members.is_empty());
        let is_coarse = matches!(set, Sharers::Groups(_)) && sharing.span > 1;
        for rank in (0..sharing.ranks).step_by(sharing.ranks as usize / 100 + 1) {
            let is_known = !is_coarse && model.contains(&rank);
            assert_eq!(set.is_known(Rank(rank), sharing), is_known, "{rank}");
        }
    }

    #[test]
    fn random_sets_have_the_members_of_a_model() {
        let mut seed = 1;
        for (sharing, round) in SHARINGS
            .iter()
            .flat_map(|it| (0..60).map(move |r| (*it, r)))
        {
            let (mut set, mut model) = (Sharers::default(), BTreeSet::new());
            for _ in 0..[8, 40, 200][round % 3] {
                let rank = random(&mut seed) as u32 % sharing.ranks;
                let removes = random(&mut seed) % 4 == 0;
                if removes {
                    let stays = matches!(set, Sharers::Groups(_)) && sharing.is_coarse();
                    if !stays {
                        model.remove(&rank);
                    }
                    set.remove(Rank(rank), sharing);
                } else {
                    model.insert(rank);
                    set.insert(Rank(rank), sharing);
                }
            }
            compare(&set, &model, sharing);
        }
    }

    #[test]
    fn all_ranks_and_each_alone_are_members() {
        for sharing in SHARINGS {
            let all: BTreeSet<u32> = (0..sharing.ranks).collect();
            let mut set = Sharers::default();
            compare(&set, &BTreeSet::new(), sharing);
            for rank in all.iter().rev() {
                set.insert(Rank(*rank), sharing);
                let one = Sharers::one(Rank(*rank), sharing);
                assert!(one.members(sharing).any(|member| member.0 == *rank));
            }
            compare(&set, &all, sharing);
        }
    }

    /// Returns the representation of a set.
    fn named(set: &Sharers) -> &'static str {
        match set {
            Sharers::Listed(_) => "listed",
            Sharers::Bits(_) => "bits",
            Sharers::Groups(_) => "groups",
        }
    }

    #[test]
    fn the_seventh_member_ends_the_list() {
        for (ranks, span, many) in [
            (64, 1, "groups"),
            (65, 0, "bits"),
            (4096, 0, "bits"),
            (4097, 65, "groups"),
            (10_000, 157, "groups"),
        ] {
            let sharing = Sharing::of(ranks);
            assert_eq!((sharing.span, sharing.is_coarse()), (span, span > 1));
            let mut set = Sharers::default();
            let all = (0..7).map(|at| Rank(ranks - 1 - at));
            let names: Vec<_> = all
                .map(|rank| {
                    set.insert(rank, sharing);
                    named(&set)
                })
                .collect();
            assert_eq!((names[5], names[6]), ("listed", many), "{ranks} ranks");
        }
    }

    #[test]
    fn bytes_are_as_documented() {
        if usize::BITS == 64 {
            assert_eq!(size_of::<Entry>(), 32);
        }
        for (ranks, bytes) in [(65, 16), (1000, 128), (4096, 512)] {
            let Sharers::Bits(bits) = Sharers::unlisted(Sharing::of(ranks)) else {
                panic!("{ranks} ranks have bits");
            };
            assert_eq!(size_of_val(bits.as_raw_slice()), bytes);
        }
        assert_eq!(size_of::<Sharing>(), 12);
    }
}
