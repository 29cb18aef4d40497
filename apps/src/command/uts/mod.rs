//! `uts`: count an unbalanced tree.

mod smaller;
mod tree;
mod verdict;

use super::app::{About, App, Findings, Problem};
use super::show::object;
use super::story::Pending;
use super::{Failure, Outcome, sha_hardware};
use crate::command::known::{Known, named};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use tautline::balance::Config;
use tautline::machines::UTS_NODES_PER_S;
use tautline_cli::uts::variant::{Divided, Division};
use tautline_cli::uts::{Counts, DRAWN_MAX, Drawing, Engine, Tree, Uts as Bag};
use tree::{Chosen, TreeArgs};

/// The maximum number of hashes between two polls: about a second, so that an interrupt takes
/// effect soon.
const HASHES_MAX: u64 = 1 << 24;
/// The duration of a node of one hash on a core of the machine to which slowdowns refer.
const HASH_NS: u64 = 1_000_000_000 / UTS_NODES_PER_S;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline uts T1 --workers 1               one worker
  tautline uts T3L --places 4 -w 2          four places, two steals tried at random
  tautline uts -t 0 -b 2000 -q 0.2 -m 4     a tree without a name, by the reference's flags
  tautline uts T1 -r 20                     a named tree, but with another seed
  tautline uts D13 --count-last-level       by the rule of X10 GLB and JavaGLB
  tautline uts T1L --split 2                bags that divide badly
  tautline uts T1WL --deadline 10s          as much of it as ten seconds allow
  tautline uts T3L --json --quiet           for programs
  tautline uts -t 3 -b 3 -d 4 --dot t.dot   a small tree, drawn by: dot -Tsvg t.dot

A task is a node whose hash is computed: all but the root, and those that --count-last-level only counts.";

/// Count the nodes of an unbalanced tree (the UTS benchmark)
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Uts {
    #[command(flatten)]
    tree: TreeArgs,
    /// How bags divide: half of everything (half), or as in the variants that mislead a tuner: a
    /// reserve is taken whole (1), or its fragments are halved one at a time (2)
    #[arg(
        long,
        value_name = "half|1|2",
        default_value = "half",
        hide_possible_values = true
    )]
    #[arg(value_parser = Known::new(division, || named(&["half", "1", "2"])))]
    #[arg(help_heading = "Tree")]
    split: Division,
    /// Hash by this engine, named as `hash` in the JSON, instead of the fastest
    #[arg(long, value_name = "ENGINE", value_parser = engine, hide = true)]
    engine: Option<Engine>,
    /// Write the shape of a tree of at most 10 000 nodes for Graphviz
    #[arg(long, value_name = "FILE.dot", help_heading = "Tree")]
    dot: Option<PathBuf>,
}

fn engine(name: &str) -> Result<Engine, String> {
    let mut all = Engine::all();
    all.find(|engine| engine.name() == name).ok_or_else(|| {
        let names: Vec<_> = Engine::all().map(Engine::name).collect();
        format!("one of {}, the engines of this processor", names.join(", "))
    })
}

fn division(text: &str) -> Result<Division, String> {
    match text {
        "half" => Ok(Division::Plain),
        "1" => Ok(Division::Whole),
        "2" => Ok(Division::Fragments),
        _ => Err("half, 1 or 2".to_owned()),
    }
}

impl App for Uts {
    type Problem = Search;

    const NAME: &'static str = "uts";

    fn problem(&self, small: bool) -> Result<Search, Failure> {
        let usual = if small { "D11" } else { "T1L" };
        let chosen = self.tree.choose(usual)?;
        let engine = self.engine.unwrap_or_else(Engine::fastest);
        let tree = Tree::with_engine(chosen.params, engine)?;
        let drawing = match &self.dot {
            None => None,
            Some(path) => {
                let drawing = Drawing::new(&tree).ok_or_else(|| {
                    let (path, name) = (path.display(), chosen.name);
                    Failure::Usage(format!(
                        "--dot {path}: {name} has more than {DRAWN_MAX} nodes"
                    ))
                })?;
                Pending::open("--dot", Some(path))?.map(|file| (file, drawing))
            }
        };
        Ok(Search {
            drawing,
            chosen,
            split: self.split,
            engine,
            simulated: small.then_some(tree),
        })
    }
}

