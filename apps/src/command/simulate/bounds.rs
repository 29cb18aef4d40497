//! Numbers within bounds, for the options of this folder.

use tautline::internal::spelling;

/// One second: more would overflow the virtual clock.
pub(super) const COST_MAX_NS: u64 = 1_000_000_000;

/// Parses a whole number within bounds.
pub(super) fn bounded(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let value = spelling::whole::<u64, { u64::MAX }>(text);
    match value {
        Err(reason) if !reason.starts_with("at most") => Err(reason),
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("from {least} to {most}")),
    }
}
