//! A link of rings between the ranks of one machine, be they threads or processes.
//!
//! From each rank to each other leads a ring. A parcel is a record, or several if it is longer than
//! a piece: all but the last one are marked as continued. What does not fit into the ring waits in
//! a queue of its sender. A rank that waits marks the rings that it waits for, and sleeps on its
//! bell. A rank that corrupts a ring is lost for its other end.

use super::Memory;
use super::parcel::{Inward, Outward};
use crate::id::Rank;
use crate::port::{Bell, Fence, Link, Lost};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// The state that the ranks of a [`Mesh`] share in addition to its rings: which of them are
/// present, and what they sleep on.
pub trait Roster: Send + Sync + 'static {
    /// The fence of all ranks.
    type Fence: Fence;

    /// Returns the fence for the handshakes of ranks that sleep.
    fn fence(&self) -> &Self::Fence;

    /// Whether `rank` has ended. If so, all that it has published is visible to the caller.
    fn is_gone(&self, rank: Rank) -> bool;

    /// States that `rank`, which is the caller, has ended. What it has published is visible to
    /// ranks that observe this.
    fn leave(&self, rank: Rank);

    /// Ends the present or the next wait of `rank`. What the caller has written before is visible
    /// that wait after it.
    fn ring(&self, rank: Rank);

    /// Waits, as `rank`, until its bell was rung since the last wait, or `ticks` of the machine's
    /// clock are over.
    fn wait(&self, rank: Rank, ticks: u64);
}

/// One rank's link to the other ranks of a machine. A parcel has at most
/// [`LONGEST`](super::LONGEST) bytes; sending a longer one panics. Dropping a link is the loss of
/// its rank for the others; what they have not received of it by then still arrives, except for
/// what waited for room.
pub struct Mesh<M: Memory, R: Roster> {
    bell: Arc<Seat<R>>,
    /// By rank; `None` at this one.
    peers: Vec<Option<Peer<M>>>,
}

/// A rank in its roster.
struct Seat<R> {
    roster: Arc<R>,
    here: Rank,
}

/// Another rank.
struct Peer<M> {
    out: Outward<M>,
    inward: Inward<M>,
    presence: Presence,
}

#[derive(Clone, Copy)]
enum Presence {
    Present,
    /// Gone, or corrupting the ring: the activity of this rank when it noticed.
    Lost(&'static str),
    /// Its loss was reported.
    Reported,
}

impl<M: Memory, R: Roster> fmt::Debug for Mesh<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the link of {} of {}", self.bell.here, self.ranks())
    }
}

impl<R: Roster> Bell for Seat<R> {
    fn ring(&self) {
        self.roster.ring(self.here);
    }

    fn wait(&self, ticks: u64) {
        self.roster.wait(self.here, ticks);
    }
}

impl<M: Memory, R: Roster> Mesh<M, R> {
    /// Creates the only link of rank `here` of `ranks`. `ring` returns the memory of the ring from
    /// one rank to another, of which nothing was ever sent or taken.
    ///
    /// # Panics
    /// If `here` is not one of the ranks, or a ring has not a power of two of units, at least 8.
    pub fn new(here: Rank, ranks: u32, roster: Arc<R>, ring: impl Fn(Rank, Rank) -> M) -> Self {
        assert!(here.0 < ranks, "{here} of {ranks}");
        let ring = |from, to| {
            let memory = ring(from, to);
            let units = memory.units().len();
            assert!(units >= 8, "{units} words of a ring: at least 8");
            memory
        };
        let peer = |there: Rank| Peer {
            out: Outward::new(ring(here, there)),
            inward: Inward::new(ring(there, here)),
            presence: Presence::Present,
        };
        let peers = (0..ranks).map(Rank);
        Self {
            peers: peers.map(|r| (r != here).then(|| peer(r))).collect(),
            bell: Arc::new(Seat { roster, here }),
        }
    }
}

