//! The costs of simulated runs, one row of [`KEYS`] each. Files of machines, the options of the
//! command that set and vary costs, its lines, data and documentation are views of that table.
//!
//! A new cost is a field of the simulator, and a row.
#![forbid(unsafe_code)]

mod keys;
mod network;

pub use keys::KEYS;
pub use network::{FORMS, Form, form, parse_network, room};

use network::Spelled;
use std::fmt;
use tautline_sim::engine::Faults;
use tautline_sim::{Machine, Shape};

/// A simulated machine, and the faults of a run on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// The machine.
    pub machine: Machine,
    /// The faults.
    pub faults: Faults,
}

/// A cost.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// The name in options, lines and data.
    pub name: &'static str,
    /// The place in files of machines.
    pub section: Section,
    /// The name in that section.
    pub file_name: &'static str,
    /// The unit.
    pub unit: Unit,
    /// The least value of a number.
    pub least: u64,
    /// The largest.
    pub most: u64,
    /// The value where a file does not state it; `None`: it is required.
    pub absent: Option<u64>,
    /// The effect: the help of the command, and a cell of the documentation.
    pub help: &'static str,
    /// Not of the network, which is no number.
    access: Option<Access>,
}

/// A section of the files of machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Costs of a worker: `[costs]`.
    Costs,
    /// Costs of nodes: `[network]`.
    Network,
    /// Costs of processes: `[ranks]`.
    Ranks,
    /// No section: the value follows from others.
    Derived,
    /// No section: the value is a property of the faults of a run.
    Faults,
}

/// The unit of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes a microsecond; 0: unlimited.
    MbPerS,
    /// Bytes.
    Bytes,
    /// Percent.
    Percent,
    /// A number without a unit.
    Count,
    /// Yes or no.
    Switch,
    /// The shape of a network.
    Network,
}

/// The value of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u64),
    /// Yes or no.
    Switch(bool),
    /// The shape of a network.
    Network(Shape),
}

/// The access to a field, of which a switch is 0 or 1.
#[derive(Clone, Copy, Debug)]
struct Access {
    get: fn(&Costs) -> u64,
    set: fn(&mut Costs, u64),
}

impl Key {
    /// Whether the command has an option of this name, too.
    pub fn is_option(&self) -> bool {
        keys::OPTIONS.contains(&self.name)
    }

    /// Returns the value in `costs`.
    pub fn get(&self, costs: &Costs) -> Value {
        match (self.unit, self.number(costs)) {
            (Unit::Switch, Some(number)) => Value::Switch(number > 0),
            (_, Some(number)) => Value::Number(number),
            (_, None) => Value::Network(costs.machine.cluster.shape),
        }
    }

    /// Returns the value in `costs`, of a switch 0 or 1; `None` if it is no number.
    pub fn number(&self, costs: &Costs) -> Option<u64> {
        self.access.map(|access| (access.get)(costs))
    }

    /// Sets the value in `costs`.
    ///
    /// # Panics
    /// A value of another kind.
    pub fn set(&self, costs: &mut Costs, value: Value) {
        match (self.access, value) {
            (Some(access), Value::Number(number)) => (access.set)(costs, number),
            (Some(access), Value::Switch(is_on)) => (access.set)(costs, is_on.into()),
            (None, Value::Network(shape)) => costs.machine.cluster.shape = shape,
            _ => panic!("{}: {value:?}", self.name),
        }
    }

    /// Returns the number as a value, if it is within bounds.
    pub fn value(&self, number: u64) -> Option<Value> {
        let is_allowed = (self.least..=self.most).contains(&number);
        is_allowed.then_some(match self.unit {
            Unit::Switch => Value::Switch(number > 0),
            _ => Value::Number(number),
        })
    }

    /// Returns the allowed values, in words.
    pub fn allowed(&self) -> String {
        let (least, most) = (self.least, self.most);
        match self.unit {
            Unit::Ns => {
                format!("a time from {least} to {most} nanoseconds, such as 500, 20us or 1ms")
            }
            Unit::Switch => "1, true, 0 or false".to_owned(),
            Unit::Network => network::allowed(),
            _ => format!("a whole number from {least} to {most}"),
        }
    }

    /// Whether a machine with this value is described the same without it.
    pub fn is_absent(&self, costs: &Costs) -> bool {
        match self.get(costs) {
            Value::Network(shape) => shape == Shape::Flat,
            _ => self.absent.is_some() && self.number(costs) == self.absent,
        }
    }
}

impl Section {
    /// Returns the name in files; `None` if they have no such section.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Costs => Some("costs"),
            Self::Network => Some("network"),
            Self::Ranks => Some("ranks"),
            Self::Derived | Self::Faults => None,
        }
    }
}

impl Unit {
    /// Returns its name; empty if it has none.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::MbPerS => "MB/s",
            Self::Bytes => "bytes",
            Self::Percent => "percent",
            Self::Count => "",
            Self::Switch => "0 or 1",
            Self::Network => "shape",
        }
    }
}

/// In the form that options have.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Number(number) => number.fmt(f),
            Self::Switch(is_on) => u8::from(is_on).fmt(f),
            Self::Network(shape) => Spelled(shape).fmt(f),
        }
    }
}

/// Returns the cost of this name, in which hyphens count as underscores.
pub fn find(name: &str) -> Option<&'static Key> {
    let name = name.replace('-', "_");
    KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests;
