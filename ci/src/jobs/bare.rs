//! The core on a board without an operating system, under emulation: conformance, barrier lines,
//! tasks.
//!
//! The board has four harts that run at once, then sixteen whose clock counts instructions: twice,
//! with nearly the same ticks. The same program with a task that fills its stack, its hart's or a
//! further piece, must fail, or the job would prove nothing.

use super::Verdict;
use super::packages::{self, Need, exists};
use crate::context::say;
use crate::shell::{Said, quiet, target_dir, tee};
use crate::tree::Tree;
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const FOLDER: &str = "backends/manycore/bare";
const PROGRAM: &str = "riscv64gc-unknown-none-elf/release/tautline-bare";

const NEEDS: &[Need<'_>] = &[
    packages::COMPILER,
    packages::LINKER,
    Need {
        name: "an emulator",
        is_there: &|| exists("/usr/bin/qemu-system-riscv64"),
        packages: &["qemu-system-misc"],
    },
];

/// May go when the emulator comes: a tool for disk images, of another version on some machines.
const MAY_GO: &str = "qemu-utils";

/// Seconds after which a run hangs.
const LIMIT: &str = "240";

/// Four harts at once; sixteen in a fixed order.
const AT_ONCE: (&str, &[&str]) = ("4", &[]);
const IN_ORDER: (&str, &[&str]) = ("16", &["-icount", "shift=0,sleep=off"]);
/// The bound on the difference of ticks between two runs in the same order: a twentieth. Threads of
/// the emulator end the turn of a hart early at times that the host determines; of 14 runs with
/// QEMU 7.2, three differed from the others, by 0.3 % at most.
const APART: u64 = 20;
/// One fills a further piece of stack instead of its own.
const ALONE: (&str, &[&str]) = ("1", &[]);

/// The beginning of lines that report a step, of which the last one names where a board hangs.
const STEP: &str = "step: ";

/// The beginnings of the other lines of a run; times follow them.
const EXPECTED: &[&str] = &[
    "board: virt, ",
    "suites: grows, ticks, parks, seats, fences, meets, blocks, exchanges, ",
    "lines: 5 lines, ",
    "phasers: 10000 phases of the same harts, ",
    "channel: 20000 records each way, sums aae822ce1c3ebfc7 and 887d57780a078f3e, ",
    "places: balances, ",
    "finish: 200000 tasks, sum 19999900000, ",
    "deep: 30000 forks in each other, ",
    "uts: anl, 2859057 nodes, 1430528 leaves, depth 1933, ",
    "glb: anl by ",
    "PASS",
];

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if let Some(why) = packages::install(NEEDS, &[MAY_GO])? {
        return Ok(Verdict::CannotRun(why));
    }
    build(tree, &["--features", "overflow"])?;
    refused(&boot(tree, AT_ONCE)?, "its stack is full")?;
    refused(&boot(tree, ALONE)?, "its piece of stack is full")?;
    build(tree, &[])?;
    passed(&boot(tree, AT_ONCE)?, AT_ONCE.0)?;
    let (first, second) = (boot(tree, IN_ORDER)?, boot(tree, IN_ORDER)?);
    passed(&first, IN_ORDER.0)?;
    if let Some(line) = unlike(&first.out, &second.out) {
        bail!("two runs in the same order differ by more than one part in {APART}: {line}");
    }
    Ok(Verdict::Holds("4 harts at once, 16 in order".into()))
}

fn folder(tree: &Tree) -> PathBuf {
    target_dir(tree).join("bare")
}

/// The distribution's own compiler, whose library's source is beside it. Run in the program's
/// folder, where it finds how the board is built for.
fn build(tree: &Tree, words: &[&str]) -> Result<()> {
    let mut command = Command::new("/usr/bin/cargo");
    command
        .current_dir(tree.path(FOLDER))
        .args(["build", "--release"])
        .args(words)
        // Set by the cargo that runs this, for another compiler.
        .env_remove("CARGO")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env("RUSTC", "/usr/bin/rustc")
        // The library is built from source, which the compiler calls unstable.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", folder(tree));
    let built = quiet(&mut command)?;
    if !built.ok || built.err.contains("warning: ") {
        say!("{}", built.err);
        bail!("{FOLDER} does not build without a warning");
    }
    Ok(())
}