impl<M: Memory> Peer<M> {
    /// Moves parcels that wait for the other rank, and passes those that have arrived from it to
    /// `take`. Returns whether anything moved.
    fn poll<R: Roster>(&mut self, rank: Rank, roster: &R, take: impl FnMut(&[u8])) -> bool {
        if !matches!(self.presence, Presence::Present) {
            return false;
        }
        self.try_poll(rank, roster, take).unwrap_or_else(|doing| {
            self.out.drop_all();
            self.inward.drop_all();
            self.presence = Presence::Lost(doing);
            true
        })
    }

    fn try_poll<R: Roster>(
        &mut self,
        rank: Rank,
        roster: &R,
        mut take: impl FnMut(&[u8]),
    ) -> Result<bool, &'static str> {
        let (fence, wake) = (roster.fence(), || roster.ring(rank));
        let pushed = self.out.push(fence, wake);
        let (moved, _) = self.inward.drain(fence, wake, &mut take)?;
        if pushed? | moved {
            return Ok(true);
        }
        if !roster.is_gone(rank) {
            return Ok(false);
        }
        // What it sent last is in the ring by now.
        match self.inward.drain(fence, wake, &mut take)? {
            (_, true) => Err("receiving from it"),
            (moved, false) => Ok(moved),
        }
    }

    /// Marks the rings as waited for. Returns false if there is something to do at once.
    fn arm<R: Roster>(&mut self, rank: Rank, roster: &R) -> bool {
        match self.presence {
            Presence::Present => {
                let fence = roster.fence();
                let wake = || roster.ring(rank);
                let pushed = self.out.push(fence, wake);
                let may_sleep =
                    pushed.is_ok() && self.inward.sleep(fence, wake) && self.out.sleep(fence);
                // After the marks: a rank that goes later rings.
                may_sleep && !roster.is_gone(rank)
            }
            Presence::Lost(_) => false,
            Presence::Reported => true,
        }
    }
}

impl<M: Memory, R: Roster> Link for Mesh<M, R> {
    fn here(&self) -> Rank {
        self.bell.here
    }

    fn ranks(&self) -> u32 {
        self.peers.len() as u32
    }

    fn bell(&self) -> Arc<dyn Bell> {
        self.bell.clone()
    }

    fn send(&mut self, to: Rank, parcel: &[u8]) {
        let ranks = self.peers.len();
        let peer = self.peers.get_mut(to.index()).and_then(Option::as_mut);
        let Some(peer) = peer else {
            panic!("{} sends to {to} of {ranks}", self.bell.here);
        };
        if matches!(peer.presence, Presence::Present) {
            peer.out.send(parcel);
        }
    }

    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        let roster = &*self.bell.roster;
        let mut moved = false;
        let mut found = None;
        for (rank, peer) in (0..).map(Rank).zip(&mut self.peers) {
            let Some(peer) = peer else { continue };
            moved |= peer.poll(rank, roster, |parcel| take(rank, parcel));
            if let (Presence::Lost(doing), None) = (peer.presence, &found) {
                peer.presence = Presence::Reported;
                let is_gone = roster.is_gone(rank);
                found = Some(Lost {
                    rank,
                    doing,
                    is_gone,
                });
            }
        }
        found.map_or(Ok(moved), Err)
    }

    fn arm(&mut self) -> bool {
        let roster = &*self.bell.roster;
        let mut may_sleep = true;
        for (rank, peer) in (0..).map(Rank).zip(&mut self.peers) {
            may_sleep &= peer.as_mut().is_none_or(|peer| peer.arm(rank, roster));
        }
        may_sleep
    }

    fn unsent(&self, to: Rank) -> usize {
        let peer = self.peers.get(to.index()).and_then(Option::as_ref);
        peer.map_or(0, |p| p.out.unsent())
    }
}

impl<M: Memory, R: Roster> Drop for Mesh<M, R> {
    fn drop(&mut self) {
        let Seat { roster, here } = &*self.bell;
        let ranks = (0..).map(Rank);
        for (rank, peer) in ranks.clone().zip(&mut self.peers) {
            if let Some(peer) = peer {
                let _ = peer.out.push(roster.fence(), || roster.ring(rank));
            }
        }
        roster.leave(*here);
        for (rank, _) in ranks.zip(&self.peers) {
            roster.ring(rank);
        }
    }
}
