//! Values as bytes: serde's data model in postcard's format, with bounds.
//!
//! # Bounds
//! Both directions have the same ones, with one exception, so that what a correct sender has
//! encoded is decoded, and its own call fails otherwise:
//!
//! | what | bound | why |
//! |---|---|---|
//! | levels of a value: collections, tuples, structures, newtypes, variants and options inside each other | [`LEVELS`] | each takes some stack of the thread that decodes |
//! | elements of collections that have no bytes, such as `()` | [`EMPTY_MOST`] | a few bytes announce 2^64 of them |
//! | the memory of those elements, each at least 16 bytes | [`EMPTY_BYTES`], the decoder only | skipped fields take memory, but no bytes |
//! | elements for which memory is reserved | the bytes that are left | an announcement is not trusted |
//!
//! The exception: collections pass their elements to the encoder by reference, which hides their
//! size.

mod bulk;
mod decode;
mod encode;
mod encoding;
mod varint;

pub use bulk::{Bulk, BulkRef, Plain};

use alloc::vec::Vec;
use core::any::type_name;
use core::fmt;
use decode::Decoder;
use encode::Encoder;
pub(crate) use encode::Sink;
pub use encoding::Encoding;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The levels of a value that can be encoded.
///
/// Without optimisation a level takes 1 to 2 KiB of stack, and 4 KiB for a type of 512 bytes, where
/// threads have 2 MiB.
const LEVELS: u32 = 256;

/// The elements without bytes that the collections of a value may have together.
const EMPTY_MOST: u32 = 1 << 16;

/// The memory that those may take together: that of [`EMPTY_MOST`] elements of 16 bytes.
const EMPTY_BYTES: usize = 1 << 20;

/// Values that can travel to another process: they can be encoded, are decoded into owned values,
/// and may be moved to another thread. Implemented for every such type.
///
/// A value nests at most 256 levels deep: collections, tuples, structures, newtypes, variants with
/// fields and options, each inside of another one. A list or a tree whose nodes own each other
/// travels as a vector of its nodes, with indices in place of boxes. Elements that have no bytes,
/// such as `()` in a `Vec<()>`, are at most 65 536. If they take memory all the same, by skipped
/// fields, they are at most 1 MiB: the receiver refuses more, which the sender does not notice.
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Interval {
///     from: u64,
///     to: u64,
/// }
///
/// fn travels<T: tautline_core::wire::Portable>() {}
/// travels::<Vec<Interval>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot travel to another rank",
    label = "has no encoding that another rank can decode",
    note = "such values own their data, derive `serde::Serialize` and `serde::Deserialize`, and are `Send`: no references, no `Rc`"
)]
pub trait Portable: Serialize + DeserializeOwned + Send {}

impl<T: Serialize + DeserializeOwned + Send> Portable for T {}

/// Appends the encoding of `value` to `into`.
///
/// ```
/// use tautline_core::wire::{pack, unpack};
///
/// let mut bytes = Vec::new();
/// pack(&(7u32, "seven"), &mut bytes)?;
/// assert_eq!(unpack::<(u32, String)>(&bytes), Ok((7, "seven".into())));
/// # Ok::<(), tautline_core::wire::Unencodable>(())
/// ```
///
/// # Errors
/// If the value nests too deep, has too many elements without bytes (see [`Portable`]), or the
/// type's implementation of `Serialize` fails; `into` is then as long as before.
pub fn pack<T: Serialize + ?Sized>(value: &T, into: &mut Vec<u8>) -> Result<(), Unencodable> {
    pack_within(value, usize::MAX, into)
}

/// Appends the encoding of `value` to `into`, at most `limit` bytes. As soon as it is longer,
/// encoding ends, so that the memory it takes is bounded too.
///
/// # Errors
/// As [`pack`], and if the encoding is longer than `limit`.
pub fn pack_within<T: Serialize + ?Sized>(
    value: &T,
    limit: usize,
    into: &mut Vec<u8>,
) -> Result<(), Unencodable> {
    let start = into.len();
    let packed = pack_onto(value, limit, into);
    packed.inspect_err(|_| into.truncate(start))
}