fn boot(tree: &Tree, (harts, words): (&str, &[&str])) -> Result<Said> {
    let mut command = Command::new("timeout");
    command
        .args([LIMIT, "qemu-system-riscv64", "-machine", "virt"])
        .args(["-m", "128M", "-nographic", "-bios", "none", "-smp", harts])
        .args(words)
        .arg("-kernel")
        .arg(folder(tree).join(PROGRAM))
        .stdin(Stdio::null());
    tee(&mut command)
}

/// Checks that every line is present, in this order, and that the exit code is 0.
fn passed(said: &Said, harts: &str) -> Result<()> {
    let lines = said.out.lines().map(|line| line.trim_end_matches('\r'));
    let mut lines = lines.filter(|line| !line.starts_with(STEP));
    for expected in EXPECTED {
        let line = lines.next().unwrap_or("nothing");
        if !line.starts_with(expected) {
            bail!("{harts} harts: `{line}` instead of `{expected}…`");
        }
    }
    if let Some(line) = lines.next() {
        bail!("{harts} harts: `{line}` after the end");
    }
    if !said
        .out
        .contains(&format!("{}{harts} harts, ", EXPECTED[0]))
    {
        bail!("not {harts} harts");
    }
    match said.ok {
        true => Ok(()),
        false => bail!("{harts} harts: the exit code reports a failure"),
    }
}

/// Returns what differs in `second` from `first`: a line with another word, or a number beyond what
/// [`APART`] allows.
fn unlike<'a>(first: &str, second: &'a str) -> Option<&'a str> {
    let near = |a: &str, b: &str| match (a.parse::<u64>(), b.parse::<u64>()) {
        (Ok(a), Ok(b)) => a.abs_diff(b) <= a.max(b) / APART,
        _ => a == b,
    };
    let alike = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|line| line.split_whitespace().collect::<Vec<_>>());
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| near(a, b))
    };
    let mut expected = first.lines();
    let mut lines = second.lines();
    let found = lines.find(|line| !expected.next().is_some_and(|e| alike(e, line)));
    found.or_else(|| expected.next().and(Some("an early end")))
}

/// A stack that is full must end the machine, and say so.
fn refused(said: &Said, message: &str) -> Result<()> {
    if said.ok || !said.out.contains(message) || !said.out.contains("FAIL") {
        bail!("`{message}` is not noticed: the job sees no failure");
    }
    say!("a full stack is noticed, as it must be");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{EXPECTED, passed, refused, unlike};
    use crate::shell::Said;

    fn said(ok: bool, out: &str) -> Said {
        Said {
            ok,
            out: out.to_owned(),
            err: String::new(),
        }
    }

    #[test]
    fn every_line_counts() {
        let lines: Vec<_> = EXPECTED
            .iter()
            .map(|expected| format!("{expected}4 harts, 1\r\n"))
            .collect();
        assert!(passed(&said(true, &lines.concat()), "4").is_ok());
        let steps = lines.join("step: parks\r\n");
        assert!(passed(&said(true, &steps), "4").is_ok());
        assert!(passed(&said(false, &lines.concat()), "4").is_err());
        assert!(passed(&said(true, &lines.concat()), "16").is_err());
        for gone in 0..lines.len() {
            let mut left = lines.clone();
            left.remove(gone);
            assert!(passed(&said(true, &left.concat()), "4").is_err());
        }
        let more = lines.concat() + "FAIL\n";
        assert!(passed(&said(true, &more), "4").is_err());
    }

    #[test]
    fn runs_in_order_are_alike_but_for_a_few_ticks() {
        let run = "glb: 16 workers, 1000 ticks\nPASS\n";
        assert_eq!(unlike(run, run), None);
        assert_eq!(unlike(run, "glb: 16 workers, 1050 ticks\nPASS\n"), None);
        for other in [
            "glb: 16 workers, 1060 ticks",
            "glb: 16 thieves, 1000 ticks",
            "glb: 16 workers, 1000",
        ] {
            assert_eq!(unlike(run, &format!("{other}\nPASS\n")), Some(other));
        }
        assert!(unlike(run, "glb: 16 workers, 1000 ticks\n").is_some());
        assert_eq!(unlike(run, &format!("{run}FAIL\n")), Some("FAIL"));
    }

    #[test]
    fn only_the_right_failure_counts() {
        let right = "panicked at start.rs: hart 1: its stack is full, at 0x80\nFAIL\n";
        let refused = |ok, out| refused(&said(ok, out), "its stack is full");
        assert!(refused(false, right).is_ok());
        assert!(refused(true, right).is_err());
        assert!(refused(false, "FAIL\n").is_err());
    }
}
