//! Calls of this rank.

/// A call of this rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Made<C> {
    pub(super) call: C,
    pub(super) check: u32,
}

/// A call that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Open<C> {
    pub(super) made: Made<C>,
    /// Whether it was there when time had passed.
    pub(super) is_old: bool,
    /// The neighbours whose call is the same: a bit for each.
    pub(super) same: u64,
}
