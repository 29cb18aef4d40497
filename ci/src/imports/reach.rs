//! All files that a program of several crates can depend on, and a few more: what is in doubt is
//! included.
//!
//! A file depends on what its paths lead to, on every macro whose name it has, and on all that a
//! glob brings into scope. An `impl` belongs to its type and its trait, wherever it is written. Of
//! the modules above a file, and of those that a path passes, the text counts, but not what else it
//! mentions.

use super::{GLOB, Mention, Module, Reader, module_of, text};
use crate::source::{Skip, Source, close};
use crate::syntax::{Token, is_word};
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates among which dependencies are followed.
#[derive(Default)]
pub(crate) struct Crates {
    reader: Reader,
    files: Vec<PathBuf>,
    impls: Vec<Impl>,
    /// The files that define a macro of this name.
    macros: BTreeMap<String, BTreeSet<usize>>,
    /// The names of the macros that a file calls.
    calls: BTreeSet<(usize, String)>,
    /// The names of the types and traits of a file, also of those within functions.
    types: BTreeSet<(usize, String)>,
}

/// An `impl` block: the paths of its trait, if it has one, and of its type.
struct Impl {
    file: usize,
    of: Vec<Vec<Vec<String>>>,
    /// The names of its functions and constants, without a trait: it can be in use only where one
    /// of them is written.
    names: BTreeSet<String>,
}

/// The end of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Module(Module),
    File(usize),
}

/// Files that are reached, and those of which only the text counts.
#[derive(Default)]
struct Reached {
    files: BTreeSet<usize>,
    open: Vec<usize>,
    texts: BTreeSet<usize>,
    /// All words of the files.
    words: BTreeSet<String>,
}

impl Reached {
    fn add(&mut self, file: usize) {
        if self.files.insert(file) {
            self.open.push(file);
        }
    }
}

impl Crates {
    /// Adds a library: `name` as paths have it, and its sources below `folder`.
    pub(crate) fn library(&mut self, name: &str, folder: &Path, sources: &[Source]) {
        for source in sources {
            let mut module = vec![name.to_owned()];
            module.extend(module_of(folder, &source.path));
            let tokens = source.live(Skip::Tests);
            self.add(&source.path, &tokens, module);
        }
    }

    /// Adds a file of a program, as a module of it.
    pub(crate) fn file(&mut self, source: &Source, module: Module) -> usize {
        let tokens: Vec<&Token> = source.lexed.tokens.iter().collect();
        self.add(&source.path, &tokens, module)
    }

    fn add(&mut self, path: &Path, tokens: &[&Token], module: Module) -> usize {
        let file = self.files.len();
        self.files.push(path.to_path_buf());
        self.reader.file = file;
        self.reader.module(tokens, module);
        for at in 0..tokens.len() {
            if text(tokens, at) == "macro_rules" && text(tokens, at + 1) == "!" {
                let name = text(tokens, at + 2).to_owned();
                self.macros.entry(name).or_default().insert(file);
            }
            if text(tokens, at + 1) == "!" && matches!(text(tokens, at + 2), "(" | "[" | "{") {
                self.calls.insert((file, text(tokens, at).to_owned()));
            }
            if matches!(text(tokens, at), "struct" | "enum" | "union" | "trait") {
                self.types.insert((file, text(tokens, at + 1).to_owned()));
            }
            let before = if at == 0 { "" } else { text(tokens, at - 1) };
            if text(tokens, at) == "impl"
                && matches!(before, "" | "}" | "{" | ";" | "]" | ")" | "unsafe" | "=>")
            {
                let of = header(&tokens[at + 1..]);
                let names = names(&tokens[at + 1..]);
                self.impls.push(Impl { file, of, names });
            }
        }
        file
    }

    /// Returns the files that these depend on, and these, sorted by path.
    pub(crate) fn reached(&self, from: &[usize]) -> Result<Vec<&Path>> {
        let mut reached = Reached::default();
        from.iter().for_each(|file| reached.add(*file));
        let mut modules: BTreeMap<usize, Vec<&Module>> = BTreeMap::new();
        for (module, scope) in &self.reader.scopes {
            modules.entry(scope.file).or_default().push(module);
        }
        loop {
            while let Some(file) = reached.open.pop() {
                self.follow(file, &mut reached)?;
            }
            for block in &self.impls {
                if self.belongs(block, &modules, &reached) {
                    reached.add(block.file);
                }
            }
            if reached.open.is_empty() {
                break;
            }
        }
        let mut all = reached.files.clone();
        all.append(&mut reached.texts);
        for module in reached
            .files
            .iter()
            .flat_map(|file| modules.get(file))
            .flatten()
        {
            let above = (1..module.len()).filter_map(|n| self.reader.scopes.get(&module[..n]));
            all.extend(above.map(|scope| scope.file));
        }
        let mut paths: Vec<&Path> = all.iter().map(|file| &*self.files[*file]).collect();
        paths.sort();
        Ok(paths)
    }

