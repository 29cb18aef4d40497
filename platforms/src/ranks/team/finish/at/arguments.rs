//! The arguments of calls that have arrived together.

use crate::ranks::team::finish::record::next_framed;
use crate::ranks::team::finish::text::text_of;
use std::fmt;
use std::panic::{Location, catch_unwind, resume_unwind};
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
            self.batch = &[];
            malformed(self.site, self.from);
        };
        match decode(self.site, args) {
            Ok(args) => Some(args),
            Err(why) => refuse(self.site, self.from, why),
        }
    }
}

/// Decodes arguments of the handler made at `site`. A panic of the decoding gets the handler's
/// name: nothing else there is known to the program that sent them.
#[inline]
pub(super) fn decode<A: Portable>(
    site: &'static Location<'static>,
    args: &[u8],
) -> Result<A, Malformed> {
    let decoded = catch_unwind(|| unpack(args));
    decoded.unwrap_or_else(|payload| {
        let text = text_of(&*payload);
        let text = format!("the handler at {site}: decoding its arguments: {text}");
        resume_unwind(Box::new(text))
    })
}

/// Panics, for arguments of another type.
#[cold]
pub(super) fn refuse(site: &'static Location<'static>, from: Rank, why: Malformed) -> ! {
    panic!("the handler at {site}: the arguments from {from} have {why}")
}

/// Panics, for lengths that do not fit.
#[cold]
pub(super) fn malformed(site: &'static Location<'static>, from: Rank) -> ! {
    panic!("the handler at {site}: {from} has sent a malformed batch")
}
