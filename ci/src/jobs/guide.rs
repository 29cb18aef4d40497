//! Texts as a forge displays them: links lead somewhere, and the programs of the guide are shown
//! whole.
//!
//! The pages of the guide are documentation of modules, too. Their links have labels, which a page
//! defines at its end as files; in rustdoc the definitions of `links.txt`, which come first, lead
//! to the items.

use super::{Verdict, judge};
use crate::tree::Tree;
use anyhow::Result;
use pulldown_cmark::{BrokenLink, CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

const GUIDE: &str = "platforms/guide";
const LINKS: &str = "platforms/guide/links.txt";
/// Notes that are parts of tables in the folder above, to which their links refer.
const PARTS: &str = "benches/figures";

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let (findings, links) = check(tree)?;
    judge(findings, format!("{links} links"))
}

/// A text, as far as it is checked.
#[derive(Default)]
struct Page {
    /// The destination of each link and picture, and its line.
    links: Vec<(usize, String)>,
    /// The labels that have no definition, and their lines.
    unknown: Vec<(usize, String)>,
    definitions: BTreeMap<String, String>,
    anchors: BTreeSet<String>,
    /// The lines of Rust programs that rustdoc hides.
    hidden: Vec<usize>,
}

impl Page {
    fn read(text: &str) -> Self {
        let line = |at: usize| 1 + text[..at].matches('\n').count();
        let unknown = RefCell::new(Vec::new());
        let broken = |link: BrokenLink<'_>| {
            // Brackets alone are text, unless they are those of an item.
            let is_link = link.link_type == LinkType::Reference || link.reference.starts_with('`');
            if is_link {
                let at = line(link.span.start);
                unknown.borrow_mut().push((at, link.reference.to_string()));
            }
            None
        };
        let options = Options::ENABLE_TABLES;
        let parser = Parser::new_with_broken_link_callback(text, options, Some(broken));
        let mut page = Self::default();
        let definitions = parser.reference_definitions().iter();
        page.definitions = definitions
            .map(|(label, definition)| (label.to_owned(), definition.dest.to_string()))
            .collect();
        let (mut heading, mut is_program) = (None, false);
        for (event, span) in parser.into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line(span.start), dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.anchor(&heading.take().unwrap_or_default()),
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
                    is_program = kind.starts_with("rust");
                }
                Event::End(TagEnd::CodeBlock) => is_program = false,
                Event::Text(code) if is_program => {
                    let hidden = |line: &str| line.trim_end() == "#" || line.starts_with("# ");
                    let lines = code.lines().zip(line(span.start)..);
                    page.hidden
                        .extend(lines.filter(|l| hidden(l.0)).map(|l| l.1));
                }
                Event::Text(words) | Event::Code(words) => {
                    heading.iter_mut().for_each(|heading| *heading += &words);
                }
                _ => {}
            }
        }
        page.unknown = unknown.into_inner();
        page
    }

    /// Adds the anchor of a heading, as forges form it.
    fn anchor(&mut self, heading: &str) {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let name: String = heading.to_lowercase().chars().filter(kept).collect();
        let name = name.replace(' ', "-");
        let numbered = (1..).map(|n| format!("{name}-{n}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        self.anchors
            .extend(names.find(|name| !self.anchors.contains(name)));
    }
}

fn check(tree: &Tree) -> Result<(Vec<String>, usize)> {
    let mut pages = BTreeMap::new();
    for path in tree.files("") {
        let is_text = path.extension().is_some_and(|extension| extension == "md");
        if is_text && !path.starts_with(PARTS) {
            let page = Page::read(&tree.read(&path)?);
            pages.insert(path, page);
        }
    }
    let mut out = Vec::new();
    for (path, page) in &pages {
        for (line, label) in &page.unknown {
            let path = path.display();
            out.push(format!("{path}:{line}: the label [{label}] is not defined"));
        }
        for (line, link) in &page.links {
            if let Some(why) = wrong(tree, &pages, path, link) {
                out.push(format!("{}:{line}: {link}: {why}", path.display()));
            }
        }
    }
    guide(tree, &pages, &mut out)?;
    Ok((out, pages.values().map(|page| page.links.len()).sum()))
}

/// Returns the reason for which a link of a text leads nowhere.
fn wrong(tree: &Tree, pages: &BTreeMap<PathBuf, Page>, from: &Path, link: &str) -> Option<String> {
    if ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| link.starts_with(scheme))
    {
        return None;
    }
    if link.contains("::") || link.starts_with('/') {
        return Some("a link to an item or from the root, which a forge does not know".into());
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => from.to_path_buf(),
        file => plain(&from.parent().unwrap_or(Path::new("")).join(file)),
    };
    if !tree.has(&target) {
        return Some(format!("{} is not there", target.display()));
    }
    let page = pages.get(&target)?;
    let is_there = anchor.is_empty() || page.anchors.contains(anchor);
    (!is_there).then(|| format!("{} has no heading of this name", target.display()))
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = out.pop(),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Rules for the pages of the guide alone.
fn guide(tree: &Tree, pages: &BTreeMap<PathBuf, Page>, out: &mut Vec<String>) -> Result<()> {
    let items = tree.read(LINKS).unwrap_or_default();
    let items: BTreeMap<&str, &str> = items
        .lines()
        .filter_map(|line| line.strip_prefix('[')?.split_once("]: "))
        .collect();
    let mut used = BTreeSet::new();
    for (path, page) in pages.iter().filter(|(path, _)| path.starts_with(GUIDE)) {
        let shown = path.display();
        for line in &page.hidden {
            out.push(format!(
                "{shown}:{line}: a line that rustdoc hides and a forge shows; write a whole program"
            ));
        }
        for (label, file) in &page.definitions {
            let Some(item) = items.get(&**label) else {
                out.push(format!("{shown}: [{label}] is not in {LINKS}"));
                continue;
            };
            used.insert(&**label);
            let name = item.rsplit("::").next().unwrap_or(item);
            let is_right = match item.strip_prefix("crate::guide::") {
                Some(page) => *file == format!("{page}.md"),
                // A module is its file.
                None => {
                    file.contains(name) || {
                        let file = plain(&Path::new(GUIDE).join(file));
                        let text = tree.read(file).unwrap_or_default();
                        text.split(|c: char| !c.is_alphanumeric() && c != '_')
                            .any(|word| word == name)
                    }
                }
            };
            if !is_right {
                out.push(format!(
                    "{shown}: [{label}] is {item} in {LINKS}, and {file} here"
                ));
            }
        }
    }
    let unused = items.keys().filter(|label| !used.contains(*label));
    out.extend(unused.map(|label| format!("{LINKS}: no page defines [{label}]")));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    const START: &str = "# Start\n[`Glb`][glb::Glb] and [`forks`][forks].\n\n\
        [glb::Glb]: ../src/glb.rs\n[forks]: forks.md\n";
    const FILES: [(&str, &str); 5] = [
        (
            "README.md",
            "# A `b` (c)\n[x](#a-b-c) [y](platforms/guide/forks.md#two-1) <https://x.y/z#a>\n",
        ),
        ("platforms/guide/start.md", START),
        (
            "platforms/guide/forks.md",
            "# Two\n## Two\n```rust\n#[derive(Debug)]\nstruct A;\n```\n",
        ),
        (
            "platforms/guide/links.txt",
            "[glb::Glb]: crate::glb::Glb\n[forks]: crate::guide::forks\n",
        ),
        ("platforms/src/glb.rs", "pub struct Glb;\n"),
    ];

    /// The findings after a file has been replaced.
    fn found(file: &str, text: &str) -> Vec<String> {
        let tree = Sample::new(&FILES);
        tree.write(file, text);
        check(&tree).unwrap().0
    }

    #[test]
    fn links_that_lead_somewhere_are_silent() {
        let tree = Sample::new(&FILES);
        assert_eq!(check(&tree).unwrap(), (vec![], 5));
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for (text, expected) in [
            (
                "[x](nowhere.md)",
                "README.md:1: nowhere.md: nowhere.md is not there",
            ),
            (
                "\n![x](docs/x.png)",
                "README.md:2: docs/x.png: docs/x.png is not there",
            ),
            (
                "[x](#none)",
                "README.md:1: #none: README.md has no heading of this name",
            ),
            ("[x](platforms/guide/forks.md#two-2)", "has no heading"),
            ("[x](crate::glb::Glb)", "which a forge does not know"),
            ("[x](/README.md)", "which a forge does not know"),
            ("[x][y]", "README.md:1: the label [y] is not defined"),
            ("[`Glb`]", "the label [`Glb`] is not defined"),
        ] {
            let found = found("README.md", text);
            assert!(
                found.len() == 1 && found[0].contains(expected),
                "{text}: {found:?}"
            );
        }
        assert!(found("README.md", "`[x](nowhere.md)` a[0]\n").is_empty());
    }

    #[test]
    fn hidden_lines_of_the_guide_are_found() {
        for line in ["# use std::fs;", "#"] {
            let text = format!("# Two\n## Two\n```rust\n{line}\n```\n```sh\n# shown\n```\n");
            let found = found("platforms/guide/forks.md", &text);
            assert!(
                found.len() == 1 && found[0].contains("forks.md:4: a line"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn definitions_are_those_of_the_list() {
        let links = "platforms/guide/links.txt";
        let missing = found(links, "[forks]: crate::guide::forks\n");
        assert!(missing[0].ends_with("start.md: [glb::Glb] is not in platforms/guide/links.txt"));
        let more = format!("{}[x]: crate::x\n", FILES[3].1);
        assert!(found(links, &more)[0].ends_with("no page defines [x]"));
        let renamed = found("platforms/src/glb.rs", "pub struct Balancer;\n");
        assert!(renamed[0].contains("[glb::Glb] is crate::glb::Glb"));
        let elsewhere = START.replace("../src/glb.rs", "forks.md");
        assert!(found("platforms/guide/start.md", &elsewhere)[0].contains("and forks.md here"));
        let page = START.replace("forks.md", "start.md");
        assert!(found("platforms/guide/start.md", &page)[0].contains("and start.md here"));
    }
}
