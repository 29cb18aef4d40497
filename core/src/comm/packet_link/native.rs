//! Collective operations that the library of a link carries out.

/// The promise that all ranks start the same operations of a number of a
/// [`PacketLink`](super::PacketLink), in the same order, with vectors of the same types and
/// lengths.
#[derive(Clone, Copy, Debug)]
pub struct Matched(());

impl Matched {
    /// Makes the promise.
    ///
    /// # Safety
    /// That it is kept: the library writes as much as the other ranks send.
    pub const unsafe fn promise() -> Self {
        Self(())
    }
}

/// A collective operation on vectors of plain data. Rank 0 is the root of those that have one.
///
/// | operation | a rank's own vector | its result |
/// |---|---|---|
/// | `Barrier` | | |
/// | `Broadcast` | rank 0: n elements | n elements |
/// | `Scatter` | rank 0: n elements for each rank | n elements |
/// | `Gather` | n elements | rank 0: n elements of each rank |
/// | `AllGather` | n elements | n elements of each rank |
/// | `AllToAll` | n elements for each rank | n elements of each rank |
/// | `Reduce` | n elements | rank 0: n elements |
/// | `AllReduce` | n elements | n elements |
/// | `Scan` | n elements | n elements, of the ranks up to this one |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// Ends when all ranks have started it.
    Barrier,
    /// Brings rank 0's vector to all ranks.
    Broadcast,
    /// Brings a part of rank 0's vector to each rank.
    Scatter,
    /// Brings the vectors of all ranks to rank 0.
    Gather,
    /// Brings the vectors of all ranks to all.
    AllGather,
    /// Brings a part of each rank's vector to each rank.
    AllToAll,
    /// Combines the vectors of all ranks at rank 0, element by element.
    Reduce(Element, Operator),
    /// Combines the vectors of all ranks for all.
    AllReduce(Element, Operator),
    /// Combines the vectors of the ranks up to each one.
    Scan(Element, Operator),
}

/// The combination of two integers.
#[cfg(feature = "wire")]
macro_rules! integers {
    ($a:expr, $b:expr, $operator:expr) => {
        match $operator {
            Operator::Max => $a.max($b),
            Operator::Min => $a.min($b),
            Operator::Sum => $a.wrapping_add($b),
            Operator::Product => $a.wrapping_mul($b),
            Operator::And => ($a != 0 && $b != 0).into(),
            Operator::Or => ($a != 0 || $b != 0).into(),
            Operator::Xor => (($a != 0) != ($b != 0)).into(),
            Operator::BitAnd => $a & $b,
            Operator::BitOr => $a | $b,
            Operator::BitXor => $a ^ $b,
        }
    };
}

/// The combination of two floating-point numbers.
#[cfg(feature = "wire")]
macro_rules! reals {
    ($a:expr, $b:expr, $operator:expr) => {
        match $operator {
            Operator::Max => $a.max($b),
            Operator::Min => $a.min($b),
            Operator::Sum => $a + $b,
            Operator::Product => $a * $b,
            other => panic!("{other:?} of {:?}", Self::ELEMENT),
        }
    };
}

macro_rules! elements {
    ($($(#[$note:meta])* $name:ident: $type:ty, $combine:ident);+ $(;)?) => {
        /// A type of numbers (Chatterjee 2013, Table 4.1).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Element {
            $($(#[$note])* $name),+
        }

        impl Element {
            /// Returns the bytes of a number.
            pub const fn bytes(self) -> usize {
                match self {
                    $(Self::$name => size_of::<$type>()),+
                }
            }

            /// Whether its numbers are integers.
            pub const fn is_integer(self) -> bool {
                !matches!(self, Self::F32 | Self::F64)
            }
        }

        $(
            #[cfg(feature = "wire")]
            impl sealed::Sealed for $type {}

            #[cfg(feature = "wire")]
            impl Number for $type {
                const ELEMENT: Element = Element::$name;

                #[inline]
                fn combined(self, other: Self, operator: Operator) -> Self {
                    $combine!(self, other, operator)
                }
            }
        )+
    };
}

/// Numbers that are combined by an [`Operator`]. Implemented for the types of [`Element`], and for
/// no other, since a library relies on it.
#[cfg(feature = "wire")]
pub trait Number:
    sealed::Sealed
    + zerocopy::FromBytes
    + zerocopy::IntoBytes
    + zerocopy::Immutable
    + Copy
    + Send
    + Sync
    + 'static
{
    /// Its type.
    const ELEMENT: Element;

    /// Returns the combination with `other`. Sums and products of integers wrap; the greatest and
    /// the least of a number and NaN are the number.
    ///
    /// ```
    /// use tautline_core::comm::{Number, Operator};
    ///
    /// assert_eq!(3.5f64.combined(-1.0, Operator::Min), -1.0);
    /// assert_eq!(6u8.combined(3, Operator::BitAnd), 2);
    /// ```
    ///
    /// # Panics
    /// If the operator does not [apply](Operator::applies_to) to such numbers.
    fn combined(self, other: Self, operator: Operator) -> Self;
}

elements! {
    /// An integer.
    I8: i8, integers;
    /// An integer.
    I16: i16, integers;
    /// An integer.
    I32: i32, integers;
    /// An integer.
    I64: i64, integers;
    /// An integer.
    U8: u8, integers;
    /// An integer.
    U16: u16, integers;
    /// An integer.
    U32: u32, integers;
    /// An integer.
    U64: u64, integers;
    /// A floating-point number.
    F32: f32, reals;
    /// A floating-point number.
    F64: f64, reals;
}

#[cfg(feature = "wire")]
mod sealed {
    pub trait Sealed {}
}

/// The combination of numbers (Chatterjee 2013, Table 6.4, without those on pairs, `MAXLOC` and
/// `MINLOC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// The sum.
    Sum,
    /// The product.
    Product,
    /// Whether all are not 0. Of integers, as the following.
    And,
    /// Whether one is not 0.
    Or,
    /// Whether an odd number of them is not 0.
    Xor,
    /// The bits of all.
    BitAnd,
    /// The bits of any.
    BitOr,
    /// The bits of an odd number of them.
    BitXor,
}

impl Operator {
    /// Whether numbers of this type can be combined by it.
    pub const fn applies_to(self, element: Element) -> bool {
        matches!(self, Self::Max | Self::Min | Self::Sum | Self::Product) || element.is_integer()
    }
}
