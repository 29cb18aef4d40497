//! Instructions of the core's operations, and which of them synchronize, against a table in the
//! tree: what an operation costs is changed on purpose only.
//!
//! `tautline-costs` in `verify/nostd` performs one operation many times, without a library of the
//! system. Two runs differ by operations alone, so what the start and the end cost cancels out.

mod count;
mod sync;
mod table;

use super::packages::{self, Need, exists};
use super::{Verdict, judge};
use crate::context::{self, say};
use crate::shell::{Said, cargo, quiet, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, bail, ensure};
use count::Counts;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};
use sync::Set;
use table::{Difference, Row, Section};

/// The document with the tables.
const COSTS: &str = "verify/COSTS.md";
/// The job that writes the tables.
pub(super) const LIST: &str = "cost-list";

const MANIFEST: &str = "verify/nostd/Cargo.toml";
const PROGRAM: &str = "tautline-costs";
/// The announcement of a worker that parks: it must change the word that a publication changes.
const LOOK: &str = "look";
const OPERATIONS: [&str; 7] = [
    "push",
    "pop",
    "steal",
    LOOK,
    "fork-join",
    "signal-wait",
    "park",
];
/// The number of times that each operation is performed in either run.
const TIMES: [u64; 2] = [1_000, 3_000];

/// A processor whose instructions are counted.
struct Processor {
    name: &'static str,
    set: Set,
    /// For another processor than this machine's.
    emulated: Option<Emulated>,
}

struct Emulated {
    target: &'static str,
    emulator: &'static str,
    /// A feature that the target does not have by itself.
    feature: Option<&'static str>,
}

impl Emulated {
    /// The folder of the builds: of one target there is one in each.
    fn folder(&self, tree: &Tree) -> PathBuf {
        folder(tree).join(self.feature.unwrap_or_default())
    }
}

const fn emulated(
    name: &'static str,
    set: Set,
    target: &'static str,
    emulator: &'static str,
) -> Processor {
    with_feature(name, set, target, emulator, None)
}

const fn with_feature(
    name: &'static str,
    set: Set,
    target: &'static str,
    emulator: &'static str,
    feature: Option<&'static str>,
) -> Processor {
    Processor {
        name,
        set,
        emulated: Some(Emulated {
            target,
            emulator,
            feature,
        }),
    }
}

const PROCESSORS: [Processor; 5] = [
    Processor {
        name: "x86_64",
        set: Set::X86,
        emulated: None,
    },
    emulated(
        "aarch64",
        Set::Aarch64,
        "aarch64-unknown-linux-gnu",
        "qemu-aarch64",
    ),
    with_feature(
        "aarch64-lse",
        Set::Aarch64,
        "aarch64-unknown-linux-gnu",
        "qemu-aarch64",
        Some("lse"),
    ),
    emulated(
        "powerpc64le",
        Set::Power,
        "powerpc64le-unknown-linux-gnu",
        "qemu-ppc64le",
    ),
    emulated(
        "riscv64",
        Set::Riscv,
        "riscv64gc-unknown-linux-gnu",
        "qemu-riscv64",
    ),
];

/// Requirements of counting on this machine's processor.
const NEEDS: &[Need<'_>] = &[
    Need {
        name: "callgrind",
        is_there: &|| exists("/usr/bin/valgrind"),
        packages: &["valgrind"],
    },
    Need {
        name: "a disassembler",
        is_there: &|| exists("/usr/bin/objdump"),
        packages: &["binutils"],
    },
];

/// Requirements of counting on another one.
const NEEDS_EMULATED: &[Need<'_>] = &[
    packages::COMPILER,
    packages::LINKER,
    Need {
        name: "emulators",
        is_there: &|| exists("/usr/bin/qemu-ppc64le"),
        packages: &["qemu-user"],
    },
];

pub(super) fn check(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let committed = table::read(&tree.read(COSTS)?).context(COSTS)?;
    let (found, missing) = count_all(tree)?;
    let mut findings = Vec::new();
    for section in &found {
        findings.extend(unlike_update(section));
        let stated = committed.iter().find(|s| s.processor == section.processor);
        let Some(stated) = stated else {
            findings.push(format!("{}: no table in {COSTS}", section.processor));
            continue;
        };
        if stated.compiler != section.compiler {
            say!(
                "{}: the table is of {}, and this is {}: instructions are not judged",
                section.processor,
                stated.compiler,
                section.compiler
            );
        }
        let Difference {
            findings: judged,
            notes,
        } = table::compare(stated, section);
        notes.iter().for_each(|note| say!("{note}"));
        findings.extend(judged);
    }
    match missing {
        Some(why) if findings.is_empty() => Ok(Verdict::CannotRun(why)),
        _ => judge(findings, summary(&found)),
    }
}

