//! A link that may move vectors from memory to memory.

use std::collections::{BTreeMap, VecDeque};
use tautline_core::Rank;
use tautline_core::comm::{Bodies, Body};

/// A link, which keeps the vectors that are sent until they leave, and the memory that is to
/// receive others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(crate) is_direct: bool,
    pub(crate) departing: VecDeque<(Rank, u64, Body)>,
    pub(crate) memories: BTreeMap<(Rank, u64), Body>,
}

impl Bodies for Link {
    fn send(&mut self, to: Rank, offer: u64, body: Body) -> Result<Option<Body>, Body> {
        if !self.is_direct {
            return Err(body);
        }
        self.departing.push_back((to, offer, body));
        Ok(None)
    }

    fn provide(&mut self, from: Rank, offer: u64, memory: Body, _: usize) -> Option<Body> {
        if !self.is_direct {
            return Some(memory);
        }
        self.memories.insert((from, offer), memory);
        None
    }
}
