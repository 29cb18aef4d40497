//! Environment variables: an empty one counts as unset.
#![forbid(unsafe_code)]

use super::{Kind, Rules, Setting, WARN, balancer, spelling};
use crate::{Error, Result};
use std::borrow::Cow;
use std::ffi::OsStr;

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
    text(WARN.variable).map_or(true, |value| value.as_deref() != Some("0"))
}

/// Returns the number that the variable of `setting` has; `None` if it is unset or empty.
///
/// # Errors
/// A value that is not a number in its bounds.
pub(crate) fn number(setting: &Setting) -> Result<Option<usize>> {
    match setting.kind {
        Kind::Number { least, most } => number_in(setting.variable, least, most),
        _ => unreachable!("{} is not a number", setting.name),
    }
}

/// Returns the number in a variable, from `least` to `most`; `None` if it is unset or empty.
///
/// # Errors
/// A value that is not such a number.
pub(crate) fn number_in(name: &'static str, least: usize, most: usize) -> Result<Option<usize>> {
    parsed(name, |value| {
        let number = value.parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| Cow::from(format!("a whole number from {least} to {most}")))
    })
}

/// Returns whether the variable of `setting` is 1 or true; false if it is unset or empty.
///
/// # Errors
/// A value other than these and 0 or false.
pub(crate) fn flag(setting: &Setting) -> Result<bool> {
    let value = parsed(setting.variable, |value| {
        spelling::truth(value).map_err(Cow::from)
    });
    Ok(value?.unwrap_or(false))
}

/// Returns the value of the variable, as `parse` reads it; `None` if it is unset or empty.
///
/// # Errors
/// A text that `parse` refuses, with the allowed ones.
pub(crate) fn parsed<T>(
    name: &'static str,
    parse: impl FnOnce(&str) -> Result<T, Cow<'static, str>>,
) -> Result<Option<T>> {
    let Some(value) = text(name)? else {
        return Ok(None);
    };
    match parse(&value) {
        Ok(parsed) => Ok(Some(parsed)),
        Err(allowed) => Err(Error::Setting {
            setting: name,
            value: value.escape_debug().to_string(),
            allowed,
        }),
    }
}

/// Returns the balancer's parameters that variables set.
///
/// # Errors
/// A malformed variable.
pub(crate) fn rules() -> Result<Rules> {
    let mut rules = Rules::default();
    for (setting, rule) in balancer() {
        parsed(setting.variable, |value| {
            (rule.read)(value, &mut rules).map_err(Cow::from)
        })?;
    }
    Ok(rules)
}
