//! Programs over ranks: the counts and times that the algorithms promise, at 1000 to 100 000 ranks.

mod teams {
    pub(crate) mod calls;
    pub(crate) mod hybrid;
    pub(crate) mod storm;
}
