//! Neither the files nor the folders of a crate import from each other in a circle.
//!
//! Two files that need each other are one concept in two places: neither can be read, tested or
//! moved alone. So are two folders of one folder, even where each of their files is in no circle.
//! An import between files is a use of an item in the file that defines it, wherever it is
//! re-exported (`imports`). Imports from an ancestor are excluded: what a folder's `mod.rs` defines
//! is the common vocabulary of the folder's files, which it also uses and re-exports. Exceptions
//! are argued in ARCHITECTURE.md, which this job reads.

use super::{Verdict, judge};
use crate::imports::{Import, imports};
use crate::source::Source;
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// The section of ARCHITECTURE.md that lists the exceptions, one on a line:
/// ``- `path/from.rs` → `path/to.rs`: argument``, or with two folders.
const SECTION: &str = "Circles of files";

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let findings = check(tree)?;
    judge(findings, "")
}

/// The circles without an argument, and the exceptions that are not needed.
fn check(tree: &Tree) -> Result<Vec<String>> {
    let exceptions = exceptions(&tree.read("ARCHITECTURE.md").unwrap_or_default())?;
    let mut needed = vec![false; exceptions.len()];
    let mut out = Vec::new();
    for folder in folders(tree) {
        let sources = tree.sources(&folder)?;
        let mut graph = Graph::new(&folder, &sources);
        let mut judge = |graph: &mut Graph| {
            for (exception, needed) in exceptions.iter().zip(&mut needed) {
                *needed |= graph.except(exception);
            }
            for circle in graph.circles() {
                out.push(graph.describe(&circle));
            }
        };
        judge(&mut graph);
        for mut graph in graph.by_folder(&folder) {
            judge(&mut graph);
        }
    }
    for (exception, needed) in exceptions.iter().zip(needed) {
        let [from, to] = &exception.ends;
        if !needed {
            out.push(format!(
                "ARCHITECTURE.md:{}: {from} → {to} is not part of any circle: remove the exception",
                exception.line
            ));
        }
    }
    Ok(out)
}

/// The folders with the files of one crate each.
fn folders(tree: &Tree) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = ["core", "exhibits", "platforms", "apps", "verify", "ci"]
        .map(PathBuf::from)
        .into();
    for backend in tree.folders("backends") {
        let backend = Path::new("backends").join(backend);
        out.extend([backend.join("bare"), backend]);
    }
    for folder in &mut out {
        folder.push("src");
    }
    let examples = Path::new("benches/examples");
    out.extend(tree.folders(examples).iter().map(|n| examples.join(n)));
    out
}

/// An import that may close a circle.
#[derive(Debug, PartialEq, Eq)]
struct Exception {
    line: usize,
    /// Two files, or two folders.
    ends: [String; 2],
}

/// The exceptions that ARCHITECTURE.md lists; an exception without its argument is malformed.
fn exceptions(text: &str) -> Result<Vec<Exception>> {
    let mut inside = false;
    let mut out = Vec::new();
    for (n, line) in text.lines().enumerate() {
        if line.starts_with('#') {
            inside = line.trim_start_matches('#').trim() == SECTION;
        }
        let Some(item) = line.strip_prefix("- ").filter(|_| inside) else {
            continue;
        };
        let parts: Vec<&str> = item.split('`').collect();
        let [_, from, " → ", to, argument] = parts[..] else {
            bail!(
                "ARCHITECTURE.md:{}: an exception is written: - `from` → `to`: argument",
                n + 1
            );
        };
        if argument.trim_start_matches(':').trim().is_empty() {
            bail!(
                "ARCHITECTURE.md:{}: an exception without an argument",
                n + 1
            );
        }
        out.push(Exception {
            line: n + 1,
            ends: [from.to_owned(), to.to_owned()],
        });
    }
    Ok(out)
}

/// The imports of one crate, between its files or between the folders in one of its folders.
struct Graph<'a> {
    sources: &'a [Source],
    /// The files or folders.
    nodes: Vec<PathBuf>,
    /// For each node those from which it imports, with the first import of each.
    edges: Vec<BTreeMap<usize, Import>>,
}

