//! Environment variables: an empty one counts as unset.
#![forbid(unsafe_code)]

use crate::rules::{self, Rules};
use crate::spelling;
use crate::{Error, Result};
use std::borrow::Cow;
use std::ffi::OsStr;

/// The variable that silences warnings, if it is `0`.
pub const WARN_VARIABLE: &str = "TAUTLINE_WARN";

/// Returns the value of the variable without surrounding blanks; `None` if it is unset or empty.
///
/// # Errors
/// A value that is not text.
pub(crate) fn text(name: &'static str) -> Result<Option<String>> {
    let Some(value) = std::env::var_os(name) else {
        return Ok(None);
    };
    match value.to_str() {
        Some(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        None => Err(Error::Setting {
            setting: name,
            value: format!("\"{}\"", value.as_encoded_bytes().escape_ascii()),
            allowed: Cow::from("not Unicode, expected UTF-8"),
        }),
    }
}

/// Whether a value counts as unset.
pub(crate) fn is_blank(value: &OsStr) -> bool {
    value.to_str().is_some_and(|text| text.trim().is_empty())
}

/// Whether warnings are wanted.
pub(crate) fn warns() -> bool {
    text(WARN_VARIABLE).map_or(true, |value| value.as_deref() != Some("0"))
}

/// Returns the number in the variable, from `least` to `most`; `None` if it is unset or empty.
///
/// # Errors
/// A value that is not such a number.
pub(crate) fn number(name: &'static str, least: usize, most: usize) -> Result<Option<usize>> {
    let Some(value) = text(name)? else {
        return Ok(None);
    };
    let number = value.parse().ok();
    match number.filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(Error::Setting {
            setting: name,
            value: value.escape_debug().to_string(),
            allowed: Cow::from(format!("a whole number from {least} to {most}")),
        }),
    }
}

/// Returns the value of the variable, as `parse` reads it; `None` if it is unset or empty.
///
/// # Errors
/// What `parse` refuses, with what it allows.
fn parsed<T>(
    name: &'static str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>> {
    let Some(value) = text(name)? else {
        return Ok(None);
    };
    match parse(&value) {
        Ok(parsed) => Ok(Some(parsed)),
        Err(allowed) => Err(Error::Setting {
            setting: name,
            value: value.escape_debug().to_string(),
            allowed: Cow::from(allowed),
        }),
    }
}

/// Returns the balancer's rules that variables set.
///
/// # Errors
/// A malformed variable.
pub(crate) fn rules() -> Result<Rules> {
    Ok(Rules {
        random_steals: parsed(rules::RANDOM_STEALS_VARIABLE, spelling::random_steals)?.flatten(),
        lifelines: parsed(rules::LIFELINES_VARIABLE, spelling::lifelines)?.flatten(),
        steal: parsed(rules::STEAL_VARIABLE, spelling::steal)?,
        grain: parsed(rules::GRAIN_VARIABLE, spelling::grain)?,
        fairness: parsed(rules::FAIRNESS_VARIABLE, spelling::fairness)?,
        seed: parsed(rules::SEED_VARIABLE, spelling::seed)?,
    })
}

/// Returns whether the variable is 1 or true; false if it is unset or empty.
///
/// # Errors
/// A value other than these and 0 or false.
pub(crate) fn flag(name: &'static str) -> Result<bool> {
    let Some(value) = text(name)? else {
        return Ok(false);
    };
    spelling::truth(&value).map_err(|allowed| Error::Setting {
        setting: name,
        value: value.escape_debug().to_string(),
        allowed: Cow::from(allowed),
    })
}
