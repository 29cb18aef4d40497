//! The options for faults of a simulated run.

use super::bounds::bounded;
use super::engine::{Fault, Faults};
use crate::command::Failure;
use crate::command::duration::nanoseconds;
use clap::Args;
use std::str::FromStr;
use tautline::balance::PlaceId;
use tautline_sim::engine::{Crash, Loss, Noise, Partition, Slow, Spike, Stall};

const MILLION: u64 = 1_000_000;
/// A thousand times the usual duration.
const PERCENT_MAX: u64 = 100_000;
/// An hour.
const NS_MAX: u64 = 3_600_000_000_000;

/// What goes wrong.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Faults, times in nanoseconds or with units")]
pub(super) struct Faulty {
    /// A fault, each kind once: spike:PER_MILLION,NS (late messages), loss:PER_MILLION (lost transmissions),
    /// stall:PLACE,FROM,UNTIL (a place that stops), slow:NODE,PERCENT (a slow node), noise:EVERY,NS
    /// (interruptions), crash:PLACE,AT (a process that ends), partition:NODES,FROM,UNTIL (the first nodes are cut off)
    #[arg(long, value_name = "KIND:VALUES")]
    fault: Vec<Given>,
    /// Seed that selects the messages which are late or lost [default: 0]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = |text: &str| bounded(text, 0, u64::MAX))]
    fault_seed: Option<u64>,
    /// Time until a transmission that is not acknowledged is repeated; it doubles each time [default: 20000]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(value_parser = |text: &str| nanoseconds(text, 1..=NS_MAX))]
    timeout_ns: Option<u64>,
    /// Time from a crash, or from the beginning of a partition, until it is reported [default: 1000000]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    #[arg(value_parser = |text: &str| nanoseconds(text, 0..=NS_MAX))]
    detect_ns: Option<u64>,
}

/// A fault as given: its kind and its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given {
    kind: Fault,
    values: [u64; 3],
}

