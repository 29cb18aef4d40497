//! Balanced work of a program, and its result.

use super::show::number::grouped;
use super::{Answer, Balanced, Failure, Findings, Outcome, RecordedAcross, digest};
use serde_json::{Map, Value};
use tautline::balance::{Bag, PlaceId, Run};
use tautline::story::Recorder;
use tautline::world::{Portable, World};

/// A result as rows: a name and a number, a text, or what JSON has else. In JSON the name is the
/// key, with `_` for spaces.
pub type Rows = Vec<(&'static str, Value)>;

/// A [`Bag`], with what is shown of it. [`Program::balance`](super::Program::balance) runs it.
#[must_use = "the program runs it"]
pub struct Work<B: Bag> {
    bag: B,
    shared: Box<dyn Fn(PlaceId) -> B::Shared>,
    output: B::Output,
    total: Option<u64>,
    /// The digest of what was read.
    input: Option<String>,
    facts: Vec<(&'static str, String)>,
    show: Box<Show<B>>,
    verify: Option<Box<Verify<B>>>,
    across: Option<Across<B>>,
}

/// Runs a bag over ranks.
type Across<B> = fn(
    &RecordedAcross,
    B,
    &dyn Fn(PlaceId) -> <B as Bag>::Shared,
    <B as Bag>::Output,
) -> tautline::Result<Run<<B as Bag>::Output, Recorder>>;

type Show<B> = dyn Fn(&<B as Bag>::Output) -> Rows;
type Verify<B> = dyn Fn(&<B as Bag>::Output) -> Result<(), String>;

impl<B: Bag> Work<B> {
    /// Returns the work of `bag`. `shared` creates the value that the workers of a place share; the
    /// bags submit to `output`.
    pub fn new(bag: B, shared: impl Fn(PlaceId) -> B::Shared + 'static, output: B::Output) -> Self {
        Self {
            bag,
            shared: Box::new(shared),
            output,
            total: None,
            input: None,
            facts: Vec::new(),
            show: Box::new(|_| Vec::new()),
            verify: None,
            across: None,
        }
    }

    /// Computes over all ranks if the program was launched as several, by
    /// `tautline launch -n N -- PROGRAM`; rank 0 reports the result. A program that does not call
    /// this refuses to be launched so. The bag travels between processes, so it derives `Serialize`
    /// and `Deserialize`.
    pub fn across(mut self) -> Self
    where
        B: Portable + 'static,
    {
        self.across = Some(|balancer, bag, shared, output| balancer.run(bag, shared, output));
        self
    }

    /// Adds a row to the head of the table and of the picture: what is computed.
    pub fn fact(mut self, name: &'static str, value: impl ToString) -> Self {
        self.facts.push((name, value.to_string()));
        self
    }

    /// States the content that each rank has read from files: ranks that have read other bytes than
    /// rank 0 are refused. Without it, a computation over ranks takes files that differ between
    /// machines for the same.
    pub fn input(mut self, content: &[u8]) -> Self {
        self.input = Some(digest([content]));
        self
    }

    /// Sets the number of tasks, if known in advance, for the progress line.
    pub fn total(mut self, tasks: u64) -> Self {
        self.total = Some(tasks);
        self
    }

    /// Sets what is shown of the output. The keys of the command win over rows of the same name.
    pub fn show(mut self, show: impl Fn(&B::Output) -> Rows + 'static) -> Self {
        self.show = Box::new(show);
        self
    }

    /// Checks the output of a complete run. An error is printed, and the exit code is then 1.
    pub fn verify(mut self, verify: impl Fn(&B::Output) -> Result<(), String> + 'static) -> Self {
        self.verify = Some(Box::new(verify));
        self
    }

    /// Joins the ranks with which this process was launched, which must have the same settings and
    /// input.
    fn join(&self, settings: &[String]) -> Result<World, Failure> {
        let world = World::builder().arguments(settings).join()?;
        if world.ranks() > 1 && self.across.is_none() {
            return Err(refused(&world));
        }
        if let Some(input) = &self.input {
            world.agree("input", input)?;
        }
        Ok(world)
    }

    /// Runs it with the `options`, and reports the result.
    pub(super) fn run(
        self,
        name: &'static str,
        unit: &'static str,
        options: &Balanced,
        settings: &[String],
    ) -> Outcome {
        let world = self.join(settings)?;
        let across = self.across.filter(|_| world.ranks() > 1);
        let finished = options.run(
            world,
            (unit, self.total),
            |_| Ok(()),
            |balancer, ranks| match across {
                Some(across) => across(ranks, self.bag, &*self.shared, self.output),
                None => balancer.run(self.bag, self.shared, self.output),
            },
        )?;
        let Some(finished) = finished else {
            return Ok(());
        };
        let (run, tasks) = (&finished.run, finished.measured.tasks);
        let check = self.verify.filter(|_| run.complete);
        let rows = (self.show)(&run.output);
        let answer = Answer {
            application: name,
            unit,
            facts: self.facts,
            findings: Findings {
                verdict: check.map(|check| check(&run.output)),
                ..Findings::of(rows)
            },
            tasks,
            work: tasks,
            stopped: run.stopped.filter(|_| !run.complete),
            complete: run.complete,
            ..Answer::default()
        };
        finished.report(name, &answer, None, Map::new())?;
        answer.outcome()
    }
}

/// Returns the failure of a program that was launched as several processes and computes as one.
fn refused(world: &World) -> Failure {
    let (rank, ranks) = (world.rank(), world.ranks());
    Failure::Usage(format!(
        "{rank} of {ranks}: this program computes as a single process"
    ))
}

impl Findings {
    /// Returns the rows as text and as data.
    pub fn of(rows: Rows) -> Self {
        let mut findings = Self::default();
        for (name, value) in rows {
            findings.rows.push((name, text(&value)));
            findings.json.insert(name.replace(' ', "_"), value);
        }
        findings
    }
}

fn text(value: &Value) -> String {
    match (value.as_u64(), value) {
        (Some(number), _) => grouped(number),
        (None, Value::String(text)) => text.clone(),
        (None, Value::Null) => "none".to_owned(),
        (None, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_text_and_data() {
        let findings = Findings::of(vec![
            ("greatest value", json!(1_234_567)),
            ("mean", json!(-0.5)),
            ("name", json!("x")),
            ("first", Value::Null),
        ]);
        let texts: Vec<_> = findings.rows.iter().map(|row| row.1.as_str()).collect();
        assert_eq!(texts, ["1 234 567", "-0.5", "x", "none"]);
        let expected =
            json!({"greatest_value": 1_234_567, "mean": -0.5, "name": "x", "first": null});
        assert_eq!(Value::Object(findings.json), expected);
    }
}
