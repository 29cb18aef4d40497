//! The files of the repository, or of a small tree made by a test.

use crate::source::{Source, link};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that looks like the repository. All paths given and returned are relative to it.
#[derive(Debug)]
pub(crate) struct Tree {
    pub root: PathBuf,
}

impl Tree {
    /// The repository around the current folder.
    pub(crate) fn here() -> Result<Self> {
        let start = std::env::current_dir()?;
        let is_root = |dir: &&Path| {
            fs::read_to_string(dir.join("Cargo.toml")).is_ok_and(|t| t.contains("[workspace]"))
        };
        let root = start
            .ancestors()
            .filter(is_root)
            .find(|dir| dir.join("ci").is_dir())
            .context("no Cargo.toml with [workspace] at or above this folder")?;
        Ok(Self {
            root: root.to_path_buf(),
        })
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn has(&self, relative: impl AsRef<Path>) -> bool {
        self.path(relative).exists()
    }

    pub(crate) fn read(&self, relative: impl AsRef<Path>) -> Result<String> {
        let path = relative.as_ref();
        fs::read_to_string(self.path(path)).with_context(|| format!("reading {}", path.display()))
    }

    /// A TOML file as a table.
    pub(crate) fn toml(&self, relative: impl AsRef<Path>) -> Result<toml::Table> {
        let path = relative.as_ref();
        let text = self.read(path)?;
        toml::from_str(&text).with_context(|| format!("parsing {}", path.display()))
    }

    /// The names of the folders directly in `folder`, sorted; none if there is no such folder.
    pub(crate) fn folders(&self, folder: impl AsRef<Path>) -> Vec<String> {
        self.names(folder.as_ref(), Path::is_dir)
    }

    /// The names of the `.rs` files directly in `folder` without their ending, sorted.
    pub(crate) fn programs(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let names = self.names(folder.as_ref(), Path::is_file);
        let stems = names.iter().filter_map(|n| n.strip_suffix(".rs"));
        stems.map(str::to_owned).collect()
    }

    fn names(&self, folder: &Path, keep: impl Fn(&Path) -> bool) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut out: Vec<String> = entries
            .flatten()
            .filter(|e| keep(&e.path()))
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        out.sort();
        out
    }

    /// All files below `folder`, sorted; not what is built, and not what git keeps for itself.
    pub(crate) fn files(&self, folder: impl AsRef<Path>) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let mut open = vec![folder.as_ref().to_path_buf()];
        while let Some(dir) = open.pop() {
            let files = self.names(&dir, Path::is_file);
            out.extend(files.into_iter().map(|name| dir.join(name)));
            let folders = self.folders(&dir).into_iter();
            open.extend(
                folders
                    .filter(|n| n != "target" && n != ".git")
                    .map(|n| dir.join(n)),
            );
        }
        out.sort();
        out
    }

    /// All Rust files below `folder`, taken apart.
    pub(crate) fn sources(&self, folder: impl AsRef<Path>) -> Result<Vec<Source>> {
        let mut out = Vec::new();
        for path in self.files(folder) {
            if path.extension().is_some_and(|e| e == "rs") {
                let text = self.read(&path)?;
                out.push(Source::new(path, &text));
            }
        }
        link(&mut out);
        Ok(out)
    }
}

#[cfg(test)]
pub(crate) mod sample {
    //! A tree for one test, removed when the test ends.

    use super::Tree;
    use std::fs;
    use std::ops::Deref;
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub(crate) struct Sample(Tree);

    impl Sample {
        /// A tree of `(path, content)`.
        pub(crate) fn new(files: &[(&str, &str)]) -> Self {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("tautline-ci-{}-{id}", std::process::id());
            let root = std::env::temp_dir().join(name);
            let sample = Self(Tree { root });
            for (path, content) in files {
                sample.write(path, content);
            }
            sample
        }

        pub(crate) fn write(&self, path: &str, content: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    impl Deref for Sample {
        type Target = Tree;
        fn deref(&self) -> &Tree {
            &self.0
        }
    }

    impl Drop for Sample {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0.root).unwrap();
        }
    }

    #[test]
    fn built_files_are_not_sources() {
        let tree = Sample::new(&[("a/x.rs", ""), ("a/target/y.rs", ""), ("a/z.txt", "")]);
        let found = tree.sources("a").unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].path.ends_with("x.rs"));
    }
}
