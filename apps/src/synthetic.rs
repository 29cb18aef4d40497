//! Trees of tasks generated from a cheap hash: any shape, any distribution of costs, little other
//! work.
//!
//! A task costs some units, and a unit is what [`Bag::process`] counts; so a tree of 10^9 units may
//! be some thousand tasks, and a simulation of it is not slowed down by the simulated program. On
//! threads a unit takes its time, a few nanoseconds.
//!
//! # Algorithm
//! SplitMix64 (Steele, Lea, Flood 2014) from the hash of a task: its cost, the number of its
//! children, their hashes. Numbers of children are computed by multiplications alone, so the shape
//! is the same on every machine; exponential and Pareto costs may differ by a unit where logarithms
//! do.
//!
//! ```
//! use tautline::prelude::*;
//! use tautline_cli::synthetic::{Found, Params, Synthetic, Work};
//!
//! let params = Params { children: "uniform:3-3".parse()?, depth: 4, roots: 2, ..Params::default() };
//! let work = Work { params, spins: true };
//! let run = tautline::balancer().run(Synthetic::new(&params), |_| work, Found::default())?;
//! assert_eq!(run.output.tasks, 2 * (1 + 3 + 9 + 27 + 81));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use crate::random::SplitMix;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use tautline::balance::{Bag, Local, Share};

/// The maximum number of children of a task, and of its units; larger values are clamped.
const CHILDREN_MAX: u32 = 1_000_000;
const UNITS_MAX: u32 = 1_000_000_000;

/// The parameters of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// The number of children of a task.
    pub children: Children,
    /// Tasks at this depth have no children; the roots are at depth 0.
    pub depth: u32,
    /// The number of trees.
    pub roots: u32,
    /// Units of each task.
    pub cost: Cost,
    /// The seed of the tree.
    pub seed: u64,
}

impl Default for Params {
    /// 16 geometric trees of mean 4 and depth 8, a unit a task: some 1.4 million tasks.
    fn default() -> Self {
        Self {
            children: Children::Geometric { mean: 4.0 },
            depth: 8,
            roots: 16,
            cost: Cost::Fixed(1),
            seed: 1,
        }
    }
}

impl Params {
    /// Returns the expected number of tasks over all seeds.
    pub fn expected_tasks(&self) -> f64 {
        let mean = self.children.mean();
        let levels = f64::from(self.depth) + 1.0;
        let tree = match (mean - 1.0).abs() < 1e-9 {
            true => levels,
            false => (mean.powf(levels) - 1.0) / (mean - 1.0),
        };
        f64::from(self.roots) * tree
    }

    /// Returns the exact number of tasks, if it does not depend on the seed.
    pub fn known_tasks(&self) -> Option<u64> {
        let each = match self.children {
            Children::Uniform { least, most } if least == most => u64::from(least),
            Children::Binomial {
                probability: 0.0, ..
            } => 0,
            _ => return None,
        };
        let (mut all, mut level) = (0u64, u64::from(self.roots));
        for _ in 0..=self.depth {
            all = all.checked_add(level)?;
            if level == 0 {
                break;
            }
            level = level.checked_mul(each)?;
        }
        Some(all)
    }
}

/// The distribution of the number of children of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Children {
    /// Geometric with this mean. `geometric:4`
    Geometric {
        /// The mean.
        mean: f64,
    },
    /// This number with this probability, else 0. `binomial:8,0.12`
    Binomial {
        /// The number of children.
        children: u32,
        /// The probability.
        probability: f64,
    },
    /// Uniform. `uniform:0-6`
    Uniform {
        /// The minimum.
        least: u32,
        /// The maximum.
        most: u32,
    },
}

impl Children {
    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Geometric { mean } => mean,
            Self::Binomial {
                children,
                probability,
            } => f64::from(children) * probability,
            Self::Uniform { least, most } => (f64::from(least) + f64::from(most)) / 2.0,
        }
    }

    fn draw(&self, random: &mut SplitMix) -> u32 {
        match *self {
            Self::Geometric { mean } => {
                // Never 0, so that the power falls below it.
                let at = 1.0 - random.unit();
                let more = mean / (1.0 + mean);
                let (mut children, mut power) = (0, more);
                while at < power && children < CHILDREN_MAX {
                    children += 1;
                    power *= more;
                }
                children
            }
            Self::Binomial {
                children,
                probability,
            } => match random.unit() < probability {
                true => children,
                false => 0,
            },
            Self::Uniform { least, most } => {
                least + random.below(u64::from(most - least) + 1) as u32
            }
        }
    }
}

