//! The command as one static file, which runs on every Linux of its kind of processor: it is built
//! with the C library in it, copied, and measures the machine without any variable.

use super::Verdict;
use super::packages::{self, Need, exists};
use crate::shell::{cargo, quiet, run, target_dir};
use crate::tree::Tree;
use anyhow::{Context, Result, ensure};
use std::env::consts::OS;
use std::fs;
use std::process::Command;

/// Measurements of the copy, also by processes that it starts of itself.
const MEASURED: &str = "bench all --quick --deadline 20 --json";
/// Figures of its parts, the last of them between such processes.
const FIGURES: [&str; 3] = ["\"deque\"", "\"fork and join\"", "\"processes, 8 bytes\""];

pub(super) fn run_all(tree: &Tree, _: &[String]) -> Result<Verdict> {
    if OS != "linux" {
        return Ok(Verdict::CannotRun(format!("{OS} has no static C library")));
    }
    // Named, so that build scripts and macros, which are loaded, stay dynamic.
    let target = host()?;
    let archive = format!("/usr/lib/{}/libc.a", multiarch(&target));
    let needs = [Need {
        name: "the C library as an archive",
        is_there: &|| exists(&archive),
        packages: &["libc6-dev"],
    }];
    if let Some(why) = packages::install(&needs, &[])? {
        return Ok(Verdict::CannotRun(why));
    }
    let words = "build --locked --release -p tautline-cli --bin tautline --target";
    let folder = target_dir(tree).join("static");
    let mut command = cargo(tree, words.split(' ').chain([&*target]));
    command
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("RUSTFLAGS", "-C target-feature=+crt-static")
        .env("CARGO_TARGET_DIR", &folder);
    run(&mut command)?;
    let built = folder.join(&target).join("release/tautline");
    let program = fs::read(&built).with_context(|| built.display().to_string())?;
    ensure!(
        !is_interpreted(&program).context("the header of a program")?,
        "{} requests a dynamic linker",
        built.display()
    );
    let copy = folder.join("one-file");
    fs::copy(&built, &copy)?;
    let mut command = Command::new(&copy);
    let said = quiet(command.args(MEASURED.split(' ')).env_clear())?;
    ensure!(said.ok, "{MEASURED}: {}", said.err);
    for figure in FIGURES {
        ensure!(said.out.contains(figure), "{MEASURED}: no {figure}");
    }
    let compact: String = said.out.split_whitespace().collect();
    // What was killed at the deadline has none.
    let are_measured = !compact.contains("\"samples_ns\":[]");
    ensure!(are_measured, "{MEASURED}: a figure without samples");
    let megabytes = program.len() as f64 / 1e6;
    Ok(Verdict::Holds(format!("{megabytes:.1} MB, {target}")))
}

/// Returns the target that the compiler builds for by default.
fn host() -> Result<String> {
    let said = quiet(Command::new("rustc").arg("-vV"))?;
    let mut lines = said.out.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Returns the name of Debian's folder of libraries for a target.
fn multiarch(target: &str) -> String {
    let (processor, system) = (target.split('-').next(), target.rsplit('-').next());
    let processor = match processor.unwrap_or_default() {
        "riscv64gc" => "riscv64",
        "i586" | "i686" => "i386",
        other => other,
    };
    format!("{processor}-linux-{}", system.unwrap_or_default())
}

/// Whether the kernel is to start a program by an interpreter, the dynamic linker: the entry of
/// type `PT_INTERP` in its table of segments (System V ABI, 5). `None` if the file is not a
/// complete ELF header of this machine's byte order.
fn is_interpreted(program: &[u8]) -> Option<bool> {
    const PT_INTERP: u64 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = program.get(at..at.checked_add(bytes)?)?;
        Some(match bytes {
            2 => u16::from_ne_bytes(field.try_into().ok()?).into(),
            4 => u32::from_ne_bytes(field.try_into().ok()?).into(),
            _ => u64::from_ne_bytes(field.try_into().ok()?),
        })
    };
    let is_wide = match program.strip_prefix(b"\x7fELF")?.first()? {
        1 => false,
        2 => true,
        _ => return None,
    };
    // The table: its place, the size of an entry, and their number.
    let [table, size, count] = match is_wide {
        true => [number(32, 8)?, number(54, 2)?, number(56, 2)?],
        false => [number(28, 4)?, number(42, 2)?, number(44, 2)?],
    };
    let mut is_found = false;
    for entry in 0..count {
        let at = table.checked_add(entry * size)?;
        is_found |= number(at.try_into().ok()?, 4)? == PT_INTERP;
    }
    Some(is_found)
}

#[cfg(test)]
mod tests {
    use super::{is_interpreted, multiarch};

    #[test]
    fn libraries_are_in_the_folder_of_the_target() {
        for (target, folder) in [
            ("x86_64-unknown-linux-gnu", "x86_64-linux-gnu"),
            ("powerpc64le-unknown-linux-gnu", "powerpc64le-linux-gnu"),
            ("riscv64gc-unknown-linux-gnu", "riscv64-linux-gnu"),
            ("i686-unknown-linux-gnu", "i386-linux-gnu"),
            ("armv7-unknown-linux-gnueabihf", "armv7-linux-gnueabihf"),
        ] {
            assert_eq!(multiarch(target), folder);
        }
    }

    /// A program of 64 bits with segments of these types.
    fn program(types: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56 * types.len()];
        bytes[..5].copy_from_slice(b"\x7fELF\x02");
        bytes[32..40].copy_from_slice(&64u64.to_ne_bytes());
        bytes[54..56].copy_from_slice(&56u16.to_ne_bytes());
        bytes[56..58].copy_from_slice(&(types.len() as u16).to_ne_bytes());
        for (at, kind) in types.iter().enumerate() {
            let start = 64 + 56 * at;
            bytes[start..start + 4].copy_from_slice(&kind.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn the_dynamic_linker_is_found_in_the_table_of_segments() {
        assert_eq!(is_interpreted(&program(&[6, 3, 1, 1])), Some(true));
        assert_eq!(is_interpreted(&program(&[1, 1, 2])), Some(false));
        let whole = program(&[1, 3]);
        for length in 0..whole.len() - 52 {
            assert_eq!(is_interpreted(&whole[..length]), None, "{length}");
        }
        assert_eq!(is_interpreted(b"#!/bin/sh\n"), None);
    }

    #[test]
    #[cfg(all(
        target_os = "linux",
        target_env = "gnu",
        not(target_feature = "crt-static")
    ))]
    fn this_program_is_dynamic() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(is_interpreted(&own), Some(true));
    }
}
