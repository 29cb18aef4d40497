//! Features that are built apart, and packages that take minutes to build: nothing else enables
//! them.

use crate::crates::{Crate, crates};
use crate::tree::Tree;
use anyhow::Result;
use toml::{Table, Value};

/// Packages that only features apart may bring.
const HEAVY: &[&str] = &["faer"];

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let all = crates(tree)?;
    let mut out = Vec::new();
    for of in &all {
        let found = features(of, &all).into_iter().chain(dependencies(of, &all));
        out.extend(found.map(|found| format!("{}/Cargo.toml: {found}", of.folder)));
    }
    Ok(out)
}

/// Whether the feature `name` of the crate `of` is apart.
fn is_apart(all: &[Crate], of: &str, name: &str) -> bool {
    let of = all.iter().find(|it| it.name == of);
    of.is_some_and(|of| of.features_apart().any(|apart| apart == name))
}

/// Findings in the features that are not apart.
fn features(of: &Crate, all: &[Crate]) -> Vec<String> {
    let mut out = Vec::new();
    for (name, parts) in table(&of.manifest, "features").into_iter().flatten() {
        if is_apart(all, &of.name, name) {
            continue;
        }
        for part in texts(Some(parts)) {
            let heavy = part
                .strip_prefix("dep:")
                .is_some_and(|it| HEAVY.contains(&it));
            let (package, feature) = part.split_once('/').unwrap_or((of.name.as_str(), part));
            if heavy || is_apart(all, package.trim_end_matches('?'), feature) {
                out.push(format!(
                    "feature {name} enables {part}, which is built apart"
                ));
            }
        }
    }
    out
}

/// Findings in the dependencies on all systems.
fn dependencies(of: &Crate, all: &[Crate]) -> Vec<String> {
    let mut out = Vec::new();
    for key in ["dependencies", "build-dependencies", "dev-dependencies"] {
        for (name, entry) in table(&of.manifest, key).into_iter().flatten() {
            let is_optional = entry.get("optional").and_then(Value::as_bool) == Some(true);
            if HEAVY.contains(&&**name) && !is_optional {
                out.push(format!("{name} takes minutes to build: optional"));
            }
            for feature in texts(entry.get("features")) {
                if is_apart(all, name, feature) {
                    out.push(format!(
                        "{name}/{feature} is built apart: no dependency enables it"
                    ));
                }
            }
        }
    }
    out
}

fn table<'a>(of: &'a Table, key: &str) -> Option<&'a Table> {
    of.get(key)?.as_table()
}

fn texts(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let all = value.and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    /// Findings in two crates with the feature `dense`, of which the second imports the first.
    fn found(features: [&str; 2], dependencies: [&str; 2]) -> Vec<String> {
        let manifest = |name: &str, features: &str, dependencies: &str| {
            format!(
                "[package]\nname = \"tautline-{name}\"\n[package.metadata.tautline]\n\
                layer = \"benches\"\nfeatures-apart = [\"dense\"]\n[features]\n{features}\n\
                [dependencies]\n{dependencies}\n"
            )
        };
        let [a, b] = [0, 1].map(|at| manifest(["a", "b"][at], features[at], dependencies[at]));
        let files = [
            ("Cargo.toml", ""),
            ("a/Cargo.toml", &a),
            ("b/Cargo.toml", &b),
        ];
        check(&Sample::new(&files)).unwrap()
    }

    #[test]
    fn only_features_apart_are_heavy() {
        const DENSE: &str = "dense = [\"dep:faer\", \"tautline-a/dense\"]";
        const OPTIONAL: &str = "faer = { workspace = true, optional = true }";
        let found_in = |features: &str, dependencies: &str| {
            found(
                ["dense = [\"dep:faer\"]", features],
                [OPTIONAL, dependencies],
            )
        };
        let a = "tautline-a = { path = \"../a\" }";
        assert_eq!(found_in(DENSE, &format!("{OPTIONAL}\n{a}")), [""; 0]);
        for (features, line) in [
            (
                "default = [\"dense\"]",
                "feature default enables dense, which is built apart",
            ),
            (
                "full = [\"dep:faer\"]",
                "feature full enables dep:faer, which is built apart",
            ),
            (
                "full = [\"tautline-a/dense\"]",
                "feature full enables tautline-a/dense, which",
            ),
            (
                "full = [\"tautline-a?/dense\"]",
                "feature full enables tautline-a?/dense, which",
            ),
        ] {
            let found = found_in(&format!("{DENSE}\n{features}"), OPTIONAL);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].starts_with(&format!("b/Cargo.toml: {line}")),
                "{found:?}"
            );
        }
        let found = found_in("", "faer = \"1\"");
        assert_eq!(
            found,
            ["b/Cargo.toml: faer takes minutes to build: optional"]
        );
        let found = found_in(
            "",
            "tautline-a = { path = \"../a\", features = [\"dense\"] }",
        );
        assert!(
            found[0].contains("tautline-a/dense is built apart"),
            "{found:?}"
        );
    }
}
