//! Counts of the instructions of a run: by callgrind for this processor, by QEMU's log for others.

use super::sync::{Kind, Mix, Set};
use crate::shell::quiet;
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

/// Instructions of a run, or of each operation of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub instructions: u64,
    pub atomic: Mix,
    pub fences: Mix,
}

impl Counts {
    /// Adds the executions of an instruction.
    fn add(&mut self, set: Set, text: &str, times: u64) {
        self.instructions += times;
        let Some((name, kind)) = set.kind(text) else {
            return;
        };
        let mix = match kind {
            Kind::Atomic => &mut self.atomic,
            Kind::Fence => &mut self.fences,
        };
        *mix.0.entry(name).or_default() += times;
    }

    /// Returns, in hundredths, what each of `operations` costs that this run did beyond `fewer`.
    pub(super) fn each(&self, fewer: &Self, operations: u64) -> Self {
        // Rounded, so that what the end of a run costs does not show.
        let each =
            |many: u64, few: u64| (many.saturating_sub(few) * 100 + operations / 2) / operations;
        let mixed = |many: &Mix, few: &Mix| {
            let entries = many.0.iter().map(|(name, &count)| {
                let few = few.0.get(name).copied().unwrap_or_default();
                (name.clone(), each(count, few))
            });
            Mix(entries.filter(|&(_, count)| count > 0).collect())
        };
        Self {
            instructions: each(self.instructions, fewer.instructions),
            atomic: mixed(&self.atomic, &fewer.atomic),
            fences: mixed(&self.fences, &fewer.fences),
        }
    }
}

/// The texts of a program's instructions, by their addresses.
pub(super) type Code = HashMap<u64, String>;

/// Returns the instructions of a program for this processor.
pub(super) fn disassemble(program: &Path) -> Result<Code> {
    let mut command = Command::new("objdump");
    let said = quiet(command.args(["-d", "--no-show-raw-insn"]).arg(program))?;
    let code = listed(&said.out);
    if !said.ok || code.is_empty() {
        bail!("objdump {}: {}", program.display(), said.err.trim());
    }
    Ok(code)
}

/// Reads objdump's listing.
fn listed(text: &str) -> Code {
    let lines = text.lines().filter_map(|line| line.split_once(":\t"));
    lines
        .filter_map(|(address, text)| {
            let address = u64::from_str_radix(address.trim(), 16).ok()?;
            Some((address, text.trim().to_owned()))
        })
        .collect()
}

/// Runs a program for this processor under callgrind, which writes to `file`.
pub(super) fn by_callgrind(
    code: &Code,
    program: &Path,
    words: [&str; 2],
    file: &Path,
) -> Result<Counts> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--dump-instr=yes"])
        .args(["--compress-pos=no", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program)
        .args(words);
    let said = quiet(&mut command)?;
    if !said.ok {
        bail!("valgrind {}: {}", words.join(" "), said.err.trim());
    }
    let text = std::fs::read_to_string(file)?;
    profiled(code, &text)
}

