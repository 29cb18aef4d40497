//! The statistics of each place, as a table and as data.

use super::columns::{Group, columns};
use super::number::within;
use super::object;
use serde_json::json;
use tautline::balance::{PlaceRun, State, Tally, Times};

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
        ("min", order[0]),
        ("med", order[order.len() / 2]),
        ("max", order[order.len() - 1]),
    ];
    let mut rows = Vec::from(picks.map(|(name, at)| (format!("{name} {at}"), places[at])));
    rows.push(("all".to_owned(), all(places)));
    rows
}

/// The columns, so short that a row fits [`WIDTH`](super::WIDTH). The times are those of
/// [`State::BALANCED`].
const COLUMNS: [Group; 5] = [
    ("", &["place", "tasks"]),
    ("random", &["asked", "got"]),
    ("lifeline", &["asked", "got"]),
    ("loot size", &["mean", "max"]),
    (
        "share of time, %",
        &["comp", "steal", "dist", "probe", "idle"],
    ),
];

/// The width of a number of tasks.
const TASKS: usize = 7;
/// The width of a number of requests, or of tasks in a message.
const COUNTS: usize = 5;

/// Formats the rows. The number of messages with loot is that of the requests that got some.
pub fn table(places: &[Row]) -> String {
    let cells = |(name, place): &Row| cells(name, place);
    columns(&COLUMNS, &places.iter().map(cells).collect::<Vec<_>>())
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

fn loot(loot: &tautline::balance::Loot) -> serde_json::Value {
    json!({"count": loot.count, "tasks": loot.tasks, "largest": loot.largest})
}

/// Returns the part of the time that was spent in a state.
pub(super) fn share(times: &Times, state: State) -> f64 {
    times.of(state) as f64 / times.total().max(1) as f64
}

fn cells(name: &str, PlaceRun { tally, times, .. }: &PlaceRun) -> Vec<String> {
    let received = &tally.received;
    let mean = received.tasks / received.count.max(1);
    let counts = [
        tally.random.asked,
        tally.random.answered,
        tally.lifeline.asked,
        tally.lifeline.answered,
        mean,
        received.largest,
    ];
    let mut cells = vec![name.to_owned(), within(tally.tasks, TASKS)];
    cells.extend(counts.map(|count| within(count, COUNTS)));
    cells.extend(State::BALANCED.map(|state| percent(share(times, state))));
    cells
}

/// Formats a share in at most four characters.
fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    match text.as_str() {
        "100.0" => "100".to_owned(),
        _ => text,
    }
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
    use super::super::WIDTH;
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
        let expected = [("min 9", 0), ("med 0", 8), ("max 8", 16), ("all", 136)];
        assert_eq!(rows, expected.map(|(name, tasks)| (name.to_owned(), tasks)));
        assert_eq!(some(&places[..16]).len(), 17);
        assert_eq!(every(&places).len(), 18);
    }

    /// A place of which every number is as wide as it gets.
    fn wide() -> PlaceRun {
        let mut place = PlaceRun::default();
        let PlaceRun { tally, times, .. } = &mut place;
        tally.tasks = 102_181_082;
        for way in [&mut tally.random, &mut tally.lifeline] {
            (way.asked, way.answered) = (12_345, 1_234_567);
        }
        (tally.received.count, tally.received.tasks) = (1, 123_456);
        tally.received.largest = 123_456;
        for state in State::BALANCED {
            times.add(state, 20);
        }
        place
    }

    #[test]
    fn a_row_fits_a_terminal() {
        let text = table(&every(&vec![wide(); 4096]));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 4096 + 1);
        let long: Vec<_> = lines.iter().filter(|line| line.len() > WIDTH).collect();
        assert!(long.is_empty(), "{long:?}");
        let row = [
            "4095", "102.18M", "12.3k", "1.23M", "12.3k", "1.23M", "123k", "123k", "20.0", "20.0",
            "20.0", "20.0", "20.0",
        ];
        assert_eq!(lines[4097].split_whitespace().collect::<Vec<_>>(), row);
        let mut idle = PlaceRun::default();
        idle.times.add(State::Idle, 1);
        let text = table(&some(&[idle]));
        let words: Vec<_> = text.split_whitespace().collect();
        assert!(
            words.ends_with(&["0.0", "0.0", "0.0", "0.0", "100"]),
            "{text}"
        );
    }
}
