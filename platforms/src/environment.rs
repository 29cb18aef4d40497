//! Environment variables: an empty one counts as unset.
#![forbid(unsafe_code)]

use crate::{Error, Result};
use std::borrow::Cow;

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
            value: value.to_string_lossy().escape_debug().to_string(),
            allowed: Cow::from("text in UTF-8"),
        }),
    }
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

/// Returns whether the variable is 1 or true; false if it is unset or empty.
///
/// # Errors
/// A value other than these and 0 or false.
pub(crate) fn flag(name: &'static str) -> Result<bool> {
    match text(name)?.as_deref() {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(value) => Err(Error::Setting {
            setting: name,
            value: value.escape_debug().to_string(),
            allowed: Cow::from("1, true, 0 or false"),
        }),
    }
}
