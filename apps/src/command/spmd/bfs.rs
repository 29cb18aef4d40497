//! `tautline bfs`: the breadth-first search of Graph500.

use super::{Computed, Memory, Problem};
use crate::command::Failure;
use crate::command::app::{About, App};
use crate::command::balancer::within;
use crate::command::number::{grouped, rate};
use crate::command::show::object;
use clap::Args;
use tautline::Runtime;
use tautline::internal::spelling;
use tautline::world::World;
use tautline_cli::bfs::{self, Found, Rmat, Searches, Teps};
use tautline_cli::program::{Findings, Value};

const EXAMPLES: &str = "\
EXAMPLES:
  tautline bfs                                   65 536 vertices, 1 048 576 edges, 64 search keys
  tautline bfs --scale 20 --keys 8 --workers 2   a larger graph, two workers
  tautline bfs --ranks 4                         four processes, with a quarter of the vertices each
  tautline bfs --ranks 4 --loopback              four ranks of this process
  mpirun -n 4 tautline bfs                       ranks of MPI, in a build with the feature mpi

Edges are drawn as by Graph500's Kronecker generator (A 0.57, B 0.19, C 0.19), but from other random numbers and with another
permutation of the vertices. Each tree is validated by the five rules of the specification. TEPS are the edges of the list
in the component of the key, with loops and parallel ones, per second of the search. Levels, visited vertices and
checksum are the same for every number of ranks and workers; parents are not.";

/// The most searches.
const KEYS_MAX: u64 = 1 << 16;

/// Search R-MAT graphs breadth-first (Graph500), in traversed edges per second (TEPS)
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bfs {
    /// The graph has 2^N vertices
    #[arg(long, value_name = "N", default_value = "16", value_parser = scale, allow_negative_numbers = true)]
    scale: u32,
    /// Edges for each vertex, in the mean
    #[arg(long, value_name = "N", default_value = "16", value_parser = edge_factor, allow_negative_numbers = true)]
    edge_factor: u32,
    /// Searches, each from another vertex that has neighbours
    #[arg(long, value_name = "N", default_value = "64", value_parser = keys, allow_negative_numbers = true)]
    keys: u32,
    /// Seed of the edges and of the search keys
    #[arg(long, value_name = "N", default_value = "1", value_parser = spelling::seed, allow_negative_numbers = true)]
    seed: u64,
}

fn scale(text: &str) -> Result<u32, String> {
    within(text, 1..=Rmat::SCALE_MAX.into()).map(|scale| scale as u32)
}

fn edge_factor(text: &str) -> Result<u32, String> {
    within(text, 1..=Rmat::EDGE_FACTOR_MAX.into()).map(|factor| factor as u32)
}

fn keys(text: &str) -> Result<u32, String> {
    within(text, 1..=KEYS_MAX).map(|keys| keys as u32)
}

impl App for Bfs {
    type Problem = Searches;

    const NAME: &'static str = "bfs";

    fn problem(&self, _small: bool) -> Result<Searches, Failure> {
        let graph = Rmat {
            scale: self.scale,
            edge_factor: self.edge_factor,
            seed: self.seed,
        };
        let keys = self.keys;
        Ok(Searches { graph, keys })
    }
}

impl Problem for Searches {
    type Solution = Vec<Found>;

    fn about(&self) -> About {
        let Rmat { scale, seed, .. } = self.graph;
        let (vertices, edges) = (grouped(self.graph.vertices()), grouped(self.graph.edges()));
        About {
            unit: "edges",
            facts: vec![(
                "graph",
                format!("R-MAT, 2^{scale} = {vertices} vertices, {edges} edges, seed {seed}"),
            )],
            ..About::default()
        }
    }

    fn memory(&self, ranks: u32) -> Option<Memory> {
        let Rmat {
            scale, edge_factor, ..
        } = self.graph;
        Some(Memory {
            option: match edge_factor {
                16 => format!("--scale {scale}"),
                _ => format!("--scale {scale} --edge-factor {edge_factor}"),
            },
            bytes: self.bytes(ranks),
        })
    }

