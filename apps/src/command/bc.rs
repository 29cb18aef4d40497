//! `tautline bc`: betweenness centrality of a random graph.

use super::Failure;
use super::app::{App, Findings, Problem};
use super::balancer::whole;
use super::number::grouped;
use super::show::object;
use clap::Args;
use serde_json::json;
use std::sync::Arc;
use tautline::glb::PlaceId;
use tautline_cli::bc::{Bc as Bag, Centrality, Graph, Rmat, brandes};

const SCALE_MAX: u64 = Rmat::SCALE_MAX as u64;
const EDGE_FACTOR_MAX: u64 = Rmat::EDGE_FACTOR_MAX as u64;
/// The size for which a sequential program takes about a second.
const SCALE: u32 = 12;
const SCALE_SMALL: u32 = 10;
/// The number of neighbours examined in all walks up to which a graph is checked: less than a second.
const CHECKED_WORK_MAX: u64 = 50_000_000;
/// The relative difference that floating-point sums in another order may have.
const TOLERANCE: f64 = 1e-9;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline bc                                a graph of 4096 vertices, on all processors
  tautline bc --scale 14 --edge-factor 16    a larger and denser one
  tautline bc -a 0.25 -b 0.25 -c 0.25        one without hubs";

/// Compute the betweenness centrality of every vertex of an R-MAT graph
#[derive(Args, Debug)]
#[command(next_help_heading = "Graph", after_help = EXAMPLES)]
pub(super) struct Bc {
    /// The graph has 2^SCALE vertices [default: 12, simulated 10]
    #[arg(long, value_name = "SCALE", value_parser = whole::<u32, SCALE_MAX>(), allow_negative_numbers = true)]
    scale: Option<u32>,
    /// Edges drawn for each vertex; loops and parallel ones are left out
    #[arg(long, value_name = "N", default_value = "8", value_parser = whole::<u32, EDGE_FACTOR_MAX>(), allow_negative_numbers = true)]
    edge_factor: u32,
    /// Seed of the graph and of the order of the sources
    #[arg(
        id = "graph_seed",
        short = 'r',
        long = "graph-seed",
        value_name = "SEED",
        default_value = "1"
    )]
    #[arg(value_parser = whole::<u64, { u64::MAX }>(), allow_negative_numbers = true)]
    seed: u64,
    /// Probability of the upper left quarter of the matrix
    #[arg(
        short,
        value_name = "A",
        default_value = "0.57",
        allow_negative_numbers = true
    )]
    a: f64,
    /// Of the upper right one
    #[arg(
        short,
        value_name = "B",
        default_value = "0.19",
        allow_negative_numbers = true
    )]
    b: f64,
    /// Of the lower left one; the lower right one has the rest
    #[arg(
        short,
        value_name = "C",
        default_value = "0.19",
        allow_negative_numbers = true
    )]
    c: f64,
}

impl App for Bc {
    type Problem = Between;

    const NAME: &'static str = "bc";

    fn problem(&self, small: bool) -> Result<Between, Failure> {
        let usual = if small { SCALE_SMALL } else { SCALE };
        Between::new(Rmat {
            scale: self.scale.unwrap_or(usual),
            edge_factor: self.edge_factor,
            a: self.a,
            b: self.b,
            c: self.c,
            seed: self.seed,
        })
        .map_err(|error| Failure::Usage(format!("bc: {error}")))
    }
}

/// A graph, and its amount of work.
#[derive(Debug)]
pub(super) struct Between {
    rmat: Rmat,
    graph: Arc<Graph>,
    tasks: u64,
}

impl Between {
    fn new(rmat: Rmat) -> Result<Self, tautline_cli::bc::GraphError> {
        let graph = Arc::new(rmat.graph()?);
        Ok(Self {
            rmat,
            tasks: graph.tasks(),
            graph,
        })
    }

    fn neighbours_each(&self) -> u64 {
        (2 * self.graph.edges() / self.graph.vertices().max(1)) as u64
    }

    /// Compares with the sequential program, if that is quick.
    fn verdict(&self, betweenness: &[f64]) -> Option<Result<(), String>> {
        if self.tasks.saturating_mul(1 + self.neighbours_each()) > CHECKED_WORK_MAX {
            return None;
        }
        let expected = brandes(&self.graph);
        // A part of a very small sum is below the precision of either program.
        let is_apart = |(a, b): (&f64, &f64)| (a - b).abs() > TOLERANCE * b.abs().max(1e-3);
        let wrong = betweenness.iter().zip(&expected).position(is_apart);
        Some(wrong.map_or(Ok(()), |vertex| {
            let (found, expected) = (betweenness[vertex], expected[vertex]);
            Err(format!(
                "vertex {vertex} has {found}, but {expected} sequentially"
            ))
        }))
    }
}

