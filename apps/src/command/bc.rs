//! `tautline bc`: betweenness centrality of a graph in a file, or of a random one.

use super::app::{About, App, Findings, Problem};
use super::balancer::whole;
use super::number::grouped;
use super::quote::escaped;
use super::show::object;
use super::story::Pending;
use super::{Failure, Outcome};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tautline_cli::bc::{Bc as Bag, Centrality, Graph, GraphError, Rmat, brandes};
use tautline_cli::graph::{self, Format, Listed, Options};
use tautline_cli::program::digest;
use tautline_cli::text::{Input, STANDARD_INPUT};

const SCALE_MAX: u64 = Rmat::SCALE_MAX as u64;
const EDGE_FACTOR_MAX: u64 = Rmat::EDGE_FACTOR_MAX as u64;
/// The size for which a sequential program takes about a second.
const SCALE: u32 = 12;
const SCALE_SMALL: u32 = 10;
/// The number of neighbours examined in all walks up to which a graph is checked: less than a
/// second.
const CHECKED_WORK_MAX: u64 = 50_000_000;
/// The relative difference that floating-point sums in another order may have.
const TOLERANCE: f64 = 1e-9;
/// The longest file that is read, in bytes.
const FILE_MAX: u64 = 1 << 35;

const EXAMPLES: &str = "\
EXAMPLES:
  tautline bc                                a graph of 4096 vertices, on all processors
  tautline bc --scale 14 --edge-factor 16    a larger and denser one
  tautline bc -a 0.25 -b 0.25 -c 0.25        one without hubs
  tautline bc friends.txt --output bc.csv    the graph of a list of edges; a value for each vertex
  tautline bc roads.mtx --weighted           a Matrix Market file, whose entries are lengths
  xzcat a.xz | tautline bc - --format metis  standard input, in a format that is named

FILE: a list of edges or CSV, Matrix Market, METIS, DIMACS, GML, GraphML, GEXF, Pajek, an adjacency list,
graph6, sparse6 or JSON, by its content or its name; also compressed by gzip. A list has an edge a line: two
vertices, which may have any names, and perhaps a length, separated by white space, commas, semicolons or
tabs; fields may be quoted; lines that begin with # or % are comments. The row \"read as\" states what was
recognised; what can be read in two ways is refused. Parallel edges count once, the shortest of them. Sums of
lengths are exact. A path passes through the vertices between its ends; where there are several shortest
paths between two vertices, each counts for its share.";

/// Compute the betweenness centrality of every vertex of a graph
#[derive(Args, Debug)]
#[command(next_help_heading = "Graph", after_help = EXAMPLES)]
pub(super) struct Bc {
    /// A graph, in one of the formats below; - is standard input [default: an R-MAT graph]
    #[arg(value_name = "FILE", conflicts_with_all = ["scale", "edge_factor", "a", "b", "c"])]
    file: Option<PathBuf>,
    /// Follow edges from their first vertex to the second only
    #[arg(long, requires = "file")]
    directed: bool,
    /// Take as shortest the paths of least length: of a list the third column, else the weights of
    /// edges
    #[arg(long, requires = "file")]
    weighted: bool,
    /// The format of the file [default: by its content, else its name]
    #[arg(long, value_name = "FORMAT", requires = "file", value_parser = format())]
    format: Option<Format>,
    /// Whether the first line of a list names its columns [default: by content]
    #[arg(long, value_name = "yes|no", requires = "file", num_args = 0..=1, require_equals = true, default_missing_value = "yes")]
    #[arg(value_parser = PossibleValuesParser::new(["yes", "no"]))]
    header: Option<String>,
    /// Allow lines of one name in a list: vertices without edges
    #[arg(long, requires = "file")]
    isolated: bool,
    /// Write the betweenness of every vertex: vertex,betweenness
    #[arg(long, value_name = "FILE.csv", help_heading = "Output")]
    output: Option<PathBuf>,
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
    /// Probability of the upper right quarter
    #[arg(
        short,
        value_name = "B",
        default_value = "0.19",
        allow_negative_numbers = true
    )]
    b: f64,
    /// Probability of the lower left quarter; the lower right one has the rest
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
        let output = Pending::open("--output", self.output.as_deref())?;
        let mut between = match &self.file {
            Some(path) => self.read(path)?,
            None => self.random(small).map_err(refused)?,
        };
        between.file = output;
        Ok(between)
    }
}

