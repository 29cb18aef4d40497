//! Dependencies by the rules of `deny.toml`: licences, sources, crates that are banned or built
//! twice, and advisories, whose database is fetched.

use super::super::Verdict;
use super::tool::{Tool, reason};
use crate::shell::{quiet, run as attached};
use crate::tree::Tree;
use anyhow::Result;
use std::process::Command;

const DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
};

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let program = match DENY.ready(tree)? {
        Ok(program) => program,
        Err(why) => return Ok(Verdict::CannotRun(why)),
    };
    let deny = |words: &str| {
        let mut command = Command::new(&program);
        command.current_dir(&tree.root).args(words.split(' '));
        command
    };
    // Without the network, and therefore first.
    attached(&mut deny(
        "check --hide-inclusion-graph bans licenses sources",
    ))?;
    let fetched = quiet(&mut deny("fetch db"))?;
    if !fetched.ok {
        let why = reason(&fetched.err);
        let why = format!("the database of advisories cannot be fetched: {why}");
        return Ok(Verdict::CannotRun(why));
    }
    attached(&mut deny("check --disable-fetch advisories"))?;
    Ok(Verdict::Holds(String::new()))
}