/// The distribution of the cost of a task, in units, at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// Constant. `5`
    Fixed(u32),
    /// Uniform. `uniform:1-9`
    Uniform {
        /// The minimum.
        least: u32,
        /// The maximum.
        most: u32,
    },
    /// Exponential with this mean. `exponential:100`
    Exponential {
        /// The mean, before rounding.
        mean: f64,
    },
    /// Pareto: few are huge. `pareto:10,1.5`
    Pareto {
        /// The minimum.
        least: f64,
        /// The exponent; up to 1 there is no mean.
        alpha: f64,
    },
}

impl Cost {
    fn draw(&self, random: &mut SplitMix) -> u32 {
        let bounded = |units: f64| units.round().clamp(1.0, f64::from(UNITS_MAX)) as u32;
        match *self {
            Self::Fixed(units) => units,
            Self::Uniform { least, most } => {
                least + random.below(u64::from(most - least) + 1) as u32
            }
            Self::Exponential { mean } => bounded(-mean * (1.0 - random.unit()).ln()),
            Self::Pareto { least, alpha } => {
                bounded(least * (1.0 - random.unit()).powf(-1.0 / alpha))
            }
        }
    }
}

/// A malformed distribution, or one out of bounds; the message lists what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FormError(&'static str);

impl From<FormError> for tautline::Error {
    fn from(refusal: FormError) -> Self {
        Self::invalid(refusal)
    }
}

/// Parses two numbers, the first not above the second.
fn range(text: &str, bounds: std::ops::RangeInclusive<u32>) -> Option<(u32, u32)> {
    let (least, most) = text.split_once('-')?;
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    let fits = least <= most && bounds.contains(&least) && bounds.contains(&most);
    fits.then_some((least, most))
}

fn real(text: &str, bounds: std::ops::RangeInclusive<f64>) -> Option<f64> {
    text.parse().ok().filter(|number| bounds.contains(number))
}

impl FromStr for Children {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let children = match name {
            "geometric" => real(numbers, 0.0..=1e4).map(|mean| Self::Geometric { mean }),
            "binomial" => numbers.split_once(',').and_then(|(children, probability)| {
                let children = children.parse().ok();
                Some(Self::Binomial {
                    children: children.filter(|&most| most <= CHILDREN_MAX)?,
                    probability: real(probability, 0.0..=1.0)?,
                })
            }),
            "uniform" => {
                let range = range(numbers, 0..=CHILDREN_MAX);
                range.map(|(least, most)| Self::Uniform { least, most })
            }
            _ => None,
        };
        children.ok_or(FormError(
            "geometric:MEAN up to 10000, binomial:M,Q with Q from 0 to 1, or uniform:LO-HI, up to 1000000 \
             children",
        ))
    }
}

impl FromStr for Cost {
    type Err = FormError;

    fn from_str(text: &str) -> Result<Self, FormError> {
        let most = f64::from(UNITS_MAX);
        let cost = match text.split_once(':') {
            None => text.parse().ok().map(Self::Fixed),
            Some(("uniform", numbers)) => {
                range(numbers, 1..=UNITS_MAX).map(|(least, most)| Self::Uniform { least, most })
            }
            Some(("exponential", mean)) => {
                real(mean, 0.0..=most).map(|mean| Self::Exponential { mean })
            }
            Some(("pareto", numbers)) => numbers.split_once(',').and_then(|(least, alpha)| {
                Some(Self::Pareto {
                    least: real(least, 1.0..=most)?,
                    alpha: real(alpha, 0.1..=1e3)?,
                })
            }),
            _ => None,
        };
        let fits =
            |cost: &Self| !matches!(cost, Self::Fixed(units) if !(1..=UNITS_MAX).contains(units));
        cost.filter(fits).ok_or(FormError(
            "a number from 1, uniform:LO-HI, exponential:MEAN, or pareto:MIN,ALPHA with ALPHA from 0.1, up to \
             1000000000 units",
        ))
    }
}

