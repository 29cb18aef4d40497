//! Tests on other processors under emulation, and the core compiled for more of them: those of
//! `ci/cross.toml`.
//!
//! Emulated by a host with total store order, programs show their byte order, their widths and
//! their paths, but none of the reorderings that such processors allow: those are judged by models.

use super::Verdict;
use super::packages::{self, Need, exists};
use crate::shell::{git, quiet, run, target_dir, test as run_tests};
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use toml::{Table, Value};

const MATRIX: &str = "ci/cross.toml";

/// The kernel's table of programs that are started by an emulator.
const FORMATS: &str = "/proc/sys/fs/binfmt_misc";

/// The quickest tests, on one of those that take turns.
pub(super) fn in_turn(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let matrix = matrix(tree)?;
    let all = runs(&matrix)?;
    let all: Vec<&Run> = all.iter().filter(|run| run.takes_turns).collect();
    let commits = git(tree, &["rev-list", "--count", "HEAD"]);
    let commits = commits.and_then(|commits| commits.trim().parse::<usize>().ok());
    let commits = commits.context("the number of commits")?;
    let run = all.get(commits % all.len().max(1)).context(MATRIX)?;
    judge(tree, &tests(&matrix, "turn")?, &[run], &[])
}

/// All, or those whose target contains one of the words: the tests of those that run, the core of
/// those that are only checked.
pub(super) fn run_all(tree: &Tree, words: &[String]) -> Result<Verdict> {
    let matrix = matrix(tree)?;
    let (all_runs, all_checks) = (runs(&matrix)?, checks(&matrix)?);
    let targets = all_runs.iter().map(|run| run.target);
    let targets: Vec<&str> = targets.chain(all_checks.iter().copied()).collect();
    let chosen = named(&targets, words)?;
    let runs: Vec<&Run> = all_runs
        .iter()
        .filter(|run| chosen.contains(&run.target))
        .collect();
    let checks = all_checks.iter().filter(|it| chosen.contains(it));
    let checks: Vec<&str> = checks.copied().collect();
    judge(tree, &tests(&matrix, "words")?, &runs, &checks)
}

/// Runs tests on some processors, and compiles the core for others.
fn judge(tree: &Tree, all: &[Tests<'_>], runs: &[&Run<'_>], checks: &[&str]) -> Result<Verdict> {
    if let Some(why) = packages::install(&[packages::COMPILER], &[])? {
        return Ok(Verdict::CannotRun(why));
    }
    let mut cannot_run = Vec::new();
    let mut ready = Vec::new();
    for &run in runs {
        match prepare(run)? {
            Some(why) => cannot_run.push(format!("{}: {why}", run.target)),
            None => ready.push(run),
        }
    }
    let on_one = |run| all.iter().map(move |tests| test(tree, run, tests));
    let tests = ready.iter().flat_map(|run| on_one(run));
    let compiled = checks.iter().map(|target| check(tree, target));
    // All run, since each fails for reasons of its own.
    let failed = tests.chain(compiled).filter_map(Result::err);
    let failed: Vec<String> = failed.map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    if !cannot_run.is_empty() {
        return Ok(Verdict::CannotRun(cannot_run.join("; ")));
    }
    let tested: Vec<&str> = ready.iter().map(|run| run.target).collect();
    let said = [("tests on", &tested[..]), ("core compiles for", checks)];
    let said = said.iter().filter(|(_, targets)| !targets.is_empty());
    let said = said.map(|(what, targets)| format!("{what} {}", targets.join(", ")));
    Ok(Verdict::Holds(said.collect::<Vec<_>>().join("; ")))
}

/// Those that contain one of the words, or all without words.
fn named<'t>(targets: &[&'t str], words: &[String]) -> Result<Vec<&'t str>> {
    if let Some(word) = words
        .iter()
        .find(|&w| targets.iter().all(|t| !t.contains(&**w)))
    {
        bail!(
            "no target contains `{word}`; allowed: {}",
            targets.join(", ")
        );
    }
    let is_named = |t: &&&str| words.is_empty() || words.iter().any(|w| t.contains(&**w));
    Ok(targets.iter().filter(is_named).copied().collect())
}