impl<'a> Graph<'a> {
    fn new(folder: &Path, sources: &'a [Source]) -> Self {
        let mut edges: Vec<BTreeMap<usize, Import>> = Vec::new();
        edges.resize_with(sources.len(), BTreeMap::new);
        for import in imports(folder, sources) {
            if !is_ancestor(&sources[import.to].path, &sources[import.from].path) {
                edges[import.from].entry(import.to).or_insert(import);
            }
        }
        let nodes = sources.iter().map(|source| source.path.clone()).collect();
        Self {
            sources,
            nodes,
            edges,
        }
    }

    /// For each folder at or below `top` the graph of the folders directly in it, each with all
    /// that is below it.
    fn by_folder(&self, top: &Path) -> Vec<Self> {
        let parents = self.nodes.iter().flat_map(|file| file.ancestors().skip(1));
        let parents: BTreeSet<&Path> = parents.filter(|folder| folder.starts_with(top)).collect();
        let one = |parent: &&Path| {
            let mut graph = Self {
                sources: self.sources,
                nodes: Vec::new(),
                edges: Vec::new(),
            };
            for import in self.edges.iter().flat_map(BTreeMap::values) {
                let ends = [import.from, import.to].map(|file| {
                    let child = child(parent, &self.nodes[file])?;
                    Some(graph.node(child))
                });
                if let [Some(from), Some(to)] = ends
                    && from != to
                {
                    graph.edges[from]
                        .entry(to)
                        .or_insert_with(|| import.clone());
                }
            }
            graph
        };
        parents.iter().map(one).collect()
    }

    /// The index of a node, which is added if it is new.
    fn node(&mut self, path: PathBuf) -> usize {
        let found = self.nodes.iter().position(|node| *node == path);
        found.unwrap_or_else(|| {
            self.nodes.push(path);
            self.edges.push(BTreeMap::new());
            self.nodes.len() - 1
        })
    }

    /// Removes an excepted import; returns whether it was part of a circle.
    fn except(&mut self, exception: &Exception) -> bool {
        let [from, to] = &exception.ends;
        let node = |name: &str| self.nodes.iter().position(|node| node == Path::new(name));
        let (Some(from), Some(to)) = (node(from), node(to)) else {
            return false;
        };
        let needed = self.edges[from].contains_key(&to) && self.path(to, from).is_some();
        self.edges[from].remove(&to);
        needed
    }

    /// The shortest chain of imports between two nodes, with both of them.
    fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        let mut open = VecDeque::from([from]);
        while let Some(at) = open.pop_front() {
            for next in self.edges[at].keys() {
                if before.contains_key(next) {
                    continue;
                }
                before.insert(*next, at);
                if *next == to {
                    let mut path = vec![to];
                    let mut at = before[&to];
                    while at != from {
                        path.push(at);
                        at = before[&at];
                    }
                    path.push(from);
                    path.reverse();
                    return Some(path);
                }
                open.push_back(*next);
            }
        }
        None
    }

    /// For each group of nodes that reach each other, the shortest circle among them.
    fn circles(&self) -> Vec<Vec<usize>> {
        let mut done = BTreeSet::new();
        let mut out = Vec::new();
        for node in 0..self.nodes.len() {
            if done.contains(&node) || self.path(node, node).is_none() {
                continue;
            }
            let group: Vec<usize> = (node..self.nodes.len())
                .filter(|other| *other == node || self.path(node, *other).is_some())
                .filter(|other| self.path(*other, node).is_some())
                .collect();
            let circles = group.iter().filter_map(|node| self.path(*node, *node));
            out.extend(circles.min_by_key(Vec::len));
            done.extend(group);
        }
        out
    }

    /// The imports that make a circle, each with its line.
    fn describe(&self, circle: &[usize]) -> String {
        let steps = circle.windows(2).map(|step| {
            let import = &self.edges[step[0]][&step[1]];
            let to = self.sources[import.to].path.display();
            self.sources[import.from].at(import.line, format!("{} of {to}", import.name))
        });
        steps.collect::<Vec<_>>().join("\n    ")
    }
}

/// The folder directly in `parent` that contains `file`.
fn child(parent: &Path, file: &Path) -> Option<PathBuf> {
    let mut inside = file.strip_prefix(parent).ok()?.iter();
    let first = inside.next()?;
    inside.next().map(|_| parent.join(first))
}

