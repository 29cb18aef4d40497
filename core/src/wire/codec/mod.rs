//! Values as bytes: serde's data model in postcard's format, with bounds.

mod bulk;

pub use bulk::{Bulk, Plain};

use alloc::vec::Vec;
use core::any::type_name;
use core::fmt;
use postcard::ser_flavors::Flavor;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What can travel to another process: it can be encoded, is decoded into an owned value, and may
/// be moved to another thread. Implemented for every such type.
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
/// If the type's implementation of `Serialize` fails; `into` is then as long as before.
pub fn pack<T: Serialize + ?Sized>(value: &T, into: &mut Vec<u8>) -> Result<(), Unencodable> {
    pack_within(value, usize::MAX, into)
}

/// Appends the encoding of `value` to `into`, at most `limit` bytes. As soon as it is longer,
/// encoding ends, so that the memory it takes is bounded too.
///
/// # Errors
/// If the encoding is longer than `limit`, or the type's implementation of `Serialize` fails;
/// `into` is then as long as before.
pub fn pack_within<T: Serialize + ?Sized>(
    value: &T,
    limit: usize,
    into: &mut Vec<u8>,
) -> Result<(), Unencodable> {
    let start = into.len();
    let end = start.saturating_add(limit);
    let done = postcard::serialize_with_flavor(value, Bounded { into, end });
    done.map_err(|error| {
        into.truncate(start);
        Unencodable {
            what: type_name::<T>(),
            limit: (error == postcard::Error::SerializeBufferFull).then_some(limit),
        }
    })
}

/// Appends to a vector up to a length.
struct Bounded<'a> {
    into: &'a mut Vec<u8>,
    end: usize,
}

impl Flavor for Bounded<'_> {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        if data.len() > self.end - self.into.len() {
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.into.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        if self.into.len() == self.end {
            return Err(postcard::Error::SerializeBufferFull);
        }
        self.into.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Decodes a value, which must take all bytes.
///
/// A collection never reserves more memory than the remaining bytes can fill, at one byte an
/// element: the memory of the value is bounded by the bytes times the size of its largest element.
///
/// # Errors
/// If the bytes are not the encoding of a `T`, or if bytes are left.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Garbled> {
    let garbled = |why| Garbled {
        expected: type_name::<T>(),
        bytes: bytes.len(),
        why,
    };
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(garbled(Why::Left(rest.len()))),
        Err(postcard::Error::DeserializeUnexpectedEnd) => Err(garbled(Why::Short)),
        Err(_) => Err(garbled(Why::Wrong)),
    }
}

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Garbled {
    /// What was expected, as the name of a type.
    pub expected: &'static str,
    /// The number of bytes.
    pub bytes: usize,
    /// What is wrong with them.
    pub why: Why,
}

/// What is wrong with [`Garbled`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// They end too early.
    Short,
    /// This many are left behind the value.
    Left(usize),
    /// They do not encode such a value.
    Wrong,
    /// They encode a value that the receiver does not accept, for the stated reason.
    Refused(&'static str),
}

impl Garbled {
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

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            expected, bytes, ..
        } = self;
        write!(f, "{bytes} bytes where {expected} was expected: ")?;
        match self.why {
            Why::Short => f.write_str("they end too early"),
            Why::Left(rest) => write!(f, "{rest} of them are left over"),
            Why::Wrong => f.write_str("they do not encode such a value"),
            Why::Refused(because) => f.write_str(because),
        }
    }
}

impl core::error::Error for Garbled {}

/// A value that cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unencodable {
    /// The name of its type.
    pub what: &'static str,
    /// The permitted number of bytes, if its encoding is longer; else its implementation of
    /// `Serialize` failed.
    pub limit: Option<usize>,
}

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of type {} cannot be encoded: ", self.what)?;
        match self.limit {
            Some(limit) => write!(f, "its encoding exceeds {limit} bytes"),
            None => f.write_str("its `Serialize` implementation failed"),
        }
    }
}

impl core::error::Error for Unencodable {}
