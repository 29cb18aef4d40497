//! The choice of a tree: a name, the flags of the reference program, or both.

use crate::command::balancer::whole;
use crate::command::known::Known;
use clap::Args;
use clap::builder::StringValueParser;
use tautline_cli::uts::named::{self, Named};
use tautline_cli::uts::{Kind, ParamError, Params, Shape};

/// Returns the names of all trees.
fn trees() -> Vec<String> {
    named::TREES
        .iter()
        .map(|tree| tree.name.to_owned())
        .collect()
}

/// Flags describe a tree; combined with TREE they change that one. A named tree is recognized by
/// its parameters, too, and compared with its published count.
#[derive(Args, Debug)]
#[command(next_help_heading = "Tree")]
pub(super) struct TreeArgs {
    /// A named tree: T1 T2 T3 T4 T5, their larger sisters such as T1L T3L T1XL T1XXL T1WL, triloka,
    /// anl, p7, geo, D6 to D13 [default: T1L, simulated D11, unless flags describe a tree]
    #[arg(value_name = "TREE", value_parser = Known::new(StringValueParser::new(), trees), hide_possible_values = true)]
    tree: Option<String>,
    /// Type: 0 binomial, 1 geometric, 2 hybrid, 3 balanced [preset: 1]
    #[arg(short = 't', value_name = "TYPE", value_parser = whole::<u32, 3>(), allow_negative_numbers = true)]
    kind: Option<u32>,
    /// Seed of the root [preset: 0]
    #[arg(id = "root_seed", short = 'r', value_name = "SEED", value_parser = whole::<u32, { Params::SEED_MAX as u64 }>(), allow_negative_numbers = true)]
    seed: Option<u32>,
    /// Branching factor at the root [preset: 4]
    #[arg(short = 'b', value_name = "B", value_parser = real, allow_negative_numbers = true)]
    branching: Option<f64>,
    /// Binomial: children of an inner node [preset: 4]
    #[arg(short = 'm', value_name = "M", value_parser = whole::<u32, { Params::ARITY_MAX as u64 }>(), allow_negative_numbers = true)]
    arity: Option<u32>,
    /// Binomial: probability of an inner node; q times m is below 1 [preset: 15/64]
    #[arg(short = 'q', value_name = "Q", value_parser = real, allow_negative_numbers = true)]
    chance: Option<f64>,
    /// Geometric: shape, 0 linear, 1 exponential, 2 cyclic, 3 fixed [preset: 0]
    #[arg(short = 'a', value_name = "SHAPE", value_parser = whole::<u32, 3>(), allow_negative_numbers = true)]
    shape: Option<u32>,
    /// Geometric, balanced: depth [preset: 6]
    #[arg(short = 'd', value_name = "D", value_parser = whole::<u32, { Params::DEPTH_MAX as u64 }>(), allow_negative_numbers = true)]
    depth: Option<u32>,
    /// Hybrid: fraction of the depth at which the tree becomes binomial [preset: 0.5]
    #[arg(short = 'f', value_name = "F", value_parser = real, allow_negative_numbers = true)]
    shift: Option<f64>,
    /// Hashes a node: more work, the same tree [preset: 1]
    #[arg(short = 'g', value_name = "G", value_parser = whole::<u32, { Params::GRANULARITY_MAX as u64 }>(), allow_negative_numbers = true)]
    granularity: Option<u32>,
    /// Count the nodes of the last level without hashing them, the rule of X10 GLB and JavaGLB;
    /// rates under the two rules cannot be compared
    #[arg(long)]
    count_last_level: bool,
}

/// A tree and its known counts.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// Its name, or that it has none.
    pub name: &'static str,
    /// Its parameters.
    pub params: Params,
    /// Its published counts.
    pub known: Option<&'static Named>,
}

impl Chosen {
    /// Describes which nodes are hashed.
    pub(super) fn rule(&self) -> &'static str {
        match self.params.count_last_level {
            false => "every node hashed",
            true => "last level counted, not hashed",
        }
    }
}

