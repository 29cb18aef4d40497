//! The decision after an instance: which iterations should move.

use super::message::{Account, Move};
use super::profile::Profile;
use super::{Owned, pairs, splits};
use crate::taper::Taper;
use alloc::vec::Vec;

/// Which iterations may move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Geometry {
    /// Those at the ends of blocks: neighbours communicate.
    #[default]
    Contiguous,
    /// Any: iterations do not communicate.
    Free,
}

/// When a transfer is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The range of the loads that is tolerated, and the least gain, in thousandths of the most loaded rank's time.
    pub threshold: u32,
    /// The least coherence of successive instances, in thousandths.
    pub coherence: u32,
    /// The iterations that may cross a split point, or leave or reach a rank, in one plan.
    pub capacity: u64,
    /// The time to move an iteration; 0 if communication overlaps with computation.
    pub migrate_ns: u64,
    /// Which iterations may move.
    pub geometry: Geometry,
    /// The chunks after which a rank reports in an instance; if `None`, it reports after the instance.
    pub pace: Option<Taper>,
}

impl Default for Conditions {
    /// 3 %, 0.8, no bound on the bandwidth, overlap, contiguous blocks, and one report.
    fn default() -> Self {
        Self {
            threshold: 30,
            coherence: 800,
            capacity: u64::MAX,
            migrate_ns: 0,
            geometry: Geometry::default(),
            pace: None,
        }
    }
}

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
