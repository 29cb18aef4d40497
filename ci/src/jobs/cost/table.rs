//! The committed costs: a table for each processor in one document.

use super::count::Counts;
use super::sync::{Mix, hundredths, shown};
use anyhow::{Context, Result, ensure};
use std::fmt::{self, Display, Formatter};

/// The costs of operations on one processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub processor: String,
    /// The output of `rustc -V`.
    pub compiler: String,
    pub rows: Vec<Row>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub operation: String,
    /// In hundredths.
    pub instructions: u64,
    pub atomic: Mix,
    pub fences: Mix,
}

/// The bound on the distance of a number of instructions from the committed one, in percent.
const APART: u64 = 2;

const HEADING: &str = "## ";
const COMPILER: &str = "Compiler: ";
const HEAD: &str =
    "| operation | instructions | locked or exclusive | fences |\n|---|---|---|---|\n";

impl Row {
    pub(super) fn new(operation: &str, each: &Counts) -> Self {
        Self {
            operation: operation.to_owned(),
            instructions: each.instructions,
            atomic: each.atomic.clone(),
            fences: each.fences.clone(),
        }
    }

    /// Reads `| push | 7.00 | 0 | 0 |`.
    fn read(line: &str) -> Option<Self> {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let cells: Vec<&str> = cells.split(" | ").collect();
        let [operation, instructions, atomic, fences] = cells[..] else {
            return None;
        };
        Some(Self {
            operation: operation.to_owned(),
            instructions: hundredths(instructions)?,
            atomic: Mix::read(atomic)?,
            fences: Mix::read(fences)?,
        })
    }

    /// Returns what is not as in the committed row: first the instructions, then what synchronizes.
    fn against(&self, committed: &Self) -> (Option<String>, Vec<String>) {
        let apart = self.instructions.abs_diff(committed.instructions);
        let instructions = (apart * 100 > committed.instructions * APART).then(|| {
            let (stated, found) = (shown(committed.instructions), shown(self.instructions));
            format!("{stated} instructions are committed, {found} found")
        });
        let pairs = [
            ("locked or exclusive", &committed.atomic, &self.atomic),
            ("fences", &committed.fences, &self.fences),
        ];
        let pairs = pairs.iter().filter(|(_, stated, found)| stated != found);
        let sync =
            pairs.map(|(what, stated, found)| format!("{what}: {stated} committed, {found} found"));
        (instructions, sync.collect())
    }
}

/// The line of the document.
impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let instructions = shown(self.instructions);
        let (operation, atomic, fences) = (&self.operation, &self.atomic, &self.fences);
        write!(f, "| {operation} | {instructions} | {atomic} | {fences} |")
    }
}

/// Reads the tables of a document.
pub(super) fn read(text: &str) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix(HEADING) {
            sections.push(Section {
                processor: name.to_owned(),
                compiler: String::new(),
                rows: Vec::new(),
            });
        }
        let Some(section) = sections.last_mut() else {
            continue;
        };
        if let Some(compiler) = line.strip_prefix(COMPILER) {
            compiler.clone_into(&mut section.compiler);
        } else if line.starts_with("| ") && !HEAD.starts_with(line) {
            let row = Row::read(line).with_context(|| {
                format!("`{line}` is not | operation | 1.00 | locked | fences |")
            })?;
            section.rows.push(row);
        }
    }
    for section in &sections {
        let Section { processor, .. } = section;
        ensure!(!section.compiler.is_empty(), "{processor}: no `{COMPILER}`");
        ensure!(!section.rows.is_empty(), "{processor}: no rows");
    }
    Ok(sections)
}

/// Returns the document with other tables: what precedes the first is kept.
pub(super) fn written(text: &str, sections: &[Section]) -> String {
    let mut out: String = text
        .lines()
        .take_while(|line| !line.starts_with(HEADING))
        .map(|line| format!("{line}\n"))
        .collect();
    for (at, section) in sections.iter().enumerate() {
        let gap = if at > 0 { "\n" } else { "" };
        let (processor, compiler) = (&section.processor, &section.compiler);
        out += &format!("{gap}{HEADING}{processor}\n\n{COMPILER}{compiler}\n\n{HEAD}");
        for row in &section.rows {
            out += &format!("{row}\n");
        }
    }
    out
}

/// The result of a comparison with the committed table.
#[derive(Debug, Default)]
pub(super) struct Difference {
    pub findings: Vec<String>,
    /// Differences that another compiler may make.
    pub notes: Vec<String>,
}

