//! Values of a description, alone or with their origins.

use crate::simulated::machines::Origin;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use std::fmt;
use toml::Spanned;

pub(super) type Number = Spanned<Stated<Value>>;
pub(super) type Numbers = Spanned<Stated<Vec<i64>>>;

/// A value, alone or with its origin.
pub(super) struct Stated<T> {
    pub(super) value: T,
    pub(super) origin: Origin,
}

#[derive(Clone, Copy)]
pub(super) enum Value {
    Whole(i64),
    Real(f64),
    Discovered,
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneValue;
        impl Visitor<'_> for OneValue {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Whole(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Real(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
                match value {
                    "discovered" => Ok(Value::Discovered),
                    _ => Err(E::invalid_type(de::Unexpected::Str(value), &self)),
                }
            }
        }
        from.deserialize_any(OneValue)
    }
}

impl<'de> Deserialize<'de> for Stated<Value> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneNumber;
        impl<'de> Visitor<'de> for OneNumber {
            type Value = Stated<Value>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a number, { value = 1, source = \"…\" } or { value = 1, assumed = \"…\" }",
                )
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                Ok(unsaid(Value::Whole(value)))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                Ok(unsaid(Value::Real(value)))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                match value {
                    "discovered" => Ok(Stated {
                        value: Value::Discovered,
                        origin: Origin::Discovered,
                    }),
                    _ => Err(E::invalid_type(de::Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                with_origin(map)
            }
        }
        from.deserialize_any(OneNumber)
    }
}

impl<'de> Deserialize<'de> for Stated<Vec<i64>> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Stated<Vec<i64>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("whole numbers [X, Y, …], or { value = […], source = \"…\" }")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Deserialize::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(unsaid)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                with_origin(map)
            }
        }
        from.deserialize_any(Numbers)
    }
}

fn unsaid<T>(value: T) -> Stated<T> {
    Stated {
        value,
        origin: Origin::Unsaid,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sourced<T> {
    value: T,
    source: Option<String>,
    assumed: Option<String>,
}

/// A table of a value and its source, or the reason for which it is assumed.
fn with_origin<'de, T: Deserialize<'de>, A: MapAccess<'de>>(map: A) -> Result<Stated<T>, A::Error> {
    let table = Sourced::deserialize(de::value::MapAccessDeserializer::new(map))?;
    let origin = match (table.source, table.assumed) {
        (Some(_), Some(_)) => {
            return Err(de::Error::custom("either a source or assumed, not both"));
        }
        (Some(source), None) => Origin::Source(source),
        (None, Some(reason)) => Origin::Assumed(reason),
        (None, None) => Origin::Unsaid,
    };
    Ok(Stated {
        value: table.value,
        origin,
    })
}
