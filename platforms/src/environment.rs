//! Variables of the environment. An empty one counts as unset.
#![forbid(unsafe_code)]

use crate::plan::refuse;
use crate::{Error, Result};
use std::env;
use std::env::VarError;

/// The value of `variable`, if it is set and not empty.
///
/// # Errors
/// It is not Unicode.
pub(crate) fn text(variable: &'static str) -> Result<Option<String>> {
    match env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|value| !value.trim().is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => Err(Error::Setting {
            setting: variable,
            value: value.to_string_lossy().into_owned(),
            allowed: "text in UTF-8".into(),
        }),
    }
}

/// The number in `variable`; `allowed` says what it counts.
///
/// # Errors
/// It is not a whole number.
pub(crate) fn number(variable: &'static str, allowed: &str) -> Result<Option<usize>> {
    let Some(value) = text(variable)? else {
        return Ok(None);
    };
    match value.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => refuse(variable, value.escape_debug(), allowed.to_owned()),
    }
}

/// The number in `variable`, from `least` to `most`.
///
/// # Errors
/// It is not such a number.
pub(crate) fn bounded(variable: &'static str, least: usize, most: usize) -> Result<Option<usize>> {
    let allowed = format!("a whole number from {least} to {most}");
    match number(variable, &allowed)? {
        Some(number) if !(least..=most).contains(&number) => refuse(variable, number, allowed),
        number => Ok(number),
    }
}

/// Whether `variable` is 1 or true.
///
/// # Errors
/// It is neither this nor 0 or false.
pub(crate) fn flag(variable: &'static str) -> Result<bool> {
    let Some(value) = text(variable)? else {
        return Ok(false);
    };
    match value.trim() {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => refuse(variable, value.escape_debug(), "1, true, 0 or false".into()),
    }
}
