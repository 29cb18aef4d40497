//! The core in a program with no std and no libc, without an allocator and with one of its own: it
//! must link and say yes.
//!
//! The same program with std in its graph must not build, or the job would prove nothing.

use super::Verdict;
use crate::context::say;
use crate::shell::{Said, cargo, quiet, run as run_attached, target_dir};
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::Command;

const MANIFEST: &str = "verify/nostd/Cargo.toml";
const PROGRAM: &str = "tautline-nostd";

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        let why = "verify/nostd has entry and exit for x86_64 Linux only: run it there";
        return Ok(Verdict::CannotRun(why.into()));
    }
    for words in [&[][..], &["--features", "tasks"]] {
        let built = build(tree, words)?;
        if !built.ok {
            say!("{}", built.err);
            bail!("{MANIFEST}: does not build without std");
        }
        let program = folder(tree).join("release").join(PROGRAM);
        run_attached(&mut Command::new(&program))?;
        say!("{PROGRAM} {} ran and said yes", words.join(" "));
    }
    let leaked = build(tree, &["--features", "leak-std"])?;
    refused(&leaked)?;
    say!("with std in its graph it does not build, as it must not");
    Ok(Verdict::Holds(String::new()))
}

fn folder(tree: &Tree) -> PathBuf {
    target_dir(tree).join("nostd")
}

fn build(tree: &Tree, words: &[&str]) -> Result<Said> {
    let mut command = cargo(tree, ["build", "--release", "--manifest-path", MANIFEST]);
    quiet(command.args(words).env("CARGO_TARGET_DIR", folder(tree)))
}

/// The build with std must fail, and for the reason that std is there.
fn refused(said: &Said) -> Result<()> {
    if said.ok {
        bail!("{MANIFEST}: builds with feature leak-std, so the job cannot see std");
    }
    if !said.err.contains("E0152") || !said.err.contains("panic_impl") {
        say!("{}", said.err);
        bail!("{MANIFEST}: feature leak-std fails, but not by std's own panic handler");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::refused;
    use crate::shell::Said;

    fn said(ok: bool, err: &str) -> Said {
        Said {
            ok,
            out: String::new(),
            err: err.to_owned(),
        }
    }

    #[test]
    fn only_the_right_refusal_counts() {
        let right = "error[E0152]: found duplicate lang item `panic_impl`";
        assert!(refused(&said(false, right)).is_ok());
        assert!(refused(&said(true, "")).is_err());
        assert!(refused(&said(false, "error: no such feature")).is_err());
    }
}
