//! The lines in which models and explorations say how far they looked.
//!
//! `MODEL <name> executions=<n> floor=<f> bound=<b> seconds=<s>` and
//! `EXPLORE <name> states=<n> floor=<f> seconds=<s>`. A checker that looked at nothing finds
//! nothing, so less than the floor is a failure.

/// One such line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Counted {
    pub name: String,
    pub count: u64,
    pub floor: u64,
    pub bound: Option<String>,
    pub seconds: f64,
}

/// Finds the lines that start with `word` and count `unit`; an unreadable one is an error line.
pub(super) fn parse(out: &str, word: &str, unit: &str) -> Result<Vec<Counted>, String> {
    let start = format!("{word} ");
    // libtest writes `test name ... `, then `ok`, then the end of the line, and the output of other
    // tests may come between.
    let said = out.lines().filter_map(|line| match line.rfind(" ... ") {
        Some(at) if line.starts_with("test ") => {
            let rest = &line[at + 5..];
            rest.strip_prefix("ok").unwrap_or(rest).strip_prefix(&start)
        }
        _ => line.strip_prefix(&start),
    });
    said.map(|rest| one(rest, unit).ok_or_else(|| format!("cannot read `{start}{rest}`")))
        .collect()
}

fn one(rest: &str, unit: &str) -> Option<Counted> {
    let mut words = rest.split_whitespace();
    let name = words.next().filter(|n| !n.contains('='))?;
    let fields: Vec<(&str, &str)> = words.map(|w| w.split_once('=')).collect::<Option<_>>()?;
    let field = |key: &str| fields.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    Some(Counted {
        name: name.to_owned(),
        count: field(unit)?.parse().ok()?,
        floor: field("floor")?.parse().ok()?,
        bound: field("bound").map(str::to_owned),
        seconds: field("seconds")?.parse().ok()?,
    })
}

/// Returns the findings in these lines.
pub(super) fn findings(lines: &[Counted], what: &str, unit: &str) -> Vec<String> {
    let mut out = Vec::new();
    if lines.is_empty() {
        out.push(format!("no {what} said how far it looked"));
    }
    for (i, line) in lines.iter().enumerate() {
        if line.count < line.floor || line.floor == 0 {
            out.push(format!(
                "{}: {} {unit}, its floor is {}{}",
                line.name,
                line.count,
                line.floor,
                if line.floor == 0 {
                    "; 0 demands nothing"
                } else {
                    ""
                }
            ));
        }
        if lines[..i].iter().any(|other| other.name == line.name) {
            out.push(format!("{}: this name came twice", line.name));
        }
    }
    out
}

/// The lines as an aligned table with a total.
pub(super) fn table(lines: &[Counted], what: &str, unit: &str) -> String {
    let width = lines.iter().map(|l| l.name.len()).max().unwrap_or(0).max(8);
    let row = |name: &str, bound: &str, count: &str, floor: &str, seconds: &str| {
        format!("{name:<width$}  {bound:>5}  {count:>12}  {floor:>12}  {seconds:>8}\n")
    };
    let mut out = row(what, "bound", unit, "floor", "seconds");
    for l in lines {
        out += &row(
            &l.name,
            l.bound.as_deref().unwrap_or("-"),
            &l.count.to_string(),
            &l.floor.to_string(),
            &format!("{:.2}", l.seconds),
        );
    }
    let seconds = lines.iter().fold(0.0, |sum, l| sum + l.seconds);
    out + &row(
        "total",
        "",
        &total(lines).to_string(),
        "",
        &format!("{seconds:.2}"),
    )
}

pub(super) fn total(lines: &[Counted]) -> u64 {
    lines.iter().map(|l| l.count).sum()
}

/// Returns the number of tests that passed by the `test result:` lines.
pub(super) fn passed(out: &str) -> u64 {
    let results = out.lines().filter_map(|l| l.strip_prefix("test result: "));
    let counts = results.filter_map(|rest| {
        let (_, rest) = rest.split_once(". ")?;
        rest.split(' ').next()?.parse::<u64>().ok()
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::{findings, parse, passed, table, total};

    const OUT: &str = "running 2 tests
test a ... MODEL deque_1x1 executions=395 floor=300 bound=none seconds=0.10
ok
MODEL lock executions=7 floor=10 bound=3 seconds=0.01
test result: ok. 2 passed; 0 failed; 0 ignored
";

    #[test]
    fn lines_are_found_alone_and_behind_the_name_of_the_test() {
        let lines = parse(OUT, "MODEL", "executions").unwrap();
        assert_eq!((lines.len(), total(&lines), passed(OUT)), (2, 402, 2));
        assert_eq!(lines[0].bound.as_deref(), Some("none"));
        assert!(table(&lines, "model", "executions").contains("402"));
        let between = OUT.replace("... MODEL", "... okMODEL");
        assert_eq!(parse(&between, "MODEL", "executions").unwrap(), lines);
    }

    #[test]
    fn below_the_floor_is_a_finding() {
        let lines = parse(OUT, "MODEL", "executions").unwrap();
        let found = findings(&lines, "model", "executions");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("lock: 7 executions, its floor is 10"));
        assert!(findings(&lines[..1], "model", "executions").is_empty());
    }

    #[test]
    fn silence_no_floor_and_a_name_twice_are_findings() {
        assert_eq!(findings(&[], "model", "executions").len(), 1);
        let lines = parse(&OUT.replace("floor=300", "floor=0"), "MODEL", "executions").unwrap();
        assert_eq!(findings(&lines[..1], "model", "executions").len(), 1);
        let twice = [lines[0].clone(), lines[0].clone()];
        assert_eq!(findings(&twice, "model", "executions").len(), 3);
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        assert!(
            parse(
                "MODEL x executions=many floor=1 seconds=1\n",
                "MODEL",
                "executions"
            )
            .is_err()
        );
        assert!(parse("EXPLORE x states=1 seconds=1\n", "EXPLORE", "states").is_err());
        assert!(
            parse("A MODEL of care\n", "MODEL", "executions")
                .unwrap()
                .is_empty()
        );
    }
}
