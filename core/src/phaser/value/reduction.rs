//! The combination of a phase's values: a fold.
#![forbid(unsafe_code)]

use super::operator::{Element, Op};

/// An operator on packed values of one type.
#[derive(Debug)]
pub(crate) struct Reduction {
    op: Op,
    combine: fn(Op, u128, u128) -> u128,
    identity: u128,
    init: u128,
    /// The words of a value.
    width: u8,
}

impl Reduction {
    /// Creates a reduction. Returns `None` if `op` is not defined for values of this type.
    pub(crate) fn new<T: Element>(op: Op, init: Option<T>) -> Option<Self> {
        let identity = T::identity(op)?;
        Some(Self {
            op,
            combine: |op, a, b| T::combine(op, T::unpack(a), T::unpack(b)).pack(),
            identity: identity.pack(),
            init: init.unwrap_or(identity).pack(),
            width: T::WIDTH.min(u128::BITS).div_ceil(usize::BITS) as u8,
        })
    }

    /// Returns the number of words of a value.
    pub(crate) fn width(&self) -> u8 {
        self.width
    }

    /// Returns the result of no values.
    pub(crate) fn init(&self) -> u128 {
        self.init
    }

    /// Combines `values`, the earlier first.
    #[inline]
    pub(crate) fn fold(&self, values: impl Iterator<Item = u128>) -> u128 {
        values.fold(self.identity, |a, b| (self.combine)(self.op, a, b))
    }

    /// Returns the result of a phase whose values were folded to `value`.
    #[inline]
    pub(crate) fn conclude(&self, value: u128) -> u128 {
        (self.combine)(self.op, self.init, value)
    }
}
