//! Many simulated runs: every value of a cost or an option, every pair of values of two, several
//! seeds.

mod axis;
mod measure;

use super::engine::{self, Bound, On};
use super::figures::Figures;
use super::report::Report;
use super::watcher::Watcher;
use super::{Outcome, Virtual};
use crate::command::app::{About, AnyProblem, Application, Chosen};
use crate::command::show::document;
use crate::command::story::Pending;
use crate::command::{Failure, balancer, deliver, refusal, show};
use axis::Axis;
use clap::{Args, Command};
use measure::Measure;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;
use tautline::balance::Reason;
use tautline::internal::spelling;
use tautline::story::Recorder;

const REPEAT_MAX: u64 = 10_000;
const RUNS_MAX: usize = 100_000;
/// `--vary` alone.
const COSTS: &str = "costs";

/// Several runs in place of one.
#[derive(Args, Debug)]
#[command(next_help_heading = "Many runs")]
pub(super) struct Sweep {
    /// A run for each value of a cost or of an option, as in far_ns=1us,5us or places=1..64..x8
    /// (wz=W/Z,…: random steals and lifeline dimensions in pairs); given twice, for each pair of
    /// values. Alone: a run with each cost of the machine halved, and one with it doubled; with
    /// --repeat, medians
    #[arg(long, visible_alias = "sweep", value_name = "KEY=V1,V2,…", conflicts_with_all = ["life", "trace"])]
    #[arg(num_args = 0..=1, default_missing_value = COSTS)]
    vary: Vec<Varied>,
    /// Number of runs each, with consecutive seeds; the table shows medians
    #[arg(long, value_name = "N", conflicts_with_all = ["life", "trace"])]
    #[arg(value_parser = repeat, allow_negative_numbers = true)]
    repeat: Option<usize>,
    /// Draw the first of what varies from left to right, a line for each value of the second
    #[arg(long, value_name = "FILE.html|.svg", requires = "vary")]
    plot: Option<PathBuf>,
    /// Measure to draw [default: efficiency]
    #[arg(long, value_name = "MEASURE", requires = "plot")]
    y: Option<Measure>,
}

/// One use of `--vary`.
#[derive(Clone, Debug)]
enum Varied {
    /// Each cost, halved and doubled.
    Costs,
    Axis(Axis),
}

impl FromStr for Varied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            COSTS => Ok(Self::Costs),
            _ => text.parse().map(Self::Axis),
        }
    }
}

/// The runs of one point of a sweep.
#[derive(Debug)]
pub(super) struct Row {
    values: Vec<String>,
    runs: Vec<Figures>,
}

/// The report after the runs have ended.
#[derive(Default)]
struct Story {
    rows: Vec<Row>,
    objects: Vec<Value>,
    /// The problem, the machine and the balancer of the first point.
    facts: Vec<(&'static str, String)>,
    title: String,
    /// Bounds of the present problem, by places, workers of each, and the duration of a task.
    bounds: HashMap<(u32, usize, u64), Option<Bound>>,
    /// Whether the user interrupted a run.
    is_partial: bool,
    /// The failure of the first run whose result is wrong, or that the user interrupted.
    failure: Option<Failure>,
}

impl Sweep {
    /// Whether there is more than one run.
    pub(super) fn asked(&self) -> bool {
        !self.vary.is_empty() || self.repeat.is_some()
    }

    /// Whether each cost is halved and doubled.
    ///
    /// # Errors
    /// Values of one that are to be tried, too.
    pub(super) fn varies_costs(&self) -> Result<bool, Failure> {
        let alone = self.vary.iter().filter(|one| matches!(one, Varied::Costs));
        match alone.count() {
            0 => Ok(false),
            1 if self.vary.len() == 1 && self.plot.is_none() => Ok(true),
            _ => Err(Failure::Usage(
                "--vary: alone it halves and doubles each cost; not together with --vary KEY=V1,V2,… or --plot".to_owned(),
            )),
        }
    }

    /// Returns the number of runs of each point.
    pub(super) fn repeats(&self) -> usize {
        self.repeat.unwrap_or(1)
    }

    /// Returns the varied options, by names that `command` knows.
    fn axes(&self, command: &Command) -> Result<Vec<Axis>, Failure> {
        let axes = self.vary.iter().filter_map(|one| match one {
            Varied::Axis(axis) => Some(axis.clone().resolved(command).map_err(Failure::Usage)),
            Varied::Costs => None,
        });
        let axes: Vec<Axis> = axes.collect::<Result<_, _>>()?;
        let refuse = |name: &str, why: &str| Err(Failure::Usage(format!("--vary {name}: {why}")));
        if let Some(third) = axes.get(2) {
            return refuse(&third.name, "at most two are varied");
        }
        if let [first, second] = axes.as_slice() {
            if first.name == second.name {
                return refuse(&first.name, "given more than once");
            }
        }
        let points = points(&axes).len();
        let runs = points.saturating_mul(self.repeat.unwrap_or(1));
        if runs > RUNS_MAX {
            return refuse(&axes[0].name, &format!("{runs} runs, at most {RUNS_MAX}"));
        }
        Ok(axes)
    }

