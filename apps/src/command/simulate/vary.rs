//! The sensitivity of an efficiency to each cost: runs with half of it, and with twice as much.

use super::engine::{self, On};
use super::watcher::Watcher;
use super::{Outcome, Virtual, shown};
use crate::command::app::{AnyProblem, Request};
use crate::command::number::grouped;
use crate::command::show::document;
use crate::command::{Failure, balancer, deliver};
use serde_json::json;
use tautline::balance::Reason;
use tautline::internal::costs::{Costs, KEYS, Key, Section, Unit, Value};
use tautline::machines::{Figure, Origin};
use tautline::story::Recorder;

/// The costs that are varied: times and rates, but none of faults.
fn costs() -> impl Iterator<Item = &'static Key> {
    let is_varied = |key: &&Key| {
        let is_cost = matches!(key.unit, Unit::Ns | Unit::MbPerS | Unit::Percent);
        is_cost && key.section != Section::Faults
    };
    KEYS.iter().filter(is_varied)
}

/// The task's time follows from one of them.
const SPEEDS: [&str; 3] = [
    "speed.slowdown",
    "speed.uts_binomial_nodes_per_s",
    "speed.uts_geometric_nodes_per_s",
];

/// The efficiencies with one cost halved, and with it doubled.
struct Row {
    name: &'static str,
    value: u64,
    origin: String,
    varied: [f64; 2],
}

/// Runs the requested application as described, and with each cost halved and doubled.
pub(super) fn run(given: &Virtual, request: &Request) -> Outcome {
    let problem = request.app.problem(true)?;
    let on = given.setting.choose(problem.about().task_ns)?;
    let figures = given.setting.described()?.figures;
    let watcher = Watcher::start(given.output.quiet);
    let runs = |on: On, watcher: &Watcher| efficiencies(given, &*problem, on, watcher);
    let usual = runs(on, &watcher)?;
    let mut complete = !watcher.is_interrupted();
    let is_known = complete;
    let (name, quiet) = (given.setting.machine(), given.output.json);
    if is_known && !quiet {
        deliver(&head(&problem.about().title, name, &on, &usual))?;
    }
    let mut rows = Vec::new();
    for (at, key) in costs().enumerate() {
        let Some((value, varied)) = halved_and_doubled(on, key) else {
            continue;
        };
        let here = watcher.of("cost", at, costs().count());
        let [half, twice] = varied.map(|on| runs(on, &here));
        let row = Row {
            name: key.name,
            value,
            origin: origin(&figures, key, value),
            varied: [median(&half?), median(&twice?)],
        };
        complete = !watcher.is_interrupted();
        if !complete {
            break;
        }
        if !quiet {
            deliver(&row.line(median(&usual)))?;
        }
        rows.push(row.json());
    }
    if !quiet {
        if !complete {
            deliver(&format!(
                "partial: interrupted after {} costs\n",
                rows.len()
            ))?;
        }
        return watcher.outcome();
    }
    let efficiency =
        json!({"min": usual[0], "median": median(&usual), "max": usual[usual.len() - 1]});
    let object = json!({
        "application": request.application().name(), "machine": shown::json(name, &on.machine),
        "config": balancer::json(&on.config, false), "places": on.config.places,
        "workers": on.config.workers, "repeat": usual.len(),
        "efficiency": is_known.then_some(efficiency), "vary": rows,
        "complete": complete, "stopped": (!complete).then(|| Reason::Interrupted.name()),
    });
    deliver(&document(object)).and(watcher.outcome())
}

/// Returns the value of a cost, and what runs take place on with half and twice of it; `None` if it
/// costs nothing.
fn halved_and_doubled(on: On, key: &Key) -> Option<(u64, [On; 2])> {
    let usual = Costs {
        machine: on.machine,
        ..Costs::default()
    };
    let value = key.number(&usual).filter(|value| *value > 0)?;
    let is_one_process = on.machine.cluster.ranks.places == 0;
    let with = |value| {
        let mut costs = usual;
        key.set(&mut costs, Value::Number(value));
        let machine = costs.machine;
        On { machine, ..on }
    };
    let varied = [value.div_ceil(2), value.saturating_mul(2)].map(with);
    (!is_one_process || key.section != Section::Ranks).then_some((value, varied))
}

/// Returns the efficiencies with every seed, in order.
fn efficiencies(
    given: &Virtual,
    problem: &dyn AnyProblem,
    on: On,
    watcher: &Watcher,
) -> Result<Vec<f64>, Failure> {
    let repeat = given.sweep.repeats();
    let seed = |more: usize| {
        let mut on = on;
        on.config.seed = on.config.seed.wrapping_add(more as u64);
        let watcher = watcher.of("seed", more, repeat);
        let run = engine::run(
            problem,
            on,
            given.output.deadline,
            &Recorder::default,
            &watcher,
        );
        let verdict = problem.findings(&run.output, run.complete).verdict;
        verdict.unwrap_or(Ok(())).map_err(Failure::Check)?;
        Ok(run.efficiency)
    };
    let all: Result<Vec<f64>, Failure> = (0..repeat).map(seed).collect();
    let mut all = all?;
    all.sort_by(f64::total_cmp);
    Ok(all)
}

/// The median; of an even number the upper one.
fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

/// Returns where a cost of this value comes from.
fn origin(figures: &[Figure], key: &Key, value: u64) -> String {
    let is_task = key.name == "task_ns";
    let stated = match (key.section.name(), key.name) {
        (Some(section), _) => format!("{section}.{}", key.file_name),
        (None, "spin_ns") => "costs.wake_ns".to_owned(),
        (None, _) => String::new(),
    };
    let known = figures
        .iter()
        .find(|figure| figure.key == stated || is_task && SPEEDS.contains(&figure.key.as_str()));
    let is_same = |figure: &&Figure| figure.value == value as f64 || is_task;
    match known.filter(is_same).map(|figure| &figure.origin) {
        Some(Origin::Source(source)) => source.clone(),
        Some(Origin::Assumed(reason)) => format!("assumed: {reason}"),
        Some(Origin::Discovered) => "discovered".to_owned(),
        Some(Origin::Unsaid) => "the machine's file, without a source".to_owned(),
        None => "given".to_owned(),
    }
}

fn head(title: &str, name: &str, on: &On, usual: &[f64]) -> String {
    let [least, median, most] =
        [usual[0], median(usual), usual[usual.len() - 1]].map(|share| share * 100.0);
    let seeds = match usual.len() {
        1 => "one seed; see --repeat".to_owned(),
        seeds => format!("median of {seeds} seeds, {least:.2} to {most:.2} %"),
    };
    format!(
        "{title}, simulated\nmachine     {}\nbalancer    {}\nefficiency  {median:.2} %, {seeds}\n\n\
         {:<15}  {:>13}  {:>19}  {:>19}  origin\n",
        shown::line(name, &on.machine),
        balancer::line(&on.config),
        "cost",
        "value",
        "halved",
        "doubled"
    )
}

impl Row {
    fn line(&self, usual: f64) -> String {
        let cell = |share: f64| {
            let (percent, change) = (share * 100.0, (share - usual) * 100.0);
            format!("{percent:.2} %  {change:+.2}")
        };
        let [half, twice] = self.varied.map(cell);
        let (name, value, origin) = (self.name, grouped(self.value), &self.origin);
        format!("{name:<15}  {value:>13}  {half:>19}  {twice:>19}  {origin}\n")
    }

    fn json(&self) -> serde_json::Value {
        let [half, twice] = self.varied;
        json!({
            "cost": self.name, "value": self.value, "origin": self.origin,
            "halved": half, "doubled": twice,
        })
    }
}
