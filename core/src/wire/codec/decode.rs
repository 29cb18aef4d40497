//! The decoder: the reverse of [`encode`](super::encode), for untrusted bytes.

use super::{EMPTY_BYTES, EMPTY_MOST, LEVELS, Why, varint};
use core::fmt::{self, Display};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

/// The reason why a value cannot be decoded.
#[derive(Debug)]
pub(super) struct DecodeError(pub(super) Why);

impl DecodeError {
    const WRONG: Self = Self(Why::Wrong);
}

impl Error for DecodeError {
    fn custom<T: Display>(_: T) -> Self {
        Self::WRONG
    }
}

impl Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for DecodeError {}

/// Takes values from bytes.
pub(super) struct Decoder<'de> {
    bytes: &'de [u8],
    /// The levels that may still be entered.
    levels: u32,
    /// The memory that elements without bytes may still take.
    empty: usize,
}

impl<'de> Decoder<'de> {
    pub(super) fn new(bytes: &'de [u8]) -> Self {
        Self {
            bytes,
            levels: LEVELS,
            empty: EMPTY_BYTES,
        }
    }

    /// Returns the bytes that are left.
    pub(super) fn rest(&self) -> &'de [u8] {
        self.bytes
    }

    #[inline]
    fn pop(&mut self) -> Result<u8, DecodeError> {
        let (first, rest) = self.bytes.split_first().ok_or(DecodeError(Why::Short))?;
        self.bytes = rest;
        Ok(*first)
    }

    #[inline]
    fn take(&mut self, count: usize) -> Result<&'de [u8], DecodeError> {
        let (taken, rest) = self
            .bytes
            .split_at_checked(count)
            .ok_or(DecodeError(Why::Short))?;
        self.bytes = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (taken, rest) = self
            .bytes
            .split_first_chunk()
            .ok_or(DecodeError(Why::Short))?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// Takes a varint of at most `bits` bits.
    #[inline]
    fn varint(&mut self, bits: u32) -> Result<u64, DecodeError> {
        if let [first @ ..0x80, rest @ ..] = self.bytes {
            self.bytes = rest;
            return Ok(u64::from(*first));
        }
        let (number, rest) = varint::decode(self.bytes, bits).map_err(DecodeError)?;
        self.bytes = rest;
        Ok(number)
    }

    fn varint_128(&mut self) -> Result<u128, DecodeError> {
        let mut number = 0;
        for shift in (0..u128::BITS).step_by(7) {
            let byte = self.pop()?;
            let part = u128::from(byte & 0x7f);
            if part << shift >> shift != part {
                return Err(DecodeError::WRONG);
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(DecodeError::WRONG)
    }

    #[inline]
    fn signed(&mut self, bits: u32) -> Result<i64, DecodeError> {
        let number = self.varint(bits)?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    #[inline]
    fn length(&mut self) -> Result<usize, DecodeError> {
        Ok(self.varint(usize::BITS)? as usize)
    }

    #[inline]
    fn string(&mut self) -> Result<&'de str, DecodeError> {
        let len = self.length()?;
        str::from_utf8(self.take(len)?).map_err(|_| DecodeError::WRONG)
    }

    /// Decodes a part one level down.
    #[inline]
    fn inside<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let left = self.levels.checked_sub(1);
        self.levels = left.ok_or(DecodeError(Why::TooDeep(LEVELS)))?;
        let value = act(self)?;
        self.levels += 1;
        Ok(value)
    }

    #[inline]
    fn fields<V: Visitor<'de>>(
        &mut self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.inside(|decoder| visitor.visit_seq(Fields { decoder, left }))
    }

    /// Ends an element that takes `size` bytes of memory and began where `before` bytes were left,
    /// and counts it if it has no bytes.
    #[inline]
    fn end_element(&mut self, before: usize, size: usize) -> Result<(), DecodeError> {
        if self.bytes.len() == before {
            // At least a share of it, which bounds the number too.
            let size = size.max(EMPTY_BYTES / EMPTY_MOST as usize);
            let most = (EMPTY_BYTES / size) as u32;
            let left = self.empty.checked_sub(size);
            self.empty = left.ok_or(DecodeError(Why::TooManyEmpty(most)))?;
        }
        Ok(())
    }
}

/// The fields of a tuple, a structure or a variant.
struct Fields<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Fields<'_, 'de> {
    type Error = DecodeError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        seed.deserialize(&mut *self.decoder).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The elements of a sequence or a map, of which the bytes have announced `left` more.
struct Elements<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
    /// The bytes that were left where the element began.
    before: usize,
    /// The size of its key, in a map.
    key_size: usize,
}

