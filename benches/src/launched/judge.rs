//! Our figure of a row beside those that bound it, and those of other peers.

use super::rows::{Bound, OURS, Of, Row, sized};
use crate::figures::{Figures, Record, Value, digits, is_named};
use crate::markdown::{spread, verdict};

/// The mark of conditions under which no bound is decided.
pub(super) const PRELIMINARY: &str = "**preliminary**";

/// The text of a figure that is missing.
pub(super) const MISSING: &str = "not measured";

/// The rounds from which on a bound is decided.
const ROUNDS_MIN: usize = 5;

/// A figure beside ours, and whether ours is within the bound.
#[derive(Default)]
pub(super) struct Line {
    pub(super) beside: String,
    pub(super) its: String,
    pub(super) ratio: String,
    pub(super) bound: String,
    pub(super) met: String,
}

/// Returns a figure as a cell, with the rounds that gave it if some failed.
pub(super) fn cell(record: Option<&Record>) -> String {
    let Some(record) = record else {
        return MISSING.to_owned();
    };
    match (&record.value, record.counted) {
        (Value::Spread(_), Some([good, all])) if good < all => {
            format!("{}, {good}/{all} rounds", spread(record))
        }
        _ => spread(record),
    }
}

/// Returns a figure beside ours as a cell, with its run if that is another one.
fn beside_cell(ours: Option<&Record>, its: Option<&Record>) -> String {
    match (ours, its) {
        (Some(ours), Some(its)) if ours.run != its.run && its.median().is_some() => {
            format!("{}, run {}", cell(Some(its)), its.run)
        }
        _ => cell(its),
    }
}

/// Returns the ratio of our median to that of another figure.
fn ratio(ours: Option<&Record>, its: Option<&Record>) -> Option<f64> {
    Some(ours?.median()? / its?.median()?)
}

/// Returns the lines of a row: one for each bound, and one for each peer without a bound.
pub(super) fn lines<O>(figures: &Figures, rows: &[Row<O>], row: &Row<O>, size: &str) -> Vec<Line> {
    let name = sized(row.name, size);
    let ours = figures.find(&name, OURS);
    let bounds = row.bounds.iter();
    let mut lines = Vec::from_iter(bounds.map(|bound| judged(figures, bound, (rows, row), size)));
    let is_bound = |record: &Record| {
        row.bounds.iter().any(|bound| {
            matches!(bound.of(), Of::Peer(of, peer)
                if of.is_none_or(|of| of == row.name) && is_named(&record.contender, peer))
        })
    };
    for record in figures.of(&name) {
        if record.contender != OURS && !is_bound(record) {
            let ratio = ratio(ours, Some(record));
            lines.push(Line {
                beside: record.contender.clone(),
                its: beside_cell(ours, Some(record)),
                ratio: ratio.map_or(String::new(), |ratio| digits(ratio, 3)),
                ..Line::default()
            });
        }
    }
    lines
}

/// Returns our figure of a row beside its bound, which is not decided if a figure is missing.
fn judged<O>(
    figures: &Figures,
    bound: &Bound,
    (rows, row): (&[Row<O>], &Row<O>),
    size: &str,
) -> Line {
    let ours = figures.find(&sized(row.name, size), OURS);
    let (name, contender) = match bound.of() {
        Of::Nothing => (None, OURS),
        Of::Ours(name) => (Some(name), OURS),
        Of::Peer(name, peer) => (Some(name.unwrap_or(row.name)), peer),
    };
    let its = name.and_then(|name| figures.find(&sized(name, size), contender));
    let measured = match name {
        None => ours.and_then(Record::median),
        Some(_) => ratio(ours, its),
    };
    let (limit, is_most) = bound.limit();
    let holds = measured.map(|measured| match is_most {
        true => measured <= limit,
        false => measured >= limit,
    });
    let judges = [ours, its];
    let is_decided = judges.into_iter().flatten().all(|it| decides(figures, it));
    Line {
        beside: name.map_or(String::new(), |name| {
            label(name, (rows, row), contender, its)
        }),
        its: name.map_or(String::new(), |_| beside_cell(ours, its)),
        ratio: match name.and(measured) {
            Some(ratio) => digits(ratio, 3),
            None => String::new(),
        },
        bound: format!("at {} {limit}", if is_most { "most" } else { "least" }),
        met: match (holds, is_decided) {
            (None, _) => MISSING.to_owned(),
            (Some(holds), true) => verdict(holds).to_owned(),
            (Some(holds), false) => {
                format!("{} (preliminary)", if holds { "yes" } else { "no" })
            }
        },
    }
}

/// Whether a figure is of enough rounds of a quiet machine.
fn decides(figures: &Figures, record: &Record) -> bool {
    let conditions = figures.runs.get(&record.run);
    let is_quiet = conditions.is_some_and(|conditions| !conditions.contains(PRELIMINARY));
    is_quiet && record.counted.is_some_and(|[good, _]| good >= ROUNDS_MIN)
}

