//! All channels of a process over one link.

use super::channel::{Channel, End, Receiver};
use super::driver::LinkDriver;
use super::error::{Cause, Error};
use super::shared::Shared;
use super::terms::Terms;
use super::{Limits, Name, Portable};
use crate::id::Rank;
use crate::port::{Link, Relax};
use crate::sync::Lock;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::panic::Location;

/// Repetitions of a turn in one call, if threads have sent in the course of it.
const ROUNDS: usize = 16;

/// All channels of a process over one link.
///
/// ```
/// use std::sync::mpsc;
/// use tautline_core::PlaceId;
/// use tautline_core::port::{Alone, Spin};
/// use tautline_core::wire::{Exchange, unpack};
///
/// let exchange = Exchange::new(Alone, Spin);
/// let (put, got) = mpsc::channel();
/// let channel = exchange.open::<(u64, String)>("greetings", 2, move |_, to, body: &[u8]| {
///     put.send((to, unpack::<(u64, String)>(body)?)).expect("the test runs");
///     Ok(())
/// });
/// channel.send(PlaceId(0), PlaceId(1), (7, "hello".into()));
/// while exchange.turn()? {}
/// assert_eq!(got.recv().unwrap(), (PlaceId(1), (7, "hello".into())));
/// # Ok::<(), tautline_core::wire::Error>(())
/// ```
pub struct Exchange<L: Link> {
    shared: Arc<Shared>,
    driver: Lock<LinkDriver<L>>,
}

impl<L: Link> core::fmt::Debug for Exchange<L> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "the channels of {}", self.shared.here)
    }
}

impl<L: Link> Exchange<L> {
    /// Creates an exchange without channels, within the default [`Limits`]. Threads that find a
    /// lock taken call `relax`.
    pub fn new(link: L, relax: impl Relax + Send + Sync + 'static) -> Self {
        Self::within(Limits::default(), link, relax)
    }

    /// As [`new`](Self::new), with other limits, which should be the same at all ranks.
    pub fn within(limits: Limits, link: L, relax: impl Relax + Send + Sync + 'static) -> Self {
        let relax = Box::new(relax);
        let shared = Shared::new(link.here(), link.ranks(), limits, relax, link.bell());
        Self {
            driver: Lock::new(LinkDriver::new(link)),
            shared: Arc::new(shared),
        }
    }

    /// Returns this rank.
    pub fn here(&self) -> Rank {
        self.shared.here
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.shared.ranks
    }

    /// Returns the bounds of memory.
    pub fn limits(&self) -> Limits {
        self.shared.limits
    }

