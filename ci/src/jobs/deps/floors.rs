//! Floors inside the core, read from the paths its code names.

use crate::source::{Skip, Source, close};
use crate::syntax::{Token, is_word};
use crate::tree::Tree;
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::Path;

/// The floors of the core, from the ground up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Floor {
    Ground,
    Words,
    Protocols,
    Drivers,
    Tasks,
    Models,
}

const FLOORS: &[(Floor, &[&str])] = &[
    (
        Floor::Ground,
        &["sync", "port", "id", "group", "machine", "watch"],
    ),
    (
        Floor::Words,
        &[
            "channel",
            "deque",
            "directory",
            "phaser",
            "grain",
            "taper",
            "hierarchy",
        ],
    ),
    (
        Floor::Protocols,
        &[
            "finish",
            "lifeline",
            "defer",
            "flow",
            "coherence",
            "collective",
            "comm",
            "space",
            "wire",
        ],
    ),
    (Floor::Drivers, &["glb", "progress", "service"]),
    (Floor::Tasks, &["task"]),
    (Floor::Models, &["loops", "balance", "phased"]),
];

/// An import against the rule, and the heading of the section of ARCHITECTURE.md that argues it.
struct Exception {
    from: &'static str,
    to: &'static str,
    section: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        from: "defer",
        to: "collective",
        section: "Loops and names over ranks",
    },
    Exception {
        from: "space",
        to: "collective",
        section: "Loops and names over ranks",
    },
    Exception {
        from: "space",
        to: "flow",
        section: "Loops and names over ranks",
    },
];

pub(crate) fn floor_of(module: &str) -> Option<Floor> {
    let mut floors = FLOORS.iter();
    let found = floors.find(|(_, modules)| modules.contains(&module));
    found.map(|(floor, _)| *floor)
}

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let architecture = tree.read("ARCHITECTURE.md").unwrap_or_default();
    let mut out = check_with(tree, EXCEPTIONS, &architecture)?;
    out.extend(reserved(tree));
    Ok(out)
}

/// The modules that stand on a floor and do not exist.
fn reserved(tree: &Tree) -> Vec<String> {
    let exists = |module: &str| {
        let path = format!("core/src/{module}");
        tree.has(&path) || tree.has(format!("{path}.rs"))
    };
    let named = FLOORS.iter().flat_map(|(_, modules)| *modules);
    let missing = named.filter(|module| !exists(module));
    let fault = |module: &&str| format!("core/src/{module}: stands on a floor, but does not exist");
    missing.map(fault).collect()
}

fn check_with(tree: &Tree, exceptions: &[Exception], architecture: &str) -> Result<Vec<String>> {
    let sources = tree.sources("core/src")?;
    let names = Names::of(&sources);
    let mut used = vec![false; exceptions.len()];
    let mut out = Vec::new();
    for source in &sources {
        let place = module_path(&source.path);
        let Some(module) = place.first() else {
            continue;
        };
        let Some(floor) = floor_of(module) else {
            out.push(source.at(
                1,
                format!(
                    "module {module} stands on no floor; name it in ci/src/jobs/deps/floors.rs"
                ),
            ));
            continue;
        };
        for (line, name) in references(source, &place) {
            let Some(target) = names.module(&name) else {
                out.push(source.at(
                    line,
                    format!("crate::{name} names no module that a floor is known for"),
                ));
                continue;
            };
            if allowed(module, floor, target) {
                continue;
            }
            let excepted = |e: &Exception| e.from == module && e.to == target;
            match exceptions.iter().position(excepted) {
                Some(i) => used[i] = true,
                None => out.push(source.at(
                    line,
                    format!("{module} may not import {target}: not a lower floor"),
                )),
            }
        }
    }
    for (e, used) in exceptions.iter().zip(used) {
        let (from, to) = (e.from, e.to);
        if !used {
            out.push(format!(
                "the exception {from} → {to} is not needed any more"
            ));
        }
        if !has_heading(architecture, e.section) {
            out.push(format!(
                "ARCHITECTURE.md: no section `{}` to argue the exception {from} → {to}",
                e.section
            ));
        }
    }
    Ok(out)
}

fn has_heading(text: &str, section: &str) -> bool {
    let mut headings = text.lines().filter(|l| l.starts_with('#'));
    headings.any(|l| l.trim_start_matches('#').trim() == section)
}

