//! Costs, and distances between places.

use tautline_core::PlaceId;

/// A machine: the duration of the operations of a worker, and of a message. All times are
/// nanoseconds.
///
/// Places fill the nodes in order, [`node_places`](Self::node_places) each; so neighbours in number
/// are neighbours in the machine, the first extent of a torus running fastest.
///
/// The default is a plausible cluster of commodity nodes; its numbers are assumed, not measured: a
/// task of about one SHA-1 hash in software with its bookkeeping, a network latency of some
/// microseconds, loot copied at about 5 GB/s, and calls into a message layer.
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
    /// Putting work into a reserve, or taking it out, under its lock.
    pub merge_ns: u64,
    /// From starting an idle worker to its first turn.
    pub wake_ns: u64,
    /// How long a thread without work spins before it sleeps; meanwhile it starts at once when woken.
    pub spin_ns: u64,
    /// Places on one node; 0 counts as 1.
    pub node_places: u32,
    /// How the nodes are connected.
    pub shape: Shape,
    /// A message to a place on the same node.
    pub near_ns: u64,
    /// A message to another node, over the first hop.
    pub far_ns: u64,
    /// The additional cost of each further hop.
    pub hop_ns: u64,
    /// The additional cost of each task of a loot, near or far.
    pub loot_task_ns: u64,
    /// How long a node's adapter is busy with one message to another node; the next one waits.
    pub gap_ns: u64,
    /// The largest relative delay of a message, evenly distributed, in percent; so messages overtake.
    pub jitter_percent: u64,
}

/// How the nodes of a machine are connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Every node is one hop from every other: a switch, or a fat tree that is approximated by one.
    #[default]
    Flat,
    /// A torus with these extents; an extent of 0 counts as 1. Nodes beyond the last start again at
    /// the first, so a torus too small folds a machine onto itself.
    Torus([u32; 3]),
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
            wake_ns: 5_000,
            spin_ns: 5_000,
            node_places: 16,
            shape: Shape::Flat,
            near_ns: 600,
            far_ns: 2_500,
            hop_ns: 0,
            loot_task_ns: 6,
            gap_ns: 100,
            jitter_percent: 20,
        }
    }
}

impl Machine {
    /// Returns the number of the node of `place`.
    pub fn node(&self, place: PlaceId) -> u32 {
        place.0 / self.node_places.max(1)
    }

    /// Returns the hops between nodes on the shortest path: 0 within a node, else at least 1.
    pub fn hops(&self, from: PlaceId, to: PlaceId) -> u32 {
        let (from, to) = (self.node(from), self.node(to));
        match self.shape {
            _ if from == to => 0,
            Shape::Flat => 1,
            Shape::Torus(extents) => distance(extents, from, to).max(1),
        }
    }

    /// Returns the duration of a message that carries `loot_tasks` tasks from one place to another, without jitter
    /// and without the wait for an adapter; [`u64::MAX`] on overflow.
    pub fn latency_ns(&self, from: PlaceId, to: PlaceId, loot_tasks: u64) -> u64 {
        let way = match self.hops(from, to) {
            0 => self.near_ns,
            hops => self
                .hop_ns
                .saturating_mul(u64::from(hops - 1))
                .saturating_add(self.far_ns),
        };
        way.saturating_add(self.loot_task_ns.saturating_mul(loot_tasks))
    }
}