/// Reads callgrind's profile.
fn profiled(code: &Code, text: &str) -> Result<Counts> {
    let (mut counts, mut is_callee) = (Counts::default(), false);
    for line in text.lines() {
        if line.starts_with("calls=") {
            is_callee = true;
            continue;
        }
        let Some(line) = line.strip_prefix("0x") else {
            continue;
        };
        // The line after a call has the cost of the callee, which is counted where it is.
        if std::mem::take(&mut is_callee) {
            continue;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let [address, _, times] = words[..] else {
            bail!("callgrind: `{line}` is not an address, a line and a count");
        };
        let address = u64::from_str_radix(address, 16)?;
        let text = code
            .get(&address)
            .with_context(|| format!("objdump lists no instruction at {address:#x}"))?;
        counts.add(Set::X86, text, times.parse()?);
    }
    Ok(counts)
}

/// Runs a program for another processor under QEMU, which logs each instruction to `file`.
pub(super) fn by_qemu(
    emulator: &str,
    set: Set,
    program: &Path,
    words: [&str; 2],
    file: &Path,
) -> Result<Counts> {
    let help = quiet(Command::new(emulator).arg("--help"))?;
    // One instruction a block, so that each has a line of its own; renamed in QEMU 8.1.
    let single = match help.out.contains("one-insn-per-tb") {
        true => "-one-insn-per-tb",
        false => "-singlestep",
    };
    let mut command = Command::new(emulator);
    command
        .args([single, "-d", "in_asm,exec,nochain", "-D"])
        .arg(file)
        .arg(program)
        .args(words);
    let said = quiet(&mut command)?;
    if !said.ok {
        bail!("{emulator} {}: {}", words.join(" "), said.err.trim());
    }
    let log = File::open(file).with_context(|| format!("opening {}", file.display()))?;
    logged(set, BufReader::new(log))
}

/// Reads QEMU's log: each instruction in assembly before it first runs, and a line each time that
/// it does.
fn logged(set: Set, log: impl BufRead) -> Result<Counts> {
    let (mut code, mut executed) = (Code::new(), HashMap::<u64, u64>::new());
    for line in log.lines() {
        let line = line?;
        if let Some(rest) = line.strip_prefix("Trace ") {
            let address = rest.split('/').nth(1).unwrap_or_default();
            let address = u64::from_str_radix(address, 16)
                .with_context(|| format!("QEMU's log: `{line}` has no address"))?;
            *executed.entry(address).or_default() += 1;
        } else if let Some((address, text)) = assembly(&line) {
            code.insert(address, text);
        }
    }
    let mut counts = Counts::default();
    for (address, times) in executed {
        let text = code
            .get(&address)
            .with_context(|| format!("QEMU's log has no assembly of {address:#x}"))?;
        counts.add(set, text, times);
    }
    Ok(counts)
}

/// The address and the text of a line such as `0x0040007c:  d503201f  nop`.
fn assembly(line: &str) -> Option<(u64, String)> {
    let (address, rest) = line.strip_prefix("0x")?.split_once(": ")?;
    let (_, text) = rest.trim().split_once(char::is_whitespace)?;
    let address = u64::from_str_radix(address, 16).ok()?;
    Some((address, text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Counts, Mix, listed, logged, profiled};
    use crate::jobs::cost::sync::Set;

    fn mix(entries: &[(&str, u64)]) -> Mix {
        let entries = entries.iter();
        Mix(entries.map(|&(name, n)| (name.to_owned(), n)).collect())
    }

    const LISTING: &str = "
costs:     file format elf64-x86-64

0000000000201120 <look>:
  201120:\tlock orl $0x0,-0x40(%rsp)
  201126:\tmov    (%rdi),%rax
  201129:\tcall   201140 <other>
  20112e:\tmfence
  201131:\tret
";

    #[test]
    fn a_profile_is_counted_without_callees() {
        let code = listed(LISTING);
        assert_eq!(code.len(), 5);
        let profile = "\
events: Ir
fn=look
0x201120 0 10
0x201126 0 10
0x201129 0 10
calls=10 0x201140 0
0x201129 0 700
0x20112e 0 10
0x201131 0 10
";
        let counts = profiled(&code, profile).unwrap();
        assert_eq!(counts.instructions, 50);
        assert_eq!(counts.atomic, mix(&[("lock orl", 10)]));
        assert_eq!(counts.fences, mix(&[("mfence", 10)]));
        let unknown = profiled(&code, "0x1 0 1\n").unwrap_err();
        assert!(unknown.to_string().contains("0x1"));
        assert!(profiled(&code, "0x201120 10\n").is_err());
    }

    const LOG: &str = "\
----------------
IN:
0x0000000000400078:  c85ffc08  ldaxr    x8, [x0]

Trace 0: 0x7f6c80000100 [0000000000000000/0000000000400078/00000000/ff000200] entry
----------------
IN:
0x000000000040007c:  c809fc08  stlxr    w9, x8, [x0]

Trace 0: 0x7f6c80000200 [0000000000000000/000000000040007c/00000000/ff000200] entry
----------------
IN:
0x0000000000400080:  54ffffc1  b.ne     #0x400078

Trace 0: 0x7f6c80000300 [0000000000000000/0000000000400080/00000000/ff000200] entry
Trace 0: 0x7f6c80000100 [0000000000000000/0000000000400078/00000000/ff000200] entry
";

    #[test]
    fn a_log_is_counted() {
        let counts = logged(Set::Aarch64, LOG.as_bytes()).unwrap();
        assert_eq!(counts.instructions, 4);
        assert_eq!(counts.atomic, mix(&[("ldaxr", 2), ("stlxr", 1)]));
        assert_eq!(counts.fences, mix(&[]));
        let cut = LOG.replace("0x000000000040007c:", "0x000000000040007d:");
        assert!(logged(Set::Aarch64, cut.as_bytes()).is_err());
        assert!(logged(Set::Aarch64, "Trace 0: 0x7f".as_bytes()).is_err());
    }

    #[test]
    fn an_operation_costs_the_difference_of_two_runs() {
        let few = Counts {
            instructions: 5_000,
            atomic: mix(&[("xchg", 1), ("lock xadd", 7)]),
            fences: mix(&[]),
        };
        let many = Counts {
            instructions: 24_003,
            atomic: mix(&[("xchg", 2_001), ("lock xadd", 7)]),
            fences: mix(&[("mfence", 1_000)]),
        };
        let each = many.each(&few, 2_000);
        assert_eq!(each.instructions, 950);
        assert_eq!(each.atomic, mix(&[("xchg", 100)]));
        assert_eq!(each.fences, mix(&[("mfence", 50)]));
    }
}
