//! Conditions under which iterations move in deferred balancing.

use crate::taper::Taper;

/// The iterations that may move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Geometry {
    /// Those at the ends of blocks: neighbours communicate.
    #[default]
    Contiguous,
    /// Any: iterations do not communicate.
    Free,
}

/// The bounds beyond which a transfer is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conditions {
    /// The range of the loads that is tolerated, and the least gain, in thousandths of the most
    /// loaded rank's time.
    pub threshold: u32,
    /// The least coherence of successive instances, in thousandths; if 0, plans begin with the
    /// first instance.
    pub coherence: u32,
    /// The iterations that may cross a split point, or leave or reach a rank, in one plan.
    pub capacity: u64,
    /// The time to move an iteration; 0 if communication overlaps with computation.
    pub migrate_ns: u64,
    /// The iterations that may move.
    pub geometry: Geometry,
    /// The chunks after which a rank reports in an instance; if `None`, it reports after the
    /// instance.
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