fn matrix(tree: &Tree) -> Result<Table> {
    tree.read(MATRIX)?.parse().context(MATRIX)
}

/// A processor on which tests run.
struct Run<'m> {
    target: &'m str,
    /// The prefix of its tools, and the folder of its C library below `/usr`.
    tools: &'m str,
    packages: Vec<&'m str>,
    /// None if this machine runs its programs.
    emulated: Option<Emulated<'m>>,
    takes_turns: bool,
}

struct Emulated<'m> {
    emulator: &'m str,
    header: Header,
}

/// Fields of the header of a program: bits of an address, byte order, number of the machine.
#[derive(Clone, Copy)]
struct Header {
    is_wide: bool,
    is_little: bool,
    machine: u8,
}

fn rows<'m>(matrix: &'m Table, name: &str) -> Result<Vec<&'m Table>> {
    let rows = matrix.get(name).and_then(Value::as_array);
    let rows = rows.with_context(|| format!("{MATRIX}: no [[{name}]]"))?;
    Ok(rows.iter().filter_map(Value::as_table).collect())
}

fn text<'m>(row: &'m Table, key: &str) -> Result<&'m str> {
    let text = row.get(key).and_then(Value::as_str);
    text.with_context(|| format!("{MATRIX}: a row without `{key}`"))
}

fn texts<'m>(row: &'m Table, key: &str) -> Result<Vec<&'m str>> {
    let all = row.get(key).and_then(Value::as_array);
    let all = all.with_context(|| format!("{MATRIX}: a row without `{key}`"))?;
    Ok(all.iter().filter_map(Value::as_str).collect())
}

fn runs(matrix: &Table) -> Result<Vec<Run<'_>>> {
    let run = |row| {
        let emulated = match text(row, "emulator") {
            Ok(emulator) => Some(Emulated {
                emulator,
                header: header(row)?,
            }),
            Err(_) => None,
        };
        Ok(Run {
            target: text(row, "target")?,
            tools: text(row, "tools")?,
            packages: texts(row, "packages")?,
            emulated,
            takes_turns: row.get("turn").and_then(Value::as_bool) == Some(true),
        })
    };
    rows(matrix, "run")?.into_iter().map(run).collect()
}

fn header(row: &Table) -> Result<Header> {
    let elf = row.get("elf").and_then(Value::as_array).map(Vec::as_slice);
    let Some(
        [
            Value::Integer(bits),
            Value::String(order),
            Value::Integer(machine),
        ],
    ) = elf
    else {
        bail!("{MATRIX}: `elf` is [bits, \"little\" or \"big\", machine]");
    };
    ensure!([32, 64].contains(bits), "{MATRIX}: {bits} bits: 32 or 64");
    let orders = ["little", "big"].contains(&&**order);
    ensure!(orders, "{MATRIX}: order {order}: little or big");
    Ok(Header {
        is_wide: *bits == 64,
        is_little: order == "little",
        machine: u8::try_from(*machine).with_context(|| format!("{MATRIX}: machine {machine}"))?,
    })
}

/// Tests of a crate.
struct Tests<'m> {
    package: &'m str,
    /// The words of cargo that choose them.
    words: Vec<&'m str>,
    /// Those that an emulator cannot show.
    skip: Vec<&'m str>,
}

/// The tests of those crates that have words below `key`.
fn tests<'m>(matrix: &'m Table, key: &str) -> Result<Vec<Tests<'m>>> {
    let tests = |row: &'m Table| {
        Ok(Tests {
            package: text(row, "package")?,
            words: texts(row, key)?,
            skip: match row.contains_key("skip") {
                true => texts(row, "skip")?,
                false => Vec::new(),
            },
        })
    };
    let rows = rows(matrix, "tests")?.into_iter();
    rows.filter(|row| row.contains_key(key))
        .map(tests)
        .collect()
}

