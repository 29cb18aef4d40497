//! The encoder: serde's data model in postcard's format.
//!
//! Integers of more than a byte are varints, signed ones in zigzag order; floating-point numbers
//! are little-endian; strings, byte arrays, sequences and maps have their length in front; the
//! number of a variant precedes its fields; tuples, structures and units have no mark.

use super::{EMPTY_MOST, LEVELS, Unfit, varint};
use alloc::vec::Vec;
use core::fmt::{self, Display};
use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

impl Error for Unfit {
    fn custom<T: Display>(_: T) -> Self {
        Self::Failed
    }
}

impl core::error::Error for Unfit {}

/// Bytes that grow at the end.
pub(crate) trait Sink {
    /// Returns the number of bytes.
    fn len(&self) -> usize;

    /// Appends a byte.
    fn push(&mut self, byte: u8);

    /// Appends bytes.
    fn extend(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        self.push(byte);
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Appends values to bytes.
pub(super) struct Encoder<'v, W> {
    into: &'v mut W,
    /// The length that the bytes may have at most.
    end: usize,
    limit: usize,
    /// The levels that may still be entered.
    levels: u32,
    /// The elements without bytes that may still come.
    empty: u32,
}

type Done = Result<(), Unfit>;

impl<'v, W: Sink> Encoder<'v, W> {
    /// Creates an encoder that appends at most `limit` bytes to `into`.
    pub(super) fn new(into: &'v mut W, limit: usize) -> Self {
        Self {
            end: into.len().saturating_add(limit),
            into,
            limit,
            levels: LEVELS,
            empty: EMPTY_MOST,
        }
    }

    #[inline]
    fn push(&mut self, byte: u8) -> Done {
        if self.into.len() == self.end {
            return Err(Unfit::TooLong(self.limit));
        }
        self.into.push(byte);
        Ok(())
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) -> Done {
        if bytes.len() > self.end - self.into.len() {
            return Err(Unfit::TooLong(self.limit));
        }
        self.into.extend(bytes);
        Ok(())
    }

    #[inline]
    fn varint(&mut self, number: u64) -> Done {
        if number < 0x80 {
            return self.push(number as u8);
        }
        let (bytes, len) = varint::encode(number);
        self.extend(&bytes[..len])
    }

    fn varint_128(&mut self, mut number: u128) -> Done {
        while number >= 0x80 {
            self.push(number as u8 | 0x80)?;
            number >>= 7;
        }
        self.push(number as u8)
    }

    #[inline]
    fn enter(&mut self) -> Done {
        self.levels = self.levels.checked_sub(1).ok_or(Unfit::TooDeep)?;
        Ok(())
    }

    /// Encodes a value one level down.
    #[inline]
    fn inside<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.enter()?;
        value.serialize(&mut *self)?;
        self.levels += 1;
        Ok(())
    }

    /// Opens a level with a known number of values.
    #[inline]
    fn fields(&mut self) -> Result<Fields<'_, 'v, W>, Unfit> {
        self.enter()?;
        Ok(Fields { encoder: self })
    }

    /// Opens a level with `len` elements.
    #[inline]
    fn elements(&mut self, len: Option<usize>) -> Result<Elements<'_, 'v, W>, Unfit> {
        self.varint(len.ok_or(Unfit::Failed)? as u64)?;
        self.enter()?;
        Ok(Elements {
            begin: self.into.len(),
            encoder: self,
        })
    }
}

/// Maps a signed integer to an unsigned one that is small if its magnitude is.
#[inline]
fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

impl<'a, 'v, W: Sink> Serializer for &'a mut Encoder<'v, W> {
    type Ok = ();
    type Error = Unfit;
    type SerializeSeq = Elements<'a, 'v, W>;
    type SerializeTuple = Fields<'a, 'v, W>;
    type SerializeTupleStruct = Fields<'a, 'v, W>;
    type SerializeTupleVariant = Fields<'a, 'v, W>;
    type SerializeMap = Elements<'a, 'v, W>;
    type SerializeStruct = Fields<'a, 'v, W>;
    type SerializeStructVariant = Fields<'a, 'v, W>;

    fn is_human_readable(&self) -> bool {
        false
    }

    #[inline]
    fn serialize_bool(self, v: bool) -> Done {
        self.push(v.into())
    }

    #[inline]
    fn serialize_i8(self, v: i8) -> Done {
        self.push(v as u8)
    }

    #[inline]
    fn serialize_i16(self, v: i16) -> Done {
        self.varint(zigzag(v.into()))
    }

    #[inline]
    fn serialize_i32(self, v: i32) -> Done {
        self.varint(zigzag(v.into()))
    }

    #[inline]
    fn serialize_i64(self, v: i64) -> Done {
        self.varint(zigzag(v))
    }

    fn serialize_i128(self, v: i128) -> Done {
        self.varint_128((v << 1 ^ v >> 127) as u128)
    }

