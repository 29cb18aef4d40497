//! Messages of ranks by plain calls of MPI: requests for work, their replies, and the end.
//!
//! # Algorithm
//!
//! A rank without work asks a rank drawn at random, one at a time. The victim replies with a chunk
//! or with nothing. Termination is Dijkstra's: a token passes from rank to rank, a rank that gives
//! work away is black and blackens the next token that passes it. A rank passes the token only
//! while it has neither work nor a request without a reply, so that a chunk under way is covered by
//! its thief. A white token that returns to a white rank 0 ends the search.

use mpi::point_to_point::MatchedReceiveVec;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};

const REQUEST: i32 = 1;
const WORK: i32 = 2;
const NOTHING: i32 = 3;
const TOKEN: i32 = 4;
const END: i32 = 5;

/// Colour of a token or a rank.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    White = 0,
    Black = 1,
}

/// A rank's end.
pub(crate) struct Ring {
    world: SimpleCommunicator,
    /// The state of the numbers that draw victims.
    random: u64,
    /// Whether a request is without a reply.
    is_asking: bool,
    colour: Colour,
    /// The token, while it is here.
    token: Option<Colour>,
    has_ended: bool,
    /// Requests sent.
    pub asked: u64,
    /// Requests that got no work.
    pub failed: u64,
}

// SAFETY: a ring is used by one thread at a time, and MPI_THREAD_SERIALIZED is requested for it.
unsafe impl Send for Ring {}

impl Ring {
    /// Creates this rank's end.
    pub(crate) fn new() -> Self {
        let world = SimpleCommunicator::world();
        let (here, ranks) = (world.rank(), world.size());
        Self {
            random: 0x9e37_79b9_7f4a_7c15 ^ (here as u64 + 1) << 32,
            is_asking: false,
            colour: Colour::White,
            // So rank 0 starts the first round.
            token: (here == 0).then_some(Colour::Black),
            has_ended: ranks == 1,
            asked: 0,
            failed: 0,
            world,
        }
    }

    /// Whether the search is over: all ranks are without work.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Handles all messages that have arrived; `give` returns a chunk for a thief, if there is one
    /// to give. Returns the chunk that was received.
    #[inline]
    pub(crate) fn poll(&mut self, mut give: impl FnMut() -> Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut loot = None;
        while let Some(arrived) = self.world.any_process().immediate_matched_probe() {
            let (bytes, status) = arrived.matched_receive_vec::<u8>();
            match status.tag() {
                REQUEST => {
                    let thief = self.world.process_at_rank(status.source_rank());
                    if let Some(chunk) = give() {
                        self.colour = Colour::Black;
                        thief.send_with_tag(&chunk[..], WORK);
                    } else {
                        thief.send_with_tag(&[0u8; 0][..], NOTHING);
                    }
                }
                WORK => {
                    self.is_asking = false;
                    loot = Some(bytes);
                }
                NOTHING => {
                    self.is_asking = false;
                    self.failed += 1;
                }
                TOKEN if bytes == [Colour::White as u8] => self.token = Some(Colour::White),
                TOKEN => self.token = Some(Colour::Black),
                _ => self.has_ended = true,
            }
        }
        loot
    }

    /// Asks a rank for work, unless a reply is outstanding. With `is_passive`, no worker of this
    /// rank has work: then the token is passed before.
    pub(crate) fn search(&mut self, is_passive: bool) {
        if self.is_asking || self.has_ended {
            return;
        }
        if let Some(token) = self.token.take_if(|_| is_passive) {
            self.pass(token);
        }
        if !self.has_ended {
            let victim = self.victim();
            let victim = self.world.process_at_rank(victim);
            victim.send_with_tag(&[0u8; 0][..], REQUEST);
            self.is_asking = true;
            self.asked += 1;
        }
    }

    fn pass(&mut self, token: Colour) {
        let (here, ranks) = (self.world.rank(), self.world.size());
        let both = [token, self.colour];
        let next = self.world.process_at_rank((here + 1) % ranks);
        let colour = match here {
            0 if both == [Colour::White; 2] => {
                let others = (1..ranks).map(|rank| self.world.process_at_rank(rank));
                others.for_each(|other| other.send_with_tag(&[0u8; 0][..], END));
                self.has_ended = true;
                return;
            }
            0 => Colour::White,
            _ if both.contains(&Colour::Black) => Colour::Black,
            _ => Colour::White,
        };
        self.colour = Colour::White;
        next.send_with_tag(&[colour as u8][..], TOKEN);
    }

    /// Returns any other rank (xorshift).
    fn victim(&mut self) -> i32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let others = self.world.size() - 1;
        let drawn = ((self.random >> 32) % others as u64) as i32;
        drawn + i32::from(drawn >= self.world.rank())
    }

    /// Refuses the requests that are under way when the search has ended, and waits until all have
    /// been answered.
    pub(crate) fn leave(&mut self) {
        while self.is_asking {
            let loot = self.poll(|| None);
            assert!(loot.is_none(), "work after the end");
        }
        let mut left = self.world.immediate_barrier();
        while let Err(not_yet) = left.test() {
            left = not_yet;
            self.poll(|| None);
        }
    }
}
