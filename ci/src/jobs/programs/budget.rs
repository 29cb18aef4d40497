//! Processor time of the tests of each system, and its limit.
//!
//! A system is a module of a crate: the test programs whose names begin with the same word. A limit
//! names the system that became slow, while the sum of a run only grows. It is on processor time,
//! which other programs of the machine change little, and without compiling.
//!
//! Limits are for a machine as fast as that of [`REFERENCE`]: a fixed computation is timed before
//! they are applied, and a slower machine gets more in proportion. A faster one does not get less,
//! since a wait that spins takes as long there. They are generous, at least twice what was
//! measured: a neighbour on the other thread of a core costs a third, and spinning depends on the
//! number of processors.

use crate::times;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

/// Seconds of processors for a system without an exception.
const LIMIT: u64 = 60;

/// Systems with another limit: crate, system, seconds, reason.
const EXCEPTIONS: &[(&str, &str, u64, &str)] = &[
    (
        "apps",
        "counts",
        130,
        "exact numbers of nodes of the source's trees, by all applications of the balancer",
    ),
    (
        "backends/node",
        "loopback",
        120,
        "ends of rings of 64 bytes, always full or empty, poll each other on up to 8 threads",
    ),
    (
        "backends/sim",
        "loops",
        120,
        "figures of the source on up to 1024 simulated processors",
    ),
];

/// Time of the fixed computation on the machine of the limits, 2 x Intel Xeon at 2.6 GHz, both
/// busy.
const REFERENCE: Duration = Duration::from_millis(400);
/// Longer, and the machine is so overloaded that a limit has no meaning.
const SLOWEST: f64 = 8.0;
/// Systems with less are printed in a sum.
const SHOWN: Duration = Duration::from_secs(2);

/// The times by crate and system.
pub(super) type Spent = BTreeMap<(String, String), Duration>;

/// The system of a test program of a crate: the first word of its name, or `lib` for the tests in
/// the sources.
pub(super) fn system(target: &str) -> &str {
    match target.split('_').next() {
        Some("tautline") | None => "lib",
        Some(word) => word,
    }
}

/// Returns how much slower than the reference this machine is; at least 1.
pub(super) fn slowness() -> f64 {
    let start = times::of_this_thread();
    // Half a cache of dependent loads, with arithmetic between them, as in most tests.
    let mut words: Vec<u64> = (0..1 << 17).collect();
    let mut at = 1u64;
    for _ in 0..16_000_000u32 {
        at ^= at << 13;
        at ^= at >> 7;
        at ^= at << 17;
        let word = &mut words[(at >> 47) as usize];
        *word = word.wrapping_add(at);
        at = at.wrapping_add(*word) | 1;
    }
    black_box(at);
    let used = times::of_this_thread().saturating_sub(start);
    (used.as_secs_f64() / REFERENCE.as_secs_f64()).clamp(1.0, SLOWEST)
}

/// A line for each system over its limit, and for each exception without a system.
pub(super) fn findings(spent: &Spent, slowness: f64) -> Vec<String> {
    let mut out = Vec::new();
    for ((of, system), used) in spent {
        let mut exceptions = EXCEPTIONS.iter();
        let exception = exceptions.find(|row| (row.0, row.1) == (of, system));
        let limit = exception.map_or(LIMIT, |row| row.2);
        let (used, most) = (used.as_secs_f64(), limit as f64 * slowness);
        if used > most {
            out.push(format!(
                "{of} {system}: its tests use {used:.0} s of processors; its limit is {limit} s, {most:.0} s on this \
                 machine: make them smaller, move them to `cargo ci deep`, or argue in EXCEPTIONS"
            ));
        }
    }
    for (of, system, ..) in EXCEPTIONS {
        if !spent.contains_key(&((*of).to_owned(), (*system).to_owned())) {
            out.push(format!("{of} {system}: an exception without tests"));
        }
    }
    out
}

/// A line for each crate, and its systems from the slowest on.
pub(super) fn table(spent: &Spent) -> String {
    let mut crates: BTreeMap<&str, Vec<(&str, Duration)>> = BTreeMap::new();
    for ((of, system), used) in spent {
        crates.entry(of).or_default().push((system, *used));
    }
    let mut out = String::from("processor time of tests, in seconds\n");
    for (of, mut systems) in crates {
        systems.sort_by_key(|(_, used)| std::cmp::Reverse(*used));
        let sum: Duration = systems.iter().map(|(_, used)| *used).sum();
        _ = write!(out, "{of:<26} {:>7.1} ", sum.as_secs_f64());
        let (shown, rest): (Vec<_>, Vec<_>) = systems.iter().partition(|(_, used)| *used >= SHOWN);
        for (system, used) in shown {
            _ = write!(out, " {system} {:.1},", used.as_secs_f64());
        }
        let few: Duration = rest.iter().map(|(_, used)| *used).sum();
        _ = writeln!(out, " {} others {:.1}", rest.len(), few.as_secs_f64());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, LIMIT, Spent, findings, slowness, system, table};
    use std::time::Duration;

    fn spent(of: &str, system: &str, seconds: u64) -> Spent {
        // Those with an exception are there, too.
        let all = EXCEPTIONS.iter().map(|row| (row.0, row.1, 0));
        let all = all.chain([(of, system, seconds)]);
        let row = |(of, system, s): (&str, &str, u64)| {
            let key = (of.to_owned(), system.to_owned());
            (key, Duration::from_secs(s))
        };
        all.map(row).collect()
    }

    #[test]
    fn programs_of_a_module_are_one_system() {
        assert_eq!(["loops", "loops_sort"].map(system), ["loops"; 2]);
        assert_eq!(["tautline_core", "tautline"].map(system), ["lib"; 2]);
    }

    #[test]
    fn a_system_over_its_limit_is_named_with_both_times() {
        assert_eq!(findings(&spent("core", "x", LIMIT), 1.0), [""; 0]);
        let found = findings(&spent("core", "x", LIMIT + 1), 1.0);
        assert!(
            found[0].starts_with("core x: its tests use 61 s"),
            "{found:?}"
        );
        assert_eq!(findings(&spent("core", "x", LIMIT + 1), 1.5), [""; 0]);
        for (of, system, seconds, reason) in EXCEPTIONS {
            assert!(*seconds > LIMIT && !reason.is_empty(), "{of} {system}");
            assert_eq!(findings(&spent(of, system, *seconds), 1.0), [""; 0]);
            assert_eq!(findings(&spent(of, system, seconds + 1), 1.0).len(), 1);
        }
        assert_eq!(findings(&Spent::new(), 1.0).len(), EXCEPTIONS.len());
    }

    #[test]
    fn a_crate_is_a_line_with_its_slowest_systems() {
        let mut all = spent("p", "slow", 30);
        all.extend(spent("p", "quick", 1));
        let text = table(&all);
        let line = text.lines().find(|line| line.starts_with("p ")).unwrap();
        assert!(line.contains("31.0  slow 30.0, 1 others 1.0"), "{line}");
    }

    #[test]
    fn a_machine_is_never_faster_than_the_reference() {
        assert!((1.0..=super::SLOWEST).contains(&slowness()));
    }
}