pub(super) fn list(tree: &Tree, _: &[String]) -> Result<Verdict> {
    let (found, missing) = count_all(tree)?;
    let text = tree.read(COSTS)?;
    let mut sections = table::read(&text).context(COSTS)?;
    for section in &found {
        match sections
            .iter_mut()
            .find(|s| s.processor == section.processor)
        {
            Some(stated) => section.clone_into(stated),
            None => sections.push(section.clone()),
        }
    }
    sections.sort_by_key(|s| PROCESSORS.iter().position(|p| p.name == s.processor));
    std::fs::write(tree.path(COSTS), table::written(&text, &sections))?;
    Ok(match missing {
        Some(why) => Verdict::CannotRun(why),
        None => Verdict::Holds(summary(&found)),
    })
}

/// An update that the compiler turns into a load would let a worker park beside an item: the
/// read-modify-write must be one. x86 may have a locked fence and a load instead, since there every
/// change of the word is locked too.
fn unlike_update(section: &Section) -> Option<String> {
    let row = section.rows.iter().find(|row| row.operation == LOOK)?;
    (!row.atomic.is_one_update()).then(|| {
        format!(
            "{} {LOOK}: {} locked or exclusive, which is not one read-modify-write",
            section.processor, row.atomic
        )
    })
}

fn summary(found: &[Section]) -> String {
    let names: Vec<_> = found.iter().map(|s| s.processor.as_str()).collect();
    format!("{} operations on {}", OPERATIONS.len(), names.join(", "))
}

/// Returns the costs on each processor that can be counted here, and what the others need.
fn count_all(tree: &Tree) -> Result<(Vec<Section>, Option<String>)> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        let why = "the instructions are counted on x86_64 Linux only: run it there";
        return Ok((Vec::new(), Some(why.into())));
    }
    if let Some(why) = packages::install(NEEDS, &[])? {
        return Ok((Vec::new(), Some(why)));
    }
    let missing = packages::install(NEEDS_EMULATED, &[])?;
    let here = build(tree)?;
    let emulated = match missing {
        Some(_) => None,
        None => Some(build_emulated(tree)?),
    };
    let processors = PROCESSORS.iter().filter_map(|processor| {
        let compiler = match processor.emulated {
            None => Some(&here),
            Some(_) => emulated.as_ref(),
        };
        Some((processor, compiler?.as_str()))
    });
    let context = &context::current();
    let found = thread::scope(|scope| {
        let start = |(processor, compiler)| {
            scope.spawn(move || context.enter(|| count(tree, processor, compiler)))
        };
        let started: Vec<_> = processors.map(start).collect();
        let ended = started.into_iter().map(ScopedJoinHandle::join);
        let sections = ended.map(|section| section.expect("a count returns its errors"));
        sections.collect::<Result<Vec<Section>>>()
    })?;
    for Section {
        processor, rows, ..
    } in &found
    {
        rows.iter().for_each(|row| say!("{processor} {row}"));
    }
    let missing = missing.map(|why| format!("only {} is counted: {why}", PROCESSORS[0].name));
    Ok((found, missing))
}

/// Counts each operation on a processor, in the program that was built for it.
fn count(tree: &Tree, processor: &Processor, compiler: &str) -> Result<Section> {
    let emulated = processor.emulated.as_ref();
    let built = emulated.map_or_else(
        || folder(tree),
        |emulated| emulated.folder(tree).join(emulated.target),
    );
    let program = built.join("release").join(PROGRAM);
    let code = match emulated {
        None => count::disassemble(&program)?,
        Some(_) => count::Code::new(),
    };
    let file = folder(tree).join(format!("cost-{}", processor.name));
    let run = |operation: &str, times: u64| -> Result<Counts> {
        let times = times.to_string();
        let words = [operation, &times];
        match emulated {
            None => count::by_callgrind(&code, &program, words, &file),
            Some(Emulated { emulator, .. }) => {
                count::by_qemu(emulator, processor.set, &program, words, &file)
            }
        }
    };
    let mut rows = Vec::new();
    for operation in OPERATIONS {
        let [few, many] = [run(operation, TIMES[0])?, run(operation, TIMES[1])?];
        let each = many.each(&few, TIMES[1] - TIMES[0]);
        ensure!(each.instructions > 0, "{operation}: no instructions");
        rows.push(Row::new(operation, &each));
    }
    std::fs::remove_file(&file)?;
    Ok(Section {
        processor: processor.name.to_owned(),
        compiler: compiler.to_owned(),
        rows,
    })
}

