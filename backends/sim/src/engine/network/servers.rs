//! Servers at which messages queue: adapters of nodes, links, and communication workers.

use super::shape::Link;
use crate::engine::cluster::Cluster;
use std::collections::HashMap;
use tautline_core::PlaceId;

/// Whether a message leaves or arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Out,
    In,
}

/// The time at which each server has served the messages that have reached it.
#[derive(Debug)]
pub(super) struct Servers {
    cluster: Cluster,
    /// By node: sending, and receiving.
    adapters: Vec<[u64; 2]>,
    /// Links that were used.
    links: HashMap<Link, u64>,
    /// By rank; empty if there are no communication workers.
    workers: Vec<u64>,
}

impl Servers {
    pub(super) fn new(cluster: Cluster, places: u32) -> Self {
        let last = PlaceId(places - 1);
        let workers = match cluster.ranks.worker && cluster.ranks.places > 0 {
            true => cluster.ranks.rank(last) as usize + 1,
            false => 0,
        };
        Self {
            cluster,
            adapters: vec![[0; 2]; cluster.node(last) as usize + 1],
            links: HashMap::new(),
            workers: vec![0; workers],
        }
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> u32 {
        self.adapters.len() as u32
    }

    /// Returns when a message that reaches the adapter of `node` at `at` begins to pass; later ones
    /// wait until its transmission ends.
    pub(super) fn adapter(&mut self, node: u32, way: Way, at: u64, transmission: u64) -> u64 {
        let busy = &mut self.adapters[node as usize][usize::from(way == Way::In)];
        let begins = at.max(*busy);
        // A message that waits is entered in the agenda again. An ordered one that arrives then
        // must not pass it.
        let transmission = transmission.max(self.cluster.ordered.into());
        *busy = begins
            .saturating_add(self.cluster.gap_ns)
            .saturating_add(transmission);
        begins
    }

    /// Returns when a message of `bytes` that reaches `link` at `at` begins to pass.
    pub(super) fn link(&mut self, link: Link, at: u64, bytes: u64) -> u64 {
        let busy = self.links.entry(link).or_default();
        let begins = at.max(*busy);
        let takes = self.cluster.link_ns(bytes);
        *busy = begins.saturating_add(takes.max(self.cluster.ordered.into()));
        begins
    }

    /// Returns when the communication worker of `place` has encoded or decoded a message of `bytes`
    /// that it gets at `at`; a rank without one takes no time.
    pub(super) fn worker(&mut self, place: PlaceId, way: Way, at: u64, bytes: u64) -> u64 {
        let ranks = self.cluster.ranks;
        let Some(busy) = self.workers.get_mut(ranks.rank(place) as usize) else {
            return at;
        };
        let takes = match way {
            Way::Out => ranks.encoding_ns(bytes),
            Way::In => ranks.decoding_ns(bytes),
        };
        *busy = at.max(*busy).saturating_add(takes);
        *busy
    }
}
