//! The costs of a balanced computation.

use crate::engine::Cluster;

/// A machine: the duration of the operations of a worker, on a cluster. All times are nanoseconds.
///
/// The default is a plausible cluster of commodity nodes; its numbers are assumed, not measured: a
/// task of about one SHA-1 hash in software with its bookkeeping, loot copied at about 5 GB/s, and
/// calls into a message layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// One task.
    pub task_ns: u64,
    /// A turn's poll when there is nothing to do.
    pub look_ns: u64,
    /// Receiving one message, and what follows from it except the division of a bag.
    pub serve_ns: u64,
    /// Passing one message to the network.
    pub send_ns: u64,
    /// Dividing a bag.
    pub split_ns: u64,
    /// Putting work into a reserve, or taking it out, under its lock; also the time until a
    /// spinning worker notices that it is woken, which reads a line that another thread has
    /// written.
    pub merge_ns: u64,
    /// The additional duration of a message for each task of its loot, near or far, whatever its
    /// size.
    pub loot_task_ns: u64,
    /// The size of a message without its loot, in bytes.
    pub message_bytes: u64,
    /// The size of a task of loot, in bytes.
    pub task_bytes: u64,
    /// Nodes, their threads and the network.
    pub cluster: Cluster,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            task_ns: 400,
            look_ns: 100,
            serve_ns: 500,
            send_ns: 200,
            split_ns: 300,
            merge_ns: 100,
            loot_task_ns: 6,
            message_bytes: 32,
            task_bytes: 32,
            cluster: Cluster::default(),
        }
    }
}
