//! The operators of accumulators, and the types of values they apply to (Chatterjee 2013, table
//! 6.4).
#![forbid(unsafe_code)]

/// An operator that combines two values.
///
/// ```
/// # use tautline_core::phaser::{Element, Op};
/// assert_eq!(u32::combine(Op::Max, 3, 5), 5);
/// assert_eq!(u32::identity(Op::Sum), Some(0));
/// assert_eq!(f64::identity(Op::BitAnd), None); // not defined for floats
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Op {
    /// The larger one; of floats, a number rather than NaN.
    Max,
    /// The smaller one; of floats, a number rather than NaN.
    Min,
    /// Integers wrap around.
    Sum,
    /// Integers wrap around.
    Prod,
    /// Whether both are true, or nonzero.
    LogicalAnd,
    /// Whether at least one is true, or nonzero.
    LogicalOr,
    /// Whether exactly one is true, or nonzero.
    LogicalXor,
    /// Bitwise.
    BitAnd,
    /// Bitwise.
    BitOr,
    /// Bitwise.
    BitXor,
    /// The largest value, with the lowest index at which it occurs.
    MaxLoc,
    /// The smallest value, with the lowest index at which it occurs.
    MinLoc,
}

impl Op {
    /// All operators.
    pub const ALL: [Self; 12] = [
        Self::Max,
        Self::Min,
        Self::Sum,
        Self::Prod,
        Self::LogicalAnd,
        Self::LogicalOr,
        Self::LogicalXor,
        Self::BitAnd,
        Self::BitOr,
        Self::BitXor,
        Self::MaxLoc,
        Self::MinLoc,
    ];
}

/// A value that an accumulator accepts: at most 16 bytes.
pub trait Element: Copy + Send + Sync + 'static {
    /// The number of low bits that [`pack`](Self::pack) uses; the others are 0. Values of at most
    /// 64 bits are combined faster.
    const WIDTH: u32 = u128::BITS;

    /// Returns the bits of the value.
    fn pack(self) -> u128;

    /// Returns the value with these bits, which [`pack`](Self::pack) returned.
    fn unpack(bits: u128) -> Self;

    /// Returns the identity of `op`; `None` if `op` is not defined for this type.
    fn identity(op: Op) -> Option<Self>;

    /// Combines two values, the earlier first. Called only with operators that have an identity.
    fn combine(op: Op, a: Self, b: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Element for $type {
            const WIDTH: u32 = <$type>::BITS;

            fn pack(self) -> u128 {
                self as u128 & (u128::MAX >> (u128::BITS - Self::WIDTH))
            }

            fn unpack(bits: u128) -> Self {
                bits as Self
            }

            fn identity(op: Op) -> Option<Self> {
                Some(match op {
                    Op::Max => Self::MIN,
                    Op::Min => Self::MAX,
                    Op::Sum | Op::BitOr | Op::BitXor | Op::LogicalOr | Op::LogicalXor => 0,
                    Op::Prod | Op::LogicalAnd => 1,
                    Op::BitAnd => !0,
                    Op::MaxLoc | Op::MinLoc => return None,
                })
            }

            fn combine(op: Op, a: Self, b: Self) -> Self {
                match op {
                    Op::Max => a.max(b),
                    Op::Min => a.min(b),
                    Op::Sum => a.wrapping_add(b),
                    Op::Prod => a.wrapping_mul(b),
                    Op::BitAnd => a & b,
                    Op::BitOr => a | b,
                    Op::BitXor => a ^ b,
                    Op::LogicalAnd => Self::from(a != 0 && b != 0),
                    Op::LogicalOr => Self::from(a != 0 || b != 0),
                    Op::LogicalXor => Self::from((a != 0) != (b != 0)),
                    Op::MaxLoc | Op::MinLoc => a,
                }
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

macro_rules! floats {
    ($($type:ty)*) => {$(
        impl Element for $type {
            const WIDTH: u32 = 8 * size_of::<$type>() as u32;

            fn pack(self) -> u128 {
                u128::from(self.to_bits())
            }

            fn unpack(bits: u128) -> Self {
                Self::from_bits(bits as _)
            }

            fn identity(op: Op) -> Option<Self> {
                Some(match op {
                    Op::Max => Self::NEG_INFINITY,
                    Op::Min => Self::INFINITY,
                    // Unlike 0, it preserves -0.
                    Op::Sum => -0.0,
                    Op::Prod => 1.0,
                    _ => return None,
                })
            }

            fn combine(op: Op, a: Self, b: Self) -> Self {
                match op {
                    Op::Max => a.max(b),
                    Op::Min => a.min(b),
                    Op::Sum => a + b,
                    Op::Prod => a * b,
                    _ => a,
                }
            }
        }
    )*};
}

floats!(f32 f64);

impl Element for bool {
    const WIDTH: u32 = 1;

    fn pack(self) -> u128 {
        u128::from(self)
    }

    fn unpack(bits: u128) -> Self {
        bits != 0
    }

    fn identity(op: Op) -> Option<Self> {
        Some(match op {
            Op::LogicalAnd | Op::BitAnd | Op::Min => true,
            Op::LogicalOr | Op::BitOr | Op::LogicalXor | Op::BitXor | Op::Max => false,
            Op::Sum | Op::Prod | Op::MaxLoc | Op::MinLoc => return None,
        })
    }

    fn combine(op: Op, a: Self, b: Self) -> Self {
        match op {
            Op::LogicalAnd | Op::BitAnd | Op::Min => a && b,
            Op::LogicalOr | Op::BitOr | Op::Max => a || b,
            _ => a != b,
        }
    }
}

/// A value with the index at which it occurs, for [`Op::MaxLoc`] and [`Op::MinLoc`].
///
/// ```
/// # use tautline_core::phaser::{At, Element, Op};
/// let (a, b) = (At { value: 7u32, index: 1 }, At { value: 9, index: 4 });
/// assert_eq!(At::combine(Op::MaxLoc, a, b), b);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<T> {
    /// The value; at most 8 bytes.
    pub value: T,
    /// The index at which it occurs.
    pub index: u64,
}

impl<T: Element + PartialOrd> Element for At<T> {
    fn pack(self) -> u128 {
        const {
            assert!(
                size_of::<T>() <= 8,
                "a value with an index has at most 8 bytes"
            )
        };
        self.value.pack() << 64 | u128::from(self.index)
    }

    fn unpack(bits: u128) -> Self {
        Self {
            value: T::unpack(bits >> 64),
            index: bits as u64,
        }
    }

    fn identity(op: Op) -> Option<Self> {
        let value = match op {
            Op::MaxLoc => T::identity(Op::Max)?,
            Op::MinLoc => T::identity(Op::Min)?,
            _ => return None,
        };
        let index = u64::MAX;
        Some(Self { value, index })
    }

    fn combine(op: Op, a: Self, b: Self) -> Self {
        let (ahead, behind) = match op {
            Op::MaxLoc => (a.value > b.value, a.value < b.value),
            _ => (a.value < b.value, a.value > b.value),
        };
        match (ahead, behind) {
            (true, _) => a,
            (_, true) => b,
            _ if a.index <= b.index => a,
            _ => b,
        }
    }
}
