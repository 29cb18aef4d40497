//! Imports between the files of a crate, followed through re-exports.
//!
//! Names are resolved as far as modules go: a path ends at the first item on it. An item that a
//! macro defines belongs to the module in which it is looked for.

use crate::source::{Skip, Source, close};
use crate::syntax::{Token, is_word};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

mod reach;

pub(crate) use reach::Crates;

/// The name that a `use` of all names of a module binds.
const GLOB: &str = "*";

/// The names of the modules from the root of the crate down to one.
type Module = Vec<String>;

/// A use of something that another file of the crate defines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    /// Indices of the two files.
    pub from: usize,
    pub to: usize,
    pub line: usize,
    pub name: String,
}

/// A path in the text.
struct Mention {
    line: usize,
    module: Module,
    segments: Vec<String>,
    /// The name that a `use` gives it, and whether the `use` is a re-export; `None` in other code.
    bound: Option<(String, bool)>,
}

/// The items of one module.
#[derive(Default)]
struct Scope {
    file: usize,
    defined: BTreeSet<String>,
    /// Names that a `use` binds, and their paths: several where they depend on the configuration.
    bound: BTreeMap<String, Vec<Vec<String>>>,
    globs: Vec<Vec<String>>,
}

#[derive(Clone)]
enum Target {
    Module(Module),
    File(usize),
}

/// Returns all imports between different files of the crate whose sources are in `folder`.
pub(crate) fn imports(folder: &Path, sources: &[Source]) -> Vec<Import> {
    let mut reader = Reader::default();
    for (file, source) in sources.iter().enumerate() {
        let tokens = source.live(Skip::Tests);
        if tokens.is_empty() {
            continue;
        }
        let module = module_of(folder, &source.path);
        reader.file = file;
        reader.module(&tokens, module);
    }
    let Reader {
        scopes,
        mentions,
        words,
        ..
    } = reader;
    let graph = Graph { scopes };
    let mut out = BTreeSet::new();
    for (from, mention) in mentions {
        if matches!(&mention.bound, Some((name, _)) if name == GLOB) {
            continue;
        }
        if let Some((name, true)) = &mention.bound {
            // A re-export is not a use, except where the file itself uses the name.
            if !words.contains(&(from, name.clone())) {
                continue;
            }
        }
        let found = graph.path(&mention.module, &mention.segments, 0);
        if let Some(Target::File(to)) = found
            && to != from
        {
            let name = mention.segments.join("::");
            let line = mention.line;
            out.insert(Import {
                from,
                to,
                line,
                name,
            });
        }
    }
    out.into_iter().collect()
}

/// `core/src/deque/chase_lev.rs` in `core/src` → `[deque, chase_lev]`; the root → `[]`.
pub(crate) fn module_of(folder: &Path, path: &Path) -> Module {
    let inside = path.strip_prefix(folder).unwrap_or(path);
    let stem = inside.with_extension("");
    let parts = stem.iter().map(|p| p.to_string_lossy().into_owned());
    parts
        .filter(|p| !matches!(p.as_str(), "mod" | "lib" | "main"))
        .collect()
}

fn text<'a>(tokens: &[&'a Token], at: usize) -> &'a str {
    tokens.get(at).map_or("", |t| t.text.as_str())
}

/// Collects what files define and mention.
#[derive(Default)]
struct Reader {
    file: usize,
    scopes: BTreeMap<Module, Scope>,
    mentions: Vec<(usize, Mention)>,
    /// The words of each file outside its `use` declarations.
    words: BTreeSet<(usize, String)>,
}

