//! Layers of crates, read from each Cargo.toml.

use crate::crates::{Crate, Layer, crates};
use crate::tree::Tree;
use anyhow::Result;
use toml::{Table, Value};

/// Dependencies of the core. Without std, each of them.
const CORE_EXTERNALS: &[&str] = &[
    "async-task",
    "bitvec",
    "crossbeam-utils",
    "hashbrown",
    "serde",
    "zerocopy",
];

/// Crates that replace atomics in some builds only.
struct Checker {
    package: &'static str,
    cfg: &'static str,
}

const CHECKERS: &[Checker] = &[
    Checker {
        package: "loom",
        cfg: "cfg(tautline_loom)",
    },
    Checker {
        package: "shuttle",
        cfg: "cfg(tautline_shuttle)",
    },
];

/// Returns the layers of our crates that a crate may import. `tests` requests those that its tests
/// may use.
fn allowed(layer: Layer, tests: bool) -> &'static [Layer] {
    use Layer::*;
    match layer {
        Core | Tool => &[],
        Suites | Exhibits => &[Core],
        // The suites judge a backend from the backend's own tests, which also run exhibits on it.
        Backend if tests => &[Core, Suites, Exhibits],
        Backend => &[Core],
        Library => &[Core, Backend],
        Command => &[Core, Exhibits, Backend, Library],
        Program => &[Core, Library],
        Board => &[Core, Suites, Backend],
        Models => &[Core, Suites, Exhibits, Backend, Tool],
        Benches => &[Core, Exhibits, Backend, Library, Command],
    }
}

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let shared = tree.toml("Cargo.toml")?;
    let shared = walk(&shared, &["workspace", "dependencies"]);
    let all = crates(tree)?;
    let mut out = Vec::new();
    for of in &all {
        let found = one(of, &all, shared);
        out.extend(
            found
                .into_iter()
                .map(|found| format!("{}/Cargo.toml: {found}", of.folder)),
        );
    }
    Ok(out)
}

/// One entry of a dependency table, with what it inherits from the workspace.
struct Dependency {
    package: String,
    /// The cfg of the checker under whose `[target.'cfg(…)'…]` it stands.
    checker: Option<&'static Checker>,
    tests: bool,
    may_bring_std: bool,
}

fn one(of: &Crate, all: &[Crate], shared: Option<&Table>) -> Vec<String> {
    let is_core = of.layer == Layer::Core;
    let mut out = Vec::new();
    for d in dependencies(&of.manifest, shared) {
        let name = &d.package;
        let ours = name == "tautline" || name.starts_with("tautline-");
        let found = all.iter().find(|it| it.name == *name);
        let may = |it: &Crate| allowed(of.layer, d.tests).contains(&it.layer);
        if ours && !found.is_some_and(may) {
            out.push(format!("{} may not import {name}", of.folder));
        }
        let checker = CHECKERS.iter().find(|c| c.package == name);
        if let Some(c) = checker.filter(|c| d.checker.is_none_or(|d| d.package != c.package)) {
            out.push(format!("{} only under [target.'{}']", c.package, c.cfg));
        }
        if name == "anyhow" && of.folder != "ci" {
            out.push("anyhow only in ci; errors that users see have types".into());
        }
        if is_core && !d.tests && !ours && checker.is_none() {
            if !CORE_EXTERNALS.contains(&name.as_str()) {
                out.push(format!("the core may not import {name}"));
            } else if d.may_bring_std {
                out.push(format!(
                    "{name} may bring std: default-features = false, and no feature `std`"
                ));
            }
        }
    }
    if is_core {
        out.extend(std_features(&of.manifest));
    }
    out
}

/// Features of the core that switch on `std` in what it is built on.
fn std_features(manifest: &Table) -> Vec<String> {
    let features = walk(manifest, &["features"]).into_iter().flatten();
    let mut out = Vec::new();
    for (name, parts) in features {
        let parts = parts.as_array().into_iter().flatten();
        for part in parts.filter_map(Value::as_str) {
            if part == "std" || part.ends_with("/std") {
                out.push(format!("feature {name} brings std by `{part}`"));
            }
        }
    }
    out
}

fn dependencies(manifest: &Table, shared: Option<&Table>) -> Vec<Dependency> {
    let mut out = section(manifest, None, shared);
    for (cfg, table) in walk(manifest, &["target"]).into_iter().flatten() {
        if let Some(table) = table.as_table() {
            let checker = CHECKERS.iter().find(|c| c.cfg == cfg);
            out.extend(section(table, checker, shared));
        }
    }
    out
}

fn section(
    table: &Table,
    checker: Option<&'static Checker>,
    shared: Option<&Table>,
) -> Vec<Dependency> {
    let mut out = Vec::new();
    for (key, tests) in [
        ("dependencies", false),
        ("build-dependencies", false),
        ("dev-dependencies", true),
    ] {
        for (name, entry) in walk(table, &[key]).into_iter().flatten() {
            let inherits = entry.get("workspace").and_then(Value::as_bool) == Some(true);
            let base = shared.filter(|_| inherits).and_then(|s| s.get(name));
            let package = [Some(entry), base]
                .into_iter()
                .flatten()
                .find_map(|e| e.get("package").and_then(Value::as_str));
            out.push(Dependency {
                package: package.unwrap_or(name).to_owned(),
                checker,
                tests,
                may_bring_std: may_bring_std(entry, base),
            });
        }
    }
    out
}

