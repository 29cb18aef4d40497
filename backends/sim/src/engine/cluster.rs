//! Nodes, their threads and the network between them.

use super::network::Shape;
use tautline_core::PlaceId;

/// A cluster of nodes: how its threads sleep, and the time that a message takes. All times are
/// nanoseconds.
///
/// Places fill the nodes in order, [`node_places`](Self::node_places) each; so neighbours in number
/// are neighbours in the cluster, the first extent of a torus running fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The time from waking a sleeping thread to its next step.
    pub wake_ns: u64,
    /// The time for which a parked thread spins before it sleeps.
    pub spin_ns: u64,
    /// Places on one node; 0 counts as 1.
    pub node_places: u32,
    /// The topology of the nodes.
    pub shape: Shape,
    /// A message to a place on the same node.
    pub near_ns: u64,
    /// A message to another node, over the first hop.
    pub far_ns: u64,
    /// The additional cost of each further hop.
    pub hop_ns: u64,
    /// The time for which a node's adapter is busy with one message to another node; the next one
    /// waits.
    pub gap_ns: u64,
    /// The bandwidth of an adapter, in bytes a microsecond; 0: unlimited. A message to another node
    /// takes that much longer, and occupies the adapters of both nodes for as long (the G of LogGP:
    /// Alexandrov et al. 1995).
    pub mb_per_s: u64,
    /// The bandwidth of each link between switches, in each direction, in bytes a microsecond; 0:
    /// unlimited, and links are not simulated. A message occupies one link after the other, and
    /// waits where one is occupied.
    pub link_mb_per_s: u64,
    /// The largest relative delay of a message, evenly distributed, in percent; so messages
    /// overtake.
    pub jitter_percent: u64,
    /// Whether messages between two ranks, or places if there are no ranks, arrive in the order in
    /// which they were sent.
    pub ordered: bool,
    /// The assignment of places to processes.
    pub ranks: Ranks,
}

/// The processes of a program. Within one, places send each other values; a message to another one
/// is encoded and decoded: by the thread that sends it and by the threads of the place that
/// receives it, or by a thread for that alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranks {
    /// Places of one process; 0: all.
    pub places: u32,
    /// The cost of one message, on either side.
    pub message_ns: u64,
    /// The rate of encoding, in bytes a microsecond; 0: unlimited.
    pub encode_mb_per_s: u64,
    /// The rate of decoding, in bytes a microsecond; 0: unlimited.
    pub decode_mb_per_s: u64,
    /// Whether each process has a communication worker, which encodes and decodes one message after
    /// the other. It is not one of the threads of its places.
    pub worker: bool,
}

impl Ranks {
    /// Returns the number of the process of `place`.
    pub fn rank(&self, place: PlaceId) -> u32 {
        place.0.checked_div(self.places).unwrap_or(0)
    }

    /// Whether a message between these places is encoded.
    pub fn are_crossed(&self, from: PlaceId, to: PlaceId) -> bool {
        self.places > 0 && self.rank(from) != self.rank(to)
    }

    /// Whether the threads of these places encode and decode a message between them.
    pub(super) fn cost_threads(&self, from: PlaceId, to: PlaceId) -> bool {
        !self.worker && self.are_crossed(from, to)
    }

    /// Returns the time to encode a message of `bytes`.
    pub fn encoding_ns(&self, bytes: u64) -> u64 {
        duration_ns(bytes, self.encode_mb_per_s).saturating_add(self.message_ns)
    }

    /// Returns the time to decode a message of `bytes`.
    pub fn decoding_ns(&self, bytes: u64) -> u64 {
        duration_ns(bytes, self.decode_mb_per_s).saturating_add(self.message_ns)
    }
}