/// A kind of fault: its name, and the names and bounds of its values.
type Form = (Fault, &'static str, &'static [(&'static str, u64, u64)]);

const FORMS: [Form; 7] = [
    (
        Fault::Spike,
        "spike",
        &[("PER_MILLION", 0, MILLION), ("NS", 0, NS_MAX)],
    ),
    (Fault::Loss, "loss", &[("PER_MILLION", 0, MILLION - 1)]),
    (
        Fault::Stall,
        "stall",
        &[
            ("PLACE", 0, u32::MAX as u64),
            ("FROM", 0, NS_MAX),
            ("UNTIL", 0, NS_MAX),
        ],
    ),
    (
        Fault::Slow,
        "slow",
        &[("NODE", 0, u32::MAX as u64), ("PERCENT", 100, PERCENT_MAX)],
    ),
    (
        Fault::Noise,
        "noise",
        &[("EVERY", 1, NS_MAX), ("NS", 0, NS_MAX)],
    ),
    (
        Fault::Crash,
        "crash",
        &[("PLACE", 0, u32::MAX as u64), ("AT", 0, NS_MAX)],
    ),
    (
        Fault::Partition,
        "partition",
        &[
            ("NODES", 1, u32::MAX as u64),
            ("FROM", 0, NS_MAX),
            ("UNTIL", 0, NS_MAX),
        ],
    ),
];

/// The values that are times, which may have units.
const TIMES: [&str; 5] = ["NS", "FROM", "UNTIL", "EVERY", "AT"];

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let Some((kind, _, bounds)) = FORMS.into_iter().find(|form| form.1 == name) else {
            let names = FORMS.map(|form| form.1).join(", ");
            return Err(format!("one of {names}, with its values after a colon"));
        };
        let names: Vec<&str> = bounds.iter().map(|bound| bound.0).collect();
        let form = format!("{name}:{}", names.join(","));
        let numbers: Vec<&str> = numbers.split(',').collect();
        if numbers.len() != bounds.len() {
            return Err(form);
        }
        let mut values = [0; 3];
        for ((value, number), &(what, least, most)) in values.iter_mut().zip(numbers).zip(bounds) {
            let refused = || format!("{form}, {what} from {least} to {most}");
            let number = number.trim();
            *value = match TIMES.contains(&what) {
                true => nanoseconds(number, least..=most).map_err(|_| refused())?,
                false => number.parse().map_err(|_| refused())?,
            };
            if !(least..=most).contains(value) {
                return Err(refused());
            }
        }
        let [_, from, until] = values;
        if matches!(kind, Fault::Stall | Fault::Partition) && from >= until {
            return Err(format!("{form}, UNTIL after FROM"));
        }
        Ok(Self { kind, values })
    }
}

impl Faulty {
    /// Returns the requested faults of a run of `places` places on `nodes` nodes, if there are any.
    pub(super) fn choose(&self, places: u32, nodes: u32) -> Result<Option<Faults>, Failure> {
        let mut faults = self.without();
        if self.fault.is_empty() {
            let given = [
                ("fault-seed", self.fault_seed),
                ("timeout-ns", self.timeout_ns),
                ("detect-ns", self.detect_ns),
            ];
            return match given.iter().find(|(_, value)| value.is_some()) {
                Some((name, _)) => Err(Failure::Usage(format!(
                    "--{name}: without --fault there is nothing to which it applies"
                ))),
                None => Ok(None),
            };
        }
        for (at, given) in self.fault.iter().enumerate() {
            let name = given.name();
            let refuse = |why: String| Err(Failure::Usage(format!("--fault {name}: {why}")));
            if self.fault[..at]
                .iter()
                .any(|other| other.kind == given.kind)
            {
                return refuse("given more than once".to_owned());
            }
            let first = given.values[0];
            match given.kind {
                Fault::Stall | Fault::Crash if first >= u64::from(places) => {
                    return refuse(format!("PLACE {first} of {places} places, counted from 0"));
                }
                Fault::Slow if first >= u64::from(nodes) => {
                    return refuse(format!("NODE {first} of {nodes} nodes, counted from 0"));
                }
                Fault::Partition if first >= u64::from(nodes) => {
                    return refuse(format!(
                        "NODES {first}: fewer than the {nodes} nodes in use"
                    ));
                }
                _ => given.add_to(&mut faults),
            }
        }
        Ok(Some(faults))
    }

    /// Returns the common settings of all faults.
    fn without(&self) -> Faults {
        let usual = Faults::default();
        Faults {
            seed: self.fault_seed.unwrap_or(usual.seed),
            timeout_ns: self.timeout_ns.unwrap_or(usual.timeout_ns),
            detect_ns: self.detect_ns.unwrap_or(usual.detect_ns),
            ..usual
        }
    }

    /// Returns the faults as given.
    pub(super) fn line(&self) -> String {
        let all = self.fault.iter().map(Given::line);
        let given = all.collect::<Vec<_>>().join("; ");
        let Faults {
            seed,
            timeout_ns,
            detect_ns,
            ..
        } = self.without();
        format!("{given}; seed {seed}, timeout {timeout_ns} ns, detected after {detect_ns} ns")
    }
}

impl Given {
    fn form(&self) -> Form {
        let mut forms = FORMS.into_iter();
        forms
            .find(|form| form.0 == self.kind)
            .expect("every kind has a form")
    }

    fn name(&self) -> &'static str {
        self.form().1
    }

    fn line(&self) -> String {
        let values = self.values.iter().take(self.form().2.len());
        let values: Vec<String> = values.map(u64::to_string).collect();
        format!("{}:{}", self.name(), values.join(","))
    }

    fn add_to(self, faults: &mut Faults) {
        let [first, second, third] = self.values;
        let (place, per_million) = (PlaceId(first as u32), first as u32);
        match self.kind {
            Fault::Spike => {
                faults.spike = Some(Spike {
                    per_million,
                    ns: second,
                });
            }
            Fault::Loss => faults.loss = Some(Loss { per_million }),
            Fault::Stall => {
                faults.stall = Some(Stall {
                    place,
                    from_ns: second,
                    until_ns: third,
                });
            }
            Fault::Slow => {
                faults.slow = Some(Slow {
                    node: first as u32,
                    percent: second,
                });
            }
            Fault::Noise => {
                faults.noise = Some(Noise {
                    every_ns: first,
                    ns: second,
                });
            }
            Fault::Crash => {
                faults.crash = Some(Crash {
                    place,
                    at_ns: second,
                });
            }
            Fault::Partition => {
                faults.partition = Some(Partition {
                    nodes: first as u32,
                    from_ns: second,
                    until_ns: third,
                });
            }
        }
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