fn folder(tree: &Tree) -> PathBuf {
    target_dir(tree).join("nostd")
}

/// Builds the program with the compiler of the workspace. Returns the compiler's version.
fn build(tree: &Tree) -> Result<String> {
    let mut command = cargo(tree, ["build", "--release", "--manifest-path", MANIFEST]);
    command.args(["--features", "tasks", "--bin", PROGRAM]);
    built(&quiet(command.env("CARGO_TARGET_DIR", folder(tree)))?)?;
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    version(Command::new(compiler).current_dir(&tree.root))
}

/// Builds the program for the other processors with the distribution's compiler, whose library's
/// source is beside it. Returns the compiler's version.
fn build_emulated(tree: &Tree) -> Result<String> {
    let emulated = || PROCESSORS.iter().filter_map(|p| p.emulated.as_ref());
    let features: BTreeSet<Option<&str>> = emulated().map(|e| e.feature).collect();
    for feature in features {
        // In one command, so that the library is built for several of them at once.
        let targets: Vec<&Emulated> = emulated().filter(|e| e.feature == feature).collect();
        built(&quiet(&mut build_command(tree, feature, &targets))?)?;
    }
    version(&mut Command::new(DISTRIBUTION))
}

const DISTRIBUTION: &str = "/usr/bin/rustc";

fn build_command(tree: &Tree, feature: Option<&str>, targets: &[&Emulated]) -> Command {
    let feature = feature.map(|name| format!(" -Ctarget-feature=+{name}"));
    let flags = "-Clinker-flavor=ld.lld -Crelocation-model=static".to_owned();
    let mut command = Command::new("/usr/bin/cargo");
    command
        .current_dir(&tree.root)
        .args(["build", "--release", "--manifest-path", MANIFEST])
        .args(["--features", "tasks", "--bin", PROGRAM])
        .arg("-Zbuild-std=core,alloc")
        // The memory functions that compiled code calls.
        .arg("-Zbuild-std-features=compiler-builtins-mem")
        // Set by the cargo that runs this, for another compiler.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTC", DISTRIBUTION)
        // The library is built from source, which the compiler calls unstable.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", flags + &feature.unwrap_or_default());
    for emulated in targets {
        let name = emulated.target.replace('-', "_").to_uppercase();
        command.args(["--target", emulated.target]);
        command.env(format!("CARGO_TARGET_{name}_LINKER"), "ld.lld");
        command.env("CARGO_TARGET_DIR", emulated.folder(tree));
    }
    command
}

fn built(said: &Said) -> Result<()> {
    if !said.ok || said.err.contains("warning: ") {
        say!("{}", said.err);
        bail!("{MANIFEST}: {PROGRAM} does not build without a warning");
    }
    Ok(())
}

fn version(compiler: &mut Command) -> Result<String> {
    let said = quiet(compiler.arg("-V"))?;
    ensure!(said.ok, "rustc -V: {}", said.err.trim());
    Ok(said.out.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{COSTS, OPERATIONS, PROCESSORS, table, unlike_update};
    use std::path::Path;

    #[test]
    fn a_look_that_does_not_update_is_found() {
        let look = |atomic: &str| {
            let row = format!("| look | 9.00 | {atomic} | 0 |");
            let text = format!("## aarch64\n\nCompiler: rustc\n\n{row}\n");
            unlike_update(&table::read(&text).unwrap()[0])
        };
        assert_eq!(look("1 lock orl"), None);
        assert_eq!(look("1 ldaxr, 1 stlxr"), None);
        let line = "aarch64 look: 0 locked or exclusive, which is not one read-modify-write";
        assert_eq!(look("0").as_deref(), Some(line));
        assert!(look("1 lock orl, 1 lock xadd").is_some());
    }

    #[test]
    fn the_table_has_every_operation_on_every_processor() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = std::fs::read_to_string(root.join(COSTS)).unwrap();
        let sections = table::read(&text).unwrap();
        let names = sections.iter().map(|s| s.processor.as_str());
        assert!(names.eq(PROCESSORS.iter().map(|p| p.name)));
        for section in sections {
            let rows = section.rows.iter().map(|row| row.operation.as_str());
            assert!(rows.eq(OPERATIONS), "{}", section.processor);
        }
    }
}
