//! Instructions of an operation, and how many of them are locked, counted with valgrind.
//!
//! Callgrind counts how often each instruction of a program ran; objdump shows which are locked.
//! Two sizes are run, so that the start and the end of the program cancel out. One worker: valgrind
//! runs one thread at a time, so counts of several depend on its turns.

use crate::rows::{OURS, ROWS, Row};
use crate::work::Fib;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;
use tautline_bench::figures::{Record, Value};

/// An operation: the row that is measured, two sizes, and how many operations separate them.
struct Operation {
    name: &'static str,
    row: &'static str,
    sizes: [u32; 2],
    more: fn([u32; 2]) -> u64,
}

const OPERATIONS: [Operation; 2] = [
    Operation {
        name: "fork",
        row: "allocations/fork",
        sizes: [18, 22],
        // The row runs the forks twice.
        more: |sizes| {
            let [few, many] = sizes.map(|size| Fib(size).known().1);
            2 * (many - few)
        },
    },
    Operation {
        name: "spawn",
        row: "allocations/spawn",
        sizes: [500, 900],
        more: |[few, many]| 2 * u64::from(many - few),
    },
];

/// The names of the two rows of an operation.
const COUNTED: [&str; 2] = ["instructions", "locked"];

/// The records of all operations. Contenders that cannot be counted are left out.
pub(crate) fn records() -> Vec<Record> {
    let mut all = Vec::new();
    for operation in &OPERATIONS {
        let Some(row) = ROWS.iter().find(|row| row.name == operation.row) else {
            continue;
        };
        for (contender, _) in row.ways {
            let Some(counts) = operation.count(row, contender) else {
                eprintln!("{} by {contender}: not counted", operation.name);
                continue;
            };
            for (counted, count) in COUNTED.iter().zip(counts) {
                let row = format!("{counted}/{}", operation.name);
                all.push(Record::new(&row, contender, Value::Spread([count; 3])));
            }
        }
    }
    // Ours first, as in all rows.
    all.sort_by_key(|record| (record.row.clone(), record.contender != OURS));
    all
}

impl Operation {
    /// Instructions and locked instructions of one.
    fn count(&self, row: &Row, contender: &str) -> Option<[f64; 2]> {
        let counted = |size| counted(row, contender, size);
        let [few, many] = [counted(self.sizes[0])?, counted(self.sizes[1])?];
        let operations = (self.more)(self.sizes) as f64;
        // To hundredths: what is rarer belongs to the start of the program.
        let each = |at: usize| (many[at] as f64 - few[at] as f64) / operations;
        Some([0, 1].map(|at| (each(at) * 100.0).round() / 100.0))
    }
}

/// Instructions and locked instructions of a whole run.
fn counted(row: &Row, contender: &str, size: u32) -> Option<[u64; 2]> {
    let file = std::env::temp_dir().join(format!("tautline-counts-{}", std::process::id()));
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-instr=yes"])
        .args(["--compress-pos=no", "--compress-strings=no"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe().ok()?)
        .args(["--measure", row.name, contender, &size.to_string()])
        .output()
        .ok()?;
    let text = std::fs::read_to_string(&file);
    _ = std::fs::remove_file(&file);
    let text = text.ok().filter(|_| output.status.success())?;
    let mut locked = BTreeMap::new();
    let (mut object, mut callee, mut counts) = (String::new(), false, [0, 0]);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            name.clone_into(&mut object);
        } else if line.starts_with("calls=") {
            callee = true;
        } else if let Some(line) = line.strip_prefix("0x") {
            let words: Vec<&str> = line.split(' ').collect();
            let [address, _, count] = words[..] else {
                continue;
            };
            // The line after a call has the cost of the callee, which is counted where it is.
            if std::mem::take(&mut callee) {
                continue;
            }
            let address = u64::from_str_radix(address, 16).ok()?;
            let count: u64 = count.parse().ok()?;
            let in_object = locked
                .entry(object.clone())
                .or_insert_with(|| locked_in(Path::new(&object)));
            counts[0] += count;
            counts[1] += if in_object.contains(&address) {
                count
            } else {
                0
            };
        }
    }
    Some(counts)
}

/// The addresses of the locked instructions of a program or library.
fn locked_in(object: &Path) -> HashSet<u64> {
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn"])
        .arg(object)
        .output();
    let text = output.map_or(Vec::new(), |output| output.stdout);
    let text = String::from_utf8_lossy(&text);
    let mut all = HashSet::new();
    for line in text.lines() {
        let Some((address, instruction)) = line.split_once(":\t") else {
            continue;
        };
        let words = instruction.trim();
        // An exchange with memory is locked without a prefix.
        let locked = words.starts_with("lock ") || words.starts_with("xchg") && words.contains('(');
        if let Some(address) = u64::from_str_radix(address.trim(), 16)
            .ok()
            .filter(|_| locked)
        {
            all.insert(address);
        }
    }
    all
}
