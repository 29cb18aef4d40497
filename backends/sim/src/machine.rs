//! What things cost.

/// The costs of a machine, in nanoseconds.
///
/// The default is a plausible cluster of commodity nodes; its numbers are assumed, not measured: a
/// task of about one SHA-1 hash with its bookkeeping, a network latency of some microseconds, loot
/// copied at about 5 GB/s, and calls into a message layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// One task.
    pub task_ns: u64,
    /// One look for messages, whether there are any or not.
    pub poll_ns: u64,
    /// Taking in one message, and what follows from it but the division of a bag.
    pub serve_ns: u64,
    /// Dividing a bag for another place.
    pub split_ns: u64,
    /// From the sending of a message to its arrival.
    pub latency_ns: u64,
    /// What each task of a loot adds to that.
    pub loot_task_ns: u64,
    /// A message takes up to this many percent longer, evenly distributed; so messages overtake.
    pub jitter_percent: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            task_ns: 400,
            poll_ns: 100,
            serve_ns: 500,
            split_ns: 300,
            latency_ns: 2_500,
            loot_task_ns: 6,
            jitter_percent: 20,
        }
    }
}
