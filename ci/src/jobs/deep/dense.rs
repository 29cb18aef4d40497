//! The applications with the feature `dense`, whose kernels take minutes of processor time to
//! build: no other job builds it.

use super::super::Verdict;
use super::super::counted::passed;
use crate::shell::{cargo, quick_release, run as attached, tee};
use crate::tree::Tree;
use anyhow::{Result, bail};

const CLIPPY: &str =
    "clippy --release --locked -p tautline-cli --features dense --all-targets -- -D warnings";
/// The comparison with other libraries.
const TABLE: &str = "clippy --release --locked -p tautline-bench --features dense --example cholesky -- -D warnings";
const DOCS: &str = "doc --release --locked --no-deps -p tautline-cli --features dense";
/// With optimised code, as kernels without it take minutes.
const TESTS: [&str; 4] = [
    "test --release --locked -p tautline-cli --features dense --test cholesky",
    "test --release --locked -p tautline-cli --features dense --lib cholesky::",
    "test --release --locked -p tautline-cli --features dense --bins",
    "test --release --locked -p tautline-cli --features dense --doc cholesky",
];

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut tests = 0;
    for words in TESTS {
        let mut command = cargo(tree, words.split(' '));
        let said = tee(quick_release(&mut command))?;
        match (said.ok, passed(&said.out)) {
            (true, some @ 1..) => tests += some,
            _ => bail!("cargo {words}"),
        }
    }
    for words in [CLIPPY, TABLE, DOCS] {
        let mut command = cargo(tree, words.split(' '));
        attached(quick_release(&mut command).env("RUSTDOCFLAGS", "-Dwarnings"))?;
    }
    Ok(Verdict::Holds(format!("{tests} tests")))
}
