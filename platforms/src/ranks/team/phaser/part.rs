//! A rank's part in the exchange of a phase.

use crate::phaser::{Element, Op, PhaserError};
use tautline_core::phaser::{Accumulator, Registration};
use tautline_core::port;
use tautline_core::port::Relax;

/// The number of ranks with tasks or threads, and their values combined.
pub(super) type Value = (u32, u128);

/// A rank's part in an exchange.
pub(super) trait Part<P: Relax + port::Barrier>: Send + Sync {
    /// Returns the value of this rank.
    fn own(&self) -> u128;

    /// Passes the result to the tasks that wait.
    fn publish(&self, release: &mut Registration<P>, result: u128) -> Result<(), PhaserError>;
}

/// The part of a phaser without a reduction.
pub(super) struct NoReduction;

impl<P: Relax + port::Barrier> Part<P> for NoReduction {
    fn own(&self) -> u128 {
        0
    }

    fn publish(&self, _: &mut Registration<P>, _: u128) -> Result<(), PhaserError> {
        Ok(())
    }
}

/// Combines the values of phasers without a reduction.
pub(super) fn together((ranks, _): Value, (more, _): Value) -> Value {
    (ranks + more, 0)
}

/// The part of an accumulator.
pub(super) struct Reduction<T, P: port::Barrier> {
    pub(super) local: Accumulator<T, P>,
    pub(super) global: Accumulator<T, P>,
}

impl<T: Element, P: Relax + port::Barrier + Send + Sync> Part<P> for Reduction<T, P> {
    fn own(&self) -> u128 {
        self.local.get().pack()
    }

    fn publish(&self, release: &mut Registration<P>, result: u128) -> Result<(), PhaserError> {
        self.global.put(release, T::unpack(result))
    }
}

/// Returns the function that combines the values of ranks by `op`.
pub(super) fn combination<T: Element>(
    op: Op,
) -> impl Fn(Value, Value) -> Value + Copy + Send + Sync + 'static {
    move |(ranks, a), (more, b)| {
        let combined = T::combine(op, T::unpack(a), T::unpack(b));
        (ranks + more, combined.pack())
    }
}
