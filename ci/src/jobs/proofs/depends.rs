//! The hash of everything that the result of a file of verify/tests depends on.

use super::changes;
use crate::crates::{Crate, crates};
use crate::imports::Crates;
use crate::shell::quiet;
use crate::source::Source;
use crate::syntax::{is_word, lex};
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// Increased when hashes that were written mean less than those that would be written now.
const RULES: &str = "2";
const MODELS: &str = "tautline-verify";
const TESTS: &str = "verify/tests";
/// Of the whole workspace: versions, profiles, settings of cargo.
const ALWAYS: &[&str] = &["Cargo.lock", "Cargo.toml", ".cargo/config.toml"];

/// The beginnings of variables that change how cargo builds.
const FLAGS: &[&str] = &[
    "CARGO_BUILD_",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PROFILE_",
    "RUSTFLAGS",
];

/// FNV-1a of 128 bits: nothing here is an adversary's.
pub(in crate::jobs) struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    /// Adds a part, with its length, so that parts cannot be divided in two ways.
    pub(in crate::jobs) fn add(&mut self, part: &[u8]) {
        let length = (part.len() as u64).to_le_bytes();
        for byte in length.iter().chain(part) {
            self.0 ^= u128::from(*byte);
            self.0 = self.0.wrapping_mul((1 << 88) + 0x13b);
        }
    }

    pub(in crate::jobs) fn text(&self) -> String {
        format!("{:032x}", self.0)
    }

    pub(super) fn folded(&self) -> u64 {
        (self.0 ^ (self.0 >> 64)) as u64
    }
}

/// Returns the hash of each file, with the command that runs it.
pub(super) fn hashes(tree: &Tree, files: &[(String, Command)]) -> Result<BTreeMap<String, String>> {
    let all = crates(tree)?;
    let used = used(&all)?;
    let common = common(tree, &used)?;
    let mut graph = Crates::default();
    let mut includes = BTreeSet::new();
    for of in &used {
        let folder = format!("{}/src", of.folder);
        let sources = tree.sources(&folder)?;
        graph.library(&of.name.replace('-', "_"), Path::new(&folder), &sources);
        let sources = sources.into_iter().filter(reads_files);
        includes.extend(sources.map(|source| source.path));
    }
    let mut out = BTreeMap::new();
    for (file, command) in files {
        let mut hash = Hash(common.0);
        for word in flags(command) {
            hash.add(word.as_bytes());
        }
        let depends = depends(tree, &mut graph, file)?;
        if let Some(path) = depends.intersection(&includes).next() {
            bail!("{}: includes a file, which is not followed", path.display());
        }
        for path in depends {
            hash.add(path.to_string_lossy().as_bytes());
            add_file(&mut hash, tree, &path)?;
        }
        out.insert(file.clone(), hash.text());
    }
    Ok(out)
}

/// Adds a file: of Rust, without its comments and spaces.
fn add_file(hash: &mut Hash, tree: &Tree, path: &Path) -> Result<()> {
    if path.extension().is_none_or(|extension| extension != "rs") {
        let bytes = fs::read(tree.path(path));
        hash.add(&bytes.with_context(|| path.display().to_string())?);
        return Ok(());
    }
    let lexed = lex(&tree.read(path)?);
    let mut end = (0, 0);
    for token in &lexed.tokens {
        // Of marks, `& &` is not `&&`.
        let is_joined = !is_word(&token.text) && end == (token.line, token.column);
        end = (token.line, token.column + token.text.chars().count());
        hash.add(token.text.as_bytes());
        hash.add(&[is_joined.into()]);
    }
    lexed
        .literals
        .iter()
        .for_each(|text| hash.add(text.as_bytes()));
    Ok(())
}

/// The crate of the models, and those that it depends on, directly or not.
fn used(all: &[Crate]) -> Result<Vec<&Crate>> {
    let is_models = |of: &&Crate| of.name == MODELS;
    let mut used = vec![
        all.iter()
            .find(is_models)
            .with_context(|| format!("no {MODELS}"))?,
    ];
    let mut next = 0;
    while let Some(of) = used.get(next).copied() {
        let has = |used: &[&Crate], it: &Crate| used.iter().any(|other| other.name == it.name);
        for it in all
            .iter()
            .filter(|it| of.names(&it.name, of.name == MODELS))
        {
            if !has(&used, it) {
                used.push(it);
            }
        }
        next += 1;
    }
    used.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(used)
}

