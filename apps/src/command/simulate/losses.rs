//! The losses of a run, apart from those that no balancer could avoid.

use super::engine::{Bound, Phases};
use crate::command::number::grouped;
use serde_json::{Value, json};

/// The efficiency without costs, and what is lost in the parts of the run, with costs and without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Losses {
    /// The same tasks without costs; not known of a run that was stopped, nor if the user
    /// interrupted the schedule.
    pub bound: Option<Bound>,
    virtual_seconds: f64,
    phases: Phases,
}

impl Losses {
    /// Returns the losses of a run that took this time.
    pub(super) fn of(bound: Option<Bound>, virtual_seconds: f64, phases: Phases) -> Self {
        Self {
            bound,
            virtual_seconds,
            phases,
        }
    }

    /// Returns the rows of the table.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        if let Some(bound) = self.bound {
            let line = format!(
                "{:.1} % = these tasks if balancing were free and immediate, {:.6} virtual seconds",
                bound.efficiency * 100.0,
                bound.virtual_ns as f64 / 1e9
            );
            rows.push(("bound", line));
        }
        rows.push(("lost", line(&self.phases)));
        if let Some(bound) = self.bound {
            rows.push(("lost by the bound", line(&bound.phases)));
        }
        rows
    }

    /// Returns the JSON keys.
    pub(super) fn json(&self) -> [(&'static str, Value); 2] {
        let bound = self.bound.map(|bound| {
            let seconds = bound.virtual_ns as f64 / 1e9;
            json!({
                "efficiency": bound.efficiency, "virtual_seconds": seconds, "tasks": bound.tasks,
                "phases": phases(&bound.phases, seconds),
            })
        });
        [
            ("bound", bound.into()),
            ("phases", phases(&self.phases, self.virtual_seconds)),
        ]
    }
}

fn line(phases: &Phases) -> String {
    let [start, middle, end] = phases.lost.map(|share| share * 100.0);
    let [starts, ends] = [phases.start_ns, phases.end_ns].map(|ns| ns as f64 / 1e9);
    let without = match phases.workless {
        0 => "until every place has had work".to_owned(),
        1 => "1 place never had work".to_owned(),
        places => format!("{} places never had work", grouped(places.into())),
    };
    format!(
        "start {start:.1} % in {starts:.6} s ({without}), middle {middle:.1} %, end {end:.1} % in \
         {ends:.6} s (since one has no more)"
    )
}

fn phases(phases: &Phases, seconds: f64) -> Value {
    let [start, middle, end] = phases.lost;
    let [starts, ends] = [phases.start_ns, phases.end_ns].map(|ns| ns as f64 / 1e9);
    json!({
        "start": {"seconds": starts, "lost": start},
        "middle": {"seconds": seconds - starts - ends, "lost": middle},
        "end": {"seconds": ends, "lost": end},
        "workless_places": phases.workless,
    })
}