impl fmt::Display for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometric { mean } => write!(f, "geometric:{mean}"),
            Self::Binomial {
                children,
                probability,
            } => write!(f, "binomial:{children},{probability}"),
            Self::Uniform { least, most } => write!(f, "uniform:{least}-{most}"),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(units) => write!(f, "{units}"),
            Self::Uniform { least, most } => write!(f, "uniform:{least}-{most}"),
            Self::Exponential { mean } => write!(f, "exponential:{mean}"),
            Self::Pareto { least, alpha } => write!(f, "pareto:{least},{alpha}"),
        }
    }
}

/// State shared by the workers of a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The tree.
    pub params: Params,
    /// Whether units take real time. In virtual time they need not.
    pub spins: bool,
}

/// The result of the tasks: the same for the same [`Params`], regardless of how they were divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Tasks that were finished.
    pub tasks: u64,
    /// Units that were done, including those of unfinished tasks.
    pub units: u64,
    /// The depth of the deepest finished task.
    pub deepest: u32,
    /// The sum of the hashes of all finished tasks.
    pub checksum: u64,
}

impl Found {
    /// Adds the result of another part of the computation.
    pub fn add(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.units += other.units;
        self.deepest = self.deepest.max(other.deepest);
        self.checksum = self.checksum.wrapping_add(other.checksum);
    }
}

/// A task, or the rest of it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Node {
    hash: u64,
    depth: u32,
    /// Units, at least 1.
    left: u32,
}

impl Node {
    fn new(hash: u64, depth: u32, cost: &Cost) -> Self {
        let left = cost.draw(&mut SplitMix::new(hash));
        Self { hash, depth, left }
    }
}

/// Tasks to do and the result so far. Thieves get the oldest.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Synthetic {
    todo: Local<Node>,
    found: Found,
}

impl Synthetic {
    /// Creates the bag of all roots.
    pub fn new(params: &Params) -> Self {
        let mut random = SplitMix::new(params.seed);
        let roots = (0..params.roots).map(|_| Node::new(random.next(), 0, &params.cost));
        Self {
            todo: roots.collect(),
            found: Found::default(),
        }
    }

    fn finish(&mut self, node: Node, params: &Params) {
        self.found.tasks += 1;
        self.found.deepest = self.found.deepest.max(node.depth);
        self.found.checksum = self.found.checksum.wrapping_add(node.hash);
        if node.depth >= params.depth {
            return;
        }
        let mut random = SplitMix::new(node.hash);
        // The first number was for the cost.
        random.next();
        for _ in 0..params.children.draw(&mut random) {
            let child = Node::new(random.next(), node.depth + 1, &params.cost);
            self.todo.push(child);
        }
    }
}

/// Takes some nanoseconds a unit, which compilers cannot remove.
fn spin(hash: u64, units: u32) {
    let mut random = hash;
    for _ in 0..units {
        random = SplitMix::new(random).next();
    }
    black_box(random);
}

impl Bag for Synthetic {
    type Shared = Work;
    type Output = Found;

    fn process(&mut self, n: usize, work: &Work) -> usize {
        let mut done = 0;
        while done < n {
            let Some(mut node) = self.todo.pop() else {
                break;
            };
            let units = node.left.min(u32::try_from(n - done).unwrap_or(u32::MAX));
            if work.spins {
                spin(node.hash ^ u64::from(node.left), units);
            }
            node.left -= units;
            done += units as usize;
            match node.left {
                0 => self.finish(node, &work.params),
                _ => self.todo.push(node),
            }
        }
        self.found.units += done as u64;
        done
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let taken = share.of(self.todo.len());
        (taken > 0).then(|| Self {
            todo: self.todo.steal(taken).into(),
            found: Found::default(),
        })
    }

    fn merge(&mut self, other: Self) {
        self.todo.append(other.todo.into());
        self.found.add(other.found);
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn drop_tasks(&mut self) {
        self.todo = Local::new();
    }

    fn submit(self, output: &mut Found) {
        output.add(self.found);
    }
}