impl Problem for Between {
    type Bag = Bag;

    const TASKS: &'static str = "vertices";

    const KIND: &'static str = "graph";

    fn title(&self) -> String {
        let Rmat {
            scale, edge_factor, ..
        } = self.rmat;
        format!("bc scale {scale}, edge factor {edge_factor}")
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let vertices = grouped(self.graph.vertices() as u64);
        let edges = grouped(self.graph.edges() as u64);
        vec![("graph", format!("{vertices} vertices, {edges} edges"))]
    }

    fn task_ns(&self) -> u64 {
        5 + 3 * self.neighbours_each()
    }

    fn tasks(&self) -> Option<u64> {
        Some(self.tasks)
    }

    fn bag(&self) -> Bag {
        Bag::root(&self.graph)
    }

    fn shared(&self, _: PlaceId) -> Arc<Graph> {
        Arc::clone(&self.graph)
    }

    fn output(&self) -> Centrality {
        Centrality::default()
    }

    fn findings(&self, output: &Centrality, complete: bool) -> Findings {
        let betweenness = output.betweenness(self.graph.vertices());
        let ranked = betweenness.iter().enumerate().rev();
        let top = ranked.max_by(|a, b| a.1.total_cmp(b.1));
        let checksum = format!("{:016x}", output.checksum());
        let rows = match top {
            Some((vertex, most)) => format!("{most:.3} at vertex {vertex}"),
            None => "no vertex".to_owned(),
        };
        let keys = [
            ("max_betweenness", json!(top.map(|(_, most)| most))),
            ("max_vertex", json!(top.map(|(vertex, _)| vertex))),
            ("checksum", json!(checksum)),
            ("edges_traversed", json!(output.edges())),
        ];
        Findings {
            rows: vec![
                ("most between", rows),
                ("checksum", checksum),
                ("edges traversed", grouped(output.edges())),
            ],
            json: object(keys),
            verdict: complete.then(|| self.verdict(&betweenness)).flatten(),
        }
    }

    fn smaller(&self) -> Option<(String, Self)> {
        let rmat = Rmat {
            scale: SCALE,
            ..self.rmat
        };
        let is_large = self.rmat.scale > SCALE + 1;
        let smaller = is_large.then(|| Self::new(rmat).ok()).flatten()?;
        Some((format!("scale {SCALE}"), smaller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use tautline_cli::bc::sequential;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        bc: Bc,
    }

    fn between(line: &str) -> Result<Between, String> {
        let line = Line::try_parse_from(line.split(' ')).map_err(|error| error.to_string())?;
        line.bc
            .problem(false)
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_result_is_checked_and_told() {
        let between = between("bc --scale 7 -r 2").unwrap();
        let output = sequential(&between.graph);
        let findings = between.findings(&output, true);
        assert_eq!(findings.verdict, Some(Ok(())));
        let most = findings.json["max_betweenness"].as_f64().unwrap();
        assert!(most > 100.0, "{most}");
        assert_eq!(between.findings(&output, false).verdict, None);
        let mut betweenness = output.betweenness(128);
        betweenness[3] *= 1.0 + 1e-8;
        let line = between.verdict(&betweenness).unwrap().unwrap_err();
        assert!(line.starts_with("vertex 3 has "), "{line}");
    }

    #[test]
    fn large_graphs_are_compared_with_smaller_ones() {
        let (name, smaller) = between("bc --scale 14 --edge-factor 2")
            .unwrap()
            .smaller()
            .unwrap();
        assert_eq!(
            (name.as_str(), smaller.graph.vertices()),
            ("scale 12", 4096)
        );
        assert!(smaller.smaller().is_none());
    }

    #[test]
    fn bad_options_are_one_line() {
        for (line, said) in [
            ("bc --scale 99", "bc: scale 99: at most 26"),
            (
                "bc --edge-factor 2000",
                "bc: edge factor 2000: at most 1024",
            ),
            (
                "bc -a 0.9 -b 0.2",
                "bc: a 0.9, b 0.2, c 0.19: probabilities from 0 to 1",
            ),
            ("bc --scale -1", "a whole number, not negative"),
        ] {
            let error = between(line).unwrap_err();
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
