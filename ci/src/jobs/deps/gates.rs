//! Folders in which `unsafe`, `std` and the hardware may be named.

use crate::source::{Skip, Source};
use crate::syntax::Token;
use crate::tree::Tree;
use anyhow::Result;
use std::path::Path;

/// The modules of the core that may contain unsafe code; backends may as well.
const UNSAFE: &[&str] = &["sync", "deque", "phaser", "flow", "task"];
/// The folders of otherwise safe modules that may contain unsafe code; their modules deny it
/// elsewhere.
const UNSAFE_FOLDERS: &[&str] = &[
    "comm/packet_link",
    "comm/slot",
    "directory/loan.rs",
    "directory/view",
    "loops/raw",
    "space/table",
];
/// The modules of the core that may declare unsafe traits and functions, but contain no unsafe
/// code.
const DECLARING: &[&str] = &["port"];
/// The file of the exhibits that may contain unsafe code; their root denies it elsewhere.
const UNSAFE_EXHIBIT: &str = "exhibits/src/phaser/list.rs";
/// Crates without unsafe code, which the compiler enforces.
const SAFE_CRATES: &[&str] = &["platforms", "apps", "verify", "benches", "ci"];
/// The modules of the core that may ask what it is compiled for.
const HARDWARE: &[&str] = &["sync", "port"];
/// The modules of the core that no machine uses.
const IMPURE: &[&str] = &["sync", "port", "deque", "channel", "watch", "task"];
const HARDWARE_CFG: &[&str] = &[
    "target_arch",
    "target_os",
    "target_feature",
    "target_env",
    "target_family",
    "target_vendor",
];

pub(super) fn check(tree: &Tree) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for source in tree.sources("core/src")? {
        core_file(&source, &mut out);
    }
    for source in tree.sources("exhibits/src")? {
        exhibit(&source, &mut out);
    }
    for name in SAFE_CRATES {
        for source in tree.sources(Path::new(name).join("src"))? {
            let root = Path::new(name).join("src");
            let is_root = ["lib.rs", "main.rs"]
                .iter()
                .any(|f| source.path == root.join(f));
            if is_root && !forbids(&source) {
                out.push(source.at(
                    1,
                    "the root of a crate without unsafe code has #![forbid(unsafe_code)]",
                ));
            }
            no_unsafe(&source, &mut out);
        }
    }
    for folder in ["platforms/examples", "apps/examples"] {
        for source in tree.sources(folder)? {
            no_unsafe(&source, &mut out);
        }
    }
    Ok(out)
}

fn core_file(source: &Source, out: &mut Vec<String>) {
    let inside = source.path.strip_prefix("core/src").unwrap_or(&source.path);
    let depth = inside.components().count();
    let stem = inside.with_extension("");
    let module = stem.iter().next().and_then(|m| m.to_str()).unwrap_or("");
    if module != "lib" {
        let is_root = depth == 1 || (depth == 2 && inside.ends_with("mod.rs"));
        if DECLARING.contains(&module) {
            only_declared(source, out);
            if is_root && !has_level(source, "deny") {
                let text = "a module that declares unsafe traits has #![deny(unsafe_code)]";
                out.push(source.at(1, text));
            }
        } else if !UNSAFE.contains(&module) && !UNSAFE_FOLDERS.iter().any(|f| inside.starts_with(f))
        {
            no_unsafe(source, out);
            let has_folder = UNSAFE_FOLDERS
                .iter()
                .any(|f| f.starts_with(&format!("{module}/")));
            if is_root && !forbids(source) && !(has_folder && has_level(source, "deny")) {
                out.push(source.at(
                    1,
                    "a module without unsafe code has #![forbid(unsafe_code)]",
                ));
            }
        }
    } else {
        no_unsafe(source, out);
    }
    let tokens = source.live(Skip::TestsAndModels);
    pure_if_machine(source, &tokens, out);
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1).map_or("", |t| t.text.as_str());
        let before = i.checked_sub(1).map_or("", |p| tokens[p].text.as_str());
        if token.text == "std" && (next == "::" || matches!(before, "crate" | "use")) {
            out.push(source.at(token.line, "std in the core: use core or alloc"));
        }
        let hardware = HARDWARE_CFG.contains(&token.text.as_str());
        if hardware && !HARDWARE.contains(&module) {
            let text = format!(
                "{} in an algorithm: the hardware is behind a port",
                token.text
            );
            out.push(source.at(token.line, text));
        }
    }
}

fn exhibit(source: &Source, out: &mut Vec<String>) {
    if source.path == Path::new("exhibits/src/lib.rs") && !has_level(source, "deny") {
        let text = "the root of a crate with unsafe code in one file has #![deny(unsafe_code)]";
        out.push(source.at(1, text));
    }
    if source.path != Path::new(UNSAFE_EXHIBIT) {
        no_unsafe(source, out);
    }
    pure_if_machine(source, &source.live(Skip::TestsAndModels), out);
}

/// A file that implements a machine names no word, no lock, no clock and no other port.
fn pure_if_machine(source: &Source, tokens: &[&Token], out: &mut Vec<String>) {
    let texts: Vec<&str> = tokens.iter().map(|t| t.text.as_str()).collect();
    if !texts.windows(2).any(|pair| pair == ["Machine", "for"]) {
        return;
    }
    for (window, token) in texts.windows(3).zip(tokens) {
        if let ["crate" | "tautline_core", "::", name] = window
            && IMPURE.contains(name)
        {
            let text = format!("a machine names no {name}: it has no words, no clock and no port");
            out.push(source.at(token.line, text));
        }
    }
}

fn forbids(source: &Source) -> bool {
    has_level(source, "forbid")
}

