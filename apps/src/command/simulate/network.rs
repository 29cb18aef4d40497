//! The options for the network and the processes of a simulated machine.

use super::bounds::{COST_MAX_NS, bounded};
use crate::command::Failure;
use crate::command::duration::nanoseconds;
use clap::Args;
use std::str::FromStr;
use tautline_sim::{Cluster, Ranks, Shape};

const EXTENT_MAX: u32 = 1 << 16;
const RATE_MAX_MB_PER_S: u64 = 1_000_000_000;
const RANK_PLACES_MAX: u64 = 1 << 17;

/// How messages find their way, and which of them are encoded.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Simulated machine: network and processes")]
pub(super) struct Connection {
    /// Network between nodes: flat, torus:X,Y,Z, fat-tree:NODES,LEAVES,UP,UP2 (nodes of a leaf switch, leaf switches
    /// of a pod, links up from a switch of each level) or dragonfly:NODES,ROUTERS,GLOBALS (nodes of a router,
    /// routers of a group, links from a router to other groups) [default: of the machine]
    #[arg(long, value_name = "SHAPE")]
    network: Option<Given>,
    /// No message overtakes another of the same two processes, or places
    #[arg(long)]
    ordered: bool,
    /// Places of a process; messages between processes are encoded. 0: one process
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| bounded(text, 0, RANK_PLACES_MAX))]
    rank_places: Option<u64>,
    /// Encoding or decoding a message between processes, beside its bytes
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(value_parser = |text: &str| nanoseconds(text, 0..=COST_MAX_NS))]
    rank_message_ns: Option<u64>,
    /// Rate of encoding, bytes a microsecond; 0: unlimited
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| bounded(text, 0, RATE_MAX_MB_PER_S))]
    encode_mb_per_s: Option<u64>,
    /// Rate of decoding, bytes a microsecond; 0: unlimited
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| bounded(text, 0, RATE_MAX_MB_PER_S))]
    decode_mb_per_s: Option<u64>,
    /// A thread of each process encodes and decodes in place of its workers
    #[arg(long)]
    communication_worker: bool,
}

/// A shape as an option gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given(Shape);

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORMS: &str = "flat, torus:X,Y,Z, fat-tree:NODES,LEAVES,UP,UP2 or \
                             dragonfly:NODES,ROUTERS,GLOBALS";
        let (name, sizes) = text.split_once(':').unwrap_or((text, ""));
        let size = |text: &str| {
            let size = text.trim().parse().ok();
            size.filter(|size| (1..=EXTENT_MAX).contains(size))
        };
        let sizes: Option<Vec<u32>> = match sizes {
            "" => Some(Vec::new()),
            _ => sizes.split(',').map(size).collect(),
        };
        let refused = || format!("{FORMS}, each size from 1 to {EXTENT_MAX}");
        Ok(Self(match (name, &sizes.ok_or_else(refused)?[..]) {
            ("flat", []) => Shape::Flat,
            ("torus", &[x, y, z]) => Shape::Torus([x, y, z]),
            ("fat-tree", &[nodes, leaves, first, second]) => Shape::FatTree {
                nodes,
                leaves,
                up: [first, second],
            },
            ("dragonfly", &[nodes, routers, globals]) => Shape::Dragonfly {
                nodes,
                routers,
                globals,
            },
            _ => return Err(refused()),
        }))
    }
}

impl Given {
    /// Returns the number of nodes for which there is room; `None`: any number.
    fn room(self) -> Option<u64> {
        match self.0 {
            Shape::Flat | Shape::FatTree { .. } => None,
            Shape::Torus(extents) => Some(extents.map(u64::from).iter().product()),
            Shape::Dragonfly {
                nodes,
                routers,
                globals,
            } => {
                let [of, routers, globals] = [nodes, routers, globals].map(u64::from);
                Some(of * routers * (routers * globals + 1))
            }
        }
    }
}

impl Connection {
    /// Returns `cluster` with the overrides, for a run on `nodes` nodes.
    pub(super) fn over(&self, cluster: Cluster, nodes: u32) -> Result<Cluster, Failure> {
        let room = self.network.and_then(Given::room);
        if let Some(room) = room.filter(|&room| room < u64::from(nodes)) {
            let line = format!("--network: room for {room} nodes, not for the {nodes} in use");
            return Err(Failure::Usage(line));
        }
        let of = cluster.ranks;
        let ranks = Ranks {
            places: self.rank_places.map_or(of.places, |places| places as u32),
            message_ns: self.rank_message_ns.unwrap_or(of.message_ns),
            encode_mb_per_s: self.encode_mb_per_s.unwrap_or(of.encode_mb_per_s),
            decode_mb_per_s: self.decode_mb_per_s.unwrap_or(of.decode_mb_per_s),
            worker: self.communication_worker || of.worker,
        };
        let given = [
            ("rank-message-ns", self.rank_message_ns.is_some()),
            ("encode-mb-per-s", self.encode_mb_per_s.is_some()),
            ("decode-mb-per-s", self.decode_mb_per_s.is_some()),
            ("communication-worker", self.communication_worker),
        ];
        if let (0, Some((name, _))) = (ranks.places, given.iter().find(|(_, given)| *given)) {
            let line =
                format!("--{name}: one process has no messages to encode; see --rank-places");
            return Err(Failure::Usage(line));
        }
        Ok(Cluster {
            shape: self.network.map_or(cluster.shape, |given| given.0),
            ordered: self.ordered || cluster.ordered,
            ranks,
            ..cluster
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_and_have_room() {
        for (text, room) in [
            ("flat", None),
            ("torus:4,3,2", Some(24)),
            ("fat-tree:8,4,4,2", None),
            ("dragonfly:2,4,1", Some(40)),
        ] {
            let given: Given = text.parse().expect(text);
            assert_eq!(given.room(), room, "{text}");
        }
        for text in ["ring", "flat:1", "torus:4,4", "torus:0,1,1", "torus:a,1,1"] {
            let refused = text.parse::<Given>().expect_err(text);
            assert!(refused.contains("torus:X,Y,Z"), "{refused}");
        }
    }
}