    /// Opens the next channel, for messages of type `M` between the places of all ranks, of which
    /// each rank has `places`. Places are numbered rank by rank.
    ///
    /// Every rank must open the same channels in the same order; different threads must agree on an
    /// order, if several open channels. Where ranks differ in the kind, the number of places, the
    /// type of the messages or the call of this method, [`turn`](Self::turn) fails.
    ///
    /// # Panics
    /// If `places` is 0.
    #[track_caller]
    pub fn open<M: Portable + 'static>(
        &self,
        kind: &'static str,
        places: u32,
        receiver: impl Receiver + 'static,
    ) -> Channel<M> {
        self.open_at(Location::caller(), kind, places, receiver)
    }

    /// As [`open`](Self::open), for the call at `site`.
    ///
    /// # Panics
    /// If `places` is 0.
    pub fn open_at<M: Portable + 'static>(
        &self,
        site: &Location<'_>,
        kind: &'static str,
        places: u32,
        receiver: impl Receiver + 'static,
    ) -> Channel<M> {
        assert_ne!(places, 0, "places of each rank");
        let terms = Terms::of::<M>(kind, places, site);
        let end = |ordinal| {
            let name = Name {
                ordinal,
                kind: Some(kind),
                operation: None,
            };
            Arc::new(End::new(
                self.shared.clone(),
                name,
                terms,
                Box::new(receiver),
            ))
        };
        Channel::new(self.shared.open(end))
    }

    /// Sends the messages in the outboxes, and passes those that have arrived to the receivers.
    /// Returns whether anything moved.
    ///
    /// Any thread may call this, also while another one does: then it returns, and the other thread
    /// does the caller's work too, in the present turn or, if that moved something, in its next
    /// one. Does not block.
    ///
    /// # Errors
    /// If a rank was lost, sent something unexpected, or gave up; from then on the channels are
    /// dead, and each call returns the first error. The other ranks are notified.
    ///
    /// # Panics
    /// If encoding, decoding or a receiver does; the channels are dead then, too.
    pub fn turn(&self) -> Result<bool, Error> {
        let mut ended = Ok(false);
        for _ in 0..ROUNDS {
            let Some(mut driver) = self.driver.try_lock() else {
                return ended;
            };
            let turned = Turn::run(&self.shared, &mut driver);
            ended = turned.map(|moved| moved || ended == Ok(true));
            let seen = driver.seen();
            drop(driver);
            // Dead channels, too: the receivers of channels opened since must be notified.
            if self.shared.recent_news() == seen {
                return ended;
            }
        }
        ended.map(|_| true)
    }

    /// Waits until something may have arrived, a message was sent here, or `ticks` of the link's
    /// clock are over; then runs a [`turn`](Self::turn). While threads [attend](Self::attend), it
    /// waits for the last of them to retire instead. Does not wait if another thread waits here or
    /// runs a turn.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub fn wait(&self, ticks: u64) -> Result<bool, Error> {
        if self.shared.begin_sleep() {
            let news = self.shared.recent_news();
            if self.shared.is_attended() || self.arm(news) {
                self.shared.wait(ticks);
            }
            self.shared.end_sleep();
        }
        self.turn()
    }

    /// Prepares a wait, unless there is something to do.
    fn arm(&self, news: usize) -> bool {
        let driver = self.driver.try_lock();
        driver.is_some_and(|mut driver| driver.seen() == news && driver.arm())
    }

    /// The caller will run a [`turn`](Self::turn) every now and then until the result is dropped,
    /// so that no thread need be woken for it.
    pub fn attend(&self) -> Attendance<'_, L> {
        self.shared.attend();
        Attendance { exchange: self }
    }

    /// Ends all channels with `error`, for which this rank cannot go on, or with the error that has
    /// ended them before. The other ranks are notified.
    pub fn fail(&self, error: &Error) {
        let relax = self.shared.relax();
        self.driver.lock(&relax).fail(&self.shared, error);
        // For threads that have opened a channel since, and found the link taken.
        let _ = self.turn();
    }

    /// From now on the loss of a rank ends the channels only if one is open, or is opened later,
    /// whose receiver does not [tolerate](Receiver::lost) it. A rank reports the losses that it
    /// knows to the others before its goodbye; what is still to come from a rank that was reported
    /// is dropped.
    pub fn tolerate_losses(&self) {
        self.driver.lock(&self.shared.relax()).tolerate_losses();
    }

    /// Lets the receivers of all channels check whether something has happened at this rank that no
    /// message reports, or whether the tasks of this rank leave messages unserved; to be called now
    /// and then. Sends what the receivers have sent.
    pub fn nudge(&self) {
        let Some(mut driver) = self.driver.try_lock() else {
            return;
        };
        driver.nudge(&self.shared);
        let is_sent = driver.seen() == self.shared.news();
        drop(driver);
        if !is_sent {
            // Its errors reach the receivers.
            let _ = self.turn();
        }
    }

    /// Ends the present or the next [`wait`](Self::wait), also while threads
    /// [attend](Self::attend).
    pub fn wake(&self) {
        self.shared.ring();
    }

    /// Returns the error of the ranks that have not opened the first channel that this rank has and
    /// some of them have not, as far as this rank knows: it hears of up to 32 ranks, or else of
    /// those next to it in a tree. Programs that wait for others with a deadline report it, or
    /// [fail](Self::fail) with it.
    pub fn absent(&self) -> Option<Error> {
        let driver = self.driver.lock(&self.shared.relax());
        driver.absent(&self.shared)
    }

    /// Returns the number of parcels that were sent over the link, for reports. Messages of several
    /// channels may share a parcel.
    pub fn parcels(&self) -> u64 {
        self.driver.lock(&self.shared.relax()).parcels()
    }

    /// Sends the waiting messages; then announces to the other ranks that this one ends, so that
    /// they do not take it for lost. Returns whether everything has left; to be called until then.
    /// Messages sent after the first call may be dropped.
    ///
    /// Dropping an exchange announces its end at once.
    ///
    /// # Errors
    /// As [`turn`](Self::turn); then [`is_sent`](Self::is_sent) returns whether the other ranks
    /// were sent the error.
    pub fn leave(&self) -> Result<bool, Error> {
        self.turn()?;
        match self.driver.try_lock() {
            Some(mut driver) => driver.leave(&self.shared, false),
            None => Ok(false),
        }
    }

    /// Whether everything that this rank has sent, the error for which it gave up included, has
    /// left the link.
    pub fn is_sent(&self) -> bool {
        let driver = self.driver.try_lock();
        driver.is_some_and(|driver| driver.is_sent(&self.shared))
    }
}

/// A turn, which ends all channels if it unwinds: a message was lost then.
struct Turn<'a, L: Link> {
    shared: &'a Shared,
    driver: &'a mut LinkDriver<L>,
    has_returned: bool,
}

impl<'a, L: Link> Turn<'a, L> {
    fn run(shared: &'a Shared, driver: &'a mut LinkDriver<L>) -> Result<bool, Error> {
        let mut turn = Self {
            shared,
            driver,
            has_returned: false,
        };
        let moved = turn.driver.turn(shared);
        turn.has_returned = true;
        moved
    }
}

impl<L: Link> Drop for Turn<'_, L> {
    fn drop(&mut self) {
        if !self.has_returned {
            let doing = "encoding or decoding, which panicked";
            let error = self
                .shared
                .error(self.shared.here, None, Cause::Lost { doing });
            self.driver.fail(self.shared, &error);
        }
    }
}

impl<L: Link> Drop for Exchange<L> {
    fn drop(&mut self) {
        if let Some(mut driver) = self.driver.try_lock() {
            // Whether or not the others still listen, this rank ends.
            let _ = driver.leave(&self.shared, true);
        }
    }
}

/// A registration of a thread that runs turns while it computes; created by [`Exchange::attend`].
#[must_use = "it ends when it is dropped"]
#[derive(Debug)]
pub struct Attendance<'x, L: Link> {
    exchange: &'x Exchange<L>,
}

impl<L: Link> Drop for Attendance<'_, L> {
    fn drop(&mut self) {
        self.exchange.shared.retire();
    }
}