    fn drawing(&self) -> Result<Option<Pending>, Failure> {
        let Some(path) = self.plot.as_deref() else {
            return Ok(None);
        };
        match extension(path) {
            Some("html" | "svg") => Pending::open("--plot", Some(path)),
            _ => Err(Failure::Usage(format!(
                "--plot {}: expected a file that ends in .html or .svg",
                path.display()
            ))),
        }
    }
}

/// Runs `application` as `given` requests, which was read from the arguments of this process.
pub(super) fn run(given: &Virtual, application: &'static Application) -> Outcome {
    let sweep = &given.sweep;
    let axes = sweep.axes(&command(application))?;
    // All of them are checked before any runs.
    for point in points(&axes) {
        let varied = || axes.iter().zip(&point);
        let named =
            |failure| varied().fold(failure, |failure, (axis, &at)| axis.named(at, failure));
        check(application, &axes, &point).map_err(named)?;
    }
    let drawing = sweep.drawing()?;
    let watcher = Watcher::start(given.output.quiet);
    let mut story = Story::default();
    if !given.output.json {
        deliver(&measure::head(&axes))?;
    }
    let own = Virtual::augment_args(Command::new(application.name()));
    let is_one_problem = axes.iter().all(|axis| axis.is_of(&own));
    let points = points(&axes);
    for (at, point) in points.iter().enumerate() {
        if !is_one_problem {
            story.bounds.clear();
        }
        let one = reread(application, &axes, point)?;
        let values = point.iter().zip(&axes);
        let values: Vec<String> = values.map(|(&at, axis)| axis.values[at].clone()).collect();
        let here = watcher.of("point", at, points.len());
        let (row, unit) = point_runs(&one, &axes, values, &mut story, &here)?;
        if !row.runs.is_empty() {
            if !given.output.json {
                deliver(&measure::row(&axes, &row.values, &row.runs, unit))?;
            }
            story.rows.push(row);
        }
        if story.is_partial {
            break;
        }
    }
    if story.is_partial {
        let line = story.mark_partial(points.len() * sweep.repeats());
        if !given.output.json {
            deliver(&line)?;
        }
    }
    if given.output.json {
        let all = Value::Array(std::mem::take(&mut story.objects));
        deliver(&document(all))?;
    }
    if let (Some(drawing), Some(path)) = (drawing, &sweep.plot) {
        let measure = sweep.y.unwrap_or(Measure::Efficiency);
        story.draw(&axes, measure, drawing, extension(path) == Some("svg"))?;
    }
    story.failure.map_or(watcher.outcome(), Err)
}

/// Runs one point with every seed, until the user interrupts it. Returns the row of the complete
/// runs, and the unit of their rate.
fn point_runs(
    one: &Chosen<Virtual>,
    axes: &[Axis],
    values: Vec<String>,
    story: &mut Story,
    watcher: &Watcher,
) -> Result<(Row, &'static str), Failure> {
    let Chosen { request, way: one } = one;
    let problem = request.app.problem(true)?;
    let on = one.setting.choose(problem.about().task_ns)?;
    let repeat = one.sweep.repeats();
    let crew = (on.config.places, on.config.workers, on.machine.task_ns);
    let mut runs = Vec::with_capacity(repeat);
    let mut objects = Vec::new();
    let mut partial = None;
    for more in 0..repeat as u64 {
        let mut on = on;
        on.config.seed = on.config.seed.wrapping_add(more);
        let watcher = &watcher.of("seed", more as usize, repeat);
        let began = Instant::now();
        let run = engine::run(
            &*problem,
            on,
            one.output.deadline,
            &Recorder::default,
            watcher,
        );
        let name = one.setting.machine();
        let wall = began.elapsed();
        let bound = run.complete.then(|| {
            let known = story.bounds.entry(crew);
            *known.or_insert_with(|| engine::bound(&*problem, on, watcher))
        });
        let bound = bound.flatten();
        let mut report = Report::of(request, &*problem, on, name, &run, bound);
        report.wall_seconds = wall.as_secs_f64();
        report.faults = on.faults.as_ref().map(|faults| one.setting.faults(faults));
        if let (Err(failure), None) = (report.answer.outcome(), &story.failure) {
            story.failure = Some(failure);
        }
        if report.answer.stopped == Some(Reason::Interrupted) {
            partial = Some(report.json());
            break;
        }
        if one.output.json {
            objects.push(report.json());
        }
        runs.push(report.figures);
    }
    if story.rows.is_empty() {
        story.introduce(&*problem, &on, one);
    }
    story.is_partial = partial.is_some();
    if one.output.json {
        let object = partial.unwrap_or_else(|| typical(objects, &runs));
        story.objects.push(told(object, axes, &values, &runs));
    }
    Ok((Row { values, runs }, problem.about().unit))
}

/// Returns the object of the run with the median time.
fn typical(mut objects: Vec<Map<String, Value>>, runs: &[Figures]) -> Map<String, Value> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by(|&a, &b| runs[a].virtual_seconds.total_cmp(&runs[b].virtual_seconds));
    objects.swap_remove(order[order.len() / 2])
}

