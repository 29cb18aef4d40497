//! Programs that steps need beside the compiler, each in one version below `target/tools`.

use crate::context::say;
use crate::shell::{cargo, quiet, target_dir};
use crate::tree::Tree;
use anyhow::Result;
use std::path::PathBuf;
use std::process::Command;

/// A package of the registry with a program of the same name.
pub(super) struct Tool {
    pub name: &'static str,
    pub version: &'static str,
}

impl Tool {
    /// Returns the program. If it is missing, builds it first; `Err` is the line that states why
    /// that is not possible.
    pub(super) fn ready(&self, tree: &Tree) -> Result<Result<PathBuf, String>> {
        let Self { name, version } = self;
        let root = target_dir(tree).join(format!("tools/{name}-{version}"));
        let program = root.join("bin").join(name);
        let program = program.with_extension(std::env::consts::EXE_EXTENSION);
        if program.is_file() {
            return Ok(Ok(program));
        }
        say!("building {name} {version}, which takes minutes");
        let mut command = cargo(
            tree,
            ["install", "--locked", "--quiet", "--version", version],
        );
        command.arg("--root").arg(&root).arg(name);
        // Built once and run for seconds: the compiler's time counts more than the program's.
        command.env("CARGO_PROFILE_RELEASE_LTO", "off");
        command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        let said = quiet(&mut command)?;
        Ok(match said.ok {
            true => Ok(program),
            false => Err(format!(
                "{name} {version} cannot be installed: {}",
                reason(&said.err)
            )),
        })
    }
}

/// Installs a component of the compiler that runs this program, if it is missing. Returns why that
/// is not possible.
pub(super) fn component(name: &str) -> Option<String> {
    let mut command = Command::new("rustup");
    command.args(["component", "add", name]);
    match quiet(&mut command) {
        Ok(said) if said.ok => None,
        Ok(said) => Some(format!("{name} cannot be installed: {}", reason(&said.err))),
        Err(_) => Some(format!("rustup is missing: it provides {name}")),
    }
}

/// The last cause that a program of the compiler's family prints.
pub(super) fn reason(err: &str) -> &str {
    let mut lines = err.lines().map(str::trim).filter(|line| !line.is_empty());
    let last = lines.next_back().unwrap_or("without an error message");
    let last = last.strip_prefix("error: ").unwrap_or(last);
    last.strip_prefix("fatal: ").unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_last_cause_is_one_line() {
        let err = "error: failed to fetch\n\nCaused by:\n  could not resolve host\n\n";
        assert_eq!(reason(err), "could not resolve host");
        assert_eq!(reason("fatal: no host\n"), "no host");
        assert_eq!(reason("\n"), "without an error message");
    }
}