impl<'a, 'de> Elements<'a, 'de> {
    #[inline]
    fn new(decoder: &'a mut Decoder<'de>, left: usize) -> Self {
        Self {
            decoder,
            left,
            before: 0,
            key_size: 0,
        }
    }

    /// Begins an element, if there is one more.
    #[inline]
    fn begin(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left -= usize::from(is_left);
        self.before = self.decoder.bytes.len();
        is_left
    }

    /// Returns the number of values that were announced and not read yet, unless fewer bytes than
    /// that are left.
    fn credible(&self) -> Option<usize> {
        Some(self.left).filter(|left| *left <= self.decoder.bytes.len())
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = DecodeError;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        if !self.begin() {
            return Ok(None);
        }
        let element = seed.deserialize(&mut *self.decoder)?;
        self.decoder
            .end_element(self.before, size_of::<T::Value>())?;
        Ok(Some(element))
    }

    fn size_hint(&self) -> Option<usize> {
        self.credible()
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = DecodeError;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DecodeError> {
        if !self.begin() {
            return Ok(None);
        }
        self.key_size = size_of::<K::Value>();
        seed.deserialize(&mut *self.decoder).map(Some)
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        let value = seed.deserialize(&mut *self.decoder)?;
        let size = self.key_size.saturating_add(size_of::<T::Value>());
        self.decoder.end_element(self.before, size)?;
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.credible()
    }
}

impl<'a, 'de> EnumAccess<'de> for &'a mut Decoder<'de> {
    type Error = DecodeError;
    type Variant = Self;

    #[inline]
    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, &'a mut Decoder<'de>), DecodeError> {
        let number = self.varint(u32::BITS)? as u32;
        let variant =
            seed.deserialize(IntoDeserializer::<DecodeError>::into_deserializer(number))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Decoder<'de> {
    type Error = DecodeError;

    #[inline]
    fn unit_variant(self) -> Result<(), DecodeError> {
        Ok(())
    }

    #[inline]
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, DecodeError> {
        self.inside(|decoder| seed.deserialize(decoder))
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(len, visitor)
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(fields.len(), visitor)
    }
}

/// Implements methods of a deserializer for values of one visit.
macro_rules! scalars {
    ($($method:ident, $visit:ident, |$decoder:ident| $value:expr;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            let $decoder = self;
            visitor.$visit($value)
        }
    )*};
}

/// Implements methods of a deserializer for which the format has no mark.
macro_rules! unmarked {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, DecodeError> {
            Err(DecodeError::WRONG)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = DecodeError;

    fn is_human_readable(&self) -> bool {
        false
    }

    unmarked! { deserialize_any deserialize_identifier deserialize_ignored_any }

    scalars! {
        deserialize_i8, visit_i8, |d| d.pop()? as i8;
        deserialize_i16, visit_i16, |d| d.signed(16)? as i16;
        deserialize_i32, visit_i32, |d| d.signed(32)? as i32;
        deserialize_i64, visit_i64, |d| d.signed(64)?;
        deserialize_u8, visit_u8, |d| d.pop()?;
        deserialize_u16, visit_u16, |d| d.varint(16)? as u16;
        deserialize_u32, visit_u32, |d| d.varint(32)? as u32;
        deserialize_u64, visit_u64, |d| d.varint(64)?;
        deserialize_u128, visit_u128, |d| d.varint_128()?;
        deserialize_f32, visit_f32, |d| f32::from_le_bytes(d.array()?);
        deserialize_f64, visit_f64, |d| f64::from_le_bytes(d.array()?);
        deserialize_str, visit_borrowed_str, |d| d.string()?;
        deserialize_string, visit_str, |d| d.string()?;
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.pop()? {
            0 => visitor.visit_bool(false),
            1 => visitor.visit_bool(true),
            _ => Err(DecodeError::WRONG),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let number = self.varint_128()?;
        visitor.visit_i128((number >> 1) as i128 ^ -((number & 1) as i128))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut chars = self.string()?.chars();
        match (chars.next(), chars.next()) {
            (Some(one), None) => visitor.visit_char(one),
            _ => Err(DecodeError::WRONG),
        }
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let len = self.length()?;
        visitor.visit_borrowed_bytes(self.take(len)?)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.pop()? {
            0 => visitor.visit_none(),
            1 => self.inside(|decoder| visitor.visit_some(decoder)),
            _ => Err(DecodeError::WRONG),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.inside(|decoder| visitor.visit_newtype_struct(decoder))
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let left = self.length()?;
        self.inside(|decoder| visitor.visit_seq(Elements::new(decoder, left)))
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(len, visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(len, visitor)
    }

    #[inline]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let left = self.length()?;
        self.inside(|decoder| visitor.visit_map(Elements::new(decoder, left)))
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.fields(fields.len(), visitor)
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(self)
    }
}
