//! Figures of machines: one file a machine and table, from which the tables in Markdown are
//! rendered.
//!
//! `benches/figures/MACHINE/TABLE.tsv` holds what one machine measured. A run replaces the figures
//! of its own machine that it measured again and leaves all others as they are, so that tables show
//! machines beside each other although no two are measured at the same time.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tautline_cli::bench::Spread;

/// One contender in one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The name of the row.
    pub row: String,
    /// The contender.
    pub contender: String,
    /// The quantity that was measured.
    pub value: Value,
    /// Rounds that counted, and all; unknown if the file does not tell.
    pub counted: Option<[usize; 2]>,
    /// A second figure, whose meaning is the table's.
    pub beside: Option<f64>,
    /// The number of the run that measured it.
    pub run: u32,
}

/// Measurements of a contender.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Least, median and most.
    Spread([f64; 3]),
    /// No figures: why, or a verdict in words.
    Text(String),
}

impl Value {
    /// The distribution of samples, if there are any.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let spread = Spread::of(samples)?;
        Some(Self::Spread([spread.least, spread.median, spread.most]))
    }
}

impl Record {
    /// A measurement without further figures.
    pub fn new(row: &str, contender: &str, value: Value) -> Self {
        Self {
            row: row.to_owned(),
            contender: contender.to_owned(),
            value,
            counted: None,
            beside: None,
            run: 0,
        }
    }

    /// The median, if there are figures.
    pub fn median(&self) -> Option<f64> {
        match self.value {
            Value::Spread([_, median, _]) => Some(median),
            Value::Text(_) => None,
        }
    }
}

/// The stored figures that a run replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaces {
    /// All figures of each row that it has.
    Rows,
    /// In these rows, those of its contenders, also of other versions.
    Contenders,
}

impl Replaces {
    fn replaces(self, new: &Record, old: &Record) -> bool {
        let is_contender = || unversioned(&new.contender).eq(unversioned(&old.contender));
        new.row == old.row && (self == Self::Rows || is_contender())
    }
}

/// The words of a contender's name that are not versions.
fn unversioned(contender: &str) -> impl Iterator<Item = &str> {
    let words = contender.split([' ', ',']);
    words.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

/// The figures of one machine in one table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The machine, in words.
    pub machine: String,
    /// The conditions of each run that measured one of the records.
    pub runs: BTreeMap<u32, String>,
    /// In the order of the table.
    pub records: Vec<Record>,
}

impl Figures {
    /// The record of a contender.
    pub fn find(&self, row: &str, contender: &str) -> Option<&Record> {
        let mut records = self.records.iter();
        records.find(|record| record.row == row && is_named(&record.contender, contender))
    }

    /// The head of its column: the machine, and date and revision of each run, which its conditions
    /// begin with.
    pub fn head(&self) -> String {
        let dated = self.runs.values();
        let mut dated: Vec<&str> = dated.filter_map(|run| run.split("; ").next()).collect();
        dated.dedup();
        format!("{}; {}", self.machine, dated.join("; "))
    }

    /// The records of a row.
    pub fn of<'a>(&'a self, row: &'a str) -> impl Iterator<Item = &'a Record> {
        self.records.iter().filter(move |record| record.row == row)
    }

    /// Adds `new` as one more run, in place of the old records that it replaces.
    pub fn replace(
        &mut self,
        [machine, conditions]: [&str; 2],
        (mut new, replaces): (Vec<Record>, Replaces),
    ) {
        let run = self.runs.keys().last().map_or(1, |last| last + 1);
        machine.clone_into(&mut self.machine);
        self.runs.insert(run, conditions.to_owned());
        let is_replaced = |old: &Record| new.iter().any(|new| replaces.replaces(new, old));
        self.records.retain(|old| !is_replaced(old));
        new.iter_mut().for_each(|record| record.run = run);
        self.records.append(&mut new);
        let used = |run: &u32| self.records.iter().any(|record| record.run == *run);
        self.runs.retain(|run, _| used(run));
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let fault = || format!("{line:?} is no line of figures");
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["machine", name] => name.clone_into(&mut all.machine),
                ["run", number, conditions] => {
                    let number = number.parse().map_err(|_| fault())?;
                    all.runs.insert(number, conditions.to_owned());
                }
                [row, contender, value, counted, beside, run] => all.records.push(Record {
                    row: row.to_owned(),
                    contender: contender.to_owned(),
                    value: parse_value(value),
                    counted: parse_counted(counted),
                    beside: beside.parse().ok(),
                    run: run.parse().map_err(|_| fault())?,
                }),
                _ => return Err(fault()),
            }
        }
        Ok(all)
    }

    fn text(&self) -> String {
        let mut out = format!("machine\t{}\n", self.machine);
        for (run, conditions) in &self.runs {
            _ = writeln!(out, "run\t{run}\t{conditions}");
        }
        for record in &self.records {
            let value = match &record.value {
                Value::Spread([least, median, most]) => {
                    let [least, median, most] = [least, median, most].map(|v| digits(*v, 4));
                    format!("{median} [{least} {most}]")
                }
                Value::Text(text) => text.clone(),
            };
            let counted = record.counted;
            let counted = counted.map_or("-".into(), |[good, all]| format!("{good}/{all}"));
            let beside = record.beside.map_or("-".into(), |value| digits(value, 4));
            let Record {
                row,
                contender,
                run,
                ..
            } = record;
            _ = writeln!(
                out,
                "{row}\t{contender}\t{value}\t{counted}\t{beside}\t{run}"
            );
        }
        out
    }
}

