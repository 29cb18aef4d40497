//! A path and the open branches along it.

use super::Branches;

/// A position that the path has passed.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "B: serde::Serialize, B::Item: serde::Serialize",
        deserialize = "B: serde::Deserialize<'de>, B::Item: serde::Deserialize<'de>",
    ))
)]
pub(super) struct Fork<B: Branches> {
    /// Branches not yet taken.
    pub open: B,
    /// The branch along which the path continues.
    pub taken: B::Item,
}

/// One path of a search.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "B: serde::Serialize, B::Item: serde::Serialize",
        deserialize = "B: serde::Deserialize<'de>, B::Item: serde::Deserialize<'de>",
    ))
)]
pub(super) struct Part<B: Branches> {
    /// From the root downwards.
    pub forks: Vec<Fork<B>>,
    /// The branches open at the end of the path; `None` if there is no path, since the search is
    /// done.
    pub last: Option<B>,
}

impl<B: Branches> Default for Part<B> {
    fn default() -> Self {
        Self {
            forks: Vec::new(),
            last: None,
        }
    }
}

impl<B: Branches> Part<B> {
    /// Returns the number of open branches.
    pub(super) fn open(&self) -> usize {
        let forks = self.forks.iter().map(|fork| &fork.open);
        forks.chain(&self.last).map(B::len).sum()
    }

    /// Whether all branches are closed.
    pub(super) fn is_done(&self) -> bool {
        let forks = self.forks.iter().map(|fork| &fork.open);
        forks.chain(&self.last).rev().all(|open| open.len() == 0)
    }

    /// Removes from the end of each position's branches as many as `due` returns, given the number
    /// of open ones.
    pub(super) fn cut(&mut self, due: &mut impl FnMut(usize) -> usize) -> Option<Self> {
        let mut give = |open: &mut B| {
            let given = match open.len() {
                0 => 0,
                open => due(open),
            };
            open.split_off(given)
        };
        let mut forks: Vec<_> = self
            .forks
            .iter_mut()
            .map(|fork| Fork {
                open: give(&mut fork.open),
                taken: fork.taken,
            })
            .collect();
        let mut last = self.last.as_mut().map(give);
        // Below its last open branches the path of the loot ends.
        while last.as_ref().is_none_or(|open| open.len() == 0) {
            last = Some(forks.pop()?.open);
        }
        Some(Self { forks, last })
    }
}
