//! The efficiency of TAPER as a function of α: Lucco 1995, 003:726-736, by the simulated queue.

use crate::command::show::document;
use crate::command::{Outcome, deliver};
use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline_cli::iterations::{Distribution, Queue, Scheme, Times};
use tautline_core::taper::{Policy, Q16, Taper};

const MEAN_NS: u64 = 10_000;
/// Iterations a processor, σ/μ, and the overhead in means.
const SHARES: [usize; 3] = [10, 100, 1000];
const VARIATIONS: [f64; 2] = [0.3, 1.0];
const OVERHEADS: [f64; 3] = [0.1, 1.0, 10.0];
/// Tenths of α; the published one.
const ALPHAS: std::ops::RangeInclusive<u64> = 0..=30;
const PUBLISHED: u64 = 13;

/// One setting: the best α and its efficiency, and that of the published one.
struct Point {
    share: usize,
    cv: f64,
    overhead: f64,
    best: (u64, f64),
    published: f64,
}

/// Prints, for each setting, the efficiency with α = 1.3 and with the best of 0 to 3.
pub(super) fn run(processors: u32, repeat: u64, as_json: bool) -> Outcome {
    let mut points = Vec::new();
    for share in SHARES
        .into_iter()
        .filter(|share| share * processors as usize <= Times::LEN_MAX)
    {
        for cv in VARIATIONS {
            let draw = |seed| {
                Times::draw(
                    Distribution::Normal(cv),
                    share * processors as usize,
                    MEAN_NS,
                    seed,
                )
            };
            let all: Vec<Times> = (1..=repeat).map(draw).collect();
            for overhead in OVERHEADS {
                let chunk_ns = (overhead * MEAN_NS as f64) as u64;
                points.push(point(
                    (share, cv, overhead),
                    Queue {
                        processors,
                        chunk_ns,
                    },
                    &all,
                ));
            }
        }
    }
    deliver(&match as_json {
        true => document(
            json!({"processors": processors, "points": points.iter().map(Point::json).collect::<Vec<_>>()}),
        ),
        false => table(processors, &points),
    })
}

fn point((share, cv, overhead): (usize, f64, f64), queue: Queue, all: &[Times]) -> Point {
    let efficiency = |tenths: u64| {
        let scheme = Scheme::Policy(Policy::Taper(Taper::published(Q16::ratio(tenths, 10))));
        let each = all
            .iter()
            .map(|times| queue.run(scheme, times).efficiency(times));
        each.sum::<f64>() / all.len() as f64
    };
    let sweep = ALPHAS.map(|tenths| (tenths, efficiency(tenths)));
    let best = sweep.fold(
        (0, 0.0),
        |best, next| if next.1 > best.1 { next } else { best },
    );
    let published = efficiency(PUBLISHED);
    Point {
        share,
        cv,
        overhead,
        best,
        published,
    }
}

impl Point {
    fn json(&self) -> Value {
        json!({
            "iterations_per_processor": self.share,
            "cv": self.cv,
            "overhead": self.overhead,
            "best_alpha": self.best.0 as f64 / 10.0,
            "best": self.best.1,
            "published": self.published,
        })
    }
}

fn table(processors: u32, points: &[Point]) -> String {
    let mut text =
        format!("TAPER on normally distributed times, {processors} processors, simulated\n\n");
    let _ = writeln!(
        text,
        "{:>6}{:>8}{:>8}{:>10}{:>12}{:>12}{:>8}",
        "N/p", "σ/μ", "h/μ", "best α", "efficiency", "α = 1.3", "ratio"
    );
    for Point {
        share,
        cv,
        overhead,
        best,
        published,
    } in points
    {
        let _ = writeln!(
            text,
            "{share:>6}{cv:>8.1}{overhead:>8.1}{:>10.1}{:>12.3}{published:>12.3}{:>8.3}",
            best.0 as f64 / 10.0,
            best.1,
            published / best.1,
        );
    }
    text
}