/// Returns the object with the varied values and the spread of the runs.
fn told(
    mut object: Map<String, Value>,
    axes: &[Axis],
    values: &[String],
    runs: &[Figures],
) -> Value {
    let pairs = axes.iter().zip(values);
    let varied = pairs.map(|(axis, value)| (axis.name.as_str(), value.as_str().into()));
    object.insert("sweep".to_owned(), Value::Object(show::object(varied)));
    object.insert("repeat".to_owned(), runs.len().into());
    if runs.len() > 1 {
        object.insert("spread".to_owned(), measure::json(runs));
    }
    Value::Object(object)
}

impl Story {
    /// Marks the result as that of some of `all` runs. Returns the last line of the table.
    fn mark_partial(&mut self, all: usize) -> String {
        let done: usize = self.rows.iter().map(|row| row.runs.len()).sum();
        let extent = format!("interrupted after {done} of {all} runs");
        let line = format!("partial: {extent}\n");
        self.title += " (partial)";
        self.facts.push(("partial", extent));
        line
    }

    /// Records the setting of the first point.
    fn introduce(&mut self, problem: &dyn AnyProblem, on: &On, way: &Virtual) {
        let About { title, facts, .. } = problem.about();
        self.title = format!("{title}, simulated");
        self.facts = facts;
        let machine = super::shown::line(way.setting.machine(), &on.machine);
        self.facts.extend([
            ("first point's machine", machine),
            ("first point's balancer", balancer::line(&on.config)),
            ("runs a point", way.sweep.repeats().to_string()),
        ]);
    }

    fn draw(&self, axes: &[Axis], measure: Measure, drawing: Pending, alone: bool) -> Outcome {
        let series = measure::series(axes, &self.rows, measure);
        let titles = (self.title.as_str(), measure::x_title(&axes[0]));
        let plot = measure::plot((titles.0, &titles.1), &self.facts, &series, measure);
        drawing.write(|out| match alone {
            true => out.write_all(plot.svg().as_bytes()),
            false => plot.write(out),
        })
    }
}

/// Returns positions of values, an axis each, the last running fastest. One point if nothing is
/// varied.
fn points(axes: &[Axis]) -> Vec<Vec<usize>> {
    axes.iter().fold(vec![Vec::new()], |points, axis| {
        let longer = |point: &Vec<usize>| {
            let point = point.clone();
            (0..axis.values.len()).map(move |at| [point.as_slice(), &[at]].concat())
        };
        points.iter().flat_map(longer).collect()
    })
}

/// Returns the command with all its options, where the last value of an option counts.
fn command(application: &Application) -> Command {
    application
        .command::<Virtual>()
        .no_binary_name(true)
        .args_override_self(true)
}

/// Checks the options of a point.
fn check(application: &'static Application, axes: &[Axis], point: &[usize]) -> Outcome {
    let one = reread(application, axes, point)?;
    let problem = one.request.app.problem(true)?;
    one.way.setting.choose(problem.about().task_ns)?;
    Ok(())
}

/// Returns the options of this process with those of a point instead.
fn reread(
    application: &'static Application,
    axes: &[Axis],
    point: &[usize],
) -> Result<Chosen<Virtual>, Failure> {
    let mut given: Vec<OsString> = std::env::args_os()
        .skip_while(|argument| argument != application.name())
        .skip(1)
        .collect();
    // Inserted after the last option, and before an argument that only looks like one.
    let end = given.iter().position(|argument| argument == "--");
    let end = end.unwrap_or(given.len());
    let (mut instead, mut costs) = (Vec::new(), Vec::new());
    for (axis, &at) in axes.iter().zip(point) {
        match axis.cost(at) {
            Some(cost) => costs.push(cost.map_err(Failure::Usage)?),
            None => instead.extend(axis.arguments(at).map_err(Failure::Usage)?),
        }
    }
    given.splice(end..end, instead.into_iter().map(OsString::from));
    let mut command = command(application);
    let read = command.try_get_matches_from_mut(given);
    let mut chosen: Chosen<Virtual> = read
        .and_then(|options| application.read(&options))
        .map_err(|error| Failure::Usage(refusal::line(&error, &command)))?;
    for cost in costs {
        chosen.way.setting.set(cost);
    }
    Ok(chosen)
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

fn repeat(text: &str) -> Result<usize, String> {
    let repeat = spelling::whole::<usize, REPEAT_MAX>(text)?;
    let fits = (1..=REPEAT_MAX).contains(&(repeat as u64));
    fits.then_some(repeat)
        .ok_or_else(|| format!("from 1 to {REPEAT_MAX}"))
}