    /// Adds what a file mentions.
    fn follow(&self, file: usize, reached: &mut Reached) -> Result<()> {
        let words = self.reader.words.range((file, String::new())..);
        let words = words.take_while(|(of, _)| *of == file);
        reached.words.extend(words.map(|(_, word)| word.clone()));
        let mentions = self.reader.mentions.iter().filter(|(of, _)| *of == file);
        for (_, mention) in mentions {
            let Mention {
                module,
                segments,
                bound,
                ..
            } = mention;
            let is_glob = matches!(bound, Some((name, _)) if name == GLOB);
            if let Some((name, true)) = bound
                && !self.reader.words.contains(&(file, name.clone()))
            {
                // A re-export: followed from where it is used.
                continue;
            }
            let head = segments.first().map_or("", String::as_str);
            if head.starts_with("tautline")
                && !self.reader.scopes.contains_key(&vec![head.to_owned()])
                && self
                    .named(module, head, reached, &mut BTreeSet::new())
                    .is_empty()
            {
                bail!(
                    "{}:{}: {head}: dependencies on this crate are not followed",
                    self.files[file].display(),
                    mention.line
                );
            }
            if let Some(files) = segments.last().and_then(|name| self.macros.get(name)) {
                files.iter().for_each(|file| reached.add(*file));
            }
            let mut seen = BTreeSet::new();
            for found in self.path(module, segments, reached, &mut seen) {
                match found {
                    Found::File(to) => reached.add(to),
                    Found::Module(to) if is_glob => self.all_of(&to, reached, &mut seen),
                    Found::Module(to) => reached.add(self.reader.scopes[&to].file),
                }
            }
        }
        let calls = self.calls.range((file, String::new())..);
        for (_, name) in calls.take_while(|(of, _)| *of == file) {
            let files = self.macros.get(name).filter(|files| !files.contains(&file));
            files
                .into_iter()
                .flatten()
                .for_each(|file| reached.add(*file));
        }
        Ok(())
    }

    /// Whether an `impl` can be in use: its trait and its type are each reached, foreign or a
    /// parameter.
    fn belongs(
        &self,
        block: &Impl,
        modules: &BTreeMap<usize, Vec<&Module>>,
        reached: &Reached,
    ) -> bool {
        if reached.files.contains(&block.file) {
            return false;
        }
        if block.of.len() == 1 && block.names.is_disjoint(&reached.words) {
            return false;
        }
        let modules = modules.get(&block.file).map_or(&[][..], Vec::as_slice);
        block.of.iter().all(|paths| {
            let mut ends = BTreeSet::new();
            let mut ignored = Reached::default();
            let mut heads = paths.iter().filter_map(|path| path.first());
            if heads.any(|head| self.types.contains(&(block.file, head.clone()))) {
                ends.insert(Found::File(block.file));
            }
            for module in modules {
                for path in paths {
                    let seen = &mut BTreeSet::new();
                    ends.extend(self.path(module, path, &mut ignored, seen));
                }
            }
            let is_reached = |found: &Found| match found {
                Found::File(file) => reached.files.contains(file),
                Found::Module(module) => reached.files.contains(&self.reader.scopes[module].file),
            };
            ends.is_empty() || ends.iter().any(is_reached)
        })
    }

    /// Adds all files of a module, and what its `use` declarations bring into scope.
    fn all_of(
        &self,
        module: &Module,
        reached: &mut Reached,
        seen: &mut BTreeSet<(Module, String)>,
    ) {
        if !seen.insert((module.clone(), GLOB.to_owned())) {
            return;
        }
        let scopes = self.reader.scopes.range(module.clone()..);
        let below = scopes.take_while(|(name, _)| name.starts_with(module));
        below.for_each(|(_, scope)| reached.add(scope.file));
        let scope = &self.reader.scopes[module];
        let bound = scope.bound.values().flatten();
        for path in bound.chain(&scope.globs) {
            for found in self.path(module, path, reached, seen) {
                match found {
                    Found::File(file) => reached.add(file),
                    Found::Module(other) => self.all_of(&other, reached, seen),
                }
            }
        }
    }

