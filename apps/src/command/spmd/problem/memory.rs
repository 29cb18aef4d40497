//! Refusing problems that do not fit into the memory of this machine, before anything starts.

use crate::command::{Failure, Outcome};
use std::fs;

/// The memory of a problem.
pub(crate) struct Memory {
    /// The option that determines it, with its value: `--log2 40`.
    pub(crate) option: String,
    /// Bytes of all ranks together.
    pub(crate) bytes: u64,
}

/// Refuses a problem whose memory, of which this machine has the share of one of `ranks` ranks, is
/// more than is available. A launcher is the only rank, and checks that of all.
///
/// # Errors
/// The option, both sizes, and what to do.
pub(in crate::command::spmd) fn check(memory: Option<Memory>, ranks: u32) -> Outcome {
    let Some((Memory { option, bytes }, available)) = memory.zip(available()) else {
        return Ok(());
    };
    let share = bytes / u64::from(ranks);
    if share <= available {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{option}: needs {} of memory, expected at most {}, which are available",
        spelled(share),
        spelled(available)
    )))
}

/// Returns the memory that the system can give without swapping; `None` if it does not say.
fn available() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let free = available_of(&info)?;
    // Of the control group, as a container sees its own.
    let number = |file| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let group = number("memory.max").zip(number("memory.current"));
    let group = group.map(|(most, used)| most.saturating_sub(used));
    Some(group.map_or(free, |group| group.min(free)))
}

fn available_of(info: &str) -> Option<u64> {
    let line = info
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

fn spelled(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_and_spelled() {
        let info = "MemTotal:  2000 kB\nMemAvailable:   1536 kB\nBuffers: 7 kB\n";
        assert_eq!(available_of(info), Some(1536 << 10));
        assert_eq!(available_of("MemTotal:  2000 kB\n"), None);
        assert_eq!(spelled(1536 << 10), "1.5 MiB");
        assert_eq!(spelled(8 << 40), "8.0 TiB");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let memory = |bytes| {
            let option = "--log2 40".to_owned();
            Some(Memory { option, bytes })
        };
        assert!(check(None, 1).is_ok());
        assert!(check(memory(1 << 10), 1).is_ok());
        if available().is_some() {
            let refused = check(memory(1 << 62), 4);
            let Err(Failure::Usage(line)) = refused else {
                panic!("{refused:?}");
            };
            assert!(
                line.starts_with("--log2 40: needs 1.0 EiB of memory, expected at most "),
                "{line}"
            );
        }
    }
}
