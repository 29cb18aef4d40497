//! The arguments of calls that have arrived together.

use crate::ranks::team::finish::record::next_framed;
use std::cell::Cell;
use std::fmt;
use std::mem;
use std::panic::Location;
use tautline_core::Rank;
use tautline_core::wire::{Malformed, Portable, unpack};

/// The arguments of calls that have arrived together, one after the other; those of one call, if
/// it was made alone. Passed to a [batch handler](super::batch_handler).
pub struct Arguments<'a, A> {
    from: Rank,
    /// The place in the program where the handler is made.
    site: &'static Location<'static>,
    next: Option<A>,
    batch: &'a [u8],
}

impl<A> fmt::Debug for Arguments<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "calls of the handler at {}", self.site)
    }
}

impl<'a, A> Arguments<'a, A> {
    /// Returns those of a message.
    pub(super) fn of_batch(from: Rank, site: &'static Location<'static>, batch: &'a [u8]) -> Self {
        Self {
            from,
            site,
            next: None,
            batch,
        }
    }

    /// Returns those of one call.
    pub(super) fn of_one(from: Rank, site: &'static Location<'static>, args: A) -> Self {
        Self {
            next: Some(args),
            ..Self::of_batch(from, site, &[])
        }
    }
}

impl<A: Portable> Iterator for Arguments<'_, A> {
    type Item = A;

    /// Decodes the next arguments.
    ///
    /// # Panics
    /// If they are malformed, which panics the activity.
    #[inline]
    fn next(&mut self) -> Option<A> {
        if self.batch.is_empty() {
            return self.next.take();
        }
        let Some(args) = next_framed(&mut self.batch) else {
            malformed(self.site, self.from);
        };
        match decode(self.site, args) {
            Ok(args) => Some(args),
            Err(why) => refuse(self.site, self.from, why),
        }
    }
}

thread_local! {
    /// The handler whose arguments were being decoded by the panic that unwinds this thread.
    static DECODED: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
}

/// Dropped by a panic alone: the decoding of arguments of the handler made there has panicked.
struct Decoding(&'static Location<'static>);

impl Drop for Decoding {
    fn drop(&mut self) {
        DECODED.set(Some(self.0));
    }
}

/// Returns the place where the handler is made whose arguments were being decoded by the panic that
/// was caught, if it was by decoding.
pub(super) fn take_decoded() -> Option<&'static Location<'static>> {
    DECODED.take()
}

/// Decodes arguments of the handler made at `site`.
#[inline]
pub(super) fn decode<A: Portable>(
    site: &'static Location<'static>,
    args: &[u8],
) -> Result<A, Malformed> {
    let decoding = Decoding(site);
    let args = unpack(args);
    mem::forget(decoding);
    args
}

/// Panics, for arguments that are not what the handler takes.
#[cold]
pub(super) fn refuse(site: &'static Location<'static>, from: Rank, why: Malformed) -> ! {
    panic!("the handler at {site}: the arguments from {from} have {why}")
}

/// Panics, for lengths that do not fit.
#[cold]
pub(super) fn malformed(site: &'static Location<'static>, from: Rank) -> ! {
    panic!("the handler at {site}: {from} has sent a malformed batch")
}