/// The targets that are only checked.
fn checks(matrix: &Table) -> Result<Vec<&str>> {
    let rows = rows(matrix, "check")?.into_iter();
    rows.map(|row| text(row, "target")).collect()
}

/// Runs tests on a processor.
fn test(tree: &Tree, run: &Run<'_>, tests: &Tests<'_>) -> Result<()> {
    let words = ["test", "--no-fail-fast", "-p", tests.package];
    let mut command = built(tree, &words, run.target, "std,panic_unwind");
    on(&mut command, run);
    command.args(&tests.words).arg("--");
    if run.emulated.is_some() {
        command.args(tests.skip.iter().flat_map(|name| ["--skip", name]));
    }
    run_tests(&mut command)
}

/// Compiles the core, with and without features.
fn check(tree: &Tree, target: &str) -> Result<()> {
    let all = ["--features", "wire"];
    for features in [&all[..], &["--no-default-features"]] {
        let words = ["check", "--quiet", "-p", "tautline-core"];
        let mut command = built(tree, &words, target, "core,alloc");
        run(command.args(features).env("RUSTFLAGS", "-Dwarnings"))?;
    }
    Ok(())
}

/// The compiler that has the library's source beside it, which it builds for the target.
fn built(tree: &Tree, words: &[&str], target: &str, library: &str) -> Command {
    let mut command = Command::new("/usr/bin/cargo");
    command
        .current_dir(&tree.root)
        .args(words)
        .arg(format!("-Zbuild-std={library}"))
        .args(["--locked", "--target", target])
        // Set by the cargo that runs this, for another compiler.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("RUSTC", "/usr/bin/rustc")
        // The library is built from source, which the compiler calls unstable.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_TARGET_DIR", target_dir(tree).join("cross"));
    command
}

/// Links with the tools of the target, and finds its C library where programs start.
fn on(command: &mut Command, run: &Run<'_>) {
    let linker = format!("{}-gcc", run.tools);
    let variable = run.target.to_uppercase().replace('-', "_");
    let root = format!("/usr/{}", run.tools);
    command
        .env(format!("CARGO_TARGET_{variable}_LINKER"), &linker)
        .env(format!("CC_{}", run.target.replace('-', "_")), &linker);
    if run.emulated.is_some() {
        command.env("QEMU_LD_PREFIX", root);
    } else {
        let flags = format!(
            "-Clink-arg=-Wl,-rpath,{root}/lib -Clink-arg=-Wl,--dynamic-linker,{root}/lib/ld-linux.so.2"
        );
        command.env(format!("CARGO_TARGET_{variable}_RUSTFLAGS"), flags);
    }
}

/// Installs what is missing; reports why that is not possible.
fn prepare(run: &Run<'_>) -> Result<Option<String>> {
    let linker = format!("/usr/bin/{}-gcc", run.tools);
    let tools = Need {
        name: &linker,
        is_there: &|| exists(&linker),
        packages: &run.packages,
    };
    let path = run
        .emulated
        .as_ref()
        .map(|it| format!("/usr/bin/{}", it.emulator));
    let is_there = || path.as_deref().is_none_or(exists);
    let emulator = Need {
        name: "an emulator",
        is_there: &is_there,
        packages: &["qemu-user"],
    };
    if let Some(why) = packages::install(&[tools, emulator], &[])? {
        return Ok(Some(why));
    }
    match &run.emulated {
        Some(emulated) => register(emulated),
        None => Ok(None),
    }
}

/// Lets the kernel start programs of that processor by its emulator; reports why that is not
/// possible.
fn register(emulated: &Emulated<'_>) -> Result<Option<String>> {
    let formats = Path::new(FORMATS);
    if formats.join(emulated.emulator).exists() {
        return Ok(None);
    }
    let entrance = formats.join("register");
    if !entrance.exists() {
        let words = ["-t", "binfmt_misc", "binfmt_misc", FORMATS];
        quiet(Command::new("mount").args(words))?;
    }
    Ok(match fs::write(entrance, format(emulated)) {
        Ok(()) => None,
        Err(error) => Some(format!(
            "cannot register {} with {FORMATS}: {error}",
            emulated.emulator
        )),
    })
}