fn allowed(module: &str, floor: Floor, target: &str) -> bool {
    module == target
        || floor_of(target).is_some_and(|t| t < floor || (t == floor && t == Floor::Ground))
}

/// Items in the root of the core.
struct Names {
    /// Re-exported name → module; macros live at the root and import by themselves.
    known: BTreeMap<String, String>,
}

impl Names {
    fn of(sources: &[Source]) -> Self {
        let mut known = BTreeMap::new();
        for source in sources {
            let tokens = source.live(Skip::Tests);
            let module = module_path(&source.path).into_iter().next();
            for at in 0..tokens.len() {
                let here = text(&tokens, at);
                if here == "macro_rules" && text(&tokens, at + 1) == "!" {
                    let own = module.clone().unwrap_or_else(|| "sync".into());
                    known.insert(text(&tokens, at + 2).to_owned(), own);
                }
                if here == "use" && module.is_none() {
                    reexports(&tokens[at + 1..], &mut known);
                }
            }
        }
        Self { known }
    }

    fn module<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        if floor_of(name).is_some() {
            return Some(name);
        }
        self.known.get(name).map(String::as_str)
    }
}

/// `use id::{A, b::C as D};` → all of A, C, D lead to `id`.
fn reexports(tokens: &[&Token], known: &mut BTreeMap<String, String>) {
    let end = tokens.iter().position(|t| t.text == ";");
    let words: Vec<&str> = tokens[..end.unwrap_or(0)]
        .iter()
        .map(|t| t.text.as_str())
        .filter(|t| is_word(t) && !matches!(*t, "crate" | "self" | "as"))
        .collect();
    if let Some((module, names)) = words.split_first() {
        for name in names {
            known.insert((*name).to_owned(), (*module).to_owned());
        }
    }
}

/// `core/src/deque/chase_lev.rs` → `[deque, chase_lev]`; the root → `[]`.
fn module_path(path: &Path) -> Vec<String> {
    let inside = path.strip_prefix("core/src").unwrap_or(path);
    let stem = inside.with_extension("");
    let parts = stem.iter().map(|p| p.to_string_lossy().into_owned());
    parts
        .filter(|p| !matches!(p.as_str(), "mod" | "lib"))
        .collect()
}

fn text<'a>(tokens: &[&'a Token], at: usize) -> &'a str {
    tokens.get(at).map_or("", |t| t.text.as_str())
}

/// The first names under the crate's root that a file's paths lead to, with their lines.
fn references(source: &Source, place: &[String]) -> Vec<(usize, String)> {
    let tokens = source.live(Skip::Tests);
    let mut paths = Paths {
        tokens: &tokens,
        found: Vec::new(),
    };
    // Modules written inside the file: where each ends.
    let mut inline: Vec<(usize, String)> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        inline.retain(|(end, _)| *end > at);
        let here = text(&tokens, at);
        if here == "mod" && text(&tokens, at + 2) == "{" {
            inline.push((close(&tokens, at + 2), text(&tokens, at + 1).to_owned()));
        }
        let starts = matches!(here, "crate" | "super" | "self")
            && text(&tokens, at + 1) == "::"
            && (at == 0 || text(&tokens, at - 1) != "::");
        if !starts {
            at += 1;
            continue;
        }
        let mut base = place.to_vec();
        base.extend(inline.iter().map(|(_, name)| name.clone()));
        if here == "crate" {
            base.clear();
        }
        at = paths.follow(at, base);
    }
    paths.found
}

struct Paths<'a> {
    tokens: &'a [&'a Token],
    found: Vec<(usize, String)>,
}

