//! The files of a crate do not import from each other in a circle.
//!
//! Two files that need each other are one concept in two places: neither can be read, tested or
//! moved alone. An import between files is a use of an item in the file that defines it, wherever
//! it is re-exported (`imports`). Imports from an ancestor are excluded: what a folder's `mod.rs`
//! defines is the common vocabulary of the folder's files, which it also uses and re-exports.
//! Exceptions are argued in ARCHITECTURE.md, which this job reads.

use super::{Verdict, judge};
use crate::imports::{Import, imports};
use crate::source::Source;
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// The section of ARCHITECTURE.md that lists the exceptions, one on a line:
/// ``- `path/from.rs` → `path/to.rs`: argument``.
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
        for (exception, needed) in exceptions.iter().zip(&mut needed) {
            *needed |= graph.except(exception);
        }
        for circle in graph.circles() {
            out.push(graph.describe(&circle));
        }
    }
    for (exception, needed) in exceptions.iter().zip(needed) {
        let [from, to] = &exception.files;
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
    let mut out: Vec<PathBuf> = ["core", "platforms", "apps", "verify", "ci"]
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
    files: [String; 2],
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
            files: [from.to_owned(), to.to_owned()],
        });
    }
    Ok(out)
}

/// The imports of one crate.
struct Graph<'a> {
    sources: &'a [Source],
    /// For each file the files from which it imports, with the first import of each.
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
        Self { sources, edges }
    }

    /// Removes an excepted import; returns whether it was part of a circle.
    fn except(&mut self, exception: &Exception) -> bool {
        let [from, to] = &exception.files;
        let file = |name: &str| {
            let mut files = self.sources.iter();
            files.position(|s| s.path == Path::new(name))
        };
        let (Some(from), Some(to)) = (file(from), file(to)) else {
            return false;
        };
        let needed = self.edges[from].contains_key(&to) && self.path(to, from).is_some();
        self.edges[from].remove(&to);
        needed
    }

    /// The shortest chain of imports between two files, with both of them.
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

    /// For each group of files that reach each other, the shortest circle among them.
    fn circles(&self) -> Vec<Vec<usize>> {
        let mut done = BTreeSet::new();
        let mut out = Vec::new();
        for file in 0..self.sources.len() {
            if done.contains(&file) || self.path(file, file).is_none() {
                continue;
            }
            let group: Vec<usize> = (file..self.sources.len())
                .filter(|f| *f == file || self.path(file, *f).is_some())
                .filter(|f| self.path(*f, file).is_some())
                .collect();
            let circles = group.iter().filter_map(|f| self.path(*f, *f));
            out.extend(circles.min_by_key(Vec::len));
            done.extend(group);
        }
        out
    }

    /// The imports that make a circle, each with its line.
    fn describe(&self, circle: &[usize]) -> String {
        let steps = circle.windows(2).map(|step| {
            let import = &self.edges[step[0]][&step[1]];
            let to = self.sources[step[1]].path.display();
            self.sources[step[0]].at(import.line, format!("{} of {to}", import.name))
        });
        steps.collect::<Vec<_>>().join("\n    ")
    }
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
