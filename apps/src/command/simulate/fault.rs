//! The options for faults of a simulated run.

use super::engine::Faults;
use crate::command::Failure;
use crate::command::duration::nanoseconds;
use clap::Args;
use std::str::FromStr;
use tautline::balance::PlaceId;
use tautline::internal::costs::{Costs, KEYS, Section};
use tautline_sim::engine::{Crash, Loss, Noise, Partition, Slow, Spike, Stall};

const MILLION: u64 = 1_000_000;
/// A thousand times the usual duration.
const PERCENT_MAX: u64 = 100_000;
/// An hour.
const NS_MAX: u64 = 3_600_000_000_000;
const NUMBER_MAX: u64 = u32::MAX as u64;

/// The injected faults.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Faults, times in nanoseconds or with units")]
pub(super) struct Faulty {
    /// A fault, each kind once: spike:PER_MILLION,NS (late messages), loss:PER_MILLION (lost
    /// transmissions), stall:PLACE,FROM,UNTIL (a place that stops), slow:NODE,PERCENT (a slow
    /// node), noise:EVERY,NS (interruptions), crash:PLACE,AT (a process that ends),
    /// partition:NODES,FROM,UNTIL (the first nodes are cut off)
    #[arg(long, value_name = "KIND:VALUES")]
    fault: Vec<Given>,
}

/// A fault as given: its kind and its values.
#[derive(Clone, Copy, Debug)]
struct Given {
    form: &'static Form,
    values: [u64; 3],
}

/// A kind of fault.
#[derive(Debug)]
struct Form {
    name: &'static str,
    /// The names and bounds of its values.
    values: &'static [(&'static str, u64, u64)],
    add: fn(&mut Faults, [u64; 3]),
}

static FORMS: [Form; 7] = [
    Form {
        name: "spike",
        values: &[("PER_MILLION", 0, MILLION), ("NS", 0, NS_MAX)],
        add: |faults, [per_million, ns, _]| {
            let per_million = per_million as u32;
            faults.spike = Some(Spike { per_million, ns });
        },
    },
    Form {
        name: "loss",
        values: &[("PER_MILLION", 0, MILLION - 1)],
        add: |faults, [per_million, ..]| {
            let per_million = per_million as u32;
            faults.loss = Some(Loss { per_million });
        },
    },
    Form {
        name: "stall",
        values: &[("PLACE", 0, NUMBER_MAX), FROM, UNTIL],
        add: |faults, [place, from_ns, until_ns]| {
            let place = PlaceId(place as u32);
            faults.stall = Some(Stall {
                place,
                from_ns,
                until_ns,
            });
        },
    },
    Form {
        name: "slow",
        values: &[("NODE", 0, NUMBER_MAX), ("PERCENT", 100, PERCENT_MAX)],
        add: |faults, [node, percent, _]| {
            let node = node as u32;
            faults.slow = Some(Slow { node, percent });
        },
    },
    Form {
        name: "noise",
        values: &[("EVERY", 1, NS_MAX), ("NS", 0, NS_MAX)],
        add: |faults, [every_ns, ns, _]| faults.noise = Some(Noise { every_ns, ns }),
    },
    Form {
        name: "crash",
        values: &[("PLACE", 0, NUMBER_MAX), ("AT", 0, NS_MAX)],
        add: |faults, [place, at_ns, _]| {
            let place = PlaceId(place as u32);
            faults.crash = Some(Crash { place, at_ns });
        },
    },
    Form {
        name: "partition",
        values: &[("NODES", 1, NUMBER_MAX), FROM, UNTIL],
        add: |faults, [nodes, from_ns, until_ns]| {
            let nodes = nodes as u32;
            faults.partition = Some(Partition {
                nodes,
                from_ns,
                until_ns,
            });
        },
    },
];

const FROM: (&str, u64, u64) = ("FROM", 0, NS_MAX);
const UNTIL: (&str, u64, u64) = ("UNTIL", 0, NS_MAX);

