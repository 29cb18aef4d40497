//! Figures of a description, alone or with their origins.

use crate::host::file::Mistake;
use crate::simulated::machines::Origin;
use toml::{Spanned, Value};

/// A figure as the file states it.
pub(super) type Figure = Spanned<Value>;

/// A figure with its origin.
pub(super) struct Stated {
    pub(super) value: Value,
    pub(super) origin: Origin,
    /// The position of the figure in the file.
    pub(super) at: usize,
}

/// Reads the figure under `key`: a value, or a table of a value and its source, or the reason for
/// which it is assumed.
pub(super) fn stated(key: &str, figure: Figure) -> Result<Stated, Mistake> {
    let at = figure.span().start;
    let refuse = |why: &str| Err(Mistake::at(at, format!("{key}: {why}")));
    let mut table = match figure.into_inner() {
        Value::Table(table) => table,
        value => {
            let origin = match value.as_str() {
                Some(DISCOVERED) => Origin::Discovered,
                _ => Origin::Unsaid,
            };
            return Ok(Stated { value, origin, at });
        }
    };
    let Some(value) = table.remove("value") else {
        return refuse("missing key value");
    };
    let origin = match (table.remove("source"), table.remove("assumed")) {
        (None, None) => Origin::Unsaid,
        (Some(Value::String(source)), None) => Origin::Source(source),
        (None, Some(Value::String(reason))) => Origin::Assumed(reason),
        (Some(_), Some(_)) => return refuse("either a source or assumed, not both"),
        _ => return refuse("source, assumed: a text"),
    };
    match table.keys().next() {
        Some(other) => refuse(&format!(
            "unknown key {other}, expected one of value, source, assumed"
        )),
        None => Ok(Stated { value, origin, at }),
    }
}

/// The text in place of a number that is discovered.
pub(super) const DISCOVERED: &str = "discovered";

/// Returns a value as errors show it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text:?}"),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::Boolean(is_on) => is_on.to_string(),
        Value::Array(all) => {
            let all: Vec<String> = all.iter().map(shown).collect();
            format!("[{}]", all.join(", "))
        }
        Value::Datetime(time) => time.to_string(),
        Value::Table(_) => "{…}".to_owned(),
    }
}