    /// All that a path in `module` may lead to.
    fn path(
        &self,
        module: &Module,
        segments: &[String],
        reached: &mut Reached,
        seen: &mut BTreeSet<(Module, String)>,
    ) -> BTreeSet<Found> {
        let Some((head, rest)) = segments.split_first() else {
            return BTreeSet::new();
        };
        let up = |module: &Module| module[..module.len().saturating_sub(1).max(1)].to_vec();
        let mut at = match head.as_str() {
            "crate" => [Found::Module(module[..1].to_vec())].into(),
            "self" => [Found::Module(module.clone())].into(),
            "super" => [Found::Module(up(module))].into(),
            name => {
                let mut all = self.named(module, name, reached, seen);
                if self.reader.scopes.contains_key(&vec![name.to_owned()]) {
                    all.insert(Found::Module(vec![name.to_owned()]));
                }
                all
            }
        };
        for next in rest {
            let mut further = BTreeSet::new();
            for found in at {
                let Found::Module(here) = found else {
                    further.insert(found);
                    continue;
                };
                let Some(scope) = self.reader.scopes.get(&here) else {
                    continue;
                };
                reached.texts.insert(scope.file);
                if next == "super" {
                    further.insert(Found::Module(up(&here)));
                    continue;
                }
                let named = self.named(&here, next, reached, seen);
                if named.is_empty() {
                    // Defined by a macro, here or in what a glob brings into scope.
                    further.insert(Found::File(scope.file));
                    for glob in &scope.globs {
                        further.extend(self.path(&here, glob, reached, seen));
                    }
                }
                further.extend(named);
            }
            at = further;
        }
        at.retain(|found| match found {
            Found::Module(module) => self.reader.scopes.contains_key(module),
            Found::File(_) => true,
        });
        at
    }

    /// All that `name` may be in `module`.
    fn named(
        &self,
        module: &Module,
        name: &str,
        reached: &mut Reached,
        seen: &mut BTreeSet<(Module, String)>,
    ) -> BTreeSet<Found> {
        let mut all = BTreeSet::new();
        let mut child = module.clone();
        child.push(name.to_owned());
        if self.reader.scopes.contains_key(&child) {
            all.insert(Found::Module(child));
        }
        let Some(scope) = self.reader.scopes.get(module) else {
            return all;
        };
        if scope.defined.contains(name) {
            all.insert(Found::File(scope.file));
        }
        // A chain of re-exports that returns to itself ends here.
        if !seen.insert((module.clone(), name.to_owned())) {
            return all;
        }
        for path in scope.bound.get(name).into_iter().flatten() {
            reached.texts.insert(scope.file);
            all.extend(self.path(module, path, reached, seen));
        }
        for glob in &scope.globs {
            for found in self.path(module, glob, reached, seen) {
                if let Found::Module(other) = found {
                    all.extend(self.named(&other, name, reached, seen));
                } else {
                    // The variants of an enumeration.
                    all.insert(found);
                }
            }
        }
        seen.remove(&(module.clone(), name.to_owned()));
        all
    }
}

/// The paths of the trait and of the type after `impl`, up to its body.
fn header(tokens: &[&Token]) -> Vec<Vec<Vec<String>>> {
    let mut of: Vec<Vec<Vec<String>>> = vec![Vec::new()];
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        let last = of.last_mut().expect("it has an element");
        match token.text.as_str() {
            "{" | "where" | ";" => break,
            "<" if at == 0 => depth = 1,
            "<" if depth > 0 => depth += 1,
            ">" if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            "for" => of.push(Vec::new()),
            word if is_word(word) => match last.last_mut() {
                Some(path) if text(tokens, at - 1) == "::" => path.push(word.to_owned()),
                _ => last.push(vec![word.to_owned()]),
            },
            _ => {}
        }
    }
    of
}

