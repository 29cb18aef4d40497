//! Operations that change an object where its value is.

mod element;

pub(super) use element::AppliedAt;
pub use element::Block;

use super::Object;
use super::message::{EncodedCall, EncodedOutput};
use crate::ranks::team::text_of;
use std::any::{Any, TypeId, type_name};
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::Arc;
use tautline_core::Rank;
use tautline_core::comm::{Number, Operator};
use tautline_core::wire::{Bulk, Malformed, Portable, Unencodable, pack_within, unpack};

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

    fn encode(&self, limit: usize) -> Result<EncodedCall, Unencodable>;
}

/// A result, to be encoded for another rank.
pub(super) trait Outcome: Send {
    fn encode(&self, limit: usize) -> Result<Bulk<u8>, Unencodable>;
}

impl<R: Portable> Outcome for R {
    fn encode(&self, limit: usize) -> Result<Bulk<u8>, Unencodable> {
        encoded(self, limit)
    }
}

pub(super) fn encoded(value: &impl Portable, limit: usize) -> Result<Bulk<u8>, Unencodable> {
    let mut bytes = Vec::new();
    pack_within(value, limit, &mut bytes)?;
    Ok(Bulk(bytes))
}

/// The output of an operation, at the home or as it has arrived.
pub(super) enum Output {
    Value(Box<dyn Outcome>),
    Panicked(Rank, String),
    Encoded(EncodedOutput),
}

impl Output {
    pub(super) fn encode(self, limit: usize) -> EncodedOutput {
        let outcome = match self {
            Self::Value(outcome) => outcome,
            Self::Panicked(at, text) => return EncodedOutput::Panicked(at, text),
            Self::Encoded(output) => return output,
        };
        match catch_unwind(AssertUnwindSafe(|| outcome.encode(limit))) {
            Ok(Ok(bytes)) => EncodedOutput::Value(bytes),
            Ok(Err(why)) => EncodedOutput::Unencodable(why.to_string()),
            Err(payload) => EncodedOutput::Unencodable(text_of(&*payload)),
        }
    }
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

    fn encode(&self, limit: usize) -> Result<EncodedCall, Unencodable> {
        let (position, args) = (self.operation.position, encoded(&self.args, limit)?);
        Ok(EncodedCall { position, args })
    }
}

/// An operation whose types are erased.
pub(super) trait AnyOperation: Send + Sync {
    /// Returns a `Box<dyn Call<T>>` with these arguments, for the type `T` that it is an operation
    /// on; `None` if that is another one than `of`.
    fn decode(
        self: Arc<Self>,
        of: TypeId,
        args: &[u8],
    ) -> Option<Result<Box<dyn Any + Send>, Malformed>>;
}

impl<T, A, R> AnyOperation for Declared<T, A, R>
where
    T: Object,
    A: Portable + 'static,
    R: Portable + 'static,
{
    fn decode(
        self: Arc<Self>,
        of: TypeId,
        args: &[u8],
    ) -> Option<Result<Box<dyn Any + Send>, Malformed>> {
        (of == TypeId::of::<T>()).then(|| {
            let (operation, args) = (self, unpack::<A>(args)?);
            let call: Box<dyn Call<T>> = Box::new(Called { operation, args });
            Ok(Box::new(call) as _)
        })
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

    fn encode_with(&self, args: &impl Portable, limit: usize) -> Result<EncodedCall, Unencodable> {
        let at = ALL.iter().position(|operator| *operator == self.operator);
        let position = OPERATORS + at.expect("one of all") as u32;
        let args = encoded(args, limit)?;
        Ok(EncodedCall { position, args })
    }
}

impl<T: Number + Portable> Call<T> for Applied<T> {
    fn run(self: Box<Self>, value: &mut T) -> Box<dyn Outcome> {
        Box::new(self.apply(value))
    }

    fn encode(&self, limit: usize) -> Result<EncodedCall, Unencodable> {
        self.encode_with(&self.by, limit)
    }
}

/// The reason for which a call is no call on a type.
const OTHER: &str = "it is no operation on the type of the object";

/// Decodes a call of an operation on `T`. `declared` returns the operation at a position.
pub(super) fn decode<T: 'static>(
    call: &EncodedCall,
    declared: impl FnOnce(u32) -> Option<Arc<dyn AnyOperation>>,
) -> Result<Box<dyn Call<T>>, Malformed> {
    let (of, args) = (TypeId::of::<T>(), &call.args.0);
    let decoded = match call.position.checked_sub(OPERATORS) {
        None => declared(call.position).and_then(|operation| operation.decode(of, args)),
        Some(at) => ALL
            .get(at as usize)
            .and_then(|operator| operator_on(*operator, of, args)),
    };
    let other = || Malformed::refused(type_name::<T>(), args.len(), OTHER);
    let call = decoded.ok_or_else(other)??;
    call.downcast().map(|call| *call).map_err(|_| other())
}

/// As [`AnyOperation::decode`].
fn operator_on(
    operator: Operator,
    of: TypeId,
    args: &[u8],
) -> Option<Result<Box<dyn Any + Send>, Malformed>> {
    macro_rules! numbers {
        ($($number:ty)*) => {
            $(
                let applies = operator.applies_to(<$number as Number>::ELEMENT);
                if of == TypeId::of::<$number>() {
                    return applies.then(|| of_number::<$number>(operator, args));
                }
                if of == TypeId::of::<Block<$number>>() {
                    return applies.then(|| element::of_number::<$number>(operator, args));
                }
            )*
        };
    }
    numbers!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);
    None
}

fn of_number<T: Number + Portable>(
    operator: Operator,
    args: &[u8],
) -> Result<Box<dyn Any + Send>, Malformed> {
    let by = unpack::<T>(args)?;
    let call: Box<dyn Call<T>> = Box::new(Applied { operator, by });
    Ok(Box::new(call))
}