/// As [`pack_within`], onto any bytes, which are incomplete after an error.
pub(crate) fn pack_onto<T: Serialize + ?Sized>(
    value: &T,
    limit: usize,
    into: &mut impl Sink,
) -> Result<(), Unencodable> {
    let packed = value.serialize(&mut Encoder::new(into, limit));
    packed.map_err(|why| {
        let what = type_name::<T>();
        Unencodable { what, why }
    })
}

/// Decodes a value, which must take all bytes.
///
/// A collection never reserves more memory than the remaining bytes can fill, at one byte an
/// element: the memory of the value is bounded by the bytes times the size of its largest element.
/// Elements that have no bytes take at most 1 MiB more, without memory that they own elsewhere, for
/// instance by a `Box`.
///
/// # Errors
/// If the bytes are not the encoding of a `T`, if bytes are left, or if they encode a value that
/// [`pack`] refuses, such as one that nests too deep; and if elements without bytes would take too
/// much memory, which [`pack`] does not notice.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match unpack_first(bytes)? {
        (value, []) => Ok(value),
        (_, rest) => Err(Malformed::of::<T>(bytes, Why::Left(rest.len()))),
    }
}

/// As [`unpack`], from the first bytes. Returns the others, too.
///
/// # Errors
/// As [`unpack`], but for bytes that are left.
pub fn unpack_first<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Malformed> {
    let mut decoder = Decoder::new(bytes);
    let value = T::deserialize(&mut decoder);
    let value = value.map_err(|error| Malformed::of::<T>(bytes, error.0))?;
    Ok((value, decoder.rest()))
}

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The name of the expected type.
    pub expected: &'static str,
    /// The number of bytes.
    pub bytes: usize,
    /// The reason.
    pub why: Why,
}

/// The reason why bytes are [`Malformed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The bytes end too early.
    Short,
    /// This number of bytes is left after the value.
    Left(usize),
    /// The bytes do not encode such a value.
    Wrong,
    /// The value nests more than this number of levels deep.
    TooDeep(u32),
    /// They announce too many elements that have no bytes: a value may have this many of their
    /// size.
    TooManyEmpty(u32),
    /// The receiver does not accept the value, for the stated reason.
    Refused(&'static str),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("they end too early"),
            Self::Left(rest) => write!(f, "{rest} of them are left over"),
            Self::Wrong => f.write_str("they do not encode such a value"),
            Self::TooDeep(most) => {
                write!(
                    f,
                    "they encode a value that nests more than {most} levels deep"
                )
            }
            Self::TooManyEmpty(most) => {
                write!(
                    f,
                    "they announce too many elements that have no bytes: at most {most} of their size are permitted"
                )
            }
            Self::Refused(because) => f.write_str(because),
        }
    }
}

impl Malformed {
    fn of<T>(bytes: &[u8], why: Why) -> Self {
        Self {
            expected: type_name::<T>(),
            bytes: bytes.len(),
            why,
        }
    }

    /// Returns the error of a receiver that does not accept a decoded value, as in "a place below
    /// 4".
    pub const fn refused(expected: &'static str, bytes: usize, because: &'static str) -> Self {
        Self {
            expected,
            bytes,
            why: Why::Refused(because),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            expected,
            bytes,
            why,
        } = self;
        write!(f, "{bytes} bytes where {expected} was expected: {why}")
    }
}

impl core::error::Error for Malformed {}

/// A value that cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unencodable {
    /// The name of its type.
    pub what: &'static str,
    /// The reason.
    pub why: Unfit,
}

/// The reason why a value is [`Unencodable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Its encoding is longer than the permitted number of bytes.
    TooLong(usize),
    /// Its parts nest too deep.
    TooDeep,
    /// Too many elements of its collections have no bytes.
    TooManyEmpty,
    /// Its implementation of `Serialize` failed.
    Failed,
}

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, why } = self;
        write!(f, "a value of type {what} cannot be encoded: {why}")
    }
}

impl core::error::Error for Unencodable {}