/// A plausible cluster of commodity nodes; its numbers are assumed, not measured: a network latency
/// of some microseconds, and the wake-up of a thread by the system. All places share one process;
/// the costs of encoding are twice those that were measured on a server.
impl Default for Cluster {
    fn default() -> Self {
        Self {
            wake_ns: 5_000,
            spin_ns: 5_000,
            node_places: 16,
            shape: Shape::Flat,
            near_ns: 600,
            far_ns: 2_500,
            hop_ns: 0,
            gap_ns: 100,
            mb_per_s: 0,
            link_mb_per_s: 0,
            jitter_percent: 20,
            ordered: false,
            ranks: Ranks {
                message_ns: 500,
                encode_mb_per_s: 3_000,
                decode_mb_per_s: 2_300,
                ..Ranks::default()
            },
        }
    }
}

impl Cluster {
    /// Returns the number of the node of `place`.
    pub fn node(&self, place: PlaceId) -> u32 {
        place.0 / self.node_places.max(1)
    }

    /// Returns the hops between nodes on the shortest path: 0 within a node, else at least 1.
    pub fn hops(&self, from: PlaceId, to: PlaceId) -> u32 {
        self.shape.hops(self.node(from), self.node(to))
    }

    /// Returns the time for which a link transmits `bytes`.
    pub(super) fn link_ns(&self, bytes: u64) -> u64 {
        duration_ns(bytes, self.link_mb_per_s)
    }

    /// Returns the time for which an adapter transmits `bytes`.
    pub fn transmission_ns(&self, bytes: u64) -> u64 {
        duration_ns(bytes, self.mb_per_s)
    }

    /// Returns the duration of an empty message over this number of hops, without jitter and
    /// without the wait for an adapter; [`u64::MAX`] on overflow.
    pub fn latency_ns(&self, hops: u32) -> u64 {
        match hops {
            0 => self.near_ns,
            hops => self
                .hop_ns
                .saturating_mul(u64::from(hops - 1))
                .saturating_add(self.far_ns),
        }
    }
}

/// Returns the duration of `bytes` at a rate of `mb_per_s` bytes a microsecond; 0 if the rate is
/// unlimited.
pub(super) fn duration_ns(bytes: u64, mb_per_s: u64) -> u64 {
    match mb_per_s {
        0 => 0,
        rate => bytes.saturating_mul(1_000) / rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TORUS: Cluster = Cluster {
        wake_ns: 0,
        spin_ns: 0,
        node_places: 2,
        shape: Shape::Torus([4, 3, 5]),
        near_ns: 10,
        far_ns: 1_000,
        hop_ns: 100,
        gap_ns: 0,
        mb_per_s: 0,
        link_mb_per_s: 0,
        jitter_percent: 0,
        ordered: false,
        ranks: Ranks {
            places: 0,
            message_ns: 0,
            encode_mb_per_s: 0,
            decode_mb_per_s: 0,
            worker: false,
        },
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
        let flat = Cluster {
            shape: Shape::Flat,
            node_places: 8,
            ..TORUS
        };
        let hops = [0, 7, 8, 800_000].map(|to| flat.hops(PlaceId(0), PlaceId(to)));
        assert_eq!(hops, [0, 0, 1, 1]);
    }

    #[test]
    fn nodes_are_never_on_top_of_each_other() {
        let small = Cluster {
            shape: Shape::Torus([0, 1, 0]),
            node_places: 0,
            ..TORUS
        };
        assert_eq!(small.hops(PlaceId(3), PlaceId(3)), 0);
        assert_eq!(small.hops(PlaceId(3), PlaceId(4)), 1);
        let wide = Cluster {
            shape: Shape::Torus([u32::MAX; 3]),
            ..TORUS
        };
        assert_eq!(wide.hops(PlaceId(0), PlaceId(u32::MAX)), i32::MAX as u32);
    }

    #[test]
    fn latency_grows_with_hops() {
        let of = |hops| TORUS.latency_ns(hops);
        assert_eq!([0, 1, 5].map(of), [10, 1_000, 1_400]);
        let slow = Cluster {
            hop_ns: u64::MAX,
            ..TORUS
        };
        assert_eq!(slow.latency_ns(3), u64::MAX);
    }
}
