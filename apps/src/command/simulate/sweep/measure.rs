//! The row that is shown of each run of a sweep, and the measure that is drawn.

use super::Row;
use super::axis::Axis;
use crate::command::number::{grouped, rate};
use crate::command::show::object;
use crate::command::simulate::figures::Figures;
use clap::ValueEnum;
use serde_json::{Value, json};
use tautline::balance::State;
use tautline::story::internal::{self as story, Plot, Series};

/// A range of this many times is drawn on a logarithmic axis.
const LOG_FROM: f64 = 16.0;

/// The measure that the plot shows over the varied option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Measure {
    /// Sequential over parallel virtual time, a worker
    Efficiency,
    /// Virtual seconds
    Seconds,
    /// Messages sent
    Messages,
    /// How often reserves were fed for each time that one was emptied
    MergeEmpty,
    /// How often reserves were split for each time that one was fed
    SplitMerge,
    /// The median of the places' grains at the end
    Grain,
    /// Sequential over parallel virtual time
    Speedup,
    /// The share of the workers' time spent looking for work at other places
    Stealing,
    /// Requests for work that brought none
    Fails,
}

impl Measure {
    /// Returns the name with the unit.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Efficiency => "efficiency, %",
            Self::Seconds => "virtual seconds",
            Self::Messages => "messages",
            Self::MergeEmpty => "merge/empty",
            Self::SplitMerge => "split/merge",
            Self::Grain => "grain, tasks",
            Self::Speedup => "speedup",
            Self::Stealing => "time spent stealing, %",
            Self::Fails => "requests without loot",
        }
    }

    /// Returns the measure of one run; NaN if it has none.
    fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::Efficiency => figures.efficiency * 100.0,
            Self::Seconds => figures.virtual_seconds,
            Self::Messages => figures.messages as f64,
            Self::MergeEmpty => figures.reserve.merge_empty().unwrap_or(f64::NAN),
            Self::SplitMerge => figures.reserve.split_merge().unwrap_or(f64::NAN),
            Self::Grain => figures.grain.median as f64,
            Self::Speedup => figures.speedup,
            Self::Stealing => figures.shares.share(State::Stealing) * 100.0,
            Self::Fails => figures.search.fails as f64,
        }
    }

    /// Returns the spread over runs that differ in the seed alone.
    fn median(self, runs: &[Figures]) -> f64 {
        median(runs, &|figures| Some(self.of(figures))).map_or(f64::NAN, |found| found[1])
    }
}

/// The minimum, the median (of an even number the upper one) and the maximum.
fn median(runs: &[Figures], figure: &dyn Fn(&Figures) -> Option<f64>) -> Option<[f64; 3]> {
    let mut all: Vec<f64> = runs.iter().filter_map(figure).collect();
    all.retain(|value| value.is_finite());
    all.sort_by(f64::total_cmp);
    Some([*all.first()?, all[all.len() / 2], *all.last()?])
}

type Figure = fn(&Figures) -> Option<f64>;

fn bound(figures: &Figures) -> Option<f64> {
    Some(figures.losses.bound?.efficiency)
}

/// Figures of a row: the JSON key, and the measure.
const FIGURES: [(&str, Figure); 13] = [
    ("efficiency", |it| Some(it.efficiency)),
    ("bound", bound),
    ("virtual_seconds", |it| Some(it.virtual_seconds)),
    ("rate", |it| Some(it.rate)),
    ("messages", |it| Some(it.messages as f64)),
    ("loot", |it| Some(it.loot as f64)),
    ("fails", |it| Some(it.search.fails as f64)),
    ("computing", |it| Some(it.shares.share(State::Computing))),
    ("stealing", |it| Some(it.shares.share(State::Stealing))),
    ("mean_hops", |it| it.distance.mean_hops()),
    ("grain", |it| Some(it.grain.median as f64)),
    ("merge_empty", |it| it.reserve.merge_empty()),
    ("split_merge", |it| it.reserve.split_merge()),
];

/// The widths of the columns after the values: enough for every entry.
const WIDTHS: [usize; 12] = [10, 8, 15, 16, 9, 8, 15, 13, 15, 6, 9, 15];
const COLUMNS: [&str; 12] = [
    "efficiency",
    "bound",
    "virtual seconds",
    "rate",
    "computing",
    "stealing",
    "messages",
    "loot",
    "fails",
    "hops",
    "grain",
    "events",
];

/// Returns the head of the table.
pub(super) fn head(axes: &[Axis]) -> String {
    let names: Vec<String> = axes.iter().map(|axis| axis.name.clone()).collect();
    line(axes, &names, COLUMNS.map(str::to_owned))
}

