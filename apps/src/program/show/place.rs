//! What each place did, as a table and as data.

use super::number::grouped;
use super::object;
use serde_json::json;
use std::fmt::Write as _;
use tautline::glb::{PlaceRun, State, Tally, Times};

/// The maximum number of rows.
const ROWS: usize = 16;

/// A row of the table and its name.
pub type Row = (String, PlaceRun);

/// Returns a row a place, and one for all if there are several.
pub fn every(places: &[PlaceRun]) -> Vec<Row> {
    let number = |(number, &place): (usize, _)| (number.to_string(), place);
    let mut rows: Vec<Row> = places.iter().enumerate().map(number).collect();
    if places.len() > 1 {
        rows.push(("all".to_owned(), all(places)));
    }
    rows
}

/// As [`every`], but of many places only those that did the least, a median and the most.
pub fn some(places: &[PlaceRun]) -> Vec<Row> {
    if places.len() <= ROWS {
        return every(places);
    }
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&place| places[place].tally.tasks);
    let picks = [
        ("least", order[0]),
        ("median", order[order.len() / 2]),
        ("most", order[order.len() - 1]),
    ];
    let mut rows = Vec::from(picks.map(|(name, at)| (format!("{at} ({name})"), places[at])));
    rows.push(("all".to_owned(), all(places)));
    rows
}

/// Formats the rows.
pub fn table(places: &[Row]) -> String {
    let rows: Vec<[String; 14]> = places
        .iter()
        .map(|(name, place)| cells(name, place))
        .collect();
    let groups = [
        (1, ""),
        (1, ""),
        (2, "random"),
        (2, "lifeline"),
        (3, "loot received"),
        (5, "share of time, %"),
    ];
    let names = [
        "place",
        "tasks",
        "asked",
        "got",
        "asked",
        "got",
        "count",
        "mean",
        "largest",
        "computing",
        "stealing",
        "distributing",
        "probing",
        "idle",
    ];
    let wide = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.max().unwrap_or_default().max(names[column].len())
    };
    let widths: Vec<usize> = (0..names.len()).map(wide).collect();
    let mut text = String::new();
    let mut column = 0;
    for (columns, name) in groups {
        let range = column..column + columns;
        let wide = widths[range].iter().map(|width| width + 2).sum::<usize>();
        let _ = write!(text, "{name:>wide$}");
        column += columns;
    }
    text.push('\n');
    let mut line = |cells: &[&str]| {
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(text, "{cell:>width$}  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    line(&names);
    for row in &rows {
        line(&row.each_ref().map(String::as_str));
    }
    text
}

/// Returns every place as data.
pub fn json(places: &[PlaceRun]) -> serde_json::Value {
    let object = |(number, PlaceRun { tally, times, .. }): (usize, &PlaceRun)| {
        let share = |state| (State::name(state), json!(share(times, state)));
        json!({
            "place": number, "tasks": tally.tasks, "messages": tally.messages,
            "random": {"asked": tally.random.asked, "answered": tally.random.answered},
            "lifeline": {"asked": tally.lifeline.asked, "answered": tally.lifeline.answered},
            "received": loot(&tally.received), "sent": loot(&tally.sent),
            "time": object(State::BALANCED.map(share)),
        })
    };
    places.iter().enumerate().map(object).collect()
}

fn loot(loot: &tautline::glb::Loot) -> serde_json::Value {
    json!({"count": loot.count, "tasks": loot.tasks, "largest": loot.largest})
}

fn share(times: &Times, state: State) -> f64 {
    times.of(state) as f64 / times.total().max(1) as f64
}

fn cells(name: &str, PlaceRun { tally, times, .. }: &PlaceRun) -> [String; 14] {
    let received = &tally.received;
    let mean = received.tasks / received.count.max(1);
    let [computing, stealing, distributing, probing, idle] =
        State::BALANCED.map(|state| format!("{:.2}", share(times, state) * 100.0));
    [
        name.to_owned(),
        grouped(tally.tasks),
        grouped(tally.random.asked),
        grouped(tally.random.answered),
        grouped(tally.lifeline.asked),
        grouped(tally.lifeline.answered),
        grouped(received.count),
        grouped(mean),
        grouped(received.largest),
        computing,
        stealing,
        distributing,
        probing,
        idle,
    ]
}

/// Returns the sums over all places.
fn all(places: &[PlaceRun]) -> PlaceRun {
    let mut sum = PlaceRun::default();
    for PlaceRun { tally, times, .. } in places {
        sum.times.merge(times);
        let Tally {
            tasks,
            random,
            lifeline,
            received,
            ..
        } = &mut sum.tally;
        *tasks += tally.tasks;
        for (to, from) in [(random, tally.random), (lifeline, tally.lifeline)] {
            to.asked += from.asked;
            to.answered += from.answered;
        }
        received.count += tally.received.count;
        received.tasks += tally.received.tasks;
        received.largest = received.largest.max(tally.received.largest);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_places_the_extremes_and_the_sum_are_shown() {
        let mut places = vec![PlaceRun::default(); 17];
        for (tasks, place) in places.iter_mut().enumerate() {
            place.tally.tasks = (tasks as u64 + 8) % 17;
        }
        let rows: Vec<_> = some(&places)
            .into_iter()
            .map(|(name, place)| (name, place.tally.tasks))
            .collect();
        let expected = [
            ("9 (least)", 0),
            ("0 (median)", 8),
            ("8 (most)", 16),
            ("all", 136),
        ];
        assert_eq!(rows, expected.map(|(name, tasks)| (name.to_owned(), tasks)));
        assert_eq!(some(&places[..16]).len(), 17);
        assert_eq!(every(&places).len(), 18);
    }
}