/// Creates the tree, whose parameters are valid.
#[derive(Debug)]
pub(super) struct Search {
    chosen: Chosen,
    split: Division,
    engine: Engine,
    /// The tree of all simulated places. Those on threads have one each, in their own memory.
    simulated: Option<Tree>,
    /// The shape of the tree, and what receives it.
    drawing: Option<(Pending, Drawing)>,
}

impl Search {
    fn tree(&self) -> Tree {
        let new = || Tree::with_engine(self.chosen.params, self.engine);
        let tree = self.simulated.clone().map_or_else(new, Ok);
        tree.expect("the parameters were checked")
    }

    /// Describes how nodes are hashed.
    fn hash(&self) -> String {
        match self.engine.lanes() {
            1 => sha_hardware().unwrap_or("in software").to_owned(),
            lanes => format!("of {lanes} nodes at once ({})", self.engine.name()),
        }
    }
}

impl Problem for Search {
    type Bag = Divided<Bag>;

    fn about(&self) -> About {
        let Chosen {
            name,
            params,
            known,
        } = &self.chosen;
        let (tree, rule, hash) = (tree::describe(params), self.chosen.rule(), self.hash());
        let mut facts = vec![
            ("tree", format!("{name}: {tree}")),
            ("rule", format!("{rule}; SHA-1 {hash}")),
        ];
        match self.split {
            Division::Plain => {}
            Division::Whole => facts.push(("split", "1: a reserve is taken whole".into())),
            Division::Fragments => facts.push(("split", "2: one fragment is halved".into())),
        }
        // The last level is not a task if it is not hashed.
        let known = known.filter(|_| !params.count_last_level);
        About {
            unit: "nodes",
            kind: "tree",
            title: format!("UTS {name}"),
            facts,
            task_ns: HASH_NS * u64::from(params.granularity),
            tasks: known.map(|tree| tree.nodes),
            input: None,
        }
    }

    fn name(&self) -> String {
        self.chosen.name.to_owned()
    }

    /// Refuses a run that would poll so rarely that an interrupt seems to be lost.
    fn check(&self, config: &Config) -> Outcome {
        let grain = config.grain.initial() as u64;
        let each = u64::from(self.chosen.params.granularity);
        if grain * each <= HASHES_MAX {
            return Ok(());
        }
        let most = HASHES_MAX / each;
        Err(Failure::Usage(format!(
            "--grain {grain} -g {each}: at most {HASHES_MAX} hashes between two looks outside, \
             so a grain of at most {most} for this -g"
        )))
    }

    fn work(&self, counts: &Counts, _: u64) -> u64 {
        counts.nodes
    }

    fn bag(&self) -> Divided<Bag> {
        Divided::new(self.split, Bag::root(&self.tree()))
    }

    fn shared(&self) -> Tree {
        self.tree()
    }

    fn deliver(&self, _: &Counts) -> Outcome {
        match &self.drawing {
            Some((file, drawing)) => file.write(|out| drawing.write(out, &self.about().title)),
            None => Ok(()),
        }
    }

    fn findings(&self, counts: &Counts, complete: bool) -> Findings {
        let known = self.chosen.known;
        let keys = [
            ("tree", tree::json(&self.chosen)),
            ("rule", self.chosen.rule().into()),
            ("sha_hardware", sha_hardware().into()),
            ("hash", self.engine.name().into()),
            ("nodes", counts.nodes.into()),
            ("leaves", counts.leaves.into()),
            ("max_depth", counts.max_depth.into()),
            ("expected_nodes", json!(known.map(|known| known.nodes))),
        ];
        Findings {
            rows: verdict::rows(counts).into(),
            json: object(keys),
            verdict: known
                .filter(|_| complete)
                .map(|known| verdict::compare(counts, known)),
            agrees: "",
        }
    }

    fn smaller(&self) -> Option<(String, Self)> {
        let (name, chosen) = smaller::like(&self.chosen.params)?;
        let (split, engine) = (self.split, self.engine);
        let smaller = Self {
            chosen,
            split,
            engine,
            simulated: None,
            drawing: None,
        };
        Some((name, smaller))
    }
}
