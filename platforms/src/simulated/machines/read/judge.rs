//! Bounds of the figures of a description.

use super::value::{DISCOVERED, Figure, Stated, shown, stated};
use crate::host::file::Mistake;
use crate::simulated::costs::{self, Form, Key, Unit};
use crate::simulated::machines::{self, Origin};
use std::ops::RangeInclusive;
use tautline_sim::Shape;
use toml::Value;

const SLOWDOWNS: RangeInclusive<f64> = 0.001..=1e6;

/// Checks numbers and stores their origins.
#[derive(Default)]
pub(super) struct Judge {
    pub(super) figures: Vec<machines::Figure>,
}

impl Judge {
    /// Returns the number under `key`, within `bounds`.
    pub(super) fn whole(
        &mut self,
        key: &str,
        figure: Figure,
        bounds: RangeInclusive<u64>,
    ) -> Result<u64, Mistake> {
        self.found(key, figure, bounds, None)
    }

    /// Returns the number under `key`; a discovered one is `here`.
    pub(super) fn found(
        &mut self,
        key: &str,
        figure: Figure,
        bounds: RangeInclusive<u64>,
        here: Option<u64>,
    ) -> Result<u64, Mistake> {
        let Stated { value, origin, at } = stated(key, figure)?;
        let (least, most) = (*bounds.start(), *bounds.end());
        let given = match (&value, here) {
            (Value::String(text), Some(here)) if text == DISCOVERED => {
                Some(here.clamp(least, most))
            }
            _ => value.as_integer().and_then(|number| number.try_into().ok()),
        };
        let Some(number) = given.filter(|number| bounds.contains(number)) else {
            let found = shown(&value);
            let message = format!("{key} {found}: a whole number from {least} to {most}");
            return Err(Mistake::at(at, message));
        };
        self.keep(key, number as f64, origin);
        Ok(number)
    }

    pub(super) fn small(&mut self, key: &str, figure: Figure, most: u64) -> Result<u32, Mistake> {
        let value = self.whole(key, figure, 1..=most)?;
        Ok(value as u32)
    }

    /// Returns the cost under `key` of the section of that name.
    pub(super) fn cost(
        &mut self,
        section: &str,
        key: &Key,
        figure: Figure,
    ) -> Result<costs::Value, Mistake> {
        let name = format!("{section}.{}", key.file_name);
        if key.unit != Unit::Switch {
            let number = self.whole(&name, figure, key.least..=key.most)?;
            return Ok(costs::Value::Number(number));
        }
        let Stated { value, origin, at } = stated(&name, figure)?;
        let Some(is_on) = value.as_bool() else {
            let message = format!("{name} {}: true or false", shown(&value));
            return Err(Mistake::at(at, message));
        };
        self.keep(&name, f64::from(u8::from(is_on)), origin);
        Ok(costs::Value::Switch(is_on))
    }

    pub(super) fn slowdown(&mut self, key: &str, figure: Figure) -> Result<f64, Mistake> {
        let Stated { value, origin, at } = stated(key, figure)?;
        let whole = value.as_integer().map(|whole| whole as f64);
        let given = value.as_float().or(whole);
        let Some(slowdown) = given.filter(|slowdown| SLOWDOWNS.contains(slowdown)) else {
            let (least, most) = (SLOWDOWNS.start(), SLOWDOWNS.end());
            let found = shown(&value);
            let message = format!("{key} {found}: a number from {least} to {most}");
            return Err(Mistake::at(at, message));
        };
        self.keep(key, slowdown, origin);
        Ok(slowdown)
    }

    /// Returns the network of that form, for `nodes` nodes.
    pub(super) fn shape(
        &mut self,
        form: &Form,
        figure: Figure,
        nodes: u32,
    ) -> Result<Shape, Mistake> {
        let name = form.key();
        let Stated { value, origin, at } = stated(&name, figure)?;
        let sizes = value
            .as_array()
            .map(|sizes| sizes.iter().map(Value::as_integer));
        let sizes: Option<Vec<i64>> = sizes.and_then(Iterator::collect);
        let found = shown(&value);
        let Some(shape) = sizes.as_ref().and_then(|sizes| form.of(sizes)) else {
            let message = format!("{name} {found}: {}", form.allowed());
            return Err(Mistake::at(at, message));
        };
        if let Some(room) = costs::room(shape).filter(|&room| room < nodes.into()) {
            let message = format!("{name} {found}: room for {room} nodes, not for all {nodes}");
            return Err(Mistake::at(at, message));
        }
        let all = sizes.into_iter().flatten().map(|size| size as f64);
        self.keep(&format!("network.{name}"), all.product(), origin);
        Ok(shape)
    }

    fn keep(&mut self, key: &str, value: f64, origin: Origin) {
        self.figures.push(machines::Figure {
            key: key.to_owned(),
            value,
            origin,
        });
    }
}
