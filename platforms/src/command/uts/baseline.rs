//! The sequential program that a run is measured against: the same bag, one processor, no polling
//! (Saraswat 2011).

use super::tree::Chosen;
use clap::ValueEnum;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};
use tautline::glb::Control;
use tautline::machine;
use tautline::uts::{Counts, Kind, Params, Tree, named, sequential};

/// Trees up to this size are their own baseline.
const SMALL: u64 = 8_000_000;
/// The sample trees have about this many nodes.
const USUAL: u64 = 4_130_000;
/// A baseline that was not asked for by name takes no longer, by estimate.
const LONGEST: Duration = Duration::from_secs(30);
/// A baseline shorter than this is run three times.
const SHORT: Duration = Duration::from_secs(2);
/// Time between two looks at the interrupt.
const PERIOD: Duration = Duration::from_millis(50);

/// Which tree the sequential program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Baseline {
    /// One of the same type of about 4 million nodes; this one if it is as small
    Smaller,
    /// This one
    Same,
    /// No baseline, no efficiency
    None,
}

/// What the sequential program did.
#[derive(Clone, Debug)]
pub struct Sequential {
    /// The tree it counted.
    pub tree: String,
    /// How many nodes that has.
    pub nodes: u64,
    /// Nodes a second.
    pub rate: f64,
    /// How often it ran; the rate is the median.
    pub runs: usize,
}

/// Why there is no baseline.
#[derive(Clone, Debug)]
pub enum Missing {
    /// It was not wanted.
    Unwanted,
    /// There is none, or it would take too long.
    Because(String),
    /// The user had enough.
    Interrupted,
}

/// Runs the baseline of a run that counted `nodes` nodes at `rate` a second and processor, on `cpu`.
pub fn measure(
    baseline: Baseline,
    chosen: &Chosen,
    (nodes, rate): (u64, f64),
    cpu: Option<usize>,
    control: &Control,
) -> Result<Sequential, Missing> {
    let (name, params, expected) = match baseline {
        Baseline::None => return Err(Missing::Unwanted),
        Baseline::Same => (chosen.name.to_owned(), chosen.params, nodes),
        Baseline::Smaller if nodes <= SMALL => (chosen.name.to_owned(), chosen.params, nodes),
        Baseline::Smaller => smaller(&chosen.params).ok_or_else(|| {
            Missing::Because("no smaller tree of this type: see --baseline same".to_owned())
        })?,
    };
    let estimate = expected as f64 / rate.max(1.0);
    if baseline == Baseline::Smaller && estimate > LONGEST.as_secs_f64() {
        let reason = format!("it would take some {estimate:.0} s: see --baseline same");
        return Err(Missing::Because(reason));
    }
    let mut times = Vec::new();
    let mut counts = Counts::default();
    while times.len() < 3 {
        let (counted, time) = alone(params, cpu, control)?;
        counts = counted;
        times.push(time);
        if time > SHORT {
            break;
        }
    }
    times.sort();
    let median = times[times.len() / 2];
    Ok(Sequential {
        tree: name,
        nodes: counts.nodes,
        rate: counts.nodes as f64 / median.as_secs_f64().max(1e-9),
        runs: times.len(),
    })
}

/// Counts a tree on a thread of its own, which can be left behind as it never looks outside.
fn alone(
    params: Params,
    cpu: Option<usize>,
    control: &Control,
) -> Result<(Counts, Duration), Missing> {
    let tree = Tree::new(params).map_err(|error| Missing::Because(error.to_string()))?;
    let (send, done) = mpsc::channel();
    let work = move || {
        if let Some(cpu) = cpu {
            machine::pin(cpu);
        }
        let start = Instant::now();
        let counts = sequential(&tree);
        // Nobody listens after an interrupt.
        let _ = send.send((counts, start.elapsed()));
    };
    thread::Builder::new()
        .name("sequential".into())
        .spawn(work)
        .map_err(|error| Missing::Because(format!("cannot start a thread: {error}")))?;
    loop {
        match done.recv_timeout(PERIOD) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) if !control.is_stopped() => {}
            Err(RecvTimeoutError::Timeout) => return Err(Missing::Interrupted),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Missing::Because("the sequential program failed".to_owned()));
            }
        }
    }
}

/// A known tree of the same type of at most some 4 million nodes, the likest first.
fn smaller(params: &Params) -> Option<(String, Params, u64)> {
    if params.kind == Kind::Balanced {
        return Some(shallower(params));
    }
    let unlike = |tree: &&named::Named| {
        let other = &tree.params;
        let same_law = match params.kind {
            Kind::Binomial => other.arity == params.arity,
            _ => other.branching == params.branching,
        };
        (!same_law, tree.nodes.abs_diff(USUAL))
    };
    let known = named::TREES
        .iter()
        .filter(|tree| tree.params.kind == params.kind && tree.nodes <= SMALL)
        .filter(|tree| params.kind == Kind::Binomial || tree.params.shape == params.shape)
        .min_by_key(unlike)?;
    let smaller = Params {
        granularity: params.granularity,
        count_last_level: params.count_last_level,
        ..known.params
    };
    Some((known.name.to_owned(), smaller, known.nodes))
}

/// The balanced tree with fewer levels.
fn shallower(params: &Params) -> (String, Params, u64) {
    let arity = params.branching as u64;
    let (mut nodes, mut level, mut depth) = (1, 1, 0);
    while depth < params.depth && nodes + level * arity <= SMALL {
        level *= arity;
        nodes += level;
        depth += 1;
    }
    let tree = Params { depth, ..*params };
    (format!("the one of depth {depth}"), tree, nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> String {
        smaller(&named::find(name).unwrap().params).unwrap().0
    }

    #[test]
    fn siblings_are_small_and_alike() {
        for (tree, sibling) in [
            ("T1L", "T1"),
            ("D13", "T1"),
            ("T2L", "T2"),
            ("T3L", "T3"),
            ("T2XXL", "anl"),
            ("triloka", "anl"),
        ] {
            assert_eq!(of(tree), sibling);
        }
    }

    #[test]
    fn every_large_named_tree_has_a_sibling() {
        for tree in named::TREES {
            let (_, params, nodes) = smaller(&tree.params).unwrap();
            assert!(nodes <= SMALL && params.kind == tree.params.kind);
        }
    }

    #[test]
    fn a_balanced_tree_loses_levels() {
        let params = Params {
            kind: Kind::Balanced,
            branching: 2.0,
            depth: 40,
            ..Params::default()
        };
        let (_, smaller, nodes) = shallower(&params);
        assert_eq!(nodes, (1 << (smaller.depth + 1)) - 1);
        assert!((SMALL / 4..=SMALL).contains(&nodes));
    }
}
