//! Every policy on the workers of a runtime.

use super::report::Row;
use super::source::Source;
use super::{Loops, refused};
use crate::command::Failure;
use std::hint::black_box;
use std::time::Instant;
use tautline::Runtime;
use tautline::runtime::Cx;
use tautline_cli::iterations::{Scheme, Times, spin};
use tautline_core::taper::{Claim, Division, Instance, Overhead, Policy};

/// A way to run a loop.
#[derive(Clone, Copy)]
enum Way {
    /// On one worker.
    Alone,
    /// As `cx.par_for` divides it.
    Auto,
    By(Scheme),
}

/// A loop, and what policies know of it.
struct Loop<'a> {
    times: &'a Times,
    chunk_ns: u64,
    workers: u32,
}

/// Runs all policies in turn, and returns medians over the repetitions.
pub(super) fn run(args: &Loops, source: &Source, times: &Times) -> Result<Vec<Row>, Failure> {
    let ways = ways(args)?;
    let runtime = Runtime::new()?;
    let workers = runtime.workers() as u32;
    let divided = Loop {
        times,
        chunk_ns: args.chunk_ns(times),
        workers,
    };
    let body = |i: usize| match source {
        Source::Measured(kernel) => _ = black_box(kernel.run(i)),
        Source::Drawn(..) | Source::Shaped(..) | Source::Recorded(_) => spin(times.ns(i)),
    };
    let mut samples = vec![Vec::new(); ways.len()];
    // In turn, so that all see the same noise.
    for _ in 0..args.repeat {
        for (samples, (_, way)) in samples.iter_mut().zip(&ways) {
            let start = Instant::now();
            runtime.run(|cx| divided.execute(cx, *way, &body));
            samples.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let medians: Vec<f64> = samples.iter_mut().map(|samples| median(samples)).collect();
    let row = |((name, way), time_us): ((String, Way), f64)| {
        let processors = if matches!(way, Way::Alone) {
            1
        } else {
            workers
        };
        Row {
            policy: name,
            processors,
            efficiency: medians[0] / (f64::from(processors) * time_us),
            time_us,
            chunks: None,
        }
    };
    Ok(ways
        .into_iter()
        .zip(medians.iter().copied())
        .map(row)
        .collect())
}

/// Returns the ways to compare, the sequential one first.
fn ways(args: &Loops) -> Result<Vec<(String, Way)>, Failure> {
    let mut ways = vec![("sequential".to_owned(), Way::Alone)];
    if args.policy.is_empty() {
        ways.push(("auto".to_owned(), Way::Auto));
        ways.extend(Scheme::all().map(|scheme| (scheme.to_string(), Way::By(scheme))));
    }
    for name in args.policies() {
        let way = match (name.as_str(), name.parse()) {
            ("auto", _) => Way::Auto,
            (_, Ok(scheme)) => Way::By(scheme),
            (_, Err(allowed)) => {
                return Err(refused(&name, format!("auto, or {allowed}")));
            }
        };
        ways.push((name, way));
    }
    Ok(ways)
}

impl Loop<'_> {
    fn execute(&self, cx: &mut Cx, way: Way, body: &(impl Fn(usize) + Sync)) {
        let n = self.times.len();
        match way {
            Way::Alone => (0..n).for_each(body),
            Way::Auto => cx.par_for(0..n, body),
            Way::By(Scheme::Static(division)) => self.divided(cx, division, body),
            Way::By(Scheme::Policy(policy)) => self.shared(cx, policy, body),
            Way::By(_) => {
                let policy =
                    Policy::kruskal_weiss(&self.instance(), self.overhead(), self.times.estimate());
                self.shared(cx, policy, body);
            }
        }
    }

    fn overhead(&self) -> Overhead {
        Overhead {
            chunk_ns: self.chunk_ns,
            band: 0,
        }
    }

    fn instance(&self) -> Instance {
        let cx = Instance::new(self.times.len() as u64, self.workers);
        cx.with_overhead(self.overhead(), &self.times.estimate())
    }

    fn divided(&self, cx: &mut Cx, division: Division, body: &(impl Fn(usize) + Sync)) {
        let n = self.times.len() as u64;
        cx.scope(|cx| {
            for q in 0..self.workers {
                cx.spawn(move |_| {
                    division
                        .share(q, n, self.workers)
                        .for_each(|i| body(i as usize))
                });
            }
        });
    }

    fn shared(&self, cx: &mut Cx, policy: Policy, body: &(impl Fn(usize) + Sync)) {
        let (claim, instance) = (Claim::new(0..self.times.len()), self.instance());
        let (estimate, start) = (self.times.estimate(), Instant::now());
        let (claim, instance) = (&claim, &instance);
        cx.scope(|cx| {
            for _ in 0..self.workers {
                cx.spawn(move |_| {
                    let now = || instance.at(start.elapsed().as_nanos() as u64);
                    while let Some(chunk) = claim.take(&policy, estimate, &now()) {
                        chunk.for_each(body);
                    }
                });
            }
        });
    }
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