/// Returns the Manhattan distance on a torus, either way around.
fn distance(extents: [u32; 3], mut from: u32, mut to: u32) -> u32 {
    extents
        .into_iter()
        .map(|extent| {
            let extent = extent.max(1);
            let apart = (from % extent).abs_diff(to % extent);
            (from, to) = (from / extent, to / extent);
            apart.min(extent - apart)
        })
        .fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORUS: Machine = Machine {
        node_places: 2,
        shape: Shape::Torus([4, 3, 5]),
        near_ns: 10,
        far_ns: 1_000,
        hop_ns: 100,
        loot_task_ns: 7,
        task_ns: 1,
        look_ns: 0,
        serve_ns: 0,
        send_ns: 0,
        split_ns: 0,
        merge_ns: 0,
        wake_ns: 0,
        spin_ns: 0,
        gap_ns: 0,
        jitter_percent: 0,
    };

    /// Returns the first place on the node at these coordinates of [`TORUS`].
    fn at(x: u32, y: u32, z: u32) -> PlaceId {
        PlaceId((x + 4 * (y + 3 * z)) * TORUS.node_places)
    }

    #[test]
    fn a_torus_is_left_at_one_side_and_entered_at_the_other() {
        for (to, hops) in [
            (at(0, 0, 0), 0),
            (at(1, 0, 0), 1),
            (at(2, 0, 0), 2),
            (at(3, 0, 0), 1),
            (at(0, 2, 0), 1),
            (at(0, 0, 3), 2),
            (at(0, 0, 4), 1),
            (at(2, 1, 2), 5),
            (at(3, 2, 4), 3),
        ] {
            assert_eq!(TORUS.hops(PlaceId(0), to), hops, "{to:?}");
            assert_eq!(TORUS.hops(to, PlaceId(1)), hops, "{to:?} back");
        }
    }

    /// Compares with the shortest path found by walking the edges.
    #[test]
    fn hops_are_the_shortest_way() {
        let extents = [4, 3, 5];
        let all = 60;
        let neighbours = |node: u32| {
            let c = [node % 4, node / 4 % 3, node / 12];
            (0..6).map(move |way| {
                let (axis, forward) = (way / 2, way % 2);
                let mut c = c;
                let step = if forward == 1 { 1 } else { extents[axis] - 1 };
                c[axis] = (c[axis] + step) % extents[axis];
                c[0] + 4 * (c[1] + 3 * c[2])
            })
        };
        for start in 0..all {
            let mut hops = vec![u32::MAX; all as usize];
            hops[start as usize] = 0;
            let mut reached = vec![start];
            let mut next = 0;
            while let Some(&node) = reached.get(next) {
                next += 1;
                for other in neighbours(node) {
                    if hops[other as usize] == u32::MAX {
                        hops[other as usize] = hops[node as usize] + 1;
                        reached.push(other);
                    }
                }
            }
            for node in 0..all {
                let found = TORUS.hops(PlaceId(start * 2), PlaceId(node * 2 + 1));
                assert_eq!(found, hops[node as usize], "{start} to {node}");
            }
        }
    }

    #[test]
    fn in_a_flat_network_all_other_nodes_are_one_hop_away() {
        let flat = Machine {
            shape: Shape::Flat,
            node_places: 8,
            ..TORUS
        };
        let hops = [0, 7, 8, 800_000].map(|to| flat.hops(PlaceId(0), PlaceId(to)));
        assert_eq!(hops, [0, 0, 1, 1]);
    }

    #[test]
    fn nodes_are_never_on_top_of_each_other() {
        let small = Machine {
            shape: Shape::Torus([0, 1, 0]),
            node_places: 0,
            ..TORUS
        };
        assert_eq!(small.hops(PlaceId(3), PlaceId(3)), 0);
        assert_eq!(small.hops(PlaceId(3), PlaceId(4)), 1);
        let wide = Machine {
            shape: Shape::Torus([u32::MAX; 3]),
            ..TORUS
        };
        assert_eq!(wide.hops(PlaceId(0), PlaceId(u32::MAX)), i32::MAX as u32);
    }

    #[test]
    fn latency_grows_with_hops_and_loot() {
        let of = |to, loot| TORUS.latency_ns(PlaceId(0), to, loot);
        assert_eq!(of(PlaceId(1), 0), 10);
        assert_eq!(of(PlaceId(1), 3), 31);
        assert_eq!(of(at(1, 0, 0), 0), 1_000);
        assert_eq!(of(at(2, 1, 2), 0), 1_400);
        assert_eq!(of(at(2, 1, 2), 100), 2_100);
        assert_eq!(of(at(2, 1, 2), u64::MAX), u64::MAX);
    }
}
