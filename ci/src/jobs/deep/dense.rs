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
/// With optimised code, as kernels without it take minutes.
const TESTS: [&str; 3] = [
    "test --release --locked -p tautline-cli --features dense --test cholesky",
    "test --release --locked -p tautline-cli --features dense --lib cholesky::",
    "test --release --locked -p tautline-cli --features dense --bins",
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
    for words in [CLIPPY, TABLE] {
        attached(quick_release(&mut cargo(tree, words.split(' '))))?;
    }
    Ok(Verdict::Holds(format!("{tests} tests")))
}
