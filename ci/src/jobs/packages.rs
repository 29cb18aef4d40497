//! Programs and libraries of the system that a job needs.

use crate::context::say;
use crate::shell::{Said, quiet};
use anyhow::{Result, bail};
use std::path::Path;
use std::process::Command;

/// Something of the system that a job needs.
#[derive(Clone, Copy)]
pub(super) struct Need<'n> {
    pub name: &'n str,
    /// Whether the machine has it.
    pub is_there: &'n dyn Fn() -> bool,
    /// The packages of Debian that bring it.
    pub packages: &'n [&'n str],
}

/// The distribution's compiler, beside which is the source of its library.
pub(super) const COMPILER: Need<'_> = Need {
    name: "a compiler with its library's source",
    is_there: &|| exists("/usr/lib/rustlib/src/rust/library/core/Cargo.toml"),
    packages: &["rustc-web", "cargo-web", "rust-web-src"],
};

/// The linker of programs for machines without an operating system.
pub(super) const LINKER: Need<'_> = Need {
    name: "a linker",
    is_there: &|| exists("/usr/bin/ld.lld"),
    packages: &["lld"],
};

/// Installs what is missing, or reports why it cannot. Of what is installed, only packages in
/// `may_go` are removed for it.
pub(super) fn install(needs: &[Need<'_>], may_go: &[&str]) -> Result<Option<String>> {
    let missing: Vec<_> = needs.iter().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = missing.iter().map(|need| need.name).collect();
    let packages = missing.iter().flat_map(|need| need.packages);
    let packages: Vec<_> = packages.copied().collect();
    let why = format!(
        "lacks {}: apt-get install {}",
        names.join(", "),
        packages.join(" ")
    );
    let is_root = quiet(Command::new("id").arg("-u")).is_ok_and(|said| said.out.trim() == "0");
    if !is_root || !Path::new("/usr/bin/apt-get").exists() {
        return Ok(Some(why));
    }
    // Lists that are old name an older compiler than the code needs.
    quiet(Command::new("apt-get").arg("update"))?;
    let plan = apt(&["-s"], &packages)?;
    if !plan.ok || removed(&plan.out).any(|package| !may_go.contains(&package)) {
        return Ok(Some(why));
    }
    say!("installing {}", packages.join(" "));
    let done = apt(&["-y"], &packages)?;
    match needs.iter().find(|need| !(need.is_there)()) {
        None => Ok(None),
        Some(need) => bail!(
            "{} is not there after apt-get install {}: {}",
            need.name,
            packages.join(" "),
            done.err
        ),
    }
}

/// Whether there is a file or folder of this path.
pub(super) fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

fn apt(how: &[&str], packages: &[&str]) -> Result<Said> {
    let mut command = Command::new("apt-get");
    command.args(["install", "--no-install-recommends"]);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    quiet(command.args(how).args(packages))
}

/// Packages that a plan of apt removes.
fn removed(plan: &str) -> impl Iterator<Item = &str> {
    let lines = plan.lines().filter_map(|line| line.strip_prefix("Remv "));
    lines.filter_map(|line| line.split(' ').next())
}

#[cfg(test)]
mod tests {
    use super::removed;

    #[test]
    fn what_goes_is_read_from_the_plan() {
        let plan = "Inst a (1)\nRemv qemu-utils [1:10.0.2]\nRemv b [2]\nConf a (1)\n";
        assert_eq!(removed(plan).collect::<Vec<_>>(), ["qemu-utils", "b"]);
    }
}
