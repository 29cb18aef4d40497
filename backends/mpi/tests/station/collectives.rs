//! Collective operations of other processes.

use super::{get, get_bytes, put, put_bytes};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use tautline_core::Rank;
use tautline_core::comm::{
    Collective, Complete, Done, Element, Error, Matched, Operator, Outcome, PacketLink,
};

/// The operations that the suite starts, in the order of their codes.
fn all() -> Vec<Collective> {
    use Operator::*;
    let operators = [Max, Min, Sum, Product, And, Or, Xor, BitAnd, BitOr, BitXor];
    let reduces = operators.into_iter().flat_map(|operator| {
        let element = Element::U8;
        [
            Collective::Reduce(element, operator),
            Collective::AllReduce(element, operator),
            Collective::Scan(element, operator),
        ]
    });
    let others = [
        Collective::Barrier,
        Collective::Broadcast,
        Collective::Scatter,
        Collective::Gather,
        Collective::AllGather,
        Collective::AllToAll,
    ];
    others.into_iter().chain(reduces).collect()
}

pub(super) fn code(collective: Collective) -> u64 {
    let at = all().iter().position(|one| *one == collective);
    at.expect("an operation of the suite") as u64
}

/// The operations that have ended at a process until rank 0 polls its link, by their numbers there.
#[derive(Default)]
pub(super) struct Ended(Arc<Mutex<Vec<(u64, Outcome)>>>);

impl Ended {
    /// Starts an operation, as rank 0 calls it.
    pub(super) fn serve(&self, link: &dyn PacketLink, number: u32, socket: &mut UnixStream) {
        let [code, id] = [(); 2].map(|()| get(socket));
        let [own, into] = [(); 2].map(|()| get_bytes(socket).into());
        let ended = Arc::clone(&self.0);
        let done = Arc::new(move |outcome| ended.lock().unwrap().push((id, outcome)));
        // SAFETY: the suite starts the same operations at all ranks that take part.
        let matched = unsafe { Matched::promise() };
        link.collective(matched, number, all()[code as usize], own, into, done);
    }

    /// Sends what has ended.
    pub(super) fn put_ends(&self, socket: &mut UnixStream) {
        let ends = std::mem::take(&mut *self.0.lock().unwrap());
        put(socket, &[ends.len() as u64]);
        for (id, outcome) in ends {
            let (code, rank, bytes) = match outcome {
                Ok(done) => (0, 0, done.body.into_bytes()),
                Err(Error::Lost { rank, .. }) => (1, rank.0, Vec::new()),
                Err(Error::Closed) => (2, 0, Vec::new()),
                Err(other) => panic!("{other}"),
            };
            put(socket, &[id, code, u64::from(rank)]);
            put_bytes(socket, &bytes);
        }
    }
}

/// Receives what has ended at another process.
pub(super) fn get_ends(socket: &mut UnixStream) -> Vec<(u64, Outcome)> {
    let count = get(socket);
    let end = |_| {
        let [id, code, rank] = [(); 3].map(|()| get(socket));
        let body = get_bytes(socket).into();
        let doing = "another process communicated with it";
        let outcome = match code {
            0 => Ok(Done {
                body,
                ..Done::default()
            }),
            1 => Err(Error::Lost {
                rank: Rank(rank as u32),
                doing,
            }),
            _ => Err(Error::Closed),
        };
        (id, outcome)
    };
    (0..count).map(end).collect()
}

/// The operations that rank 0 has started at another process, by their numbers.
#[derive(Clone, Default)]
pub(super) struct Operations(Arc<Mutex<BTreeMap<u64, Arc<dyn Complete>>>>);

impl Operations {
    /// Returns the number of a new operation.
    pub(super) fn begin(&self, done: Arc<dyn Complete>) -> u64 {
        let mut all = self.0.lock().unwrap();
        let id = all.last_key_value().map_or(0, |(last, _)| last + 1);
        all.insert(id, done);
        id
    }

    /// Keeps what has ended, so that an operation that ends twice is seen to.
    pub(super) fn end(&self, ends: Vec<(u64, Outcome)>) {
        for (id, outcome) in ends {
            let done = Arc::clone(&self.0.lock().unwrap()[&id]);
            done.complete(outcome);
        }
    }
}
