//! Files of graphs in the formats of other programs: all of the folder `graph_files` describe a
//! cube. Most were written by networkx 3.6.1. Mutated files are refused, or have the counts of an
//! independent counter.

mod counted;

use counted::{Count, counts};
use std::sync::Arc;
use tautline_cli::bc::{Graph, sequential};
use tautline_cli::graph::{self, Format, Listed, Options};
use tautline_cli::text::Input;

/// A file, its format, whether edges have lengths of the same proportions in all such files, and
/// its independent count.
struct File {
    name: &'static str,
    format: Format,
    has_lengths: bool,
    count: fn(&str) -> Option<Count>,
}

const fn file(
    name: &'static str,
    format: Format,
    has_lengths: bool,
    count: fn(&str) -> Option<Count>,
) -> File {
    File {
        name,
        format,
        has_lengths,
        count,
    }
}

const FILES: &[File] = &[
    file("list.txt", Format::List, false, counts::list),
    file("weighted.edgelist", Format::List, true, counts::list),
    file("snap.txt", Format::List, false, counts::list),
    file("header.csv", Format::List, false, counts::list),
    file("quoted.csv", Format::List, true, counts::list),
    file("names.tsv", Format::List, false, counts::list),
    file("packed.txt.gz", Format::List, false, counts::members),
    file("market.mtx", Format::Market, true, counts::market),
    file("pattern.mtx", Format::Market, false, counts::market),
    file("metis.graph", Format::Metis, false, counts::metis),
    file("weighted.graph", Format::Metis, true, counts::metis),
    file("roads.gr", Format::Dimacs, true, counts::dimacs),
    file("colour.col", Format::Dimacs, false, counts::dimacs),
    file("flow.max", Format::Dimacs, false, counts::dimacs),
    file("pace.gr", Format::Dimacs, false, counts::dimacs),
    file("nx.gml", Format::Gml, true, counts::gml),
    file("creator.gml", Format::Gml, true, counts::gml),
    file("nx.graphml", Format::Xml, true, counts::xml),
    file("nx.gexf", Format::Xml, true, counts::xml),
    file("nx.net", Format::Pajek, true, counts::pajek),
    file("list.net", Format::Pajek, false, counts::pajek),
    file("nx.adjlist", Format::Adjacency, false, counts::adjacency),
    file("nx.g6", Format::Six, false, counts::six),
    file("nx.s6", Format::Six, false, counts::six),
    file("digraph.d6", Format::Six, false, counts::six),
    file("nx.json", Format::Json, true, counts::json),
    file("cytoscape.json", Format::Json, true, counts::json),
    file("jgf.json", Format::Json, false, counts::json),
];

fn content(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/graph_files/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn read(name: &str, bytes: &[u8], options: &Options) -> Result<Listed, String> {
    let input = Input::new(name, bytes).map_err(|error| error.to_string())?;
    graph::read(input, options).map_err(|error| error.to_string())
}

fn betweenness(listed: &Listed) -> (usize, Vec<f64>) {
    let graph = Arc::new(Graph::of_file(listed, 1).unwrap());
    (graph.edges(), sequential(&graph).betweenness(&graph))
}

#[test]
fn every_format_of_the_cube_is_the_same_graph() {
    for file in FILES {
        let bytes = content(file.name);
        let listed = read(file.name, &bytes, &Options::default()).unwrap();
        assert_eq!(betweenness(&listed), (12, vec![2.5; 8]), "{}", file.name);
        let requested = Options {
            format: Some(file.format),
            ..Options::default()
        };
        let again = read("-", &bytes, &requested).unwrap();
        assert_eq!(again.edges, listed.edges, "{}", file.name);
        let weighted = Options {
            is_weighted: true,
            ..Options::default()
        };
        match (read(file.name, &bytes, &weighted), file.has_lengths) {
            // As networkx has it.
            (Ok(listed), true) => {
                let (edges, mut found) = betweenness(&listed);
                found.sort_by(f64::total_cmp);
                let expected = [0.0, 0.0, 0.0, 0.0, 4.0, 4.0, 8.0, 8.0];
                assert_eq!((edges, &found[..]), (12, &expected[..]), "{}", file.name);
            }
            (Err(line), false) => {
                assert!(line.contains("no ") || line.contains("lengths"), "{line}");
            }
            (other, _) => panic!("{}: {other:?}", file.name),
        }
    }
    for format in Format::all() {
        assert!(
            FILES.iter().any(|file| file.format == format),
            "{}",
            format.name()
        );
    }
}

#[test]
fn edges_without_direction_lead_both_ways() {
    let directed = Options {
        is_directed: true,
        ..Options::default()
    };
    for (name, ways) in [
        ("market.mtx", 24),
        ("pattern.mtx", 12),
        ("metis.graph", 24),
        ("nx.gml", 24),
        ("nx.graphml", 24),
        ("nx.net", 24),
        ("digraph.d6", 12),
        ("nx.g6", 24),
        ("list.txt", 12),
        ("roads.gr", 24),
        ("flow.max", 12),
    ] {
        let listed = read(name, &content(name), &directed).unwrap();
        assert_eq!(betweenness(&listed).0, ways, "{name}");
    }
}

/// A generator (xorshift: Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as usize % most.max(1)
    }
}

