//! Graphs in files, in the formats of other programs.
//!
//! The format is the one requested, else that whose mark the content has, else that of the file's
//! name. A file that can be read in more than one way, or in none, is refused in one line: a list
//! of edges of the wrong graph would go unnoticed. [`Listed::read_as`] states how a file was read.
//!
//! | format | names | read |
//! |---|---|---|
//! | list of edges, CSV | `.txt` `.csv` `.tsv` `.edges` … | two vertices a line, perhaps a length |
//! | Matrix Market | `.mtx` | coordinate matrices (Boisvert, Pozo, Remington 1996) |
//! | METIS, Chaco | `.graph` `.metis` | the neighbours of each vertex, with weights (Karypis, Kumar 1998) |
//! | DIMACS | `.gr` `.col` `.max` … | shortest paths, colouring, flow, PACE |
//! | GML | `.gml` | (Himsolt 1996) |
//! | GraphML, GEXF | `.graphml` `.gexf` | without ports, hyperedges and nested graphs |
//! | Pajek | `.net` `.paj` | `*Vertices`, `*Arcs`, `*Edges`, `*Arcslist`, `*Edgeslist` |
//! | adjacency list | `.adjlist` | a vertex and its neighbours a line |
//! | graph6, sparse6, digraph6 | `.g6` `.s6` `.d6` | one graph (McKay) |
//! | JSON | `.json` | objects with `nodes` and `links` or `edges` |
//!
//! ```
//! use tautline_cli::graph::{self, Options};
//! use tautline_cli::text::Input;
//!
//! let file = Input::new("friends.csv", b"source,target\nAnn,Bob\nBob,Cid\n")?;
//! let graph = graph::read(file, &Options::default())?;
//! assert_eq!((&graph.names[..], &graph.edges[..]), (&["Ann", "Bob", "Cid"].map(String::from)[..], &[(0, 1), (1, 2)][..]));
//! assert_eq!(graph.read_as, "list of edges, 2 columns separated by commas, header `source,target`");
//!
//! let file = Input::new("friends.dot", b"graph { Ann -- Bob }")?;
//! let refusal = graph::read(file, &Options::default()).unwrap_err().to_string();
//! assert!(refusal.starts_with("friends.dot:1:1: Graphviz: convert it by `gv2gml`; "));
//! # Ok::<(), tautline::FileError>(())
//! ```
#![forbid(unsafe_code)]

mod adjacency;
mod builder;
mod decimal;
mod dimacs;
mod format;
mod gml;
mod json;
mod list;
mod market;
mod metis;
mod pajek;
mod recognise;
mod six;
mod words;
mod xml;

pub use format::Format;

use crate::text::{Input, Text};
use builder::{Builder, Ways};
use tautline::FileError;

/// The maximum number of vertices.
pub const VERTICES_MAX: usize = 1 << 26;

/// Options for reading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; `None`: by content, else by name.
    pub format: Option<Format>,
    /// Whether edges lead from the first vertex to the second only. Those of a format without
    /// directions lead both ways.
    pub is_directed: bool,
    /// Whether edges have lengths.
    pub is_weighted: bool,
    /// Whether the first line of a list names its columns; `None`: by content.
    pub has_header: Option<bool>,
    /// Whether a list may have lines of one name: vertices without edges.
    pub allows_isolated: bool,
}

/// A graph as a file lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name of each vertex.
    pub names: Vec<String>,
    /// Edges, by the numbers of their vertices.
    pub edges: Vec<(u32, u32)>,
    /// The length of each edge, exact, in units of the last decimal of all; the sum over any path
    /// fits.
    pub lengths: Option<Vec<u128>>,
    /// The number of edges in the file. One without a direction stands twice in `edges` of a
    /// directed graph.
    pub entries: usize,
    /// Whether edges lead from the first vertex to the second only.
    pub is_directed: bool,
    /// The format, and what else was recognised.
    pub read_as: String,
}

/// Reads a graph.
///
/// # Errors
/// Content that is not of its format, or of a format that is not read, with file, line and column.
pub fn read(input: Input, options: &Options) -> Result<Listed, FileError> {
    let format = match options.format {
        Some(format) => format,
        None => recognise::recognise(&input)?,
    };
    let text = input.into_text(|line| format.is_comment(line))?;
    let listed = reader(format)(&text, options)?;
    debug_assert!(
        listed
            .lengths
            .iter()
            .all(|lengths| lengths.len() == listed.edges.len())
    );
    Ok(listed)
}

fn reader(format: Format) -> fn(&Text, &Options) -> Result<Listed, FileError> {
    match format {
        Format::List => list::read,
        Format::Market => market::read,
        Format::Metis => metis::read,
        Format::Dimacs => dimacs::read,
        Format::Gml => gml::read,
        Format::Xml => xml::read,
        Format::Pajek => pajek::read,
        Format::Adjacency => adjacency::read,
        Format::Six => six::read,
        Format::Json => json::read,
    }
}
