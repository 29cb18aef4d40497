//! The result of a run, in real or in virtual time: what both have in common.

use super::show::colours::Colours;
use super::show::number::{grouped, rate};
use super::{Failure, Outcome};
use serde_json::{Map, Value};
use tautline::balance::Reason;

/// A finished run of a program, on threads or simulated.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The name of the program or application.
    pub application: &'static str,
    /// The name of the tasks, in the plural.
    pub unit: &'static str,
    /// The head of tables and pictures.
    pub facts: Vec<(&'static str, String)>,
    /// The result.
    pub findings: Findings,
    /// Pictures of solutions.
    pub pictures: Vec<String>,
    /// The number of tasks.
    pub tasks: u64,
    /// The units of the problem that they stand for.
    pub work: u64,
    /// The reason why work was left undone, if any was.
    pub stopped: Option<Reason>,
    /// Whether all work was done.
    pub complete: bool,
    /// The remark on a complete result without a verdict.
    pub unverified: &'static str,
}

/// A result, ready for display.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Rows of the table: `("solutions", "14 200")`. The table appends to the first of them how the
    /// result compares with what is known, or that it is partial.
    pub rows: Vec<(&'static str, String)>,
    /// JSON keys other than the common ones: `solutions`, `optimum`.
    pub json: Map<String, Value>,
    /// The comparison with what is known: `Some(Ok(()))` equal, `Some(Err(line))` wrong and how,
    /// `None` nothing to compare.
    pub verdict: Option<Result<(), String>>,
    /// The words for an equal result, if it was compared with one of the same reader or algorithm:
    /// `equal to the sequential program`. Empty after a comparison with something independent of
    /// both, as a published number: such a result is `verified`.
    pub agrees: &'static str,
}

/// Rates, a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Tasks.
    pub tasks: f64,
    /// Units of the problem; a task may stand for several.
    pub work: f64,
}

impl Rates {
    /// Returns the rates of `tasks` that stand for `work`, in `seconds`.
    pub fn of(tasks: u64, work: u64, seconds: f64) -> Self {
        let seconds = seconds.max(1e-9);
        Self {
            tasks: tasks as f64 / seconds,
            work: work as f64 / seconds,
        }
    }
}

impl Answer {
    /// Returns the rates, if it took this long.
    pub fn rates(&self, seconds: f64) -> Rates {
        Rates::of(self.tasks, self.work, seconds)
    }

    /// Formats a rate: `39.50 Mnodes/s`.
    pub fn spell(&self, rates: Rates) -> String {
        format!("{}{}/s", rate(rates.work), self.unit)
    }