fn refused(error: GraphError) -> Failure {
    Failure::Usage(format!("bc: {error}"))
}

/// Parses the name of a format.
fn format() -> impl TypedValueParser<Value = Format> {
    let names = PossibleValuesParser::new(Format::all().map(Format::name));
    names.try_map(|name| {
        let found = Format::all().find(|format| format.name() == name);
        found.ok_or("not a format")
    })
}

impl Bc {
    fn random(&self, small: bool) -> Result<Between, GraphError> {
        let usual = if small { SCALE_SMALL } else { SCALE };
        Between::random(Rmat {
            scale: self.scale.unwrap_or(usual),
            edge_factor: self.edge_factor,
            a: self.a,
            b: self.b,
            c: self.c,
            seed: self.seed,
        })
    }

    fn read(&self, path: &Path) -> Result<Between, Failure> {
        let input = Input::read(path, FILE_MAX)?;
        let digest = digest([input.peek().as_bytes()]);
        let listed = graph::read(input, &self.options())?;
        let graph = Graph::of_file(&listed, self.seed).map_err(refused)?;
        let Listed { names, read_as, .. } = listed;
        let name = match path.as_os_str() == STANDARD_INPUT {
            true => "standard input".to_owned(),
            false => path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        };
        let source = Source::File(File {
            name: escaped(&name),
            names,
            read_as,
        });
        let mut between = Between::new(source, graph);
        between.input = Some(digest);
        Ok(between)
    }

    fn options(&self) -> Options {
        Options {
            format: self.format,
            is_directed: self.directed,
            is_weighted: self.weighted,
            has_header: self.header.as_deref().map(|header| header == "yes"),
            allows_isolated: self.isolated,
        }
    }
}

/// A graph from a file.
#[derive(Debug)]
struct File {
    name: String,
    /// The names of the vertices.
    names: Vec<String>,
    /// The format, and what else was recognised.
    read_as: String,
}

/// The origin of a graph.
#[derive(Debug)]
enum Source {
    Rmat(Rmat),
    File(File),
}

/// A graph, and its amount of work.
#[derive(Debug)]
pub(super) struct Between {
    source: Source,
    graph: Arc<Graph>,
    tasks: Option<u64>,
    /// The digest of the file.
    input: Option<String>,
    /// The file that receives the betweenness of every vertex.
    file: Option<Pending>,
}

impl Between {
    fn new(source: Source, graph: Graph) -> Self {
        Self {
            source,
            tasks: graph.tasks(),
            graph: Arc::new(graph),
            input: None,
            file: None,
        }
    }

    fn random(rmat: Rmat) -> Result<Self, GraphError> {
        Ok(Self::new(Source::Rmat(rmat), rmat.graph()?))
    }

    fn vertex(&self, number: usize) -> String {
        match &self.source {
            Source::Rmat(_) => number.to_string(),
            Source::File(file) => file.names[number].clone(),
        }
    }

    fn neighbours_each(&self) -> u64 {
        let directions = 2 - u64::from(self.graph.is_directed());
        directions * self.graph.edges() as u64 / self.graph.vertices().max(1) as u64
    }

    /// Returns the number of tasks; in a directed graph what it is at most.
    fn tasks_most(&self) -> u64 {
        let all = || {
            (self.graph.vertices() as u64)
                .saturating_pow(2)
                .saturating_mul(2)
        };
        self.tasks.unwrap_or_else(all)
    }

    fn write(&self, out: &mut impl Write, betweenness: &[f64]) -> io::Result<()> {
        writeln!(out, "vertex,betweenness")?;
        for (number, value) in betweenness.iter().enumerate() {
            let name = self.vertex(number);
            match name.contains(['"', ',', '\n']) {
                true => writeln!(out, "\"{}\",{value}", name.replace('"', "\"\""))?,
                false => writeln!(out, "{name},{value}")?,
            }
        }
        Ok(())
    }

    /// Compares with the sequential program, if that is quick.
    fn verdict(&self, betweenness: &[f64]) -> Option<Result<(), String>> {
        if self.tasks_most().saturating_mul(1 + self.neighbours_each()) > CHECKED_WORK_MAX {
            return None;
        }
        let expected = brandes(&self.graph);
        // A part of a very small sum is below the precision of either program.
        let is_apart = |(a, b): (&f64, &f64)| (a - b).abs() > TOLERANCE * b.abs().max(1e-3);
        let wrong = betweenness.iter().zip(&expected).position(is_apart);
        Some(wrong.map_or(Ok(()), |vertex| {
            let (found, expected) = (betweenness[vertex], expected[vertex]);
            let vertex = self.vertex(vertex);
            Err(format!(
                "vertex {vertex} has {found}, but {expected} sequentially"
            ))
        }))
    }
}

