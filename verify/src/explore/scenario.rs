//! Scenarios: a few steps of a protocol as text, each with the actions that it leads to.
//!
//! ```text
//! # Place 1 has no work.
//! 1: Dry
//!     send 0: Request { lifeline: true }
//! 1 -> 0: Request
//!     effect Take(Request { thief: 1, lifeline: true })
//! ```
//!
//! | line | step |
//! |---|---|
//! | `0: Dry` | peer 0 does what prints like this, or starts with it if nothing else does |
//! | `0 -> 1: Request` | the oldest message in flight from 0 to 1, which starts with this, is delivered |
//! | `1 lost` | peer 1 is lost; `1 -> 0: lost` is the news of it |
//!
//! The actions are indented. They are what the machine does, in order; a state in which something
//! is wrong has the line `flaw`.

use super::System;
use super::checked::{Checked, Parts, Record, brief};
use super::network::{Delivery, Network, NetworkFaults, Step};
use std::path::Path;
use std::{env, fs};

/// A step of a scenario, a comment, or an empty line.
#[derive(Clone, Debug)]
struct Line {
    number: usize,
    text: String,
    expected: Vec<String>,
    actions: Vec<String>,
}

/// A scenario with the actions of its steps.
#[derive(Clone, Debug)]
pub struct Played(Vec<Line>);

impl Played {
    /// Returns the scenario with these actions.
    pub fn text(&self) -> String {
        let lines = self.0.iter().flat_map(|line| {
            let actions = line.actions.iter().map(|action| format!("    {action}\n"));
            std::iter::once(format!("{}\n", line.text)).chain(actions)
        });
        lines.collect()
    }

    /// Returns the differences from the actions in the scenario: of each step the lines that are
    /// missing, and those that came.
    pub fn differences(&self) -> Option<String> {
        let wrong = self.0.iter().filter(|line| line.actions != line.expected);
        let shown = wrong.map(|line| {
            let show = |sign: char, lines: &[String]| -> String {
                lines
                    .iter()
                    .map(|text| format!("  {sign} {text}\n"))
                    .collect()
            };
            let Line {
                number,
                text,
                expected,
                actions,
            } = line;
            format!(
                "line {number}, after `{text}`: expected (-), and what came (+)\n{}{}",
                show('-', expected),
                show('+', actions)
            )
        });
        Some(shown.collect::<String>()).filter(|text| !text.is_empty())
    }
}

/// Plays the steps of a scenario.
///
/// # Errors
/// If a line is not a step, or the step is not possible: the line, and what is possible instead.
pub fn play<C: Checked>(protocol: C, scenario: &str) -> Result<Played, String> {
    let record = Record::default();
    let faults = NetworkFaults {
        crash: u32::MAX,
        ..NetworkFaults::default()
    };
    let network = Network::recorded(protocol, Delivery::Channels, Some(record.clone()));
    let mut network = network.with_faults(faults);
    let mut state = network.start();
    let mut lines = parse(scenario)?;
    for line in lines.iter_mut().filter(|line| is_step(&line.text)) {
        let mut choices = Vec::new();
        record.take();
        network.steps(&state, &mut |step, next| {
            choices.push((step, next.to_vec(), record.take()));
        });
        let choice = chosen(&network, &choices, &line.text);
        let choice = choice.map_err(|why| format!("line {}: {why}", line.number))?;
        let (_, next, actions) = choices.swap_remove(choice);
        (state, line.actions) = (next, actions);
        let flaw = network.judge(&state);
        line.actions
            .extend(flaw.map(|flaw| format!("flaw {flaw:?}")));
    }
    Ok(Played(lines))
}

/// Plays the scenario in a file, and compares. With `TAUTLINE_ACCEPT=1` the file gets the actions
/// that came.
///
/// # Errors
/// The file cannot be read, a step is not possible, or the actions are others.
pub fn check<C: Checked>(protocol: C, file: &Path) -> Result<(), String> {
    let at = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let scenario = fs::read_to_string(file).map_err(|error| at(&error))?;
    let played = play(protocol, &scenario).map_err(|why| at(&why))?;
    let Some(differences) = played.differences() else {
        return Ok(());
    };
    if env::var_os("TAUTLINE_ACCEPT").is_some() {
        return fs::write(file, played.text()).map_err(|error| at(&error));
    }
    let accept = "if what came is right, TAUTLINE_ACCEPT=1 writes it into the file";
    Err(at(&format!("{differences}{accept}")))
}

fn is_step(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('#')
}

fn parse(scenario: &str) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    for (number, text) in (1..).zip(scenario.lines().map(str::trim_end)) {
        if text.starts_with(' ') {
            let step = lines.last_mut().filter(|line| is_step(&line.text));
            let step = step.ok_or_else(|| format!("line {number}: an action without a step"))?;
            step.expected.push(text.trim_start().to_owned());
        } else {
            let (expected, actions) = (Vec::new(), Vec::new());
            let text = text.to_owned();
            lines.push(Line {
                number,
                text,
                expected,
                actions,
            });
        }
    }
    Ok(lines)
}

type Choice<C> = (Step<<C as Checked>::Act>, Vec<u32>, Vec<String>);

/// Returns which of the choices a line means.
fn chosen<C: Checked>(
    network: &Network<Parts<C>>,
    choices: &[Choice<C>],
    text: &str,
) -> Result<usize, String> {
    let named: Vec<String> = choices
        .iter()
        .map(|choice| name(network, choice.0))
        .collect();
    let starts = |choice: &usize| named[*choice].starts_with(text);
    let found: Vec<usize> = (0..named.len()).filter(starts).collect();
    let exact = found.iter().find(|choice| named[**choice] == text);
    match (exact, &found[..]) {
        (Some(&choice), _) | (None, &[choice]) => Ok(choice),
        (None, []) => {
            let possible: Vec<_> = named.iter().filter(|name| !name.is_empty()).collect();
            Err(format!(
                "expected `{text}`, but the steps possible are {possible:#?}"
            ))
        }
        _ => {
            let found: Vec<_> = found.iter().map(|choice| &named[*choice]).collect();
            Err(format!("`{text}` is any of {found:#?}"))
        }
    }
}

/// Returns how a step is written in a scenario; nothing if it cannot be.
fn name<C: Checked>(network: &Network<Parts<C>>, step: Step<C::Act>) -> String {
    match step {
        Step::Act(here, act) => format!("{}: {}", here.0, brief(&act)),
        Step::Deliver(number) => {
            let parcel = network.parcel(number);
            let message = parcel.message.as_ref().map_or("lost".into(), brief);
            format!("{} -> {}: {message}", parcel.from.0, parcel.to.0)
        }
        Step::Crash(peer) => format!("{} lost", peer.0),
        Step::Lose(_) | Step::Double(_) | Step::Overtake(_) => String::new(),
    }
}
