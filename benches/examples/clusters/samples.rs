//! The figures of all rounds.

use crate::bounds::Bound;
use crate::figures::{Record, Value};
use tautline_cli::bench::Spread;

/// One contender of one row, in the order of the table.
struct Sample {
    row: String,
    contender: String,
    figures: Vec<f64>,
    /// By the figure that it is judged by, a round.
    judged: Vec<f64>,
}

/// The figures of one library.
#[derive(Default)]
pub(crate) struct Samples {
    all: Vec<Sample>,
    library: String,
}

impl Samples {
    /// The library, as it calls itself.
    pub(crate) fn library(&self) -> &str {
        &self.library
    }

    /// Stores how the library calls itself: its name and version.
    pub(crate) fn set_library(&mut self, name: &str) {
        // "Open MPI v4.1.4, package: …" and "MPICH Version:\t4.0.2".
        let end = name.find([',', ';']).unwrap_or(name.len());
        self.library = name[..end].replace("Version:\t", "").trim().to_string();
    }

    /// Adds a figure of this round.
    pub(crate) fn add(&mut self, row: &str, contender: &str, figure: f64, judged: Option<f64>) {
        let is_it = |known: &Sample| known.row == row && known.contender == contender;
        let at = self.all.iter().position(is_it).unwrap_or_else(|| {
            self.all.push(Sample {
                row: row.into(),
                contender: contender.into(),
                figures: Vec::new(),
                judged: Vec::new(),
            });
            self.all.len() - 1
        });
        self.all[at].figures.push(figure);
        self.all[at].judged.extend(judged);
    }

    /// Adds ours and plain MPI's figure of this round.
    pub(crate) fn add_pair(&mut self, row: &str, [plain, ours]: [f64; 2], bound: Bound) {
        self.add(row, "MPI", plain, None);
        self.add(row, "Tautline", ours, Some(bound.judged(plain, ours)));
    }

    /// The records of the table, whose rows begin with the name of the library's folder.
    pub(crate) fn records(&self, library: &str) -> Vec<Record> {
        let record = |sample: &Sample| {
            let Spread {
                least,
                median,
                most,
                ..
            } = Spread::of(&sample.figures).expect("a sample has a figure");
            Record {
                row: format!("{library}/{}", sample.row),
                contender: sample.contender.clone(),
                value: Value::Spread([least, median, most]),
                counted: Some([sample.figures.len(); 2]),
                beside: Spread::of(&sample.judged).map(|judged| judged.median),
                run: 0,
            }
        };
        self.all.iter().map(record).collect()
    }
}
