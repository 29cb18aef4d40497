//! The statistics of each worker, as a table and as data.

use super::columns::{Group, columns};
use super::number::grouped;
use super::{object, place};
use serde_json::json;
use tautline::balance::{PlaceRun, State, Times, WorkerRun};

/// The columns, with the states of [`State::BALANCED`].
const COLUMNS: [Group; 2] = [
    ("", &["worker", "tasks"]),
    (
        "share of time, %",
        &["computing", "stealing", "distributing", "probing", "idle"],
    ),
];

/// Returns the table of a run: a row for each place, or for each worker if there is one place.
pub fn or_places(workers: &[WorkerRun], places: &[PlaceRun]) -> String {
    match places {
        [_] => table(workers),
        _ => place::table(&place::every(places)),
    }
}

/// Formats a row for each worker, and one for all if there are several.
fn table(workers: &[WorkerRun]) -> String {
    let row = |worker: &WorkerRun| cells(worker.worker.0.to_string(), worker.tasks, &worker.times);
    let mut rows: Vec<_> = workers.iter().map(row).collect();
    if workers.len() > 1 {
        let mut times = Times::default();
        workers.iter().for_each(|worker| times.merge(&worker.times));
        let tasks = workers.iter().map(|worker| worker.tasks).sum();
        rows.push(cells("all".to_owned(), tasks, &times));
    }
    columns(&COLUMNS, &rows)
}

fn cells(name: String, tasks: u64, times: &Times) -> Vec<String> {
    let percent = |state| format!("{:.2}", place::share(times, state) * 100.0);
    let mut cells = vec![name, grouped(tasks)];
    cells.extend(State::BALANCED.map(percent));
    cells
}

/// Returns every worker as data.
pub fn json(workers: &[WorkerRun]) -> serde_json::Value {
    let worker = |worker: &WorkerRun| {
        let share = |state| {
            (
                State::name(state),
                json!(place::share(&worker.times, state)),
            )
        };
        json!({
            "place": worker.place.0, "worker": worker.worker.0, "tasks": worker.tasks,
            "time": object(State::BALANCED.map(share)),
        })
    };
    workers.iter().map(worker).collect()
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;
    use tautline::Runtime;

    #[test]
    fn one_place_has_a_row_for_each_worker() {
        let run = |places| {
            let rt = Runtime::builder()
                .places(places)
                .workers(3)
                .pinned(false)
                .build()
                .unwrap();
            let balancer = rt.balancer();
            balancer.sum(0..1000_u64, |n, _| n).unwrap()
        };
        let one = run(1);
        let mut workers = one.workers;
        let text = or_places(&workers, &one.places);
        assert_eq!(text.lines().count(), 2 + 3 + 1, "{text}");
        let words: Vec<_> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words[..3], ["all", "1", "000"]);
        workers[1].tasks = 9_876_543_210;
        workers[1].times = Times::default();
        workers[1].times.add(State::Idle, 7);
        let text = or_places(&workers, &one.places);
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        let words: Vec<_> = text.lines().nth(3).unwrap().split_whitespace().collect();
        let expected = "1 9 876 543 210 0.00 0.00 0.00 0.00 100.00";
        assert_eq!(words.join(" "), expected);
        let two = run(2);
        let text = or_places(&two.workers, &two.places);
        assert_eq!(text.lines().count(), 2 + 2 + 1, "{text}");
    }
}
