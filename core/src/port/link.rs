//! Bytes between processes.

use crate::id::Rank;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;

/// A carrier of parcels, byte strings of any length, between the processes of one program.
///
/// From one rank to another, parcels arrive in the order in which they were sent; while both ranks
/// live, none is lost or doubled. No method but [`wait`](Self::wait) blocks. A link is used by one
/// thread at a time, while another one may wait for its bell; a link that is bound to its thread is
/// not `Send`.
///
/// Nothing here bounds what waits to be sent: back-pressure is decided above, by channel, from
/// [`unsent`](Self::unsent).
pub trait Link {
    /// Returns the rank of this process.
    fn here(&self) -> Rank;

    /// Returns the number of ranks.
    fn ranks(&self) -> u32;

    /// Returns the bell of this link, which threads wait for and ring.
    fn bell(&self) -> Arc<dyn Bell>;

    /// Sends `parcel` to another rank. It is never refused: what the machine does not accept at the
    /// moment waits inside, in order. What is sent to a rank is dropped once its loss is reported.
    ///
    /// # Panics
    /// If `to` is this rank, or not one of the ranks.
    fn send(&mut self, to: Rank, parcel: &[u8]);

    /// Moves parcels that wait to be sent as far as possible, and passes all parcels that have
    /// arrived to `take`. Returns whether anything moved.
    ///
    /// # Errors
    /// If a rank is lost; once for each. Its parcels that had arrived were passed on before, in
    /// this call or in earlier ones.
    fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost>;

    /// Prepares a wait: a parcel that arrives, room for what waits to be sent, and the loss of a
    /// rank ring the [bell](Self::bell) from now on, until the next [`poll`](Self::poll). Returns
    /// false if there is something to do at once.
    ///
    /// Provided: returns false, for links that must be polled.
    fn arm(&mut self) -> bool {
        false
    }

    /// Waits until [`poll`](Self::poll) may find something to do, the bell was rung, or `ticks` of
    /// the machine's [clock](super::Clock) are over. It may return at any time.
    fn wait(&mut self, ticks: u64) {
        if self.arm() {
            self.bell().wait(ticks);
        }
    }

    /// Returns the number of bytes that wait to be sent to `to`.
    fn unsent(&self, to: Rank) -> usize;
}

macro_rules! forward {
    ($($(#[$note:meta])* $to:ty),+) => {$(
        $(#[$note])*
        impl<L: Link + ?Sized> Link for $to {
            fn here(&self) -> Rank {
                (**self).here()
            }

            fn ranks(&self) -> u32 {
                (**self).ranks()
            }

            fn bell(&self) -> Arc<dyn Bell> {
                (**self).bell()
            }

            fn send(&mut self, to: Rank, parcel: &[u8]) {
                (**self).send(to, parcel);
            }

            fn poll(&mut self, take: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
                (**self).poll(take)
            }

            fn arm(&mut self) -> bool {
                (**self).arm()
            }

            fn wait(&mut self, ticks: u64) {
                (**self).wait(ticks);
            }

            fn unsent(&self, to: Rank) -> usize {
                (**self).unsent(to)
            }
        }
    )+};
}

forward!(
    /// Forwards every method, so that a program can be compiled once for links of all kinds.
    Box<L>,
    /// Forwards every method, so that a link can be lent.
    &mut L
);

/// The link of a program that runs as a single process: there is no other rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Link for Alone {
    fn here(&self) -> Rank {
        Rank(0)
    }

    fn ranks(&self) -> u32 {
        1
    }

    fn bell(&self) -> Arc<dyn Bell> {
        Arc::new(|| ())
    }

    fn send(&mut self, to: Rank, _: &[u8]) {
        panic!("the only rank sends to {to}");
    }

    fn poll(&mut self, _: &mut dyn FnMut(Rank, &[u8])) -> Result<bool, Lost> {
        Ok(false)
    }

    fn unsent(&self, _: Rank) -> usize {
        0
    }
}

/// A notifier that ends a wait of another thread.
pub trait Bell: Send + Sync {
    /// Ends the present or the next wait. Called from any thread; does not block.
    fn ring(&self);

    /// Waits until the bell was rung since the last wait, or `ticks` of the machine's
    /// [clock](super::Clock) are over. It may return at any time. One thread at a time calls this.
    ///
    /// Provided: returns at once, for machines on which nothing can sleep.
    fn wait(&self, _ticks: u64) {}
}

impl<F: Fn() + Send + Sync> Bell for F {
    fn ring(&self) {
        self();
    }
}

/// The loss of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The rank that does not answer any more.
    pub rank: Rank,
    /// The activity of the link when it noticed, as in "while sending to it".
    pub doing: &'static str,
    /// Whether the rank is gone, which all others find out, too. Otherwise this rank alone cannot
    /// communicate with it.
    pub is_gone: bool,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was lost, noticed while {}", self.rank, self.doing)
    }
}

impl core::error::Error for Lost {}