/// The names of the functions and constants in the body of an `impl`.
fn names(tokens: &[&Token]) -> BTreeSet<String> {
    let open = (0..tokens.len()).find(|at| text(tokens, *at) == "{");
    let open = open.unwrap_or(tokens.len());
    let body = open..close(tokens, open).min(tokens.len());
    let names = body.filter(|at| matches!(text(tokens, *at), "fn" | "const"));
    names.map(|at| text(tokens, at + 1).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::Crates;
    use crate::source::Source;
    use std::path::Path;

    /// The files of the library `c` that a program with this text depends on, which is `t`.
    fn reached(files: &[(&str, &str)], program: &str) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(p, t)| Source::new(*p, t)).collect();
        let mut all = Crates::default();
        all.library("c", Path::new("c"), &sources);
        let own = all.file(&Source::new("t", program), vec!["t".to_owned()]);
        let paths = all.reached(&[own]).unwrap().into_iter();
        let names = paths.map(|path| path.display().to_string());
        names.filter(|name| name != "t").collect()
    }

    #[test]
    fn paths_are_followed_with_the_modules_above_and_nothing_else() {
        let files = [
            (
                "c/lib.rs",
                "pub mod a; pub mod b; pub use b::B; pub use d::D;",
            ),
            ("c/a/mod.rs", "pub mod x; pub mod y; use crate::d::D;"),
            ("c/a/x.rs", "use crate::b::B; pub struct X(B);"),
            ("c/a/y.rs", "pub struct Y;"),
            ("c/b.rs", "pub struct B;"),
            ("c/d.rs", "pub struct D;"),
        ];
        let found = reached(&files, "use c::a::x::X;");
        assert_eq!(found, ["c/a/mod.rs", "c/a/x.rs", "c/b.rs", "c/lib.rs"]);
        assert_eq!(reached(&files, "fn f(_: c::B) {}"), ["c/b.rs", "c/lib.rs"]);
    }

    #[test]
    fn globs_and_both_sides_of_a_configuration_are_followed() {
        let files = [
            ("c/lib.rs", "mod one; mod two; mod other; pub mod door;"),
            (
                "c/door.rs",
                "#[cfg(m)] pub use crate::one::W; #[cfg(not(m))] pub use crate::two::W; pub use crate::other::*;",
            ),
            ("c/one.rs", "pub struct W;"),
            ("c/two.rs", "pub struct W;"),
            ("c/other.rs", "pub struct O;"),
        ];
        let found = reached(&files, "use c::door::W;");
        assert_eq!(found, ["c/door.rs", "c/lib.rs", "c/one.rs", "c/two.rs"]);
        let all = reached(&files, "use c::door::*;");
        assert_eq!(all.len(), files.len());
        let found = reached(&files, "use c::door::O;");
        assert_eq!(found, ["c/door.rs", "c/lib.rs", "c/other.rs"]);
    }

    #[test]
    fn an_impl_counts_where_its_trait_and_its_type_do() {
        let files = [
            (
                "c/lib.rs",
                "pub mod t; pub mod u; pub mod v; mod far; mod all;",
            ),
            ("c/t.rs", "pub trait T {}"),
            ("c/u.rs", "pub struct U;"),
            ("c/v.rs", "pub struct V;"),
            (
                "c/far.rs",
                "use crate::{t::T, u}; impl<'a> T for &'a u::U {} impl Drop for u::U {}",
            ),
            (
                "c/all.rs",
                "use crate::v::V; impl<X> crate::t::T for X where X: Copy {}",
            ),
        ];
        let of_type = reached(&files, "use c::u::U;");
        assert!(of_type.contains(&"c/far.rs".to_owned()), "{of_type:?}");
        // Its trait, too, has an `impl`.
        assert!(of_type.contains(&"c/all.rs".to_owned()), "{of_type:?}");
        assert_eq!(reached(&files, "use c::v::V;"), ["c/lib.rs", "c/v.rs"]);
        let of_trait = reached(&files, "use c::t::T;");
        assert_eq!(of_trait, ["c/all.rs", "c/lib.rs", "c/t.rs", "c/v.rs"]);
    }

    #[test]
    fn methods_count_where_one_of_them_is_named() {
        let files = [
            ("c/lib.rs", "pub mod u; mod more; mod rest;"),
            ("c/u.rs", "pub struct U;"),
            (
                "c/more.rs",
                "use crate::u::U; impl U { pub fn more(&self) { self.rest() } }",
            ),
            ("c/rest.rs", "impl crate::u::U { pub fn rest(&self) {} }"),
        ];
        assert_eq!(reached(&files, "use c::u::U;"), ["c/lib.rs", "c/u.rs"]);
        let all = ["c/lib.rs", "c/more.rs", "c/rest.rs", "c/u.rs"];
        assert_eq!(reached(&files, "fn f(u: &c::u::U) { u.more() }"), all);
    }

    #[test]
    fn macros_are_followed_by_their_names() {
        let files = [
            ("c/lib.rs", "#[macro_use] mod m; pub mod a; mod b;"),
            ("c/m.rs", "macro_rules! make { () => { $crate::b::go() } }"),
            ("c/a.rs", "pub fn f() { make!() }"),
            ("c/b.rs", "pub fn go() {}"),
        ];
        let all = ["c/a.rs", "c/b.rs", "c/lib.rs", "c/m.rs"];
        assert_eq!(reached(&files, "fn f() { c::a::f() }"), all);
        assert_eq!(
            reached(&files, "fn f() { c::b::go() }"),
            ["c/b.rs", "c/lib.rs"]
        );
    }

    #[test]
    fn a_crate_that_is_not_followed_is_an_error() {
        let mut all = Crates::default();
        let source = Source::new("t", "use tautline_far::X;");
        let own = all.file(&source, vec!["t".to_owned()]);
        let error = all.reached(&[own]).unwrap_err().to_string();
        assert!(error.contains("t:1: tautline_far"), "{error}");
    }
}