/// The values that are times, which may have units.
const TIMES: [&str; 5] = ["NS", "FROM", "UNTIL", "EVERY", "AT"];

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let Some(form) = FORMS.iter().find(|form| form.name == name) else {
            let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
            let names = names.join(", ");
            return Err(format!("one of {names}, with its values after a colon"));
        };
        let names: Vec<&str> = form.values.iter().map(|value| value.0).collect();
        let shape = format!("{name}:{}", names.join(","));
        let numbers: Vec<&str> = numbers.split(',').map(str::trim).collect();
        if numbers.len() != names.len() {
            return Err(shape);
        }
        let mut values = [0; 3];
        for ((value, number), &(what, least, most)) in
            values.iter_mut().zip(numbers).zip(form.values)
        {
            let read = match TIMES.contains(&what) {
                true => nanoseconds(number, least..=most).ok(),
                false => number.parse().ok(),
            };
            let read = read.filter(|read| (least..=most).contains(read));
            *value = read.ok_or_else(|| format!("{shape}, {what} from {least} to {most}"))?;
        }
        let [_, from, until] = values;
        if names.contains(&"UNTIL") && from >= until {
            return Err(format!("{shape}, UNTIL after FROM"));
        }
        Ok(Self { form, values })
    }
}

impl Faulty {
    /// Whether there are faults.
    pub(super) fn asked(&self) -> bool {
        !self.fault.is_empty()
    }

    /// Adds the requested faults to `faults`, for a run of `places` places on `nodes` nodes.
    pub(super) fn over(
        &self,
        mut faults: Faults,
        places: u32,
        nodes: u32,
    ) -> Result<Faults, Failure> {
        for (at, given) in self.fault.iter().enumerate() {
            let name = given.form.name;
            let refuse = |why: String| Err(Failure::Usage(format!("--fault {name}: {why}")));
            let is_same = |other: &Given| other.form.name == name;
            if self.fault[..at].iter().any(is_same) {
                return refuse("given more than once".to_owned());
            }
            let (what, first) = (given.form.values[0].0, given.values[0]);
            match what {
                "PLACE" if first >= u64::from(places) => {
                    return refuse(format!("PLACE {first} of {places} places, counted from 0"));
                }
                "NODE" if first >= u64::from(nodes) => {
                    return refuse(format!("NODE {first} of {nodes} nodes, counted from 0"));
                }
                "NODES" if first >= u64::from(nodes) => {
                    return refuse(format!(
                        "NODES {first}: fewer than the {nodes} nodes in use"
                    ));
                }
                _ => (given.form.add)(&mut faults, given.values),
            }
        }
        Ok(faults)
    }

    /// Returns the faults as given, and what they have in common in `faults`.
    pub(super) fn line(&self, faults: &Faults) -> String {
        let costs = Costs {
            faults: *faults,
            ..Costs::default()
        };
        let common = KEYS.iter().filter(|key| key.section == Section::Faults);
        let common = common.map(|key| format!("{} {}", key.name, key.get(&costs)));
        let given: Vec<_> = self.fault.iter().map(Given::line).collect();
        let common: Vec<_> = common.collect();
        format!("{}; {}", given.join("; "), common.join(", "))
    }
}

impl Given {
    fn line(&self) -> String {
        let values = self.values.iter().take(self.form.values.len());
        let values: Vec<String> = values.map(u64::to_string).collect();
        format!("{}:{}", self.form.name, values.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_as_they_are_printed() {
        for text in [
            "spike:1000,50000",
            "loss:10000",
            "stall:3,100,200",
            "slow:0,150",
            "noise:1000000,5000",
            "crash:7,2000000",
            "partition:4,100,200",
        ] {
            assert_eq!(
                text.parse::<Given>().map(|given| given.line()).as_deref(),
                Ok(text)
            );
        }
    }

    #[test]
    fn what_is_no_fault_is_refused_by_its_form() {
        for (text, why) in [
            ("fire:1", "one of spike, loss, stall"),
            ("loss", "loss:PER_MILLION"),
            ("loss:1,2", "loss:PER_MILLION"),
            ("loss:1000000", "PER_MILLION from 0 to 999999"),
            ("slow:0,50", "PERCENT from 100 to 100000"),
            ("stall:0,5,5", "UNTIL after FROM"),
            ("noise:-1,5", "EVERY from 1"),
        ] {
            let refused = text.parse::<Given>().expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