/// Parts of files: characters with a meaning in one of the formats, and some without.
const PIECES: &[&str] = &[
    "0", "1", "2", "8", "9", "12", " ", "\t", ",", ";", "\"", "#", "%", "\n", "\r\n", "\r", "[",
    "]", "<", ">", "/", "=", ":", "&", "?", "~", "*", "-", ".", "e", "c", "p", "a", "{", "}",
    "\u{e9}", "\u{a0}", "\u{feff}", "e ", "1 2\n", "node", "edge", "\"id\"", "|", "->", "0.5",
];

fn mutate(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(out.len() + 1);
        let end = (at + 1 + random.below(4)).min(out.len());
        let piece = PIECES[random.below(PIECES.len())].bytes();
        match random.below(9) {
            0 => drop(out.splice(at..at, piece)),
            1 => drop(out.splice(at..end, piece)),
            2 => drop(out.drain(at..end)),
            3 if at < out.len() => out[at] = random.below(256) as u8,
            4 if at < out.len() => out[at] ^= 1 << random.below(8),
            5 => out.truncate(at),
            6..=8 => lines(&mut out, random),
            _ => {}
        }
    }
    out
}

/// Removes, doubles or exchanges lines.
fn lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<_> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    if lines.is_empty() {
        return;
    }
    let [one, other] = [(); 2].map(|()| random.below(lines.len()));
    match random.below(3) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        _ => lines.swap(one, other),
    }
    *bytes = lines.concat();
}

/// Reads mutated files, and returns how many were accepted.
fn mutants(file: &File, count: usize, seed: u64) -> usize {
    let original = content(file.name);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut accepted = 0;
    for number in 0..count {
        let mutant = mutate(&original, &mut random);
        let options = Options {
            is_weighted: file.has_lengths && number % 4 == 0,
            ..Options::default()
        };
        let shown = || format!("{}: {:?}", file.name, String::from_utf8_lossy(&mutant));
        match read(file.name, &mutant, &options) {
            Ok(listed) => {
                accepted += 1;
                let found = Count {
                    vertices: listed.names.len(),
                    edges: listed.entries,
                };
                let text = counted::decoded(&mutant);
                assert_eq!(
                    Some(found),
                    (file.count)(&text),
                    "{}\n{}",
                    shown(),
                    listed.read_as
                );
                assert!(
                    listed
                        .edges
                        .iter()
                        .all(|(a, b)| *a.max(b) < found.vertices as u32)
                );
            }
            Err(line) => {
                let prefix = line.starts_with(&format!("{}:", file.name));
                assert!(prefix && !line.contains('\n'), "{line}\n{}", shown());
            }
        }
    }
    accepted
}

#[test]
fn mutated_files_are_refused_or_read_as_they_are() {
    for (number, file) in FILES.iter().enumerate() {
        mutants(file, 3000, number as u64 + 1);
    }
}

#[test]
#[ignore = "cargo ci deep: graph-files"]
fn a_million_mutated_files_of_each_format() {
    for (number, file) in FILES.iter().enumerate() {
        let accepted = mutants(file, 1_000_000, 1000 + number as u64);
        println!("{:<20} {accepted} of 1000000 accepted", file.name);
    }
}