fn may_bring_std(entry: &Value, base: Option<&Value>) -> bool {
    let both = || [Some(entry), base].into_iter().flatten();
    let asks = |e: &Value| {
        let features = e.get("features").and_then(Value::as_array);
        features.is_some_and(|f| f.iter().any(|f| f.as_str() == Some("std")))
    };
    let off = |e: &Value| e.get("default-features").and_then(Value::as_bool) == Some(false);
    // Cargo ignores `default-features = false` beside `workspace = true` unless the base has it
    // too.
    both().any(asks) || !off(base.unwrap_or(entry))
}

fn walk<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a Table> {
    let (first, rest) = keys.split_first()?;
    let next = table.get(*first)?.as_table()?;
    if rest.is_empty() {
        Some(next)
    } else {
        walk(next, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    const ROOT: &str = r#"
[workspace.dependencies]
tautline-core = { path = "core", default-features = false }
crossbeam-utils = { version = "0.8", default-features = false }
loud = { package = "tautline-node", path = "backends/node" }
loom = "0.7"
"#;

    /// Findings in a crate of this folder, name and layer among some others.
    fn found(of: [&str; 3], dependencies: &str) -> Vec<String> {
        let manifest = |[folder, name, layer]: [&str; 3], rest: &str| {
            let text = format!(
                "[package]\nname = \"tautline-{name}\"\nmetadata.tautline.layer = \"{layer}\"\n{rest}"
            );
            (format!("{folder}/Cargo.toml"), text)
        };
        let others = [CORE, NODE, SIM, ["conform", "conform", "suites"], EXHIBITS];
        let others = others.into_iter().filter(|other| *other != of);
        let mut files = vec![("Cargo.toml".to_owned(), ROOT.to_owned())];
        files.extend(others.map(|other| manifest(other, "")));
        files.push(manifest(of, dependencies));
        let files: Vec<(&str, &str)> = files.iter().map(|(a, b)| (&**a, &**b)).collect();
        check(&Sample::new(&files)).unwrap()
    }

    const CORE: [&str; 3] = ["core", "core", "core"];
    const NODE: [&str; 3] = ["backends/node", "node", "backend"];
    const SIM: [&str; 3] = ["backends/sim", "sim", "backend"];
    const EXHIBITS: [&str; 3] = ["exhibits", "exhibits", "exhibits"];
    const CI: [&str; 3] = ["ci", "ci", "tool"];
    const VERIFY: [&str; 3] = ["verify", "verify", "models"];

    #[test]
    fn what_is_allowed_is_silent() {
        let core = "[dependencies]\ncrossbeam-utils.workspace = true\n\
            [target.'cfg(tautline_loom)'.dependencies]\nloom.workspace = true\n\
            [target.'cfg(tautline_shuttle)'.dependencies]\nshuttle = \"0.9\"\n\
            [dev-dependencies]\nproptest = \"1\"";
        assert_eq!(found(CORE, core), [""; 0]);
        let sim = "[dependencies]\ntautline-core.workspace = true\nrand = \"1\"\n\
            [dev-dependencies]\ntautline-conform = { path = \"../../conform\" }";
        assert_eq!(found(SIM, sim), [""; 0]);
    }

    #[test]
    fn a_backend_may_not_import_another() {
        let node = "[dependencies]\ntautline-sim = { path = \"../sim\" }";
        assert_eq!(found(NODE, node).len(), 1);
        let renamed = "[target.'cfg(unix)'.dependencies]\nloud.workspace = true";
        assert!(found(SIM, renamed)[0].contains("may not import tautline-node"));
        let conform = "[dependencies]\ntautline-conform = { path = \"../../conform\" }";
        assert_eq!(found(NODE, conform).len(), 1);
    }

    #[test]
    fn exhibits_are_built_on_the_core_and_no_library_needs_them() {
        let of = |name| format!("{name}]\ntautline-exhibits = {{ path = \"../exhibits\" }}");
        let library = ["platforms", "platforms", "library"];
        assert_eq!(found(library, &of("[dependencies")).len(), 1);
        assert_eq!(found(SIM, &of("[dependencies")).len(), 1);
        assert_eq!(found(SIM, &of("[dev-dependencies")), [""; 0]);
        assert_eq!(found(VERIFY, &of("[dependencies")), [""; 0]);
        let sim = "[dev-dependencies]\ntautline-sim = { path = \"../backends/sim\" }";
        assert_eq!(found(EXHIBITS, sim).len(), 1);
    }

    #[test]
    fn the_core_stays_small_and_without_std() {
        assert_eq!(found(CORE, "[dependencies]\nserde = \"1\"").len(), 1);
        assert_eq!(found(CORE, "[dependencies]\nloom = \"0.7\"").len(), 1);
        assert_eq!(found(VERIFY, "[dependencies]\nshuttle = \"0.9\"").len(), 1);
        let crossed = "[target.'cfg(tautline_loom)'.dependencies]\nshuttle = \"0.9\"";
        assert_eq!(found(CORE, crossed).len(), 1);
        assert_eq!(found(CORE, "[dependencies]\nbitvec = \"1\"").len(), 1);
        let std = "[dependencies]\nbitvec = { version = \"1\", default-features = false, features = [\"std\"] }";
        assert_eq!(found(CORE, std).len(), 1);
        assert_eq!(found(CORE, "[features]\nfast = [\"bitvec/std\"]").len(), 1);
    }

    #[test]
    fn ci_stands_alone() {
        let any = "[dependencies]\ntautline-core = { path = \"../core\" }";
        assert_eq!(found(CI, any).len(), 1);
        let unknown = "[dependencies]\ntautline-extras = \"1\"";
        assert_eq!(found(["benches", "bench", "benches"], unknown).len(), 1);
        assert_eq!(found(VERIFY, "[dependencies]\nanyhow = \"1\"").len(), 1);
    }
}
