//! A step: a message to the other rank and one from it, and work until both are needed.

use mpi::request::scope;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Source};
use std::mem;
use tautline::comm::{Comm, Tag};
use tautline::world::{Rank, World};

/// Ways to exchange messages.
pub(crate) trait Steps {
    /// Starts both messages, works, and waits for both.
    fn step(&mut self, work: impl FnOnce());
}

/// Plain nonblocking calls; buffers are reused.
pub(crate) struct Plain<'w> {
    world: &'w SimpleCommunicator,
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl<'w> Plain<'w> {
    pub(crate) fn new(world: &'w SimpleCommunicator, bytes: usize) -> Self {
        Self {
            world,
            sent: vec![1; bytes],
            received: vec![0; bytes],
        }
    }
}

impl Steps for Plain<'_> {
    fn step(&mut self, work: impl FnOnce()) {
        let other = self.world.process_at_rank(1 - self.world.rank());
        scope(|scope| {
            let receive = other.immediate_receive_into(scope, &mut self.received[..]);
            let send = other.immediate_send(scope, &self.sent[..]);
            work();
            send.wait();
            receive.wait();
        });
    }
}

/// Communication tasks.
pub(crate) struct Ours {
    comm: Comm,
    other: Rank,
    sent: Vec<u8>,
    received: Vec<u8>,
}

impl Ours {
    pub(crate) fn new(world: &World, bytes: usize) -> Self {
        Self {
            comm: world.comm(),
            other: Rank(1 - world.rank().0),
            sent: vec![1; bytes],
            received: vec![0; bytes],
        }
    }
}

impl Steps for Ours {
    fn step(&mut self, work: impl FnOnce()) {
        let (sent, received) = (mem::take(&mut self.sent), mem::take(&mut self.received));
        let receive = self.comm.irecv_vec(received, self.other, Tag(0));
        let send = self.comm.isend_vec(sent, self.other, Tag(0));
        work();
        self.sent = send.wait_blocking().expect("both ranks live").value;
        self.received = receive.wait_blocking().expect("both ranks live").value;
    }
}
