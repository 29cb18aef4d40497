//! Operations that change an object where its value is.

mod element;

pub(super) use element::AppliedAt;
pub use element::Block;

use super::Object;
use super::message::EncodedOutput;
use std::any::{Any, type_name};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{Number, Operator};
use tautline_core::wire::{Encoding, Malformed, Portable, Unencodable, unpack};

/// An operation on objects of type `T`, with arguments `A` and result `R`: made by
/// [`Globals::operation`](super::Globals::operation).
pub struct Operation<T, A, R> {
    pub(super) declared: Arc<Declared<T, A, R>>,
}

impl<T, A, R> Clone for Operation<T, A, R> {
    fn clone(&self) -> Self {
        let declared = Arc::clone(&self.declared);
        Self { declared }
    }
}

impl<T, A, R> fmt::Debug for Operation<T, A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the operation at {}", self.declared.site)
    }
}

type Run<T, A, R> = dyn Fn(&mut T, A) -> R + Send + Sync;

/// An operation that this rank has declared. Messages name it by its position.
pub(super) struct Declared<T, A, R> {
    pub(super) position: u32,
    pub(super) site: &'static Location<'static>,
    pub(super) run: Box<Run<T, A, R>>,
}

/// A call of an operation, to be performed on a value.
pub(super) trait Call<T>: Send {
    /// Performs it, for another rank.
    fn run(self: Box<Self>, value: &mut T) -> Box<dyn Outcome>;

    /// Returns the position of the operation.
    fn position(&self) -> u32;

    /// Appends the arguments.
    fn encode(&self, limit: usize, into: &mut Encoding) -> Result<(), Unencodable>;
}

/// A result, to be encoded for another rank.
pub(super) trait Outcome: Send {
    fn encode(&self, limit: usize, into: &mut Encoding) -> Result<(), Unencodable>;
}

impl<R: Portable> Outcome for R {
    fn encode(&self, limit: usize, into: &mut Encoding) -> Result<(), Unencodable> {
        into.push(self, limit)
    }
}

/// The output of an operation, at the home or as it has arrived.
pub(super) enum Output {
    Value(Box<dyn Outcome>),
    Panicked(Rank, String),
    /// With the encoding of the result.
    Encoded(EncodedOutput, Vec<u8>),
}

pub(super) struct Called<T, A, R> {
    pub(super) operation: Arc<Declared<T, A, R>>,
    pub(super) args: A,
}

impl<T, A, R> Call<T> for Called<T, A, R>
where
    T: 'static,
    A: Portable + 'static,
    R: Portable + 'static,
{
    fn run(self: Box<Self>, value: &mut T) -> Box<dyn Outcome> {
        let Self { operation, args } = *self;
        Box::new((operation.run)(value, args))
    }

    fn position(&self) -> u32 {
        self.operation.position
    }

    fn encode(&self, limit: usize, into: &mut Encoding) -> Result<(), Unencodable> {
        into.push(&self.args, limit)
    }
}

/// A call that has come, if it is one on values of this type.
type Decoded<T> = Option<Box<dyn Call<T>>>;

/// An operation whose types are erased.
pub(super) trait AnyOperation: Send + Sync {
    /// Puts a call with these arguments into an `Option<Box<dyn Call<T>>>`. Leaves that empty
    /// unless it is an operation on `T`.
    fn decode(self: Arc<Self>, args: &[u8], into: &mut dyn Any) -> Result<(), Malformed>;
}

impl<T, A, R> AnyOperation for Declared<T, A, R>
where
    T: Object,
    A: Portable + 'static,
    R: Portable + 'static,
{
    fn decode(self: Arc<Self>, args: &[u8], into: &mut dyn Any) -> Result<(), Malformed> {
        if let Some(call) = into.downcast_mut::<Decoded<T>>() {
            let (operation, args) = (self, unpack::<A>(args)?);
            *call = Some(Box::new(Called { operation, args }));
        }
        Ok(())
    }
}

/// The positions of the operators, above those of all declared operations.
const OPERATORS: u32 = u32::MAX - 16;

/// Whether the position is one of an operator, or of nothing.
pub(super) fn is_operator(position: u32) -> bool {
    position >= OPERATORS
}

const ALL: [Operator; 10] = [
    Operator::Max,
    Operator::Min,
    Operator::Sum,
    Operator::Product,
    Operator::And,
    Operator::Or,
    Operator::Xor,
    Operator::BitAnd,
    Operator::BitOr,
    Operator::BitXor,
];

/// The combination of a number with another one, which returns the former value.
pub(super) struct Applied<T> {
    pub(super) operator: Operator,
    pub(super) by: T,
}

impl<T: Number> Applied<T> {
    pub(super) fn apply(&self, value: &mut T) -> T {
        let combined = value.combined(self.by, self.operator);
        std::mem::replace(value, combined)
    }

    fn position(&self) -> u32 {
        let at = ALL.iter().position(|operator| *operator == self.operator);
        OPERATORS + at.expect("one of all") as u32
    }
}

impl<T: Number + Portable> Call<T> for Applied<T> {
    fn run(self: Box<Self>, value: &mut T) -> Box<dyn Outcome> {
        Box::new(self.apply(value))
    }

    fn position(&self) -> u32 {
        self.position()
    }

    fn encode(&self, limit: usize, into: &mut Encoding) -> Result<(), Unencodable> {
        into.push(&self.by, limit)
    }
}

/// The reason for which a call is no call on a type.
const OTHER: &str = "it is no operation on the type of the object";

/// Decodes the arguments of the operation at a position, which is one on `T`. `declared` returns
/// those that were declared.
pub(super) fn decode<T: 'static>(
    position: u32,
    args: &[u8],
    declared: impl FnOnce(u32) -> Option<Arc<dyn AnyOperation>>,
) -> Result<Box<dyn Call<T>>, Malformed> {
    let mut call: Decoded<T> = None;
    match position.checked_sub(OPERATORS) {
        None => declared(position).map_or(Ok(()), |it| it.decode(args, &mut call))?,
        Some(at) => ALL
            .get(at as usize)
            .map_or(Ok(()), |it| decode_operator(*it, args, &mut call))?,
    }
    call.ok_or_else(|| Malformed::refused(type_name::<T>(), args.len(), OTHER))
}

/// As [`AnyOperation::decode`].
fn decode_operator(operator: Operator, args: &[u8], into: &mut dyn Any) -> Result<(), Malformed> {
    macro_rules! numbers {
        ($($number:ty)*) => {
            $(
                let applies = operator.applies_to(<$number as Number>::ELEMENT);
                if let Some(call) = into.downcast_mut::<Decoded<$number>>() {
                    if applies {
                        let by = unpack::<$number>(args)?;
                        *call = Some(Box::new(Applied { operator, by }));
                    }
                    return Ok(());
                }
                if let Some(call) = into.downcast_mut::<Decoded<Block<$number>>>() {
                    if applies {
                        *call = Some(Box::new(AppliedAt::<$number>::decode(operator, args)?));
                    }
                    return Ok(());
                }
            )*
        };
    }
    numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    Ok(())
}