/// The folders of the crates that models may reach.
pub(in crate::jobs) fn folders(tree: &Tree) -> Result<Vec<String>> {
    let all = crates(tree)?;
    Ok(used(&all)?.iter().map(|of| of.folder.clone()).collect())
}

/// Files on which all results depend.
fn common(tree: &Tree, used: &[&Crate]) -> Result<Hash> {
    let mut hash = Hash::default();
    hash.add(RULES.as_bytes());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = quiet(Command::new(rustc).arg("-vV"))?;
    if !said.ok {
        bail!("rustc -vV: {}", said.err.trim());
    }
    hash.add(said.out.as_bytes());
    let is_set = |name: &str| FLAGS.iter().any(|start| name.starts_with(start));
    let mut set: Vec<_> = std::env::vars().filter(|(name, _)| is_set(name)).collect();
    set.extend(changes());
    set.sort();
    for (name, value) in set {
        hash.add(name.as_bytes());
        hash.add(value.as_bytes());
    }
    let manifests = used.iter().map(|of| format!("{}/Cargo.toml", of.folder));
    for file in ALWAYS
        .iter()
        .map(|file| (*file).to_owned())
        .chain(manifests)
    {
        if tree.has(&file) {
            hash.add(file.as_bytes());
            hash.add(tree.read(&file)?.as_bytes());
        }
    }
    Ok(hash)
}

/// The words and variables of a command, but for where it builds.
fn flags(command: &Command) -> Vec<String> {
    let words = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned());
    let set = command
        .get_envs()
        .filter(|(name, _)| *name != "CARGO_TARGET_DIR");
    let set = set.map(|(name, value)| format!("{name:?}={value:?}"));
    words.chain(set).collect()
}

/// All files that the result of `verify/tests/FILE.rs` depends on.
fn depends(tree: &Tree, graph: &mut Crates, file: &str) -> Result<BTreeSet<PathBuf>> {
    let mut own = Vec::new();
    for (path, module) in modules(tree, file)? {
        let source = Source::new(&path, &tree.read(&path)?);
        if reads_files(&source) {
            bail!("{}: includes a file, which is not followed", path.display());
        }
        own.push(graph.file(&source, module));
    }
    let reached = graph.reached(&own)?.into_iter().map(Path::to_path_buf);
    let mut all: BTreeSet<PathBuf> = reached.collect();
    // The harness as a whole, and what a test reads when it runs.
    all.extend(tree.files("verify/src"));
    all.extend(tree.files(format!("{TESTS}/{file}")));
    Ok(all)
}

/// Whether a file is compiled with the contents of another one.
fn reads_files(source: &Source) -> bool {
    const MACROS: &[&str] = &["include", "include_str", "include_bytes"];
    let tokens = source.lexed.tokens.windows(2);
    let mut calls = tokens.filter(|pair| pair[1].text == "!");
    calls.any(|pair| MACROS.contains(&&*pair[0].text))
}

/// The files of a test program, each with its module, below one that no other program has.
fn modules(tree: &Tree, file: &str) -> Result<Vec<(PathBuf, Vec<String>)>> {
    let root = PathBuf::from(format!("{TESTS}/{file}.rs"));
    let mut out = Vec::new();
    let mut open = vec![(root, vec![format!("{TESTS}/{file}")], true)];
    while let Some((path, module, has_folder)) = open.pop() {
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let mut at = None;
        for line in tree.read(&path)?.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("#[path = \"") {
                at = rest.strip_suffix("\"]");
                continue;
            }
            let Some(name) = declared(line) else {
                continue;
            };
            let mut inner = module.clone();
            inner.push(name.to_owned());
            let stem = if has_folder {
                folder.clone()
            } else {
                path.with_extension("")
            };
            let beside = stem.join(format!("{name}.rs"));
            let (next, has_folder) = match at.take() {
                // The modules of such a file are beside it.
                Some(at) => (plain(&folder.join(at)), true),
                None if tree.has(&beside) => (beside, false),
                None => (stem.join(name).join("mod.rs"), true),
            };
            open.push((next, inner, has_folder));
        }
        out.push((path, module));
    }
    Ok(out)
}

/// `pub mod name;` → `name`.
fn declared(line: &str) -> Option<&str> {
    let (before, name) = line.strip_suffix(';')?.rsplit_once(' ')?;
    (before == "mod" || before.starts_with("pub") && before.ends_with(" mod")).then_some(name)
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            part => out.push(part),
        }
    }
    out
}
