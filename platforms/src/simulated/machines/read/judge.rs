//! Bounds of the numbers of a description.

use super::value::{Number, Numbers, Stated, Value};
use crate::host::file::Mistake;
use crate::simulated::machines::{Figure, Origin};
use std::ops::RangeInclusive;

/// One second: more would overflow the virtual clock.
const COST_MAX_NS: u64 = 1_000_000_000;
const RATE_MAX_MB_PER_S: u64 = 1_000_000_000;
const SIZES: RangeInclusive<u32> = 1..=1 << 16;
const SLOWDOWNS: RangeInclusive<f64> = 0.001..=1e6;

/// Checks numbers and stores their origins.
#[derive(Default)]
pub(super) struct Judge {
    pub(super) figures: Vec<Figure>,
}

impl Judge {
    /// Returns the number under `key`, within `bounds`.
    pub(super) fn whole(
        &mut self,
        key: &str,
        number: Number,
        bounds: RangeInclusive<u64>,
    ) -> Result<u64, Mistake> {
        self.found(key, number, bounds, None)
    }

    /// Returns the number under `key`; a discovered one is `here`.
    pub(super) fn found(
        &mut self,
        key: &str,
        number: Number,
        bounds: RangeInclusive<u64>,
        here: Option<u64>,
    ) -> Result<u64, Mistake> {
        let span = number.span();
        let Stated { value, origin } = number.into_inner();
        let (least, most) = (*bounds.start(), *bounds.end());
        let refuse = |found: String| {
            let message = format!("{key} {found}: a whole number from {least} to {most}");
            Err(Mistake::at(span.start, message))
        };
        let value = match (value, here) {
            (Value::Whole(whole), _) => match u64::try_from(whole) {
                Ok(value) if bounds.contains(&value) => value,
                _ => return refuse(whole.to_string()),
            },
            (Value::Real(real), _) => return refuse(format!("{real:?}")),
            (Value::Discovered, Some(here)) => here.clamp(least, most),
            (Value::Discovered, None) => return refuse("\"discovered\"".to_owned()),
        };
        self.keep(key, value as f64, origin);
        Ok(value)
    }

    pub(super) fn small(&mut self, key: &str, number: Number, most: u64) -> Result<u32, Mistake> {
        let value = self.whole(key, number, 1..=most)?;
        Ok(value as u32)
    }

    pub(super) fn cost(&mut self, key: &str, number: Number) -> Result<u64, Mistake> {
        self.whole(key, number, 0..=COST_MAX_NS)
    }

    pub(super) fn slowdown(&mut self, key: &str, number: Number) -> Result<f64, Mistake> {
        let span = number.span();
        let Stated { value, origin } = number.into_inner();
        let (value, found) = match value {
            Value::Whole(whole) => (whole as f64, whole.to_string()),
            Value::Real(real) => (real, format!("{real:?}")),
            Value::Discovered => (f64::NAN, "\"discovered\"".to_owned()),
        };
        if !SLOWDOWNS.contains(&value) {
            let (least, most) = (SLOWDOWNS.start(), SLOWDOWNS.end());
            let message = format!("{key} {found}: a number from {least} to {most}");
            return Err(Mistake::at(span.start, message));
        }
        self.keep(key, value, origin);
        Ok(value)
    }

    /// Returns the rate under `key`; 0 if it is not given.
    pub(super) fn rate(&mut self, key: &str, number: Option<Number>) -> Result<u64, Mistake> {
        number.map_or(Ok(0), |n| self.whole(key, n, 1..=RATE_MAX_MB_PER_S))
    }

    /// Returns the `N` sizes under the key `name` of the network.
    pub(super) fn sizes<const N: usize>(
        &mut self,
        name: &str,
        numbers: Numbers,
    ) -> Result<[u32; N], Mistake> {
        let span = numbers.span();
        let Stated { value, origin } = numbers.into_inner();
        let size = |&number: &i64| {
            u32::try_from(number)
                .ok()
                .filter(|size| SIZES.contains(size))
        };
        let sizes: Option<Vec<u32>> = value.iter().map(size).collect();
        let sizes = sizes.and_then(|sizes| <[u32; N]>::try_from(sizes).ok());
        let Some(sizes) = sizes else {
            let most = SIZES.end();
            let message = format!("{name} {value:?}: {N} whole numbers from 1 to {most}");
            return Err(Mistake::at(span.start, message));
        };
        let all = sizes.iter().map(|&size| f64::from(size)).product();
        self.keep(&format!("network.{name}"), all, origin);
        Ok(sizes)
    }

    fn keep(&mut self, key: &str, value: f64, origin: Origin) {
        self.figures.push(Figure {
            key: key.to_owned(),
            value,
            origin,
        });
    }
}
