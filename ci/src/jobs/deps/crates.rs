//! Floors between crates, read from each Cargo.toml.

use crate::tree::Tree;
use anyhow::Result;
use toml::{Table, Value};

const CORE: &str = "tautline-core";
const CONFORM: &str = "tautline-conform";
/// What the core may be built on. None of them may bring std.
const CORE_EXTERNALS: &[&str] = &[
    "async-task",
    "bitvec",
    "crossbeam-utils",
    "serde",
    "zerocopy",
];

/// What stands behind the door to atomics in some builds only.
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

/// Which of our crates the crate in `folder` may import; `None` where no floor is set for it.
/// `tests` requests the features that its tests may use.
fn allowed(folder: &str, tests: bool) -> Option<&'static [&'static str]> {
    Some(match folder {
        "core" | "ci" | "verify/stacks" => &[],
        "conform" => &[CORE],
        "conform/toy" if tests => &[CORE, CONFORM],
        "conform/toy" => &[CORE],
        // The conformance suites judge a backend from the backend's own tests.
        "backends/manycore/bare" => &[CORE, CONFORM, "tautline-manycore"],
        f if f.starts_with("backends/") && tests => &[CORE, CONFORM],
        f if f.starts_with("backends/") => &[CORE],
        "platforms" => &[
            CORE,
            "tautline-node",
            "tautline-process",
            "tautline-sim",
            "tautline-mpi",
            "tautline-manycore",
        ],
        "platforms/examples/server" => &["tautline"],
        "apps" => &[
            CORE,
            "tautline-node",
            "tautline-process",
            "tautline-sim",
            "tautline",
        ],
        "verify" if tests => &[CORE, "tautline-sim", "tautline-manycore"],
        "verify" => &[CORE, CONFORM, "tautline-sim", "tautline-stacks"],
        "verify/nostd" => &[CORE],
        "verify/dependent" => &["tautline"],
        "benches" => &[
            CORE,
            "tautline-node",
            "tautline-process",
            "tautline-sim",
            "tautline-mpi",
            "tautline-manycore",
            "tautline",
            "tautline-cli",
        ],
        _ => return None,
    })
}

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let shared = tree.toml("Cargo.toml")?;
    let shared = walk(&shared, &["workspace", "dependencies"]);
    let mut out = Vec::new();
    for file in tree.files("") {
        if !file.ends_with("Cargo.toml") || file.as_os_str() == "Cargo.toml" {
            continue;
        }
        let folder = file.parent().map(|p| p.to_string_lossy().into_owned());
        let folder = folder.unwrap_or_default();
        let manifest = tree.toml(&file)?;
        for found in one(&folder, &manifest, shared) {
            out.push(format!("{}: {found}", file.display()));
        }
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

fn one(folder: &str, manifest: &Table, shared: Option<&Table>) -> Vec<String> {
    let dependencies = dependencies(manifest, shared);
    let mut out = Vec::new();
    for d in &dependencies {
        let Some(floor) = allowed(folder, d.tests) else {
            out.push("this crate stands on no floor; name it in ci/src/jobs/deps/crates.rs".into());
            break;
        };
        let name = &d.package;
        let ours = name == "tautline" || name.starts_with("tautline-");
        if ours && !floor.contains(&name.as_str()) {
            out.push(format!("{folder} may not import {name}"));
        }
        let checker = CHECKERS.iter().find(|c| c.package == name);
        if let Some(c) = checker.filter(|c| d.checker.is_none_or(|d| d.package != c.package)) {
            out.push(format!("{} only under [target.'{}']", c.package, c.cfg));
        }
        if name == "anyhow" && folder != "ci" {
            out.push("anyhow only in ci; errors that users see have types".into());
        }
        if folder == "core" && !d.tests && !ours && checker.is_none() {
            if !CORE_EXTERNALS.contains(&name.as_str()) {
                out.push(format!("the core may not import {name}"));
            } else if d.may_bring_std {
                out.push(format!(
                    "{name} may bring std: default-features = false, and no feature `std`"
                ));
            }
        }
    }
    if folder == "core" {
        out.extend(std_features(manifest));
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

    fn found(folder: &str, manifest: &str) -> Vec<String> {
        let file = format!("{folder}/Cargo.toml");
        check(&Sample::new(&[("Cargo.toml", ROOT), (&file, manifest)])).unwrap()
    }

    #[test]
    fn what_is_allowed_is_silent() {
        let core = "[dependencies]\ncrossbeam-utils.workspace = true\n\
            [target.'cfg(tautline_loom)'.dependencies]\nloom.workspace = true\n\
            [target.'cfg(tautline_shuttle)'.dependencies]\nshuttle = \"0.9\"\n\
            [dev-dependencies]\nproptest = \"1\"";
        assert_eq!(found("core", core), [""; 0]);
        let sim = "[dependencies]\ntautline-core.workspace = true\nrand = \"1\"\n\
            [dev-dependencies]\ntautline-conform = { path = \"../../conform\" }";
        assert_eq!(found("backends/sim", sim), [""; 0]);
    }

    #[test]
    fn a_backend_may_not_import_another() {
        let node = "[dependencies]\ntautline-sim = { path = \"../sim\" }";
        assert_eq!(found("backends/node", node).len(), 1);
        let renamed = "[target.'cfg(unix)'.dependencies]\nloud.workspace = true";
        assert!(found("backends/sim", renamed)[0].contains("may not import tautline-node"));
        let conform = "[dependencies]\ntautline-conform = { path = \"../../conform\" }";
        assert_eq!(found("backends/node", conform).len(), 1);
    }

    #[test]
    fn the_core_stays_small_and_without_std() {
        assert_eq!(found("core", "[dependencies]\nserde = \"1\"").len(), 1);
        assert_eq!(found("core", "[dependencies]\nloom = \"0.7\"").len(), 1);
        assert_eq!(
            found("verify", "[dependencies]\nshuttle = \"0.9\"").len(),
            1
        );
        let crossed = "[target.'cfg(tautline_loom)'.dependencies]\nshuttle = \"0.9\"";
        assert_eq!(found("core", crossed).len(), 1);
        assert_eq!(found("core", "[dependencies]\nbitvec = \"1\"").len(), 1);
        let std = "[dependencies]\nbitvec = { version = \"1\", default-features = false, features = [\"std\"] }";
        assert_eq!(found("core", std).len(), 1);
        assert_eq!(
            found("core", "[features]\nfast = [\"bitvec/std\"]").len(),
            1
        );
    }

    #[test]
    fn ci_stands_alone_and_a_new_crate_needs_a_floor() {
        let any = "[dependencies]\ntautline-core = { path = \"../core\" }";
        assert_eq!(found("ci", any).len(), 1);
        assert!(found("extras", any)[0].contains("no floor"));
        assert_eq!(found("verify", "[dependencies]\nanyhow = \"1\"").len(), 1);
    }
}