/// Returns the name of the figure of a row that bounds one of `beside`.
fn label<O>(
    name: &str,
    (rows, beside): (&[Row<O>], &Row<O>),
    contender: &str,
    its: Option<&Record>,
) -> String {
    let contender = its.map_or(contender, |its| &its.contender);
    let row = rows.iter().find(|row| row.name == name);
    let short = row.map_or(name, |row| row.short);
    match (name == beside.name, contender) {
        (true, contender) => contender.to_owned(),
        (false, OURS) => short.to_owned(),
        (false, contender) => format!("{short}, {contender}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn row(name: &'static str, bounds: &'static [Bound]) -> Row<()> {
        Row {
            name,
            what: "",
            short: name,
            unit: "ns",
            ranks: [2, 1],
            ways: &[],
            size: None,
            bounds,
        }
    }

    const ROWS: &[Row<()>] = &[
        row("call", &[]),
        row(
            "gups",
            &[
                Bound::LeastOf(2.0, "YGM"),
                Bound::LeastOf(5.0, "HPCC"),
                Bound::LeastOf(0.8, "bale conveyors"),
            ],
        ),
    ];

    const GOOD: Option<[usize; 2]> = Some([9, 9]);

    fn record(row: &str, contender: &str, median: f64) -> Record {
        Record {
            counted: GOOD,
            run: 1,
            ..Record::new(row, contender, Value::Spread([median; 3]))
        }
    }

    fn figures(records: Vec<Record>) -> Figures {
        let runs = ["quiet".to_owned(), format!("loud; {PRELIMINARY}")];
        Figures {
            machine: "one".into(),
            runs: (1..).zip(runs).collect(),
            records,
        }
    }

    /// Bounds of `call` by our figure `channel` or that of the peer `MPI`.
    const BOUNDS: [(Bound, &str, &str); 5] = [
        (Bound::Most(2.0, "channel"), "channel", OURS),
        (Bound::Least(2.0, "channel"), "channel", OURS),
        (Bound::MostOf(2.0, "call", "MPI"), "call", "MPI 4"),
        (Bound::MostOf(2.0, "trip", "MPI"), "trip", "MPI 4"),
        (Bound::LeastOf(2.0, "MPI"), "call", "MPI 4"),
    ];

    fn judge(bound: &Bound, records: Vec<Record>) -> Line {
        judged(&figures(records), bound, (ROWS, &ROWS[0]), "")
    }

    #[test]
    fn bounds_hold_up_to_their_limit() {
        for (bound, name, contender) in &BOUNDS {
            let of = |ours| vec![record("call", OURS, ours), record(name, contender, 10.0)];
            let is_most = bound.limit().1;
            let met = |ours| judge(bound, of(ours)).met;
            assert_eq!(met(20.0), "yes");
            assert_eq!(met(19.0), if is_most { "yes" } else { "**NO**" });
            assert_eq!(met(21.0), if is_most { "**NO**" } else { "yes" });
            let line = judge(bound, of(21.0));
            assert_eq!((&*line.its, &*line.ratio), ("10.0 [10.0 10.0]", "2.10"));
        }
        let met = |ours| judge(&Bound::Value(2.0), vec![record("call", OURS, ours)]).met;
        assert_eq!([met(2.0), met(2.5)], ["yes", "**NO**"]);
    }

    #[test]
    fn bounds_without_a_figure_stay_visible() {
        let none = || Value::Text(MISSING.to_owned());
        for (bound, name, contender) in &BOUNDS {
            let failed = Record::new(name, contender, none());
            for its in [None, Some(failed)] {
                let ours = record("call", OURS, 1.0);
                let line = judge(bound, Vec::from_iter([ours].into_iter().chain(its)));
                assert!(line.bound.ends_with(" 2") && !line.beside.is_empty());
                assert_eq!((&*line.its, &*line.ratio), (MISSING, ""));
                assert_eq!(line.met, MISSING);
            }
            let line = judge(bound, vec![record(name, contender, 10.0)]);
            assert_eq!((&*line.ratio, &*line.met), ("", MISSING));
        }
        assert_eq!(judge(&Bound::Value(2.0), Vec::new()).met, MISSING);
    }

    #[test]
    fn few_rounds_or_load_decide_nothing() {
        for (bound, name, contender) in &BOUNDS {
            let loud = |it| Record { run: 2, ..it };
            let few = |it| Record {
                counted: Some([4, 9]),
                ..it
            };
            let [ours, its] = [record("call", OURS, 1.0), record(name, contender, 1.0)];
            let is_most = bound.limit().1;
            let undecided = if is_most { "yes" } else { "no" }.to_owned() + " (preliminary)";
            for records in [
                vec![loud(ours.clone()), its.clone()],
                vec![ours.clone(), loud(its.clone())],
                vec![few(ours.clone()), its.clone()],
                vec![ours.clone(), few(its.clone())],
            ] {
                assert_eq!(judge(bound, records).met, undecided);
            }
        }
        let few = Record {
            counted: Some([4, 9]),
            ..record("call", OURS, 1.0)
        };
        assert_eq!(cell(Some(&few)), "1.00 [1.00 1.00], 4/9 rounds");
    }

    #[test]
    fn peers_without_a_bound_have_lines_of_their_own() {
        let of = |contender| record("gups/3", contender, 4.0);
        let all = ["YGM 1", "HPCC 1", "bale conveyors", "bale exstack"];
        let figures = figures(Vec::from_iter([OURS].into_iter().chain(all).map(of)));
        let lines = lines(&figures, ROWS, &ROWS[1], "3");
        let besides = lines
            .iter()
            .map(|line| (&*line.beside, line.bound.is_empty()));
        let all = all.map(|peer| (peer, peer == "bale exstack"));
        assert_eq!(Vec::from_iter(besides), all);
    }
}
