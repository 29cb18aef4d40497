//! What things cost.

use tautline_core::PlaceId;

/// How the nodes of a machine are wired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Every node is as far from every other.
    Flat,
    /// A torus of these extents.
    Torus([u32; 3]),
}

/// The costs of a machine, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub task_ns: u64,
    pub look_ns: u64,
    pub serve_ns: u64,
    pub send_ns: u64,
    pub split_ns: u64,
    pub merge_ns: u64,
    pub wake_ns: u64,
    pub node_places: u32,
    pub shape: Shape,
    pub near_ns: u64,
    pub far_ns: u64,
    pub hop_ns: u64,
    pub loot_task_ns: u64,
    pub gap_ns: u64,
    pub jitter_percent: u64,
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
            wake_ns: 500,
            node_places: 1,
            shape: Shape::Flat,
            near_ns: 500,
            far_ns: 2_500,
            hop_ns: 0,
            loot_task_ns: 6,
            gap_ns: 100,
            jitter_percent: 20,
        }
    }
}

impl Machine {
    pub fn node(&self, place: PlaceId) -> u32 {
        place.0 / self.node_places
    }
    pub fn hops(&self, from: PlaceId, to: PlaceId) -> u32 {
        u32::from(self.node(from) != self.node(to))
    }
    pub fn latency_ns(&self, from: PlaceId, to: PlaceId, loot_tasks: u64) -> u64 {
        let way = if self.hops(from, to) == 0 {
            self.near_ns
        } else {
            self.far_ns
        };
        way + self.loot_task_ns * loot_tasks
    }
}