    /// Returns the result as rows of a table, with the verdict in colour on a terminal.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        self.rows_in(Colours::of_stdout())
    }

    fn rows_in(&self, colours: Colours) -> Vec<(&'static str, String)> {
        let mut rows = self.findings.rows.clone();
        if let Some((_, first)) = rows.first_mut() {
            first.push_str(&self.words(colours));
        }
        if let Some(reason) = self.stopped {
            let (done, unit) = (grouped(self.work), self.unit);
            rows.push(("stopped", format!("{} after {done} {unit}", reason.name())));
        }
        rows
    }

    /// Returns the result for the head of a picture.
    pub fn told(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let partial = |at| at == 0 && self.is_partial();
        let rows = self.findings.rows.iter().enumerate();
        rows.map(move |(at, (name, value))| {
            let end = if partial(at) { " (partial)" } else { "" };
            (*name, format!("{}{end}", value.trim()))
        })
    }

    /// Returns the pictures of solutions below a table.
    pub fn drawn(&self) -> String {
        let pictures = self.pictures.iter();
        pictures.map(|picture| format!("\n{picture}")).collect()
    }

    /// Returns the JSON keys that every run has, and those of the program.
    pub fn json(&self, rates: Rates) -> Map<String, Value> {
        let mut object = self.findings.json.clone();
        let agrees = Some(self.findings.agrees).filter(|_| self.findings.verdict == Some(Ok(())));
        let agrees = agrees.filter(|agrees| !agrees.is_empty());
        let verdict = self.findings.verdict.as_ref().map(Result::is_ok);
        let verified = verdict.filter(|_| agrees.is_none());
        if !self.pictures.is_empty() {
            object.insert("pictures".to_owned(), self.pictures.clone().into());
        }
        for (key, value) in [
            ("application", self.application.into()),
            ("tasks", self.tasks.into()),
            ("verified", verified.into()),
            ("agrees", agrees.into()),
            ("complete", self.complete.into()),
            ("stopped", self.stopped.map(Reason::name).into()),
            (&self.key("", "_per_s"), rates.work.into()),
            ("tasks_per_s", rates.tasks.into()),
        ] {
            object.insert(key.to_owned(), value);
        }
        object
    }

    /// Returns the JSON keys of the sequential program with which it is compared.
    pub fn sequential(&self, rates: Option<Rates>) -> [(String, Value); 2] {
        let [work, tasks] = [
            rates.map(|rates| rates.work),
            rates.map(|rates| rates.tasks),
        ];
        [
            (self.key("sequential_", "_per_s"), work.into()),
            ("sequential_tasks_per_s".to_owned(), tasks.into()),
        ]
    }

    fn key(&self, before: &str, after: &str) -> String {
        format!("{before}{}{after}", self.unit.replace(' ', "_"))
    }

    /// Returns the outcome of the command: a partial result is one, unless the user interrupted the
    /// run.
    pub fn outcome(&self) -> Outcome {
        match (&self.findings.verdict, self.stopped) {
            (Some(Err(line)), _) => Err(Failure::Check(line.clone())),
            (_, Some(Reason::Interrupted)) => Err(Failure::Interrupted),
            _ => Ok(()),
        }
    }

    /// Whether the result is less complete than that of a whole run.
    fn is_partial(&self) -> bool {
        !self.complete && self.stopped != Some(Reason::Found)
    }

    fn words(&self, colours: Colours) -> String {
        match (&self.findings.verdict, self.stopped) {
            (Some(Err(_)), _) => format!("   {}", colours.bad("WRONG")),
            _ if self.is_partial() => match self.stopped {
                Some(reason) => format!("   partial: {}", reason.name()),
                None => "   partial".to_owned(),
            },
            (Some(Ok(())), _) if self.findings.agrees.is_empty() => {
                format!("   {}", colours.good("verified"))
            }
            (Some(Ok(())), _) => format!("   {}", self.findings.agrees),
            (None, None) if !self.unverified.is_empty() => format!("   {}", self.unverified),
            (None, _) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(verdict: Option<Result<(), String>>, stopped: Option<Reason>) -> Answer {
        Answer {
            application: "count",
            unit: "single steps",
            facts: Vec::new(),
            findings: Findings {
                rows: vec![("steps", "7".to_owned()), ("deepest", "3".to_owned())],
                json: Map::from_iter([("steps".to_owned(), 7.into())]),
                verdict,
                agrees: "",
            },
            pictures: Vec::new(),
            tasks: 7,
            work: 14,
            stopped,
            complete: stopped.is_none(),
            unverified: "nothing published to compare with",
        }
    }

    #[test]
    fn the_first_row_says_how_good_the_result_is() {
        for (verdict, stopped, words) in [
            (Some(Ok(())), None, "7   verified"),
            (None, None, "7   nothing published to compare with"),
            (Some(Err("no".to_owned())), None, "7   WRONG"),
            (None, Some(Reason::Deadline), "7   partial: deadline"),
            (
                Some(Ok(())),
                Some(Reason::Interrupted),
                "7   partial: interrupted",
            ),
            (Some(Ok(())), Some(Reason::Found), "7   verified"),
            (None, Some(Reason::Found), "7"),
        ] {
            let rows = answer(verdict, stopped).rows_in(Colours::None);
            assert_eq!(rows[0].1, words);
            assert_eq!(rows[1].1, "3");
            let last = stopped.map(|reason| format!("{} after 14 single steps", reason.name()));
            assert_eq!(rows.get(2).map(|row| row.1.clone()), last);
        }
    }

    #[test]
    fn only_an_independent_comparison_verifies() {
        let mut answer = answer(Some(Ok(())), None);
        answer.findings.agrees = "equal to the sequential program";
        assert_eq!(answer.rows()[0].1, "7   equal to the sequential program");
        let json = answer.json(answer.rates(1.0));
        assert_eq!(
            (&json["verified"], &json["agrees"]),
            (&Value::Null, &"equal to the sequential program".into())
        );
        answer.findings.verdict = Some(Err("no".to_owned()));
        let json = answer.json(answer.rates(1.0));
        assert_eq!(
            (&json["verified"], &json["agrees"]),
            (&false.into(), &Value::Null)
        );
    }

    #[test]
    fn a_verdict_has_its_colour() {
        for (verdict, value) in [
            (Some(Ok(())), "7   \x1b[32mverified\x1b[0m"),
            (Some(Err("no".to_owned())), "7   \x1b[31mWRONG\x1b[0m"),
            (None, "7   nothing published to compare with"),
        ] {
            let rows = answer(verdict, None).rows_in(Colours::Terminal);
            assert_eq!(rows[0].1, value);
        }
    }

    #[test]
    fn what_was_found_in_time_is_a_result() {
        for (verdict, stopped, code) in [
            (None, None, 0),
            (None, Some(Reason::Found), 0),
            (None, Some(Reason::GivenUp), 0),
            (None, Some(Reason::Deadline), 0),
            (None, Some(Reason::Interrupted), 130),
            (Some(Err("no".to_owned())), None, 1),
        ] {
            let ended = match answer(verdict, stopped).outcome() {
                Ok(()) => 0,
                Err(Failure::Check(line)) => u8::from(line == "no"),
                Err(Failure::Interrupted) => 130,
                Err(Failure::Usage(_)) => 2,
                Err(Failure::Undelivered(_)) => 3,
                Err(Failure::Ranks(_)) => 4,
                Err(Failure::Ended(code)) => code,
            };
            assert_eq!(ended, code, "{stopped:?}");
        }
    }

    #[test]
    fn common_keys_stand_beside_the_applications_own() {
        let answer = answer(None, Some(Reason::Deadline));
        let mut object = answer.json(answer.rates(2.0));
        object.extend(answer.sequential(None));
        let expected = serde_json::json!({
            "application": "count", "steps": 7, "tasks": 7, "verified": null, "agrees": null, "complete": false,
            "stopped": "deadline", "tasks_per_s": 3.5, "single_steps_per_s": 7.0,
            "sequential_tasks_per_s": null, "sequential_single_steps_per_s": null,
        });
        assert_eq!(Value::Object(object), expected);
    }
}
