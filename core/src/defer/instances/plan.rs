//! The decision after an instance: which iterations should move.

use super::message::{Account, Move, Proposal};
use super::profile::Profile;
use super::{Owned, pairs, splits};
use crate::defer::{Conditions, Geometry};
use alloc::vec::Vec;

/// Returns the moves that are worth it, if there are any. `owned` is what the ranks will execute in
/// the next instance, `instances` the number of instances so far.
pub(super) fn decide(
    owned: &[Owned],
    accounts: &[Account],
    profile: &Profile,
    conditions: &Conditions,
    instances: u64,
) -> Option<Vec<Move>> {
    let sum = |of: fn(&Account) -> u64| accounts.iter().map(|a| u128::from(of(a))).sum::<u128>();
    let (same, all) = (sum(|a| a.same), sum(|a| a.all));
    let is_known = all > 0 || conditions.coherence == 0;
    if !is_known || same * 1000 < all * u128::from(conditions.coherence) {
        return None;
    }
    let load = |parts: &Owned| parts.iter().map(|part| profile.work(part)).sum();
    let loads: Vec<u64> = owned.iter().map(load).collect();
    let (most, least) = (*loads.iter().max()?, *loads.iter().min()?);
    let threshold = u128::from(conditions.threshold);
    if u128::from(most - least) * 1000 <= u128::from(most) * threshold {
        return None;
    }
    let Proposal {
        most: after,
        shift,
        moves,
    } = match conditions.geometry {
        Geometry::Contiguous => splits::propose(owned, profile, conditions.capacity),
        Geometry::Free => pairs::propose(owned, loads, profile, conditions),
    };
    let gain = u128::from(most.saturating_sub(after));
    let migration = u128::from(shift) * u128::from(conditions.migrate_ns);
    let horizon = u128::from(instances + 1).min(64);
    // Judged by where the iterations are to go, although it takes several plans if the bandwidth is
    // small: a single step may gain nothing.
    let pays = gain * horizon > migration && gain * 1000 >= u128::from(most) * threshold;
    (pays && !moves.is_empty()).then_some(moves)
}