fn has_level(source: &Source, level: &str) -> bool {
    let tokens = &source.lexed.tokens;
    let texts: Vec<&str> = tokens.iter().map(|t| t.text.as_str()).collect();
    let want = ["#", "!", "[", level, "(", "unsafe_code", ")", "]"];
    texts.windows(want.len()).any(|w| w == want)
}

fn only_declared(source: &Source, out: &mut Vec<String>) {
    for pair in source.lexed.tokens.windows(2) {
        let declared = matches!(pair[1].text.as_str(), "trait" | "fn");
        if pair[0].text == "unsafe" && !declared {
            out.push(source.at(
                pair[0].line,
                "unsafe traits and functions are only declared here",
            ));
        }
    }
}

fn no_unsafe(source: &Source, out: &mut Vec<String>) {
    for token in &source.lexed.tokens {
        if token.text == "unsafe" {
            let text = format!(
                "unsafe only in core/src/{{{},{}}}, {UNSAFE_EXHIBIT} and backends",
                UNSAFE.join(","),
                UNSAFE_FOLDERS.join(",")
            );
            out.push(source.at(token.line, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::sample::Sample;

    fn found(path: &str, text: &str) -> usize {
        check(&Sample::new(&[(path, text)])).unwrap().len()
    }

    const SAFE: &str = "#![forbid(unsafe_code)]\n";

    #[test]
    fn unsafe_stays_where_it_belongs() {
        let code = "fn f() { unsafe { g() } }";
        let safe = format!("{SAFE}{code}");
        assert_eq!(found("core/src/deque/mod.rs", code), 0);
        assert_eq!(found("core/src/glb/bag.rs", code), 1);
        assert_eq!(found("core/src/glb/mod.rs", &safe), 1);
        assert_eq!(found("platforms/src/lib.rs", &safe), 1);
        assert_eq!(found("platforms/examples/first.rs", code), 1);
        assert_eq!(
            found("core/src/glb/bag.rs", "// unsafe\nfn unsafe_code() {}"),
            0
        );
    }

    #[test]
    fn an_unsafe_folder_does_not_open_its_module() {
        let code = "fn f() { unsafe { g() } }";
        assert_eq!(found("core/src/loops/raw/slice.rs", code), 0);
        assert_eq!(found("core/src/loops/par/sort.rs", code), 1);
        assert_eq!(found("core/src/loops/mod.rs", "#![deny(unsafe_code)]"), 0);
        assert_eq!(found("core/src/glb/mod.rs", "#![deny(unsafe_code)]"), 1);
    }

    #[test]
    fn ports_only_declare() {
        let code = "#![deny(unsafe_code)]\nunsafe trait T { unsafe fn f(); }";
        assert_eq!(found("core/src/port/mod.rs", code), 0);
        assert_eq!(found("core/src/port/mod.rs", "unsafe trait T {}"), 1);
        assert_eq!(found("core/src/port/clock.rs", "unsafe impl T for U {}"), 1);
        assert_eq!(
            found("core/src/port/clock.rs", "fn f() { unsafe { g() } }"),
            1
        );
    }

    #[test]
    fn a_safe_module_says_so() {
        assert_eq!(found("core/src/glb/mod.rs", ""), 1);
        assert_eq!(found("core/src/glb/mod.rs", SAFE), 0);
        assert_eq!(found("core/src/id.rs", "// #![forbid(unsafe_code)]"), 1);
        assert_eq!(found("verify/src/lib.rs", ""), 1);
        assert_eq!(found("verify/src/explore.rs", ""), 0);
        assert_eq!(found("core/src/sync/mod.rs", ""), 0);
    }

    #[test]
    fn std_only_for_tests_and_models() {
        let file = "core/src/glb/bag.rs";
        assert_eq!(found(file, "use std::vec::Vec;"), 1);
        assert_eq!(found(file, "extern crate std;"), 1);
        assert_eq!(found(file, "#[cfg(not(tautline_loom))] use std::vec;"), 1);
        assert_eq!(
            found(file, "/// `std::vec`\n#[cfg(tautline_loom)] use std::vec;"),
            0
        );
        assert_eq!(found(file, "#[cfg(test)] mod t { use std::vec; }"), 0);
    }

    #[test]
    fn machines_are_pure() {
        let machine = "impl Machine for Place {}";
        let file = "core/src/glb/protocol.rs";
        assert_eq!(found(file, &format!("use crate::id::Rank; {machine}")), 0);
        assert_eq!(found(file, &format!("use crate::sync::Lock; {machine}")), 1);
        assert_eq!(
            found(file, &format!("use crate::port::Clock; {machine}")),
            1
        );
        assert_eq!(found(file, "use crate::sync::Lock;"), 0);
    }

    #[test]
    fn exhibits_are_checked_as_the_core_is() {
        let (code, deny) = ("fn f() { unsafe { g() } }", "#![deny(unsafe_code)]");
        assert_eq!(found("exhibits/src/phaser/list.rs", code), 0);
        assert_eq!(found("exhibits/src/phaser/node.rs", code), 1);
        assert_eq!(found("exhibits/src/lib.rs", deny), 0);
        assert_eq!(found("exhibits/src/lib.rs", ""), 1);
        let machine = "impl Machine for Place {}";
        let names = |module| format!("use tautline_core::{module}::X; {machine}");
        assert_eq!(found("exhibits/src/defer/mod.rs", &names("taper")), 0);
        assert_eq!(found("exhibits/src/defer/mod.rs", &names("sync")), 1);
    }

    #[test]
    fn hardware_is_behind_a_port() {
        let text = "#[cfg(target_arch = \"x86_64\")] fn f() {}";
        assert_eq!(found("core/src/deque/split.rs", text), 1);
        assert_eq!(found("core/src/port/relax.rs", text), 0);
    }
}
