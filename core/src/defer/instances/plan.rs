//! The decision after an instance: which iterations should move.

use super::profile::Profile;
use super::{Account, Conditions, Geometry, Move, Owned, pairs, splits};
use alloc::vec::Vec;

/// What a geometry proposes.
pub(super) struct Proposal {
    /// The most work of a rank once all of it is done.
    pub(super) most: u64,
    /// The most iterations that one rank, or one split point, has to move for it.
    pub(super) shift: u64,
    /// The first step: what the bandwidth permits.
    pub(super) moves: Vec<Move>,
}

/// Returns the moves that are worth it, if there are any. `owned` is what the ranks will execute in the next instance,
/// `instances` the number of instances so far.
pub(super) fn decide(
    owned: &[Owned],
    accounts: &[Account],
    profile: &Profile,
    conditions: &Conditions,
    instances: u64,
) -> Option<Vec<Move>> {
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(|a| u128::from(of(a))).sum::<u128>();
    let (same, all) = (sum(|a| a.same), sum(|a| a.all));
    if same * 1000 < all * u128::from(conditions.coherence) {
        return None;
    }
    let load = |parts: &Owned| parts.iter().map(|part| profile.work(part)).sum();
    let loads: Vec<u64> = owned.iter().map(load).collect();
    let (most, least) = (*loads.iter().max()?, *loads.iter().min()?);
    let threshold = u128::from(conditions.threshold);
    if u128::from(most - least) * 1000 <= u128::from(most) * threshold {
        return None;
    }
    let Proposal { most: after, shift, moves } = match conditions.geometry {
        Geometry::Contiguous => splits::propose(owned, profile, conditions.capacity),
        Geometry::Free => pairs::propose(owned, loads, profile, conditions),
    };
    let gain = u128::from(most.saturating_sub(after));
    let migration = u128::from(shift) * u128::from(conditions.migrate_ns);
    let horizon = u128::from(instances + 1).min(64);
    // Judged by where the iterations are to go, although it takes several plans if the bandwidth is small: a single step may gain
    // nothing.
    let pays = gain * horizon > migration && gain * 1000 >= u128::from(most) * threshold;
    (pays && !moves.is_empty()).then_some(moves)
}