    #[track_caller]
    fn across(
        &self,
        world: &World,
        runtime: &Runtime,
    ) -> tautline::Result<Option<Computed<Vec<Found>>>> {
        let measured = bfs::across(self, world, runtime)?;
        Ok(measured.map(|measured| Computed {
            solution: measured.found,
            times: measured.seconds,
        }))
    }

    fn sequential(&self) -> Vec<Found> {
        bfs::sequential(self)
    }

    fn findings(&self, found: &Vec<Found>) -> Findings {
        let visited = found.iter().map(Found::visited);
        let (least, most) = (visited.clone().min(), visited.clone().max());
        let [least, most] = [least, most].map(|count| grouped(count.unwrap_or_default()));
        let visited = Vec::from_iter(visited);
        let range = match least == most {
            true => most,
            false => format!("{least} to {most}"),
        };
        let checksum = found.iter().fold(0_u64, |all, found| {
            all.rotate_left(1).wrapping_add(found.checksum)
        });
        let checksum = format!("{checksum:016x}");
        let levels = match found.first() {
            Some(found) => {
                let sizes = found.levels.iter().map(|size| grouped(*size));
                format!("{} from the first", sizes.collect::<Vec<_>>().join(", "))
            }
            None => "none, no vertex has neighbours".to_owned(),
        };
        let each = |of: fn(&Found) -> Value| found.iter().map(of).collect::<Value>();
        Findings {
            rows: vec![
                (
                    "visited",
                    format!("{range} vertices from {} keys", found.len()),
                ),
                ("levels", levels),
                ("checksum", checksum.clone()),
            ],
            json: object([
                ("vertices", self.graph.vertices().into()),
                ("keys", each(|found| found.key.into())),
                ("visited", visited.into()),
                ("levels", each(|found| found.levels.clone().into())),
                ("traversed", each(|found| found.edges.into())),
                ("checksum", checksum.into()),
            ]),
            verdict: Some(verdict(found)),
            agrees: "",
        }
    }

    fn work(&self, found: &Vec<Found>) -> u64 {
        found.iter().map(|found| found.edges).sum()
    }

    fn rates(&self, computed: &Computed<Vec<Found>>) -> Findings {
        let edges = computed.solution.iter().map(|found| found.edges);
        let Some(teps) = Teps::of(edges, computed.times.iter().copied()) else {
            return Findings::default();
        };
        let spelled = |value| format!("{}TEPS", rate(value));
        Findings {
            rows: vec![
                ("harmonic mean", spelled(teps.harmonic_mean)),
                ("median", spelled(teps.median)),
            ],
            json: object([
                ("teps_harmonic_mean", teps.harmonic_mean.into()),
                ("teps_median", teps.median.into()),
            ]),
            ..Findings::default()
        }
    }
}

/// Returns the outcome of the validation: that of the first search which breaks a rule.
fn verdict(found: &[Found]) -> Result<(), String> {
    let broken = found
        .iter()
        .find_map(|found| Some((found.key, found.violation?)));
    match broken {
        Some((key, violation)) => Err(format!("bfs: from key {key}, {violation}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautline_cli::bfs::{Rule, Violation};

    #[test]
    fn a_tree_that_breaks_a_rule_is_wrong() {
        let searches = crate::command::app::read::<Bfs>("bfs --scale 6 --keys 3");
        let searches = searches.expect("options within bounds");
        let mut found = searches.sequential();
        assert_eq!(searches.findings(&found).verdict, Some(Ok(())));
        let rule = Rule::Component;
        found[1].violation = Some(Violation { rule, vertex: 7 });
        let key = found[1].key;
        let line = format!(
            "bfs: from key {key}, vertex 7 breaks rule 4, the tree spans the component of the key"
        );
        assert_eq!(searches.findings(&found).verdict, Some(Err(line)));
    }
}
