//! The crates of the repository, and what `[package.metadata.tautline]` of each `Cargo.toml`
//! states: jobs list crates by it, so that a new crate needs no change here.

use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

/// The layer of a crate, which decides what it may import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    /// The library for programs.
    Library,
    /// The command and its applications.
    Command,
    /// The algorithms.
    Core,
    /// A kind of machine.
    Backend,
    /// The suites that a backend calls from its tests.
    Suites,
    /// The methods that those of the core are compared with.
    Exhibits,
    /// A program on the core or the library.
    Program,
    /// A program on a backend without an operating system.
    Board,
    /// Models of the core.
    Models,
    /// Comparisons with other libraries.
    Benches,
    /// A crate that imports no other of the repository.
    Tool,
}

/// The layers by their names, in the order of tables.
const LAYERS: [(&str, Layer); 11] = [
    ("library", Layer::Library),
    ("command", Layer::Command),
    ("core", Layer::Core),
    ("backend", Layer::Backend),
    ("suites", Layer::Suites),
    ("exhibits", Layer::Exhibits),
    ("program", Layer::Program),
    ("board", Layer::Board),
    ("models", Layer::Models),
    ("benches", Layer::Benches),
    ("tool", Layer::Tool),
];

/// The keys, the type of their values, and what they are.
const KEYS: [(&str, &str); 10] = [
    // The name of a layer.
    ("layer", "string"),
    // Whether API.txt lists the public items.
    ("api", "boolean"),
    // Whether it is compiled for macOS and Windows.
    ("systems", "boolean"),
    // Whether it compiles only where a library of the system is installed.
    ("needs-library", "boolean"),
    // Those features that do.
    ("features-with-library", "array"),
    // Those that a step of `cargo ci deep` alone builds.
    ("features-apart", "array"),
    // Columns of tables.
    ("is", "string"),
    ("machine", "string"),
    ("workers", "string"),
    ("run-on", "string"),
];

/// One crate.
#[derive(Debug)]
pub(crate) struct Crate {
    pub name: String,
    /// Its folder, relative to the root.
    pub folder: String,
    pub layer: Layer,
    /// Whether it is of the workspace, not of one of its own.
    pub is_member: bool,
    pub is_published: bool,
    /// Whether it compiles only where a library of the system is installed.
    pub needs_library: bool,
    pub manifest: Table,
    metadata: Table,
}