/// The line by which the kernel knows the programs of a processor: name, the bytes of the header,
/// their mask, and the emulator.
fn format(emulated: &Emulated<'_>) -> String {
    let Emulated { emulator, header } = emulated;
    let (class, order) = (1 + u8::from(header.is_wide), 2 - u8::from(header.is_little));
    let pair = |number: u8| match header.is_little {
        true => [number, 0],
        false => [0, number],
    };
    // Programs are of type 2 or 3.
    let magic = [0x7f, b'E', b'L', b'F', class, order, 1, 0];
    let magic = [&magic[..], &[0; 8], &pair(2), &pair(header.machine)].concat();
    let mut mask = [0xff; 20];
    mask[7] = 0;
    mask[if header.is_little { 16 } else { 17 }] = 0xfe;
    let hex =
        |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect() };
    format!(
        ":{emulator}:M::{}:{}:/usr/bin/{emulator}:",
        hex(&magic),
        hex(&mask)
    )
}

#[cfg(test)]
mod tests {
    use super::{Emulated, Header, checks, format, header, matrix, named, runs, tests};
    use crate::tree::Tree;

    #[test]
    fn the_matrix_of_this_repository_is_read() {
        let tree = Tree::here().unwrap();
        let matrix = matrix(&tree).unwrap();
        let runs = runs(&matrix).unwrap();
        let turns: Vec<_> = runs
            .iter()
            .filter(|run| run.takes_turns)
            .map(|run| run.target)
            .collect();
        assert_eq!(turns.len(), 3, "{turns:?}");
        assert!(checks(&matrix).unwrap().len() >= 5);
        assert!(tests(&matrix, "words").unwrap().len() >= 3);
        assert!(!tests(&matrix, "turn").unwrap().is_empty());
    }

    #[test]
    fn words_choose_among_all_targets() {
        let targets = ["powerpc64le-a", "powerpc64-a", "armv7-a"];
        let named = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            named(&targets, &words)
        };
        assert_eq!(named(&[]).unwrap(), targets);
        assert_eq!(named(&["powerpc64-", "arm"]).unwrap(), targets[1..]);
        let error = named(&["arm", "sparc"]).unwrap_err().to_string();
        assert!(
            error.contains("`sparc`") && error.contains("powerpc64-a, armv7-a"),
            "{error}"
        );
    }

    #[test]
    fn a_format_is_what_the_kernel_expects() {
        let format = |is_little, machine| {
            let header = Header {
                is_wide: true,
                is_little,
                machine,
            };
            format(&Emulated {
                emulator: "qemu-x",
                header,
            })
        };
        let zeros = "\\x00".repeat(8);
        let ones = "\\xff".repeat(8);
        let little = format!(
            ":qemu-x:M::\\x7f\\x45\\x4c\\x46\\x02\\x01\\x01\\x00{zeros}\\x02\\x00\\x15\\x00:"
        );
        assert!(
            format(true, 21).starts_with(&little),
            "{}",
            format(true, 21)
        );
        let mask = format!(
            ":\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00{ones}\\xfe\\xff\\xff\\xff:/usr/bin/qemu-x:"
        );
        assert!(format(true, 21).ends_with(&mask), "{}", format(true, 21));
        assert!(format(false, 22).contains("\\x02\\x02\\x01\\x00"));
        assert!(format(false, 22).contains("\\x00\\x02\\x00\\x16:"));
    }

    #[test]
    fn a_wrong_header_is_named() {
        for (elf, expected) in [
            ("[48, \"little\", 21]", "48 bits: 32 or 64"),
            ("[64, \"middle\", 21]", "order middle: little or big"),
            ("[64, \"little\", 999]", "machine 999"),
            ("[64, 21]", "`elf` is [bits,"),
        ] {
            let row = format!("elf = {elf}").parse().unwrap();
            let error = header(&row).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