/// Runs `tautline bc` on an input, in the folder of the files.
#[cfg(unix)]
fn bc(args: &[&str], input: &[u8]) -> (Option<i32>, String) {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautline"));
    let folder = format!("{}/tests/graph_files", env!("CARGO_MANIFEST_DIR"));
    command
        .arg("bc")
        .args(args)
        .args(["--quiet", "--baseline", "none"]);
    command.current_dir(folder).env("TAUTLINE_WARN", "0");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its options does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
#[cfg(unix)]
fn the_command_reads_standard_input_and_says_what_it_read() {
    let (code, table) = bc(&["-"], &content("packed.txt.gz"));
    assert_eq!(code, Some(0), "{table}");
    for row in [
        "graph             8 vertices, 12 edges\n",
        "read as           list of edges, 2 columns separated by white space,\n                  vertices 1 to 8\n",
        "most between      2.500 at vertex 1   equal to the sequential program\n",
    ] {
        assert!(table.contains(row), "{table}");
    }
    let (code, table) = bc(&["-", "--format", "adjacency"], b"a b c\nb c\n");
    assert!(
        code == Some(0) && table.contains("read as           adjacency list\n"),
        "{table}"
    );
    for (args, input, line) in [
        (
            &["-"][..],
            "a b\nc\n",
            "tautline: standard input:2:1: `c` alone: ",
        ),
        (
            &["-", "--ranks", "2"],
            "a b\n",
            "tautline: -: one process reads standard input, not 2 ranks: name a file\n",
        ),
        (
            &["list.txt", "--header=maybe"],
            "",
            "tautline: --header maybe: expected one of yes, no\n",
        ),
        (
            &["list.txt", "--format", "dot"],
            "",
            "tautline: --format dot: expected one of list, market, metis, dimacs, ",
        ),
        (
            &["no\n\u{1b}[31mfile"],
            "",
            "tautline: no\\n\\u{1b}[31mfile: No such file",
        ),
    ] {
        let (code, said) = bc(args, input.as_bytes());
        assert!(
            code == Some(2) && said.starts_with(line),
            "{args:?}: {said}"
        );
    }
}

/// A mistake for each rule of each format.
#[test]
fn mistakes_are_refused_with_their_place() {
    let graphml =
        |inner: &str| format!("<graphml><graph edgedefault='undirected'>{inner}</graph></graphml>");
    let gexf = |inner: &str| format!("<gexf><graph>{inner}</graph></gexf>");
    for (name, text, said) in [
        (
            "x.mtx",
            "6 6 3\n2 1\n",
            "x.mtx:1:1: `6 6 3`: %%MatrixMarket matrix coordinate, then",
        ),
        (
            "x",
            "%MatrixMarket matrix\n",
            "x:1:1: `%MatrixMarket matrix`: %%MatrixMarket matrix",
        ),
        (
            "x",
            "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n",
            "x:2:1: 2 x 3, 1 entries: a square",
        ),
        (
            "x",
            "%%MatrixMarket matrix coordinate pattern general\n",
            "x:2:1: no size: rows, columns and entries",
        ),
        (
            "x",
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 3\n",
            "x:3:3: vertex 3: from 1 to 2",
        ),
        (
            "x",
            "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2\n",
            "x:3:1: 2 words: 3",
        ),
        (
            "x",
            "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n",
            "x:4:1: 1 entries: 2, as the line",
        ),
        (
            "x.gr",
            "a 1 2 3\n",
            "x.gr:1:1: DIMACS: `a 1 2 3`: p, then sp, edge, col, max, tw, then the numbers",
        ),
        (
            "x",
            "p sp 2 1\ne 1 2\n",
            "x:2:1: DIMACS: `e`: a line begins with a, or with c",
        ),
        ("x", "p sp 2 1\na 1 2\n", "x:2:1: DIMACS: 2 numbers: 3"),
        (
            "x",
            "p edge 2 1\ne 1 3\n",
            "x:2:5: DIMACS: vertex 3: from 1 to 2",
        ),
        (
            "x",
            "p edge 2 3\ne 1 2\n",
            "x:3:1: DIMACS: 1 edges: 3, as the line `p edge 2 3` states",
        ),
        ("x", "p cnf 2 1\n1 2 0\n", "x:1:1: DIMACS: `p cnf 2 1`: "),
        ("x", "graph [ node [ id 1 ]", "x:1:7: GML: [ without ]"),
        ("x", "graph [ node [ ] ]", "x:1:9: GML: a node without id"),
        (
            "x",
            "graph [ node [ id 1 ] node [ id 1 ] ]",
            "x:1:33: GML: a second node 1",
        ),
        (
            "x",
            "graph [ edge [ source 1 target 2 ] ]",
            "x:1:23: GML: no node 1",
        ),
        (
            "x",
            "graph [ node [ id 1 node [ id 2 ] ] ]",
            "x:1:21: GML: a node or an edge in another list",
        ),
        (
            "x",
            "graph [ nodX [ id 1 ] ]",
            "x:1:9: GML: `nodX`: node or edge",
        ),
        (
            "x",
            "graph [ directed 2 ]",
            "x:1:18: GML: directed 2: 0 or 1",
        ),
        ("x", "graph [ ] graph [ ]", "x:1:11: GML: a second graph"),
        (
            "x",
            "graph [ label \"a\n]",
            "x:1:15: a quote without an end",
        ),
        (
            "x",
            &graphml("<node id='a'/><node id='a'/>"),
            "x:1:56: GraphML: a second node a",
        ),
        (
            "x",
            &graphml("<edge source='a' target='b'/>"),
            "x:1:42: GraphML: no node a",
        ),
        (
            "x",
            &graphml("<nodX id='a'/>"),
            "x:1:42: GraphML: `nodX`: expected nodes and edges",
        ),
        (
            "x",
            &graphml("<hyperedge/>"),
            "x:1:42: GraphML: `hyperedge`: expected",
        ),
        (
            "x",
            &graphml("<node id='a'><graph/></node>"),
            "x:1:55: GraphML: a second graph",
        ),
        (
            "x",
            &gexf("<node id='a'/>"),
            "x:1:14: GEXF: `node` in another element",
        ),
        (
            "x",
            "<graphml>",
            "x:1:1: XML: the root node was opened but never closed",
        ),
        (
            "x",
            "<svg/>",
            "x:1:1: XML with the root `svg`: graphml or gexf; ",
        ),
        ("x", "<!DOCTYPE html><html>", "x:1:1: an HTML page; "),
        (
            "x.net",
            "1 2\n",
            "x.net:1:1: Pajek: expected *Vertices and their number",
        ),
        (
            "x",
            "*Vertices 2\n*Edges\n1 3\n",
            "x:3:3: Pajek: vertex 3: from 1 to 2",
        ),
        ("x", "*Vertices 2\n1 \"a\n", "x:2:3: a quote without an end"),
        (
            "x",
            "*Vertices 2\n*Matrix\n0 1\n",
            "x:2:1: Pajek: `*Matrix`: sections are *vertices, *arcs, ",
        ),
        (
            "x",
            "*Vertices 2\n*Vertices 2\n",
            "x:2:1: Pajek: a second *Vertices",
        ),
        (
            "x.adjlist",
            "a ->\n",
            "x.adjlist:1:3: `->`: the name of a vertex",
        ),
        (
            "x.g6",
            "A\n",
            "x.g6:1:2: graph6: 0 characters: 1 for 2 vertices",
        ),
        (
            "x.g6",
            "A_ \nA_\n",
            "x.g6:2:1: graph6: a second graph: one is read",
        ),
        (
            "x.g6",
            "A!\n",
            "x.g6:1:2: graph6: `!`: characters from `?` to `~`",
        ),
        (
            "x.g6",
            "A`\n",
            "x.g6:1:2: graph6: bits after the last edge are not zero",
        ),
        (
            "x",
            ">>sparse6<<A_\n",
            "x:1:1: `:` is missing after >>sparse6<<",
        ),
        (
            "x",
            "[[1, 2]]",
            "x:1:1: JSON: expected an object with nodes",
        ),
        (
            "x",
            "{\"nodes\": [{\"id\": 1}, {\"id\": 1}], \"links\": []}",
            "x:1:23: JSON: a second node 1",
        ),
        (
            "x",
            "{\"nodes\": [], \"links\": [{\"source\": 1, \"target\": 2}]}",
            "x:1:36: JSON: no node 1",
        ),
        (
            "x",
            "{\"nodes\": [], \"links\": [{\"source\": 1}]}",
            "x:1:25: JSON: an edge without source and target",
        ),
        (
            "x",
            "{\"nodes\": [],\n \"links\": [}",
            "x:2:12: JSON: expected value",
        ),
        (
            "x",
            "digraph { a -> b }",
            "x:1:1: Graphviz: convert it by `gv2gml`; ",
        ),
    ] {
        let line = read(name, text.as_bytes(), &Options::default()).unwrap_err();
        assert!(line.starts_with(said), "{text:?}: {line}");
    }
}