fn parse_value(text: &str) -> Value {
    let words = text.split([' ', '[', ']']).filter(|word| !word.is_empty());
    let numbers: Result<Vec<f64>, _> = words.map(str::parse).collect();
    match numbers.as_deref() {
        Ok(&[median, least, most]) => Value::Spread([least, median, most]),
        _ => Value::Text(text.to_owned()),
    }
}

fn parse_counted(text: &str) -> Option<[usize; 2]> {
    let (good, all) = text.split_once('/')?;
    Some([good.parse().ok()?, all.parse().ok()?])
}

/// Whether `full` is `name`, or `name` and a version.
pub fn is_named(full: &str, name: &str) -> bool {
    full.strip_prefix(name).is_some_and(|rest| {
        let version = rest.strip_prefix(' ');
        rest.is_empty() || version.is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Formats this number of significant digits, and all digits before the point.
pub fn digits(value: f64, count: i32) -> String {
    let magnitude = match value.abs() {
        0.0 => 0,
        // Below one as at one tenth: tables have no more than `count` digits after the point.
        v => (v.log10().floor() as i32).max(-1),
    };
    let after = usize::try_from(count - 1 - magnitude).unwrap_or(0);
    format!("{value:.after$}")
}

/// Renders machines, and the notes that end the table.
pub type Document = fn(&[&Figures], &str) -> String;

/// The folder of a table's figures.
pub struct Store {
    folder: PathBuf,
    table: &'static str,
}

impl Store {
    /// The figures of a table in this folder.
    pub fn of(table: &'static str, folder: &Path) -> Self {
        let folder = folder.to_owned();
        Self { folder, table }
    }

    fn file(&self, machine: &str) -> PathBuf {
        self.folder
            .join(machine)
            .join(format!("{}.tsv", self.table))
    }

    /// Measurements of all machines, by the names of their folders.
    ///
    /// # Errors
    /// A file that cannot be read, or has a malformed line: in words.
    fn all(&self) -> Result<BTreeMap<String, Figures>, String> {
        let said = |error| format!("{}: {error}", self.folder.display());
        let mut all = BTreeMap::new();
        for entry in std::fs::read_dir(&self.folder).map_err(said)? {
            let machine = entry.map_err(said)?.file_name();
            let machine = machine.to_string_lossy().into_owned();
            let file = self.file(&machine);
            let Ok(text) = std::fs::read_to_string(&file) else {
                continue;
            };
            let figures = Figures::parse(&text);
            let figures = figures.map_err(|why| format!("{}: {why}", file.display()))?;
            all.insert(machine, figures);
        }
        Ok(all)
    }

    /// Stores the figures of a machine.
    ///
    /// # Errors
    /// A file that cannot be written: in words.
    fn keep(&self, machine: &str, figures: &Figures) -> Result<(), String> {
        let file = self.file(machine);
        let folder = file.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, figures.text()))
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Renders the table from the figures of all machines. The hand-written notes of
    /// `benches/figures/TABLE.md` end it.
    ///
    /// # Errors
    /// A file that cannot be read or written: in words.
    pub fn render(&self, document: Document) -> Result<(), String> {
        let all = self.all()?;
        let notes = self.folder.join(format!("{}.md", self.table));
        let notes = std::fs::read_to_string(notes).unwrap_or_default();
        let text = document(&all.values().collect::<Vec<_>>(), &notes);
        let name = format!("{}.md", self.table.to_uppercase());
        let file = self.folder.with_file_name(name);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Stores a run with what the machine of that folder measured before and renders the table, or
    /// prints the run alone if there is no folder.
    ///
    /// # Errors
    /// A file that cannot be read or written: in words.
    pub fn report(
        &self,
        folder: Option<&str>,
        run: [&str; 2],
        records: (Vec<Record>, Replaces),
        document: Document,
    ) -> Result<(), String> {
        let Some(folder) = folder else {
            let mut figures = Figures::default();
            figures.replace(run, records);
            println!("{}", document(&[&figures], ""));
            return Ok(());
        };
        let mut figures = self.all()?.remove(folder).unwrap_or_default();
        figures.replace(run, records);
        self.keep(folder, &figures)?;
        self.render(document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(row: &str, contender: &str, figure: f64) -> Record {
        Record::new(row, contender, Value::Spread([figure; 3]))
    }

    fn after(replaces: Replaces) -> Vec<(String, String, u32)> {
        let mut figures = Figures::default();
        let all = [
            ("a", "x 1.0"),
            ("a", "y"),
            ("a", "x 1.0, fast"),
            ("b", "x 1.0"),
        ];
        let all = all.map(|(row, contender)| record(row, contender, 1.0));
        figures.replace(["m", "first"], (all.to_vec(), replaces));
        figures.replace(["m", "second"], (vec![record("a", "x 2.1", 2.0)], replaces));
        let text = figures.text();
        assert_eq!(Figures::parse(&text).as_ref(), Ok(&figures));
        let records = figures.records.into_iter();
        Vec::from_iter(records.map(|it| (it.row, it.contender, it.run)))
    }

    #[test]
    fn runs_replace_their_rows_or_their_contenders() {
        let of = |row: &str, contender: &str, run| (row.to_owned(), contender.to_owned(), run);
        let new = of("a", "x 2.1", 2);
        let rows = [of("b", "x 1.0", 1), new.clone()];
        assert_eq!(after(Replaces::Rows), rows);
        let [fast, b] = [of("a", "x 1.0, fast", 1), of("b", "x 1.0", 1)];
        assert_eq!(after(Replaces::Contenders), [of("a", "y", 1), fast, b, new]);
    }
}
