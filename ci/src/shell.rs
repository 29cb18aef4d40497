//! Starting cargo, and reading its output.

use crate::context::{self, Output, say};
use crate::limit::Watch;
use crate::times;
use crate::tree::Tree;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// Output and end of a program.
#[derive(Debug)]
pub(crate) struct Said {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

/// `cargo WORDS…` at the root of the tree. A job builds once, so nothing is kept for a build after
/// a change.
pub(crate) fn cargo<'a>(tree: &Tree, words: impl IntoIterator<Item = &'a str>) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command
        .current_dir(&tree.root)
        .args(words)
        .env("CARGO_INCREMENTAL", "0")
        // A registry that does not answer at once fails no job.
        .env("CARGO_NET_RETRY", "10")
        // A failed assertion names its line without; backtraces and debuggers serve when the test
        // is repeated.
        .env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// Returns the output of `git WORDS…` at the root of the tree; `None` if it fails.
pub(crate) fn git(tree: &Tree, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    let said = quiet(command.current_dir(&tree.root).args(words)).ok()?;
    said.ok.then_some(said.out)
}

/// The folder in which cargo builds, made absolute.
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

/// Optimised as a release, for checks that run for minutes: a model takes half the time of
/// [`quick_release`]. Assertions stay on.
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

/// Runs to the end and shows its output; an exit status other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    say!("$ {line}");
    let status = perform(command, &line, [SHOWN, SHOWN])?.status;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// Runs to the end, shows its output as it comes, and keeps standard output.
pub(crate) fn tee(command: &mut Command) -> Result<Said> {
    let line = shown(command);
    say!("$ {line}");
    Ok(perform(command, &line, [SHOWN_AND_KEPT, SHOWN])?.said)
}

/// As [`tee`], and returns the processor time as well.
pub(crate) fn timed(command: &mut Command) -> Result<(Said, Duration)> {
    let line = shown(command);
    say!("$ {line}");
    let ended = perform(command, &line, [SHOWN_AND_KEPT, SHOWN])?;
    Ok((ended.said, ended.used))
}

/// Runs to the end, shows what it reports as an error, and keeps standard output, which is for this
/// program.
pub(crate) fn keep(command: &mut Command) -> Result<Said> {
    let line = shown(command);
    say!("$ {line}");
    Ok(perform(command, &line, [KEPT, SHOWN])?.said)
}

/// Runs to the end in silence and keeps all that was said.
pub(crate) fn quiet(command: &mut Command) -> Result<Said> {
    let line = shown(command);
    Ok(perform(command.stdin(Stdio::null()), &line, [KEPT, KEPT])?.said)
}

/// Destination of a stream of a command.
#[derive(Clone, Copy)]
struct Stream {
    is_shown: bool,
    is_kept: bool,
}

const SHOWN: Stream = Stream {
    is_shown: true,
    is_kept: false,
};
const KEPT: Stream = Stream {
    is_shown: false,
    is_kept: true,
};
const SHOWN_AND_KEPT: Stream = Stream {
    is_shown: true,
    is_kept: true,
};

/// The end of a command.
struct Ended {
    status: ExitStatus,
    /// With the output that is kept.
    said: Said,
    /// Its processor time.
    used: Duration,
}

/// Runs a command to its end, within its limit.
fn perform(command: &mut Command, line: &str, streams: [Stream; 2]) -> Result<Ended> {
    let context = context::current();
    // What is only shown stays attached to the terminal, where this lane is the only one.
    let [out, err] = streams.map(|stream| stream.is_kept || !context.is_attached());
    if out {
        command.stdout(Stdio::piped());
    }
    if err {
        command.stderr(Stdio::piped());
    }
    if !context.is_attached() {
        command.stdin(Stdio::null());
    }
    let mut child = command
        .spawn()
        .with_context(|| format!("starting {line}"))?;
    let watch = Watch::over(child.id(), context.limited);
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let [out, err] = thread::scope(|scope| {
        let output = &context.output;
        let err = scope.spawn(move || read(err, streams[1], output));
        let out = read(out, streams[0], output);
        [out, err.join().expect("a reader does not panic")]
    });
    let (status, used) = times::wait(&mut child)?;
    context.add(used);
    if let Some(said) = watch.end() {
        bail!("`{line}` {said}");
    }
    let said = Said {
        ok: status.success(),
        out: out?,
        err: err?,
    };
    Ok(Ended { status, said, used })
}

/// Reads a stream to its end, in whole lines. Returns what is kept.
fn read(pipe: Option<impl Read>, stream: Stream, output: &Output) -> io::Result<String> {
    let mut kept = String::new();
    let Some(pipe) = pipe else {
        return Ok(kept);
    };
    let mut pipe = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while pipe.read_until(b'\n', &mut bytes)? > 0 {
        let mut line = String::from_utf8_lossy(&bytes).into_owned();
        if stream.is_kept {
            kept += &line;
        }
        if stream.is_shown {
            if !line.ends_with('\n') {
                line.push('\n');
            }
            output.text(&line);
        }
        bytes.clear();
    }
    Ok(kept)
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

#[cfg(test)]
mod tests {
    use super::{failed_tests, quiet, run, tee};
    use crate::context::{Context, Output, lock};
    use std::process::Command;

    fn shell(program: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", program]);
        command
    }

    #[test]
    fn a_lane_gets_all_output_in_whole_lines() {
        let (output, text) = Output::collecting();
        let context = Context::new(output, true);
        context.enter(|| {
            let said = tee(&mut shell("printf 'a\\nb'; echo c >&2")).unwrap();
            assert_eq!((said.ok, &*said.out, &*said.err), (true, "a\nb", ""));
            let said = quiet(&mut shell("echo d; echo e >&2; exit 1")).unwrap();
            assert_eq!((said.ok, &*said.out, &*said.err), (false, "d\n", "e\n"));
            let error = run(&mut shell("echo f >&2; exit 4"))
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("ended with") && error.contains('4'),
                "{error}"
            );
        });
        let text = lock(&text);
        let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('$')).collect();
        lines.sort_unstable();
        assert_eq!(lines, ["a", "b", "c", "f"]);
    }

    #[test]
    fn the_names_of_failed_tests_are_found_behind_what_they_printed() {
        let printed = "failures:\n\n---- a::b stdout ----\n    left: 1\n\n";
        let out = format!("{printed}\nfailures:\n    a::b\n    c\n\ntest result: FAILED.\n");
        assert_eq!(failed_tests(&out), ["a::b", "c"]);
        assert!(failed_tests("test result: ok. 2 passed\n").is_empty());
    }
}