impl Problem for Between {
    type Bag = Bag;

    fn about(&self) -> About {
        let vertices = grouped(self.graph.vertices() as u64);
        let edges = grouped(self.graph.edges() as u64);
        let directed = if self.graph.is_directed() {
            " directed"
        } else {
            ""
        };
        let lengths = if self.graph.is_weighted() {
            " with lengths"
        } else {
            ""
        };
        let graph = format!("{vertices} vertices, {edges}{directed} edges{lengths}");
        let mut facts = vec![("graph", graph)];
        let title = match &self.source {
            Source::Rmat(Rmat {
                scale, edge_factor, ..
            }) => format!("bc scale {scale}, edge factor {edge_factor}"),
            Source::File(file) => {
                facts.push(("read as", escaped(&file.read_as)));
                format!("bc {}", file.name)
            }
        };
        About {
            unit: "vertices",
            kind: "graph",
            title,
            facts,
            task_ns: 5 + 3 * self.neighbours_each(),
            tasks: self.tasks,
            input: self.input.clone(),
        }
    }

    fn bag(&self) -> Bag {
        Bag::root(&self.graph)
    }

    fn shared(&self) -> Arc<Graph> {
        Arc::clone(&self.graph)
    }

    fn findings(&self, output: &Centrality, complete: bool) -> Findings {
        let betweenness = output.betweenness(&self.graph);
        let ranked = betweenness.iter().enumerate().rev();
        let top = ranked.max_by(|a, b| a.1.total_cmp(b.1));
        let checksum = format!("{:016x}", output.checksum());
        let rows = match top {
            Some((vertex, most)) => {
                let vertex = self.vertex(vertex);
                format!("{most:.3} at vertex {}", escaped(&vertex))
            }
            None => "no vertex".to_owned(),
        };
        let max_vertex = top.map(|(vertex, _)| match &self.source {
            Source::Rmat(_) => json!(vertex),
            Source::File(file) => json!(file.names[vertex]),
        });
        let read_as = match &self.source {
            Source::Rmat(_) => None,
            Source::File(file) => Some(&file.read_as),
        };
        let keys = [
            ("read_as", json!(read_as)),
            ("max_betweenness", json!(top.map(|(_, most)| most))),
            ("max_vertex", json!(max_vertex)),
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
            agrees: "equal to the sequential program",
        }
    }

    fn deliver(&self, output: &Centrality) -> Outcome {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let betweenness = output.betweenness(&self.graph);
        file.write(|out| self.write(out, &betweenness))
    }

    fn smaller(&self) -> Option<(String, Self)> {
        let Source::Rmat(rmat) = self.source else {
            return None;
        };
        let scaled = Rmat {
            scale: SCALE,
            ..rmat
        };
        let is_large = rmat.scale > SCALE + 1;
        let smaller = is_large.then(|| Self::random(scaled).ok()).flatten()?;
        Some((format!("scale {SCALE}"), smaller))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::app::read;
    use tautline_cli::bc::sequential;

    fn between(line: &str) -> Result<Between, String> {
        read::<Bc>(line)
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
        let mut betweenness = output.betweenness(&between.graph);
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
    fn a_file_has_names() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/graphs/karate.txt");
        let between = between(&format!("bc {file}")).unwrap();
        let output = sequential(&between.graph);
        let findings = between.findings(&output, true);
        assert_eq!(findings.verdict, Some(Ok(())));
        assert_eq!(findings.json["max_vertex"], json!("1"));
        let mut csv = Vec::new();
        between
            .write(&mut csv, &output.betweenness(&between.graph))
            .unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(csv.lines().count(), 35);
        let first = csv.lines().find(|line| line.starts_with("1,")).unwrap();
        assert!(first.starts_with("1,231.0714285714"), "{first}");
    }

    #[test]
    fn bad_options_are_one_line() {
        for (line, said) in [
            ("bc /nowhere.txt", "/nowhere.txt: No such file"),
            ("bc --directed", "required arguments were not provided"),
            ("bc a.txt --scale 3", "cannot be used with"),
            (
                "bc --output /nowhere/b.csv",
                "--output /nowhere/b.csv: a file that can be written",
            ),
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