    #[inline]
    fn serialize_u8(self, v: u8) -> Done {
        self.push(v)
    }

    #[inline]
    fn serialize_u16(self, v: u16) -> Done {
        self.varint(v.into())
    }

    #[inline]
    fn serialize_u32(self, v: u32) -> Done {
        self.varint(v.into())
    }

    #[inline]
    fn serialize_u64(self, v: u64) -> Done {
        self.varint(v)
    }

    fn serialize_u128(self, v: u128) -> Done {
        self.varint_128(v)
    }

    #[inline]
    fn serialize_f32(self, v: f32) -> Done {
        self.extend(&v.to_le_bytes())
    }

    #[inline]
    fn serialize_f64(self, v: f64) -> Done {
        self.extend(&v.to_le_bytes())
    }

    fn serialize_char(self, v: char) -> Done {
        self.serialize_str(v.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, v: &str) -> Done {
        self.serialize_bytes(v.as_bytes())
    }

    #[inline]
    fn serialize_bytes(self, v: &[u8]) -> Done {
        self.varint(v.len() as u64)?;
        self.extend(v)
    }

    #[inline]
    fn serialize_none(self) -> Done {
        self.push(0)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        self.push(1)?;
        self.inside(value)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(self, _: &'static str, number: u32, _: &'static str) -> Done {
        self.varint(number.into())
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        self.inside(value)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        value: &T,
    ) -> Done {
        self.varint(number.into())?;
        self.inside(value)
    }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Elements<'a, 'v, W>, Unfit> {
        self.elements(len)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Fields<'a, 'v, W>, Unfit> {
        self.fields()
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Fields<'a, 'v, W>, Unfit> {
        self.fields()
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Fields<'a, 'v, W>, Unfit> {
        self.varint(number.into())?;
        self.fields()
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Elements<'a, 'v, W>, Unfit> {
        self.elements(len)
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields<'a, 'v, W>, Unfit> {
        self.fields()
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        number: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Fields<'a, 'v, W>, Unfit> {
        self.varint(number.into())?;
        self.fields()
    }
}

/// The fields of a tuple, a structure or a variant: as many as their type has.
pub(super) struct Fields<'a, 'v, W> {
    encoder: &'a mut Encoder<'v, W>,
}

impl<W: Sink> Fields<'_, '_, W> {
    #[inline]
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.encoder)
    }

    #[inline]
    fn close(self) -> Done {
        self.encoder.levels += 1;
        Ok(())
    }
}

/// Implements one of serde's traits for [`Fields`].
macro_rules! fields {
    ($($trait:ident, $add:ident $(, $key:ty)?;)*) => {$(
        impl<W: Sink> $trait for Fields<'_, '_, W> {
            type Ok = ();
            type Error = Unfit;

            #[inline]
            fn $add<T: Serialize + ?Sized>(&mut self $(, _: $key)?, value: &T) -> Done {
                self.add(value)
            }

            #[inline]
            fn end(self) -> Done {
                self.close()
            }
        }
    )*};
}

fields! {
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
    SerializeStruct, serialize_field, &'static str;
    SerializeStructVariant, serialize_field, &'static str;
}

/// The elements of a sequence or a map: as many as its value has.
pub(super) struct Elements<'a, 'v, W> {
    encoder: &'a mut Encoder<'v, W>,
    /// The position at which the element begins.
    begin: usize,
}

impl<W: Sink> Elements<'_, '_, W> {
    /// Ends an element, and counts it if it has no bytes.
    #[inline]
    fn next(&mut self) -> Done {
        let (begin, end) = (self.begin, self.encoder.into.len());
        self.begin = end;
        if begin == end {
            let empty = self.encoder.empty.checked_sub(1);
            self.encoder.empty = empty.ok_or(Unfit::TooManyEmpty)?;
        }
        Ok(())
    }

    #[inline]
    fn close(self) -> Done {
        self.encoder.levels += 1;
        Ok(())
    }
}

impl<W: Sink> SerializeSeq for Elements<'_, '_, W> {
    type Ok = ();
    type Error = Unfit;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.encoder)?;
        self.next()
    }

    #[inline]
    fn end(self) -> Done {
        self.close()
    }
}

impl<W: Sink> SerializeMap for Elements<'_, '_, W> {
    type Ok = ();
    type Error = Unfit;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        key.serialize(&mut *self.encoder)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(&mut *self.encoder)?;
        self.next()
    }

    #[inline]
    fn end(self) -> Done {
        self.close()
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(f, "its encoding exceeds {limit} bytes"),
            Self::TooDeep => write!(
                f,
                "its parts nest more than {LEVELS} levels deep; send its nodes as a vector, with indices"
            ),
            Self::TooManyEmpty => {
                write!(
                    f,
                    "more than {EMPTY_MOST} elements of its collections have no bytes; send their number"
                )
            }
            Self::Failed => f.write_str("its `Serialize` implementation failed"),
        }
    }
}
