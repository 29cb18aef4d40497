//! The floors: which crates and modules may import which, and where unsafe, std and hardware may
//! appear.

mod apart;
mod crates;
mod floors;
mod gates;

use super::{Verdict, judge};
use crate::tree::Tree;
use anyhow::Result;

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let mut findings = crates::check(tree)?;
    findings.extend(apart::check(tree)?);
    findings.extend(floors::check(tree)?);
    findings.extend(gates::check(tree)?);
    judge(findings, "")
}