/// Returns a row of it: the medians of `runs`, whose rate is in `unit`.
pub(super) fn row(axes: &[Axis], values: &[String], runs: &[Figures], unit: &str) -> String {
    let of = |figure: Figure| median(runs, &figure).map(|found| found[1]);
    let whole = |figure: Figure| grouped(of(figure).unwrap_or_default() as u64);
    let percent = |figure: Figure| format!("{:.2} %", of(figure).unwrap_or_default() * 100.0);
    let cells = [
        percent(|it| Some(it.efficiency)),
        of(bound).map_or("-".to_owned(), |bound| format!("{:.2} %", bound * 100.0)),
        format!(
            "{:.6}",
            of(|it| Some(it.virtual_seconds)).unwrap_or_default()
        ),
        format!(
            "{}{unit}/s",
            rate(of(|it| Some(it.rate)).unwrap_or_default())
        ),
        percent(|it| Some(it.shares.share(State::Computing))),
        percent(|it| Some(it.shares.share(State::Stealing))),
        whole(|it| Some(it.messages as f64)),
        whole(|it| Some(it.loot as f64)),
        whole(|it| Some(it.search.fails as f64)),
        of(|it| it.distance.mean_hops()).map_or("-".to_owned(), |hops| format!("{hops:.2}")),
        whole(|it| Some(it.grain.median as f64)),
        whole(|it| Some(it.events as f64)),
    ];
    line(axes, values, cells)
}

fn line(axes: &[Axis], values: &[String], cells: [String; 12]) -> String {
    let mut text = String::new();
    for (axis, value) in axes.iter().zip(values) {
        text += &format!("{value:>width$}  ", width = axis.width());
    }
    for (cell, width) in cells.into_iter().zip(WIDTHS) {
        text += &format!("{cell:>width$}  ");
    }
    text.trim_end().to_owned() + "\n"
}

/// Returns median, minimum and maximum of every figure.
pub(super) fn json(runs: &[Figures]) -> Value {
    let spread = FIGURES.iter().map(|(name, figure)| {
        let found = median(runs, figure);
        let [least, median, most] = found.map_or([None; 3], |found| found.map(Some));
        let value = json!({"min": least, "median": median, "max": most});
        (*name, value)
    });
    Value::Object(object(spread))
}

/// Draws `measure` of all rows: the first axis from left to right, a line for each value of the
/// second.
pub(super) fn series(axes: &[Axis], rows: &[Row], measure: Measure) -> Vec<Series> {
    let lines = axes.get(1).map_or(1, |axis| axis.values.len());
    let x = places_on(&axes[0]);
    let one = |line: usize| Series {
        name: match axes.get(1) {
            Some(axis) => format!("{} {}", axis.name, axis.values[line]),
            None => measure.title().to_owned(),
        },
        points: x
            .iter()
            .zip(rows.iter().skip(line).step_by(lines))
            .map(|(&x, row)| (x, measure.median(&row.runs)))
            .collect(),
    };
    (0..lines).map(one).collect()
}

/// Returns the plot of `series`.
pub(super) fn plot<'a>(
    (title, x_title): (&'a str, &'a str),
    facts: &'a [(&'a str, String)],
    series: &'a [Series],
    measure: Measure,
) -> Plot<'a> {
    let points = || series.iter().flat_map(|one| &one.points);
    let is_wide = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        least > 0.0 && most >= LOG_FROM * least
    };
    let counts = matches!(
        measure,
        Measure::Seconds | Measure::Messages | Measure::Grain | Measure::Fails
    );
    Plot {
        title,
        facts,
        x: story::Axis {
            title: x_title,
            log: is_wide(points().map(|point| point.0).collect()),
        },
        y: story::Axis {
            title: measure.title(),
            log: counts && is_wide(points().map(|point| point.1).collect()),
        },
        series,
    }
}

/// Returns the line below the plot: the varied option, and the names that the numbers stand for.
pub(super) fn x_title(axis: &Axis) -> String {
    if axis.numbers().is_some() {
        return axis.name.clone();
    }
    let names = axis.values.iter().zip(1..);
    let names: Vec<_> = names.map(|(name, at)| format!("{at} {name}")).collect();
    format!("{}: {}", axis.name, names.join(", "))
}

/// Names are drawn side by side.
fn places_on(axis: &Axis) -> Vec<f64> {
    let side_by_side = || (1..=axis.values.len()).map(|at| at as f64).collect();
    axis.numbers().unwrap_or_else(side_by_side)
}
