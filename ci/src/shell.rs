//! Starting cargo, and reading its output.

use crate::limit::Watch;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a program said and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

/// `cargo WORDS…` at the root of the tree. A job builds once, so nothing is kept for a build after a change.
pub(crate) fn cargo<'a>(tree: &Tree, words: impl IntoIterator<Item = &'a str>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command
        .current_dir(&tree.root)
        .args(words)
        .env("CARGO_INCREMENTAL", "0")
        // A registry that does not answer at once fails no job.
        .env("CARGO_NET_RETRY", "10")
        // A failed assertion names its line without; backtraces and debuggers serve when the test is repeated.
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Where cargo builds, made absolute.
pub(crate) fn target_dir(tree: &Tree) -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    tree.path(set.unwrap_or_else(|| PathBuf::from("target")))
}

/// Optimised, but linked without the whole-program pass of a release: the checks that run many
/// small programs would spend their time in the linker. Assertions stay on.
pub(crate) fn quick_release(command: &mut Command) -> &mut Command {
    for profile in ["RELEASE", "BENCH"] {
        command
            .env(format!("CARGO_PROFILE_{profile}_LTO"), "off")
            .env(format!("CARGO_PROFILE_{profile}_CODEGEN_UNITS"), "16")
            .env(format!("CARGO_PROFILE_{profile}_DEBUG_ASSERTIONS"), "true");
    }
    command
}

/// Optimised as a release, for checks that run for minutes: a model takes half the time of [`quick_release`]. Assertions stay on.
pub(crate) fn long_run(command: &mut Command) -> &mut Command {
    command.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
}

/// Builds with loom behind `tautline_core::sync`.
pub(crate) fn with_loom(command: &mut Command) -> &mut Command {
    with_cfg(command, "tautline_loom")
}

/// Builds with shuttle behind `tautline_core::sync`.
pub(crate) fn with_shuttle(command: &mut Command) -> &mut Command {
    with_cfg(command, "tautline_shuttle")
}

fn with_cfg<'a>(command: &'a mut Command, name: &str) -> &'a mut Command {
    let mut flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    if !flags.is_empty() {
        flags.push(' ');
    }
    flags.push_str("--cfg ");
    flags.push_str(name);
    command
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", flags)
}

/// The command as one would type it, with the variables that change what it does.
fn shown(command: &Command) -> String {
    const SAID: &[&str] = &["RUSTFLAGS", "RUSTDOCFLAGS", "CARGO_TARGET_DIR"];
    let set = command.get_envs().filter_map(|(key, value)| {
        let key = key.to_str().filter(|k| SAID.contains(k))?;
        Some(format!("{key}={:?} ", value?.to_string_lossy()))
    });
    let program = Path::new(command.get_program()).file_name();
    let words = program.into_iter().chain(command.get_args());
    let words = words.map(|a| a.to_string_lossy());
    format!(
        "{}{}",
        set.collect::<String>(),
        words.collect::<Vec<_>>().join(" ")
    )
}

/// Runs to the end with the terminal attached; an exit status other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    println!("$ {line}");
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {line}"))?;
    let watch = Watch::over(child.id());
    let status = child.wait()?;
    in_time(&line, watch)?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// An error if the command was ended by its watch.
fn in_time(line: &str, watch: Watch) -> Result<()> {
    match watch.end() {
        Some(said) => bail!("`{line}` {said}"),
        None => Ok(()),
    }
}

/// Runs to the end, shows standard output as it comes, and keeps it.
pub(crate) fn tee(command: &mut Command) -> Result<Said> {
    let line = shown(command);
    println!("$ {line}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {line}"))?;
    let watch = Watch::over(child.id());
    let mut out = String::new();
    if let Some(pipe) = child.stdout.take() {
        for line in BufReader::new(pipe).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            out.push_str(&line);
            out.push('\n');
        }
    }
    let ok = child.wait()?.success();
    in_time(&line, watch)?;
    let err = String::new();
    Ok(Said { ok, out, err })
}

/// Runs tests as [`tee`] does. The error names those that failed.
pub(crate) fn test(command: &mut Command) -> Result<()> {
    let said = tee(command)?;
    if said.ok {
        return Ok(());
    }
    let names = failed_tests(&said.out).join("\n");
    if names.is_empty() {
        bail!("`{}`: did not build, or ended early", shown(command));
    }
    bail!("`{}`: failed tests\n{names}", shown(command))
}

/// The names of the tests that failed, which libtest lists at its end.
pub(crate) fn failed_tests(out: &str) -> Vec<&str> {
    let mut lines = out.lines().peekable();
    let mut names = Vec::new();
    while let Some(line) = lines.next() {
        if line == "failures:" {
            while let Some(name) = lines.next_if(|next| next.starts_with("    ")) {
                names.push(name.trim());
            }
        }
    }
    names
}

/// Runs to the end in silence and keeps all that was said.
pub(crate) fn quiet(command: &mut Command) -> Result<Said> {
    let line = shown(command);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {line}"))?;
    let watch = Watch::over(child.id());
    let output = child.wait_with_output()?;
    in_time(&line, watch)?;
    Ok(Said {
        ok: output.status.success(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::failed_tests;

    #[test]
    fn the_names_of_failed_tests_are_found_behind_what_they_printed() {
        let printed = "failures:\n\n---- a::b stdout ----\n    left: 1\n\n";
        let out = format!("{printed}\nfailures:\n    a::b\n    c\n\ntest result: FAILED.\n");
        assert_eq!(failed_tests(&out), ["a::b", "c"]);
        assert!(failed_tests("test result: ok. 2 passed\n").is_empty());
    }
}
