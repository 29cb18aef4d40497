//! The public items of the library, as rustdoc documents them, against a listing in the tree: what
//! programs can name is changed on purpose only.
//!
//! Names, not signatures: how rustdoc prints these differs between its versions.

use super::{Verdict, judge};
use crate::crates::{Crate, crates};
use crate::shell::{cargo, run as attached, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The job that writes the listings.
pub(super) const LIST: &str = "api-list";
/// Headings of a page after which nothing is the item's own.
const ENDS: [&str; 6] = [
    "id=\"deref-methods",
    "id=\"trait-implementations\"",
    "id=\"foreign-impls\"",
    "id=\"implementors\"",
    "id=\"synthetic-implementations\"",
    "id=\"blanket-implementations\"",
];
/// The parts of items that a program can name.
const PARTS: [&str; 7] = [
    "method",
    "tymethod",
    "variant",
    "structfield",
    "associatedconstant",
    "associatedtype",
    "reexport",
];

pub(super) fn check(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let (mut findings, mut items) = (Vec::new(), 0);
    let all = crates(tree)?;
    for of in all.iter().filter(|it| it.is("api")) {
        let (found, listing) = (public(tree, of, &all)?, listing(of));
        items += found.len();
        findings.extend(changes(&listing, &tree.read(&listing)?, &found));
    }
    judge(findings, format!("{items} public items"))
}

pub(super) fn list(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let all = crates(tree)?;
    for of in all.iter().filter(|it| it.is("api")) {
        let found = public(tree, of, &all)?;
        let text: String = found.iter().map(|item| format!("{item}\n")).collect();
        fs::write(tree.path(listing(of)), text)?;
    }
    Ok(Verdict::Holds(String::new()))
}

/// Returns the file with the names of a crate's public items.
fn listing(of: &Crate) -> String {
    format!("{}/API.txt", of.folder)
}

/// The public items of a crate.
fn public(tree: &Tree, of: &Crate, all: &[Crate]) -> Result<BTreeSet<String>> {
    let name = of.name.replace('-', "_");
    let pages = target_dir(tree).join("doc").join(&name);
    if pages.exists() {
        // Pages of private items may be there.
        fs::remove_dir_all(&pages).with_context(|| format!("removing {}", pages.display()))?;
    }
    // Documented first: a page links to the source of an item of another crate only if that has
    // pages.
    let beneath = all
        .iter()
        .filter(|it| of.depends_on(&it.name) && !it.needs_library);
    for package in beneath.chain([of]) {
        let words = ["doc", "--no-deps", "-p", &package.name];
        attached(cargo(tree, words).args(package.all_features()))?;
    }
    let mut found = BTreeSet::new();
    add(&pages, &name, &mut found)?;
    Ok(found)
}

/// Adds the items of a module, from the folder of its pages.
fn add(folder: &Path, module: &str, items: &mut BTreeSet<String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            add(&path, &format!("{module}::{name}"), items)?;
        } else if let Some(item) = item(module, &name) {
            let page = fs::read_to_string(&path)?;
            // A page that leads to another one is of no item.
            if !page.contains("http-equiv=\"refresh\"") {
                if is_ours(&page) {
                    let own = parts(&page).map(|part| part.replace(".field.", "::"));
                    items.extend(own.map(|part| format!("{item}::{part}")));
                }
                items.insert(item);
            }
        }
    }
    Ok(())
}

/// The item of a page: `struct.Glb.html` in `tautline::glb` is `tautline::glb::Glb`, `index.html`
/// the module.
fn item(module: &str, page: &str) -> Option<String> {
    let name = page.strip_suffix(".html")?;
    if name == "index" {
        return Some(module.to_owned());
    }
    let (_kind, name) = name.split_once('.')?;
    Some(format!("{module}::{name}"))
}

/// Whether the source of an item is in the workspace. Of others, such as those of std, only the
/// name is part of the library: the rest comes with their versions.
fn is_ours(page: &str) -> bool {
    let source = page.split("class=\"src").nth(1);
    let link = source.and_then(|text| text.split("href=\"").nth(1));
    link.is_some_and(|link| link.contains("src/tautline"))
}

/// The names of an item's own parts.
fn parts(page: &str) -> impl Iterator<Item = &str> {
    let ends = ENDS.iter().filter_map(|end| page.find(end)).min();
    let own = &page[..ends.unwrap_or(page.len())];
    own.split("id=\"").skip(1).filter_map(|text| {
        let (kind, name) = text.split('"').next()?.split_once('.')?;
        // `fields` is the heading of a variant's.
        (PARTS.contains(&kind) && !name.ends_with(".fields")).then_some(name)
    })
}

/// The lines by which what is found differs from the listing.
fn changes(listing: &str, listed: &str, found: &BTreeSet<String>) -> Vec<String> {
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let gone = listed.difference(found);
    let gone = gone.map(|item| format!("{listing}: {item} is not public any more"));
    let new = found.difference(&listed);
    let new = new.map(|item| format!("{listing}: {item} is new"));
    let mut out: Vec<String> = gone.chain(new).collect();
    if !out.is_empty() {
        out.push(format!(
            "{listing}: if this is meant, `cargo ci {LIST}` writes it, and CHANGELOG.md has it"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{changes, is_ours, item, parts};
    use std::collections::BTreeSet;

    #[test]
    fn pages_are_items() {
        let of = |page| item("tautline::glb", page);
        assert_eq!(of("struct.Glb.html").as_deref(), Some("tautline::glb::Glb"));
        assert_eq!(of("index.html").as_deref(), Some("tautline::glb"));
        assert_eq!((of("all.html"), of("sidebar-items.js")), (None, None));
    }

    #[test]
    fn the_parts_of_traits_that_an_item_implements_are_not_its_own() {
        let page = "<a id=\"variant.Empty\"><h4 id=\"variant.Empty.fields\"><div id=\"implementations\"><section id=\"method.run\">\
            <h2 id=\"deref-methods-TaskCx\"><section id=\"method.spawn\">\
            <h2 id=\"trait-implementations\"><section id=\"method.fmt\">";
        assert_eq!(parts(page).collect::<Vec<_>>(), ["Empty", "run"]);
    }

    #[test]
    fn the_parts_of_items_of_other_crates_are_not_listed() {
        let page = |link: &str| format!("<a class=\"src rightside\" href=\"{link}\">Source</a>");
        assert!(is_ours(&page("../../src/tautline_core/glb.rs.html")));
        assert!(!is_ours(&page(
            "../src/crossbeam_utils/cache_padded.rs.html"
        )));
        assert!(!is_ours(&page(
            "https://doc.rust-lang.org/src/core/sync/atomic.rs.html"
        )));
    }

    #[test]
    fn what_is_gone_and_what_is_new_are_found() {
        let found: BTreeSet<String> = ["a::B", "a::C"].map(str::to_owned).into();
        assert_eq!(changes("x", "a::B\na::C\n", &found), [""; 0]);
        let lines = changes("x", "a::A\na::B\n", &found);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].starts_with("x: a::A is not") && lines[1].starts_with("x: a::C is new"));
    }
}