/// Compares the costs found with the committed ones.
pub(super) fn compare(committed: &Section, found: &Section) -> Difference {
    let mut difference = Difference::default();
    let is_same_compiler = committed.compiler == found.compiler;
    let name = |row: &Row| format!("{} {}", found.processor, row.operation);
    for row in &found.rows {
        let same = |other: &&Row| other.operation == row.operation;
        let Some(stated) = committed.rows.iter().find(same) else {
            let line = format!("{}: not in the committed table", name(row));
            difference.findings.push(line);
            continue;
        };
        let (instructions, sync) = row.against(stated);
        let line = |what: String| format!("{}: {what}", name(row));
        match is_same_compiler {
            true => difference.findings.extend(instructions.map(line)),
            false => difference.notes.extend(instructions.map(line)),
        }
        difference.findings.extend(sync.into_iter().map(line));
    }
    let is_gone = |row: &&Row| found.rows.iter().all(|r| r.operation != row.operation);
    for row in committed.rows.iter().filter(is_gone) {
        let line = format!("{}: committed, but not counted", name(row));
        difference.findings.push(line);
    }
    difference
}

#[cfg(test)]
mod tests {
    use super::{Difference, Mix, Row, Section, compare, read, written};

    const TEXT: &str = "\
# Costs

| a table | before |
|---|---|
| is | kept |

## x86_64

Compiler: rustc 1.95.0

| operation | instructions | locked or exclusive | fences |
|---|---|---|---|
| push | 7.00 | 0 | 0 |
| look | 12.50 | 1 lock xadd | 0 |

## aarch64

Compiler: rustc 1.96.0

| operation | instructions | locked or exclusive | fences |
|---|---|---|---|
| look | 9.00 | 1 ldaxr, 1 stlxr | 0 |
";

    #[test]
    fn what_is_written_is_read() {
        let sections = read(TEXT).unwrap();
        assert_eq!(sections.len(), 2);
        assert_eq!(sections[0].rows[1].instructions, 1250);
        assert_eq!(sections[1].rows[0].atomic.to_string(), "1 ldaxr, 1 stlxr");
        assert_eq!(written(TEXT, &sections), TEXT);
    }

    #[test]
    fn a_malformed_line_is_named() {
        for line in [
            "| push | 7 | 0 | 0 |",
            "| push | 7.00 | xchg | 0 |",
            "| push | 7.00 | 0 |",
        ] {
            let text = TEXT.replace("| push | 7.00 | 0 | 0 |", line);
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(line), "{error}");
        }
        assert!(read("## x86_64\n\nCompiler: a\n").is_err());
        assert!(read(&TEXT.replace("Compiler: rustc 1.95.0", "")).is_err());
    }

    fn compared(change: impl FnOnce(&mut Section)) -> Difference {
        let committed = read(TEXT).unwrap().swap_remove(0);
        let mut found = committed.clone();
        change(&mut found);
        compare(&committed, &found)
    }

    #[test]
    fn two_percent_are_allowed() {
        let with = |instructions| compared(|found| found.rows[1].instructions = instructions);
        for near in [1250, 1275, 1225] {
            assert_eq!(with(near).findings, [""; 0]);
        }
        let line = "x86_64 look: 12.50 instructions are committed, 12.76 found";
        assert_eq!(with(1276).findings, [line]);
        assert_eq!(with(1224).findings.len(), 1);
    }

    #[test]
    fn another_compiler_may_need_other_instructions_but_no_other_synchronization() {
        let other = compared(|found| {
            found.compiler = "rustc 1.96.0".to_owned();
            found.rows[0].instructions = 900;
            found.rows[1].atomic = Mix::read("2 lock xadd").unwrap();
        });
        assert_eq!(other.notes.len(), 1);
        let line = "x86_64 look: locked or exclusive: 1 lock xadd committed, 2 lock xadd found";
        assert_eq!(other.findings, [line]);
        let fence = compared(|found| found.rows[0].fences = Mix::read("1 mfence").unwrap());
        assert_eq!(
            fence.findings,
            ["x86_64 push: fences: 0 committed, 1 mfence found"]
        );
    }

    #[test]
    fn operations_come_and_go_only_with_the_table() {
        let gone = compared(|found| _ = found.rows.pop());
        assert!(gone.findings[0].contains("look: committed, but not counted"));
        let new = compared(|found| {
            let row = Row::read("| park | 1.00 | 0 | 0 |").unwrap();
            found.rows.push(row);
        });
        assert!(new.findings[0].contains("park: not in the committed table"));
    }
}
