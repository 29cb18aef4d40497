//! `tautline synthetic`: process a generated tree of tasks.

use super::Failure;
use super::app::{About, App, Findings, Problem, equal};
use super::balancer::whole;
use super::number::grouped;
use super::show::object;
use clap::Args;
use serde_json::json;
use tautline::internal::spelling;
use tautline_cli::synthetic::{Children, Cost, Found, Params, Synthetic as Bag, Work};

/// The duration of a unit on a core of a present-day server.
const UNIT_NS: u64 = 4;
const ROOTS_MAX: u64 = 1 << 24;
const DEPTH_MAX: u64 = u32::MAX as u64;
/// The default depth, where trees may be infinite without one: in virtual time, and on threads.
const DEPTHS: [u32; 2] = [8, 11];

const EXAMPLES: &str = "\
EXAMPLES:
  tautline synthetic --children geometric:4 --depth 12            a geometric tree, a unit a task
  tautline synthetic --children binomial:8,0.12 --roots 1000      deep and narrow, without a limit
  tautline synthetic --children uniform:0-6 --cost pareto:10,1.5  few tasks cost most
  tautline synthetic --roots 100000 --depth 0 --cost exponential:1000 --places 4";

/// Process a generated tree of tasks of any shape and cost
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Synthetic {
    /// Children of a task: geometric:MEAN, binomial:M,Q (M with probability Q, else none),
    /// uniform:LO-HI
    #[arg(long, value_name = "DISTRIBUTION", default_value = "geometric:4")]
    children: Children,
    /// Tasks at this depth have no children [default: 11, simulated 8; none if a binomial tree ends
    /// without]
    #[arg(long, value_name = "D", value_parser = whole::<u32, DEPTH_MAX>(), allow_negative_numbers = true)]
    depth: Option<u32>,
    /// Trees side by side, 1 to 16777216
    #[arg(long, value_name = "N", value_parser = roots, allow_negative_numbers = true)]
    #[arg(default_value = "16")]
    roots: u32,
    /// Units of a task: N, uniform:LO-HI, exponential:MEAN, pareto:MIN,ALPHA; at least 1
    #[arg(long, value_name = "DISTRIBUTION", default_value = "1")]
    cost: Cost,
    /// Seed of the tree
    #[arg(long, value_name = "N", default_value = "1")]
    #[arg(value_parser = whole::<u64, { u64::MAX }>(), allow_negative_numbers = true)]
    tree_seed: u64,
}

impl App for Synthetic {
    type Problem = Tree;

    const NAME: &'static str = "synthetic";

    fn problem(&self, small: bool) -> Result<Tree, Failure> {
        let ends = matches!(self.children, Children::Binomial { .. }) && self.children.mean() < 1.0;
        let usual = match ends {
            true => u32::MAX,
            false => DEPTHS[usize::from(!small)],
        };
        let params = Params {
            children: self.children,
            depth: self.depth.unwrap_or(usual),
            roots: self.roots,
            cost: self.cost,
            seed: self.tree_seed,
        };
        Ok(Tree(Work {
            params,
            spins: !small,
        }))
    }
}

/// A tree, and whether its units take real time.
#[derive(Debug)]
pub(super) struct Tree(Work);

impl Problem for Tree {
    type Bag = Bag;

    fn about(&self) -> About {
        let Params {
            children,
            depth,
            roots,
            cost,
            seed,
        } = self.0.params;
        let depth = match depth {
            u32::MAX => "no limit of depth".to_owned(),
            depth => format!("down to depth {depth}"),
        };
        let about = self.0.params.expected_tasks();
        About {
            unit: "units",
            kind: "tree",
            title: format!("synthetic {children}, cost {cost}"),
            facts: vec![
                ("children", format!("{children}, {depth}")),
                ("roots", format!("{roots}, seed {seed}")),
                ("cost", format!("{cost} units a task")),
                ("expected", format!("about {about:.3e} tasks")),
            ],
            task_ns: UNIT_NS,
            ..About::default()
        }
    }

    fn bag(&self) -> Bag {
        Bag::new(&self.0.params)
    }

    fn shared(&self) -> Work {
        self.0
    }

    fn findings(&self, found: &Found, complete: bool) -> Findings {
        let known = self.0.params.known_tasks();
        let title = self.about().title;
        let compared = |known| equal(&title, "tasks", found.tasks, ("known are", known));
        let Found {
            tasks,
            units,
            deepest,
            checksum,
        } = *found;
        let keys = [
            ("tree_tasks", tasks.into()),
            ("units", units.into()),
            ("max_depth", deepest.into()),
            ("checksum", format!("{checksum:016x}").into()),
            ("expected_tasks", json!(known)),
        ];
        Findings {
            rows: vec![
                ("tasks", grouped(tasks)),
                ("units", grouped(units)),
                ("deepest", grouped(deepest.into())),
                ("checksum", format!("{checksum:016x}")),
            ],
            json: object(keys),
            verdict: known.filter(|_| complete).map(compared),
            agrees: "",
        }
    }
}

fn roots(text: &str) -> Result<u32, String> {
    let roots = spelling::whole::<u32, ROOTS_MAX>(text)?;
    let fits = (1..=ROOTS_MAX).contains(&roots.into());
    fits.then_some(roots)
        .ok_or_else(|| format!("from 1 to {ROOTS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(children: &str, depth: Option<u32>) -> Tree {
        let args = Synthetic {
            children: children.parse().unwrap(),
            depth,
            roots: 2,
            cost: Cost::Fixed(3),
            tree_seed: 1,
        };
        args.problem(true).unwrap()
    }

    #[test]
    fn what_is_known_is_compared() {
        let tree = tree("uniform:2-2", Some(3));
        let verdict = |tasks| {
            let found = Found {
                tasks,
                ..Found::default()
            };
            tree.findings(&found, true).verdict
        };
        assert_eq!(verdict(30), Some(Ok(())));
        assert!(matches!(verdict(29), Some(Err(line)) if line.contains("29 tasks, known are 30")));
    }

    #[test]
    fn only_trees_that_end_have_no_depth() {
        let depth = |children| tree(children, None).0.params.depth;
        assert_eq!(depth("binomial:8,0.12"), u32::MAX);
        assert_eq!([depth("binomial:8,0.125"), depth("geometric:4")], [8, 8]);
        assert!(!tree("geometric:1", None).0.spins);
    }
}
