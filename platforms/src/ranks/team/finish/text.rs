//! Texts of panics.

use crate::error::Error;
use std::any::Any;

/// Returns the text of a panic, for another rank, which its payload does not reach.
pub(crate) fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    // Of a phaser over ranks.
    let text = text.or_else(|| payload.downcast_ref::<Error>().map(ToString::to_string));
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}
