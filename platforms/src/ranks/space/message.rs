//! Messages of a space: an envelope, then the value, encoded on its own.

use super::memory::Carried;
use super::{Codec, Key, Value};
use std::any::type_name;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tautline_core::space::{Message, SpaceMessage};
use tautline_core::wire::{Encoding, Malformed, Unencodable, unpack_first};

/// A message without its value.
pub(super) type Envelope<K> = SpaceMessage<K, ()>;

/// A message whose value is in the memory of this rank.
pub(super) type Kept<K, V> = SpaceMessage<K, Carried<V>>;

/// Converts the value of a message, if it has one.
fn try_map<K, V, W, E>(
    message: SpaceMessage<K, V>,
    convert: impl FnOnce(V) -> Result<W, E>,
) -> Result<SpaceMessage<K, W>, E> {
    let message = match message {
        SpaceMessage::Of(message) => message,
        SpaceMessage::Round(round) => return Ok(SpaceMessage::Round(round)),
    };
    Ok(SpaceMessage::Of(match message {
        Message::Put { key, value } => Message::Put {
            key,
            value: convert(value)?,
        },
        Message::Fetch { key } => Message::Fetch { key },
        Message::Data { key, by, value } => Message::Data {
            key,
            by,
            value: convert(value)?,
        },
        Message::End(failure) => Message::End(failure),
    }))
}

/// Encodes a message, then its value, of at most `limit` bytes. `longest` is that of an envelope.
pub(super) fn encode<K: Key, V: Value>(
    codec: &dyn Codec<V>,
    message: Kept<K, V>,
    limit: usize,
    longest: usize,
) -> Result<Encoding, Unencodable> {
    let mut carried = None;
    let mut encoding = Encoding::default();
    let envelope = try_map(message, |value| {
        carried = Some(value);
        Ok::<_, Unencodable>(())
    })?;
    encoding.push(&envelope, longest)?;
    match carried {
        None => {}
        Some(Carried::Own(value)) => codec.encode(&value, limit, &mut encoding)?,
        Some(Carried::Kept(value)) => codec.encode(&value, limit, &mut encoding)?,
        Some(Carried::Encoded(value)) => encoding.extend(&value),
    }
    Ok(encoding)
}

/// The reason why a message has no value that this rank can use.
pub(super) enum Undecoded<K> {
    /// It is malformed.
    Malformed(Malformed),
    /// Decoding the value of this key panicked, with this text.
    Panicked(K, Box<str>),
}

/// Decodes a message and its value.
pub(super) fn decode<K: Key, V: Value>(
    codec: &dyn Codec<V>,
    body: &[u8],
) -> Result<Kept<K, V>, Undecoded<K>> {
    let (envelope, payload) = unpack_first::<Envelope<K>>(body).map_err(Undecoded::Malformed)?;
    let key = match &envelope {
        SpaceMessage::Of(Message::Put { key, .. } | Message::Data { key, .. }) => Some(key.clone()),
        _ if !payload.is_empty() => {
            let because = "it has no value";
            let malformed = Malformed::refused(type_name::<Envelope<K>>(), payload.len(), because);
            return Err(Undecoded::Malformed(malformed));
        }
        _ => None,
    };
    try_map(envelope, |()| {
        match catch_unwind(AssertUnwindSafe(|| codec.decode(payload))) {
            Ok(Ok(value)) => Ok(Carried::Own(value)),
            Ok(Err(malformed)) => Err(Undecoded::Malformed(malformed)),
            Err(panic) => {
                let text = crate::ranks::team::text_of(&*panic).into();
                Err(match key {
                    Some(key) => Undecoded::Panicked(key, text),
                    None => unreachable!("only a message about a key has a value"),
                })
            }
        }
    })
}
