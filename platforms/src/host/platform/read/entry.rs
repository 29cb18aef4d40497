//! A place of a description, with its position; common to all formats.
#![forbid(unsafe_code)]

use super::{Mistake, Platform, shown};
use std::collections::HashSet;
use tautline_core::hierarchy::{DEPTH_MAX, DOMAINS_MAX, Kind, Spec, WORKERS_MAX};

/// More processors than any system has.
const CPU_MAX: usize = (1 << 20) - 1;

/// A place, and its children.
pub(super) struct Entry {
    /// The byte at which it begins.
    pub at: usize,
    pub spec: Spec,
    pub children: Vec<Entry>,
}

impl Entry {
    /// Returns the platform with this place as its root.
    pub(super) fn platform(
        self,
        info: String,
        cpus: Option<(usize, &str)>,
    ) -> Result<Platform, Mistake> {
        let hierarchy = self.spec().build().map_err(|fault| {
            let inner = fault
                .at
                .iter()
                .try_fold(&self, |entry, &child| entry.children.get(child));
            Mistake::at(inner.unwrap_or(&self).at, fault.wrong.to_string())
        })?;
        let cpus = match cpus {
            None => Vec::new(),
            Some((at, list)) => {
                let cpus = self::cpus(list).map_err(|message| Mistake::at(at, message))?;
                let (listed, workers) = (cpus.len(), hierarchy.workers());
                if listed != workers as usize {
                    let list = shown(list);
                    let message = format!("cpus {list}: {listed} for {workers} workers, one each");
                    return Err(Mistake::at(at, message));
                }
                cpus
            }
        };
        Ok(Platform {
            info,
            hierarchy,
            cpus,
        })
    }

    fn spec(&self) -> Spec {
        let children = self.children.iter().map(Self::spec);
        children.fold(self.spec.clone(), Spec::child)
    }
}

/// Refuses a depth from which no tree is built, before any recursion.
pub(super) fn check_level(at: usize, level: u32) -> Result<(), Mistake> {
    match level < DEPTH_MAX {
        true => Ok(()),
        false => Err(Mistake::at(
            at,
            format!("level {level}: at most {DEPTH_MAX} levels"),
        )),
    }
}

/// Parses a number of copies.
pub(super) fn copies(value: &str) -> Result<u32, String> {
    number("num", value, 1, DOMAINS_MAX)
}

/// Parses a number of workers.
pub(super) fn workers(value: &str) -> Result<u32, String> {
    number("workers", value, 1, WORKERS_MAX)
}

fn number(name: &str, value: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = value.parse().ok().filter(|it| (least..=most).contains(it));
    number.ok_or_else(|| format!("{name} {}: from {least} to {most}", shown(value)))
}

/// Parses a kind of place.
pub(super) fn kind(value: &str) -> Result<Kind, String> {
    match value.is_empty() || value.len() > 60 || value.contains(char::is_control) {
        true => Err(format!(
            "type {}: mem, cache, core, node, device, or another word",
            shown(value)
        )),
        false => Ok(Kind::named(value)),
    }
}

/// Parses the processors of a list such as `0-3,8`, in its order.
fn cpus(list: &str) -> Result<Vec<usize>, String> {
    let refuse = |why: &str| format!("cpus {}: {why}", shown(list));
    let form = || {
        refuse(&format!(
            "numbers and ranges up to {CPU_MAX}, such as 0-3,8"
        ))
    };
    let (mut cpus, mut seen) = (Vec::new(), HashSet::new());
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let read = |number: &str| {
            number
                .trim()
                .parse::<usize>()
                .ok()
                .filter(|n| *n <= CPU_MAX)
        };
        let (first, last) = read(first).zip(read(last)).ok_or_else(form)?;
        if first > last {
            return Err(form());
        }
        for cpu in first..=last {
            if !seen.insert(cpu) {
                return Err(refuse(&format!("{cpu} is there twice")));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}