/// Returns all crates, by folder.
pub(crate) fn crates(tree: &Tree) -> Result<Vec<Crate>> {
    let root = tree.toml("Cargo.toml")?;
    let excluded = root.get("workspace").and_then(|w| w.get("exclude"));
    let excluded: Vec<&str> = texts(excluded).collect();
    let mut out = Vec::new();
    for file in tree.files("") {
        let Some(folder) = file
            .to_str()
            .and_then(|file| file.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let read = one(folder, tree.toml(&file)?, !excluded.contains(&folder));
        out.push(read.with_context(|| file.display().to_string())?);
    }
    Ok(out)
}

/// Returns the crate of this name.
pub(crate) fn named(tree: &Tree, name: &str) -> Result<Crate> {
    let found = crates(tree)?.into_iter().find(|it| it.name == name);
    found.with_context(|| format!("no crate is named {name}"))
}

fn one(folder: &str, manifest: Table, is_member: bool) -> Result<Crate> {
    let package = table(&manifest, "package").context("no [package]")?;
    let name = package.get("name").and_then(Value::as_str);
    let metadata = table(package, "metadata").and_then(|it| table(it, "tautline"));
    let metadata = metadata.cloned().unwrap_or_default();
    for (key, value) in &metadata {
        let Some((_, kind)) = KEYS.iter().find(|known| known.0 == key) else {
            let allowed = KEYS.map(|known| known.0).join(", ");
            bail!("unknown key `{key}` in [package.metadata.tautline]; allowed: {allowed}");
        };
        let found = value.type_str();
        ensure!(
            found == *kind,
            "`{key}` in [package.metadata.tautline] has type {found}; required: {kind}"
        );
    }
    let layers = LAYERS.map(|known| known.0).join(", ");
    let layer = metadata.get("layer").and_then(Value::as_str);
    let layer = layer
        .with_context(|| format!("no `layer` in [package.metadata.tautline]; allowed: {layers}"))?;
    let known = LAYERS.iter().find(|known| known.0 == layer);
    let (_, layer) = known.with_context(|| {
        format!("layer `{layer}` in [package.metadata.tautline]; allowed: {layers}")
    })?;
    Ok(Crate {
        name: name.context("no package.name")?.to_owned(),
        folder: folder.to_owned(),
        layer: *layer,
        is_member,
        is_published: is_member && package.get("publish") != Some(&Value::Boolean(false)),
        needs_library: metadata.get("needs-library") == Some(&Value::Boolean(true)),
        metadata,
        manifest,
    })
}

impl Crate {
    /// Whether this key of the metadata is set.
    pub(crate) fn is(&self, key: &str) -> bool {
        self.metadata.get(key) == Some(&Value::Boolean(true))
    }

    /// Returns a text of the metadata.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }

    /// Returns the features that need no library of the system and have no step of their own,
    /// without `default`.
    pub(crate) fn features(&self) -> Vec<&str> {
        let with_library = texts(self.metadata.get("features-with-library"));
        let without: Vec<&str> = with_library.chain(self.features_apart()).collect();
        let all = table(&self.manifest, "features").into_iter().flatten();
        let names = all.map(|(name, _)| name.as_str());
        names
            .filter(|name| *name != "default" && !without.contains(name))
            .collect()
    }

    /// Returns the features that a step of `cargo ci deep` alone builds.
    pub(crate) fn features_apart(&self) -> impl Iterator<Item = &str> {
        texts(self.metadata.get("features-apart"))
    }

    /// Returns the options that enable the [`features`](Self::features).
    pub(crate) fn all_features(&self) -> Vec<String> {
        match &self.features()[..] {
            [] => Vec::new(),
            features => vec!["--features".to_owned(), features.join(",")],
        }
    }

    /// Whether this package is among its dependencies on all systems.
    pub(crate) fn depends_on(&self, package: &str) -> bool {
        table(&self.manifest, "dependencies").is_some_and(|all| all.contains_key(package))
    }

    /// Whether it depends on this package on any system; `tests`: or its tests do.
    pub(crate) fn names(&self, package: &str, tests: bool) -> bool {
        let targets = table(&self.manifest, "target").into_iter().flatten();
        let targets = targets.filter_map(|(_, value)| value.as_table());
        let kinds = ["dependencies", "build-dependencies", "dev-dependencies"];
        let kinds = &kinds[..if tests { 3 } else { 2 }];
        [&self.manifest].into_iter().chain(targets).any(|of| {
            let mut all = kinds.iter().filter_map(|kind| table(of, kind));
            all.any(|all| all.contains_key(package))
        })
    }
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
    use super::{Layer, crates, named};
    use crate::tree::Tree;
    use crate::tree::sample::Sample;

    const ROOT: &str = "[workspace]\nmembers = [\"a\", \"b/*\"]\nexclude = [\"b/z\"]\n";

    fn sample(metadata: &str) -> Sample {
        let b = format!(
            "[package]\nname = \"tautline-c\"\n[package.metadata.tautline]\n{metadata}\n\
            [features]\ndefault = [\"x\"]\nw = []\nx = []\ny = []\nz = []\n"
        );
        let quiet =
            "[package]\nname = \"z\"\nmetadata.tautline.layer = \"program\"\npublish = false\n";
        Sample::new(&[
            ("Cargo.toml", ROOT),
            ("b/c/Cargo.toml", &b),
            ("b/z/Cargo.toml", quiet),
        ])
    }

    #[test]
    fn crates_have_their_metadata() {
        let tree = sample(
            "layer = \"backend\"\nsystems = true\nfeatures-with-library = [\"y\"]\n\
            features-apart = [\"w\"]\nmachine = \"chip\"",
        );
        let all = crates(&tree).unwrap();
        let [c, z] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (&*c.name, &*c.folder, c.layer),
            ("tautline-c", "b/c", Layer::Backend)
        );
        assert!(c.is_member && c.is_published && c.is("systems") && !c.is("api"));
        assert_eq!((c.text("machine"), c.text("workers")), (Some("chip"), None));
        assert_eq!(c.all_features(), ["--features", "x,z"]);
        assert!(!z.is_member && !z.is_published && z.all_features().is_empty());
        let missing = named(&tree, "tautline-d").unwrap_err();
        assert_eq!(missing.to_string(), "no crate is named tautline-d");
    }

    #[test]
    fn a_wrong_key_is_named_in_one_line() {
        for (metadata, expected) in [
            (
                "",
                "b/c/Cargo.toml: no `layer` in [package.metadata.tautline]; allowed: library, ",
            ),
            (
                "layer = \"bakend\"",
                "layer `bakend` in [package.metadata.tautline]; allowed: library, ",
            ),
            (
                "layer = \"tool\"\napis = true",
                "unknown key `apis` in [package.metadata.tautline]; allowed: layer, ",
            ),
            (
                "layer = \"tool\"\napi = \"yes\"",
                "`api` in [package.metadata.tautline] has type string; required: boolean",
            ),
            (
                "layer = 3",
                "`layer` in [package.metadata.tautline] has type integer; required: string",
            ),
        ] {
            let error = format!("{:#}", crates(&sample(metadata)).unwrap_err());
            assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn those_of_this_repository_are_read() {
        let all = crates(&Tree::here().unwrap()).unwrap();
        let backends = all
            .iter()
            .filter(|it| it.layer == Layer::Backend && it.is_member);
        assert!(backends.count() >= 5);
        let of = |layer| all.iter().filter(|it| it.layer == layer).count();
        assert_eq!((of(Layer::Core), of(Layer::Library)), (1, 1));
        // A key that is forgotten would leave a crate out of a job.
        for it in all.iter().filter(|it| it.is_published) {
            for key in ["api", "systems"] {
                let is_stated = it.metadata.contains_key(key);
                assert!(is_stated, "{}: `{key} = true` or `false`", it.folder);
            }
        }
    }
}