impl TreeArgs {
    /// Returns the requested tree; the one called `usual` by default.
    pub(super) fn choose(&self, usual: &str) -> Result<Chosen, ParamError> {
        let mut params = match (&self.tree, self.is_described()) {
            (Some(name), _) => named::find(name)?.params,
            (None, true) => Params::default(),
            (None, false) => named::find(usual)?.params,
        };
        if let Some(id) = self.kind {
            params.kind = Kind::from_id(id)?;
        }
        if let Some(id) = self.shape {
            params.shape = Shape::from_id(id)?;
        }
        params.seed = self.seed.unwrap_or(params.seed);
        params.branching = self.branching.unwrap_or(params.branching);
        params.arity = self.arity.unwrap_or(params.arity);
        params.chance = self.chance.unwrap_or(params.chance);
        params.depth = self.depth.unwrap_or(params.depth);
        params.shift = self.shift.unwrap_or(params.shift);
        params.granularity = self.granularity.unwrap_or(params.granularity);
        params.count_last_level = self.count_last_level;
        params.check()?;
        // A tree with several names keeps the requested one.
        let asked = self.tree.as_deref().and_then(|name| named::find(name).ok());
        let known = asked
            .into_iter()
            .chain(named::TREES)
            .find(|tree| same_tree(&tree.params, &params));
        Ok(Chosen {
            name: known.map_or("custom", |tree| tree.name),
            params,
            known,
        })
    }

    /// Whether a flag determines the tree; -g does not.
    fn is_described(&self) -> bool {
        self.kind.is_some()
            || self.seed.is_some()
            || self.branching.is_some()
            || self.arity.is_some()
            || self.chance.is_some()
            || self.shape.is_some()
            || self.depth.is_some()
            || self.shift.is_some()
    }
}

fn real(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| "a number".to_owned())
}

/// Whether the nodes are the same, regardless of parameters that their type ignores.
fn same_tree(a: &Params, b: &Params) -> bool {
    let binomial = a.arity == b.arity && a.chance == b.chance;
    let geometric = a.shape == b.shape && a.depth == b.depth;
    a.kind == b.kind
        && a.branching == b.branching
        && match a.kind {
            Kind::Binomial => a.seed == b.seed && binomial,
            Kind::Geometric => a.seed == b.seed && geometric,
            Kind::Hybrid => a.seed == b.seed && binomial && geometric && a.shift == b.shift,
            Kind::Balanced => a.depth == b.depth,
        }
}

/// Describes the relevant parameters.
pub(super) fn describe(params: &Params) -> String {
    let Params {
        seed,
        branching,
        arity,
        chance,
        depth,
        shift,
        ..
    } = params;
    let shape = match params.shape {
        Shape::Linear => "linear",
        Shape::Exponential => "exponential",
        Shape::Cyclic => "cyclic",
        Shape::Fixed => "fixed",
    };
    let geometric = format!("{shape} shape, branching {branching}, depth {depth}");
    let binomial = format!("{arity} children with probability {chance}");
    let text = match params.kind {
        Kind::Binomial => {
            format!("binomial, {branching} children of the root, {binomial}, seed {seed}")
        }
        Kind::Geometric => format!("geometric, {geometric}, seed {seed}"),
        Kind::Hybrid => {
            format!("hybrid, {geometric}, below {shift} of it {binomial}, seed {seed}")
        }
        Kind::Balanced => format!("balanced, branching {branching}, depth {depth}"),
    };
    match params.granularity {
        1 => text,
        times => format!("{text}, {times} hashes a node"),
    }
}

/// Returns the flags of this tree.
pub(super) fn json(chosen: &Chosen) -> serde_json::Value {
    let p = &chosen.params;
    serde_json::json!({
        "name": chosen.name, "t": p.kind as u32, "r": p.seed, "b": p.branching, "m": p.arity,
        "q": p.chance, "a": p.shape as u32, "d": p.depth, "f": p.shift, "g": p.granularity,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        tree: TreeArgs,
    }

    fn choose(args: &str) -> Result<Chosen, ParamError> {
        Line::parse_from(std::iter::once("uts").chain(args.split_whitespace()))
            .tree
            .choose("T1L")
    }

    #[test]
    fn names_flags_and_both() {
        for (args, name) in [
            ("", "T1L"),
            ("-g 3", "T1L"),
            ("t3", "T3"),
            ("D10", "D10"),
            ("-t 1 -a 3 -d 13 -b 4 -r 29", "T1L"),
            ("-t 1 -a 3 -d 13 -b 4 -r 29 -q 0.5 -m 1", "T1L"),
            ("T1 -d 13 -r 29", "T1L"),
            ("T1 -r 20", "custom"),
            ("-r 1", "custom"),
        ] {
            let chosen = choose(args).unwrap();
            assert_eq!(chosen.name, name, "{args}");
            assert_eq!(chosen.known.is_some(), name != "custom", "{args}");
        }
    }

    #[test]
    fn bad_trees_are_refused() {
        for args in [
            "T9",
            "-t 4",
            "-a 7",
            "-t 0 -q 0.5 -m 2",
            "-b -1",
            "T3 --count-last-level",
        ] {
            assert!(choose(args).is_err(), "{args}");
        }
    }
}