impl Paths<'_> {
    /// Follows the path, or tree of paths, at `at` from the module `base`; returns where it ends.
    fn follow(&mut self, mut at: usize, mut base: Vec<String>) -> usize {
        loop {
            match text(self.tokens, at) {
                "super" => {
                    base.pop();
                }
                "self" | "crate" => {}
                "{" => return self.group(at, &base),
                name => {
                    if base.is_empty() && (name == "*" || is_word(name)) {
                        self.found.push((self.tokens[at].line, name.to_owned()));
                    }
                    return self.rest(at);
                }
            }
            at += 1;
            if text(self.tokens, at) != "::" {
                return at;
            }
            at += 1;
        }
    }

    fn group(&mut self, open: usize, base: &[String]) -> usize {
        let end = close(self.tokens, open);
        let mut at = open + 1;
        while at < end {
            at = match text(self.tokens, at) {
                "," => at + 1,
                _ => self.follow(at, base.to_vec()),
            };
        }
        end + 1
    }

    /// Past the part of a path that is decided already.
    fn rest(&self, mut at: usize) -> usize {
        at += 1;
        while text(self.tokens, at) == "::" {
            at = match text(self.tokens, at + 1) {
                "{" => close(self.tokens, at + 1) + 1,
                "<" => return at + 1,
                _ => at + 2,
            };
        }
        if text(self.tokens, at) == "as" {
            at += 2;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::{Exception, FLOORS, check_with, reserved};
    use crate::tree::sample::Sample;

    const LIB: &str = "pub mod sync; mod id; pub use id::{PlaceId, WorkerId as W};";

    fn found(path: &str, text: &str) -> Vec<String> {
        let tree = Sample::new(&[("core/src/lib.rs", LIB), (path, text)]);
        check_with(&tree, &[], "").unwrap()
    }

    #[test]
    fn downwards_and_inside_is_silent() {
        let text = "use crate::{port::Relax, sync::{Lock, fence as f}};\n\
            use super::{Steal, super::sync::Ordering};\n\
            use super::super::port;\n\
            mod inner { use super::super::Steal; use super::super::super::sync; }\n\
            fn f(p: crate::PlaceId, w: crate::W) { self::g(); super::h() }\n\
            #[cfg(test)] mod tests { use crate::task::Worker; }";
        assert_eq!(found("core/src/deque/chase_lev.rs", text), [""; 0]);
        assert_eq!(
            found("core/src/sync/lock.rs", "use crate::port::Relax;"),
            [""; 0]
        );
    }

    #[test]
    fn upwards_and_sideways_are_found() {
        for (path, text) in [
            ("core/src/deque/mod.rs", "use crate::phaser::Mode;"),
            ("core/src/deque/mod.rs", "use super::task::Worker;"),
            (
                "core/src/deque/split.rs",
                "use super::super::{sync::Lock, finish::Counter};",
            ),
            (
                "core/src/deque/split.rs",
                "fn f() { crate::glb::Glb::<u8>::new() }",
            ),
            (
                "core/src/deque/split.rs",
                "mod i { use super::super::super::glb; }",
            ),
            ("core/src/finish/mod.rs", "use crate::lifeline::Graph;"),
            ("core/src/sync/mod.rs", "use crate::deque::Steal;"),
            ("core/src/glb/mod.rs", "use crate::{self as c, task};"),
            ("core/src/task/mod.rs", "pub use crate::balance::Balance;"),
        ] {
            let found = found(path, text);
            assert!(
                found.iter().any(|f| f.contains("may not import")),
                "{path}: {text}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_found() {
        assert!(found("core/src/deque/mod.rs", "use crate::*;")[0].contains("crate::*"));
        assert_eq!(
            found("core/src/deque/mod.rs", "use crate::Unknown;").len(),
            1
        );
        assert!(found("core/src/misc/mod.rs", "")[0].contains("no floor"));
    }

    #[test]
    fn an_exception_must_be_argued_and_needed() {
        let text = "use crate::lifeline::Graph;";
        let tree = Sample::new(&[("core/src/lib.rs", LIB), ("core/src/finish/mod.rs", text)]);
        let exception = |from| {
            [Exception {
                from,
                to: "lifeline",
                section: "Why finish knows the graph",
            }]
        };
        let argued = "# A\n## Why finish knows the graph\n";
        let count = |from, text| check_with(&tree, &exception(from), text).unwrap().len();
        assert_eq!(count("finish", argued), 0);
        assert_eq!(count("finish", "Why finish knows the graph"), 1);
        assert_eq!(count("lost", argued), 2);
    }

    #[test]
    fn a_floor_of_a_module_that_does_not_exist_is_found() {
        let all = FLOORS.iter().flat_map(|(_, modules)| *modules);
        let paths: Vec<String> = all.map(|name| format!("core/src/{name}/mod.rs")).collect();
        let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
        assert_eq!(reserved(&Sample::new(&files)), [""; 0]);
        let found = reserved(&Sample::new(&files[1..]));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("core/src/sync: "), "{found:?}");
    }
}