/// Whether `file` is in the folder whose root module is `root`.
fn is_ancestor(root: &Path, file: &Path) -> bool {
    let stem = root.file_stem().and_then(|s| s.to_str()).unwrap_or("");
    let folder = match stem {
        "mod" | "lib" | "main" => root.parent().unwrap_or(Path::new("")).to_path_buf(),
        _ => root.with_extension(""),
    };
    root != file && file.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::{check, exceptions};
    use crate::tree::sample::Sample;

    const CIRCLE: &[(&str, &str)] = &[
        ("core/src/lib.rs", "mod a; mod b; mod c;"),
        ("core/src/a.rs", "use crate::b::B;\npub struct A;"),
        ("core/src/b.rs", "\nuse crate::c::C; pub struct B;"),
        ("core/src/c.rs", "\n\nuse crate::a::A; pub struct C;"),
    ];

    #[test]
    fn a_circle_is_described_import_by_import() {
        let found = check(&Sample::new(CIRCLE)).unwrap();
        assert_eq!(found.len(), 1);
        for step in [
            "core/src/a.rs:1: crate::b::B of core/src/b.rs",
            "core/src/b.rs:2: crate::c::C of core/src/c.rs",
            "core/src/c.rs:3: crate::a::A of core/src/a.rs",
        ] {
            assert!(found[0].contains(step), "{found:?}");
        }
    }

    #[test]
    fn each_group_of_files_is_reported_once() {
        let tree = Sample::new(CIRCLE);
        tree.write("core/src/b.rs", "use crate::{a::A, c::C}; pub struct B;");
        tree.write("backends/x/src/main.rs", "mod p; mod q;");
        tree.write("backends/x/src/p.rs", "pub fn f() { super::q::g() }");
        tree.write("backends/x/src/q.rs", "pub fn g() { super::p::f() }");
        let found = check(&tree).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].lines().count(), 2, "the shortest: {found:?}");
    }

    #[test]
    fn a_folder_and_its_files_know_each_other() {
        let tree = Sample::new(&[
            ("ci/src/main.rs", "mod a; pub struct Top;"),
            ("ci/src/a/mod.rs", "mod b; use b::B; pub struct A(B);"),
            (
                "ci/src/a/b.rs",
                "use super::A; use crate::Top; pub struct B;",
            ),
        ]);
        assert_eq!(check(&tree).unwrap(), [""; 0]);
    }

    #[test]
    fn folders_are_in_a_circle_where_no_files_are() {
        let tree = Sample::new(&[
            ("core/src/lib.rs", "mod a; mod b; mod c;"),
            ("core/src/a/mod.rs", "mod x; pub mod y;"),
            ("core/src/a/x.rs", "\nuse crate::b::B;"),
            ("core/src/a/y.rs", "pub struct Y;"),
            ("core/src/b/mod.rs", "mod z; pub struct B;"),
            ("core/src/b/z.rs", "use crate::a::y::Y;"),
            ("core/src/c/mod.rs", "use crate::{a::y::Y, b::B};"),
        ]);
        let found = check(&tree).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        for step in [
            "core/src/a/x.rs:2: crate::b::B of core/src/b/mod.rs",
            "core/src/b/z.rs:1: crate::a::y::Y of core/src/a/y.rs",
        ] {
            assert!(found[0].contains(step), "{found:?}");
        }
        let excepted = "## Circles of files\n- `core/src/b` → `core/src/a`: they are twins\n";
        tree.write("ARCHITECTURE.md", excepted);
        assert_eq!(check(&tree).unwrap(), [""; 0]);
    }

    #[test]
    fn an_exception_must_be_needed_and_argued() {
        let tree = Sample::new(CIRCLE);
        let section = "# X\n- `no`\n## Circles of files\n";
        let listed = |item: &str| tree.write("ARCHITECTURE.md", &format!("{section}{item}\n"));
        listed("- `core/src/c.rs` → `core/src/a.rs`: they are twins");
        assert_eq!(check(&tree).unwrap(), [""; 0]);
        listed("- `core/src/a.rs` → `core/src/c.rs`: they are twins");
        let found = check(&tree).unwrap();
        assert!(found[1].starts_with("ARCHITECTURE.md:4: ") && found.len() == 2);
        listed("- `core/src/c.rs` → `core/src/a.rs`: ");
        assert!(check(&tree).is_err());
        listed("- c.rs and a.rs are twins");
        assert!(check(&tree).is_err());
        assert_eq!(exceptions("- `a` → `b`: elsewhere").unwrap(), []);
    }
}
