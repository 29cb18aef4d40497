//! Bounds on activities that have not begun where they were spawned.

use crate::id::Rank;
use crate::machine::{Machine, Step, Tolerance};
use alloc::vec::Vec;
use core::fmt;

/// A rank's part in the bounds on what is in flight between each two ranks: bytes of activities
/// that were spawned and have not been taken, to run or to be dropped, at their rank.
///
/// A sender whose bytes reach the window waits; activities that have arrived never do, however much
/// they spawn: two ranks whose activities spawn at each other would wait for each other. So what
/// they send is not bounded by the window, and a sender that waits has to run them. A
/// receiver grants what it has taken a quarter of the window at a time.
///
/// ```
/// use tautline_core::Rank;
/// use tautline_core::finish::{Credit, CreditEvent};
/// use tautline_core::machine::{Action, Machine, Step};
///
/// let (mut sender, mut receiver) = (Credit::new(2, 8), Credit::new(2, 8));
/// let mut actions = Vec::new();
/// let mut step = |action| actions.push(action);
/// sender.event(CreditEvent::Sent(Rank(1), 9), &mut Step::new(&mut (), &mut step));
/// assert!(sender.is_full(Rank(1)));
/// receiver.event(CreditEvent::Taken(Rank(0), 9), &mut Step::new(&mut (), &mut step));
/// let Some(Action::Send(Rank(0), bytes)) = actions.pop() else { panic!("nothing is granted") };
/// let mut step = |action| actions.push(action);
/// sender.receive(Rank(1), bytes, &mut Step::new(&mut (), &mut step))?;
/// assert!(!sender.is_full(Rank(1)) && matches!(actions[..], [Action::Effect(Rank(1))]));
/// # Ok::<(), tautline_core::finish::Ungranted>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credit {
    window: u64,
    peers: Vec<Flight>,
}

/// Bytes between this rank and another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Flight {
    /// Sent to it, and not granted.
    sent: u64,
    /// Of it, taken here and not granted.
    taken: u64,
}

/// An event at a rank: the bytes of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditEvent {
    /// It was spawned at that rank.
    Sent(Rank, u64),
    /// It came from that rank, and was taken.
    Taken(Rank, u64),
}

/// The reason for refusing a grant: it is for more than was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ungranted;

impl fmt::Display for Ungranted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it grants more than was sent")
    }
}

impl core::error::Error for Ungranted {}

impl Credit {
    /// Creates that of one of `ranks`, between any two of which `window` bytes may be in flight.
    pub fn new(ranks: u32, window: u64) -> Self {
        let peers = (0..ranks).map(|_| Flight::default()).collect();
        Self { window, peers }
    }

    /// Whether a sender to a rank is to wait.
    pub fn is_full(&self, to: Rank) -> bool {
        self.peers[to.index()].sent >= self.window
    }

    fn peer(&mut self, rank: Rank) -> &mut Flight {
        &mut self.peers[rank.index()]
    }
}

/// Its messages are grants, in bytes; its effect names a rank to which senders need no longer wait.
impl Machine for Credit {
    type Peer = Rank;
    type Message = u64;
    type Event = CreditEvent;
    type Effect = Rank;
    type Calls = ();
    type Refusal = Ungranted;

    fn event(&mut self, event: CreditEvent, step: &mut Step<'_, Self>) {
        match event {
            CreditEvent::Sent(to, bytes) => self.peer(to).sent += bytes,
            CreditEvent::Taken(from, bytes) => {
                let least = (self.window / 4).max(1);
                let peer = self.peer(from);
                peer.taken += bytes;
                if peer.taken >= least {
                    step.send(from, core::mem::take(&mut peer.taken));
                }
            }
        }
    }

    fn receive(
        &mut self,
        from: Rank,
        bytes: u64,
        step: &mut Step<'_, Self>,
    ) -> Result<(), Ungranted> {
        let was_full = self.is_full(from);
        let peer = self.peer(from);
        peer.sent = peer.sent.checked_sub(bytes).ok_or(Ungranted)?;
        if was_full && !self.is_full(from) {
            step.effect(from);
        }
        Ok(())
    }

    /// Nothing is sent to a lost rank any more: no sender waits for it.
    fn lost(&mut self, rank: Rank, step: &mut Step<'_, Self>) -> Tolerance {
        let was_full = self.is_full(rank);
        *self.peer(rank) = Flight::default();
        if was_full {
            step.effect(rank);
        }
        Tolerance::Tolerated
    }
}