impl Reader {
    /// Reads the items of one module; modules written inside it are modules of the same file.
    fn module(&mut self, tokens: &[&Token], module: Module) {
        let file = self.file;
        let scope = self.scopes.entry(module.clone()).or_default();
        scope.file = file;
        let mut depth = 0usize;
        let mut at = 0;
        while at < tokens.len() {
            let here = text(tokens, at);
            let next = text(tokens, at + 1);
            match here {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth = depth.saturating_sub(1),
                "use" if is_word(next) || next == "{" || next == "::" => {
                    at = self.declaration(tokens, at, &module);
                    continue;
                }
                "mod" if text(tokens, at + 2) == "{" => {
                    let end = close(tokens, at + 2);
                    let mut inner = module.clone();
                    inner.push(next.to_owned());
                    self.module(&tokens[at + 3..end], inner);
                    at = end + 1;
                    continue;
                }
                "macro_rules" if depth == 0 && next == "!" => {
                    self.define(&module, text(tokens, at + 2));
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union"
                    if depth == 0 && is_word(next) =>
                {
                    self.define(&module, next);
                }
                _ if is_word(here) => {
                    self.words.insert((file, here.to_owned()));
                    if next == "::" && (at == 0 || text(tokens, at - 1) != "::") {
                        self.code(tokens, at, &module);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn define(&mut self, module: &Module, name: &str) {
        let scope = self.scopes.entry(module.clone()).or_default();
        scope.defined.insert(name.to_owned());
    }

    /// A path in code, up to generic arguments.
    fn code(&mut self, tokens: &[&Token], start: usize, module: &Module) {
        let mut segments = vec![text(tokens, start).to_owned()];
        let mut at = start + 1;
        while text(tokens, at) == "::" && is_word(text(tokens, at + 1)) {
            segments.push(text(tokens, at + 1).to_owned());
            at += 2;
        }
        let mention = Mention {
            line: tokens[start].line,
            module: module.clone(),
            segments,
            bound: None,
        };
        self.mentions.push((self.file, mention));
    }

    /// A `use` declaration at `at`; returns the index behind it.
    fn declaration(&mut self, tokens: &[&Token], at: usize, module: &Module) -> usize {
        let public = at > 0 && matches!(text(tokens, at - 1), "pub" | ")");
        let end = (at..tokens.len()).find(|i| text(tokens, *i) == ";");
        let end = end.unwrap_or(tokens.len());
        self.tree(&tokens[at + 1..end], &mut Vec::new(), module, public);
        end + 1
    }

    /// The trees of a `use`, separated by commas, below the path `base`.
    fn tree(&mut self, tokens: &[&Token], base: &mut Vec<String>, module: &Module, public: bool) {
        let depth = base.len();
        let mut alias = None;
        let mut at = 0;
        while at < tokens.len() {
            match text(tokens, at) {
                "::" => {}
                "," => {
                    self.bind(
                        tokens[at - 1].line,
                        base,
                        depth,
                        alias.take(),
                        module,
                        public,
                    );
                }
                "as" => {
                    alias = Some(text(tokens, at + 1).to_owned());
                    at += 1;
                }
                "{" => {
                    let end = close(tokens, at);
                    self.tree(&tokens[at + 1..end], base, module, public);
                    base.truncate(depth);
                    at = end;
                }
                word => base.push(word.to_owned()),
            }
            at += 1;
        }
        if let Some(last) = tokens.last() {
            self.bind(last.line, base, depth, alias, module, public);
        }
    }

    /// Ends one leaf of a `use`: `base` beyond `depth` is what the leaf added.
    fn bind(
        &mut self,
        line: usize,
        base: &mut Vec<String>,
        depth: usize,
        alias: Option<String>,
        module: &Module,
        public: bool,
    ) {
        if base.len() == depth {
            return;
        }
        let mut segments = base.clone();
        base.truncate(depth);
        if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let Some(name) = alias.or_else(|| segments.last().cloned()) else {
            return;
        };
        let scope = self.scopes.entry(module.clone()).or_default();
        if name == GLOB {
            segments.pop();
            scope.globs.push(segments.clone());
        } else {
            let paths = scope.bound.entry(name.clone()).or_default();
            paths.push(segments.clone());
        }
        let mention = Mention {
            line,
            module: module.clone(),
            segments,
            bound: Some((name, public)),
        };
        self.mentions.push((self.file, mention));
    }
}

/// More steps than any chain of re-exports has; a chain that returns to itself ends here.
const LONGEST_CHAIN: usize = 32;

struct Graph {
    scopes: BTreeMap<Module, Scope>,
}

impl Graph {
    /// Follows a path in `module`; `None` if it leaves the crate.
    fn path(&self, module: &Module, segments: &[String], steps: usize) -> Option<Target> {
        let (first, mut rest) = segments.split_first()?;
        let mut target = match first.as_str() {
            "crate" => Target::Module(Vec::new()),
            "self" => Target::Module(module.clone()),
            "super" => Target::Module(parent(module)?),
            name => self.name(module, name, steps)?,
        };
        while let (Target::Module(at), Some((next, more))) = (&target, rest.split_first()) {
            target = match next.as_str() {
                "super" => Target::Module(parent(at)?),
                name => match self.name(at, name, steps) {
                    Some(found) => found,
                    None => Target::File(self.scopes.get(at)?.file),
                },
            };
            rest = more;
        }
        Some(target)
    }

    /// Follows `name` in `module`.
    fn name(&self, module: &Module, name: &str, steps: usize) -> Option<Target> {
        if steps > LONGEST_CHAIN {
            return None;
        }
        let mut child = module.clone();
        child.push(name.to_owned());
        if self.scopes.contains_key(&child) {
            return Some(Target::Module(child));
        }
        let scope = self.scopes.get(module)?;
        if scope.defined.contains(name) {
            return Some(Target::File(scope.file));
        }
        if let Some(path) = scope.bound.get(name).and_then(|paths| paths.last()) {
            // `use name;` and `use name::…` of another crate bind the name that they begin with.
            let same = path.first().is_some_and(|first| first == name);
            return if same {
                None
            } else {
                self.path(module, path, steps + 1)
            };
        }
        scope.globs.iter().find_map(|glob| {
            let Target::Module(at) = self.path(module, glob, steps + 1)? else {
                return None;
            };
            self.name(&at, name, steps + 1)
        })
    }
}

fn parent(module: &Module) -> Option<Module> {
    let (_, above) = module.split_last()?;
    Some(above.to_vec())
}

#[cfg(test)]
mod tests {
    use super::imports;
    use crate::source::{Source, link};
    use std::path::Path;

    /// `from → to` by file name, without duplicates.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut sources: Vec<Source> = files.iter().map(|(p, t)| Source::new(*p, t)).collect();
        link(&mut sources);
        let mut out: Vec<String> = imports(Path::new("c"), &sources)
            .iter()
            .map(|i| format!("{} → {}", files[i.from].0, files[i.to].0))
            .collect();
        out.dedup();
        out
    }

    #[test]
    fn a_re_export_leads_to_where_the_item_is_defined() {
        let files = [
            ("c/lib.rs", "mod a; pub mod b; pub use b::Leaf;"),
            ("c/a.rs", "use crate::Leaf; fn f(_: super::b::Other) {}"),
            (
                "c/b/mod.rs",
                "mod leaf; pub use leaf::{Leaf as Leaf, Second as Other};",
            ),
            ("c/b/leaf.rs", "pub struct Leaf; pub struct Second;"),
        ];
        assert_eq!(found(&files), ["c/a.rs → c/b/leaf.rs"]);
    }

    #[test]
    fn a_file_that_uses_what_it_re_exports_imports_it() {
        let files = [
            ("c/lib.rs", "mod a; pub use a::A; fn f(_: A) {}"),
            ("c/a.rs", "pub struct A;"),
        ];
        assert_eq!(found(&files), ["c/lib.rs → c/a.rs"]);
    }

    #[test]
    fn modules_in_scope_and_groups_are_followed() {
        let files = [
            (
                "c/main.rs",
                "mod a; mod b; mod d; fn f() { a::go(); b::stop::<u8>() }",
            ),
            (
                "c/a.rs",
                "use super::{b::{self, stop as halt}, d}; fn go() { d::X; b::stop() }",
            ),
            (
                "c/b.rs",
                "pub fn stop() {} #[cfg(test)] mod t { use crate::a; fn f() { a::go() } }",
            ),
            (
                "c/d.rs",
                "mod inner { pub fn g() { super::super::a::go() } }\npub const X: u8 = 0;",
            ),
        ];
        assert_eq!(
            found(&files),
            [
                "c/main.rs → c/a.rs",
                "c/main.rs → c/b.rs",
                "c/a.rs → c/b.rs",
                "c/a.rs → c/d.rs",
                "c/d.rs → c/a.rs"
            ]
        );
    }

    #[test]
    fn other_crates_and_associated_names_are_no_imports() {
        let files = [
            ("c/lib.rs", "mod a; use std::fmt; use toml::Value; mod b;"),
            (
                "c/a.rs",
                "use std::b::c; fn f() { fmt::x(); Self::b(); T::a(); c::d() }",
            ),
            ("c/b.rs", "impl a { fn x() {} } fn a() {}"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn globs_are_searched_and_loops_of_re_exports_end() {
        let files = [
            ("c/lib.rs", "mod a; mod b; pub use a::*; pub use b::Lost;"),
            ("c/a.rs", "pub fn go() {} pub use crate::Lost;"),
            ("c/b.rs", "use crate::go; pub use crate::a::Lost;"),
        ];
        assert_eq!(found(&files), ["c/b.rs → c/a.rs"]);
    }
}
