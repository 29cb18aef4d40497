//! The options on stored figures, and the end of a program that cannot continue. The including
//! program names its table by `TABLE`, in its root.

use crate::TABLE;
use crate::figures::{Document, Record, Store};
use crate::machine::Processor;
use std::path::PathBuf;

/// Options on the figures that are stored in benches/figures.
#[derive(clap::Args)]
pub(crate) struct Stored {
    #[arg(long, help = format!("Store the figures as this machine's, and render {}", file()))]
    write: bool,
    #[arg(long, help = format!("Render {} from the stored figures, and measure nothing", file()))]
    render: bool,
    /// The folder in benches/figures of this machine, if not that of its processor's name.
    #[arg(long)]
    machine: Option<String>,
    /// The folder of the figures; the table is rendered beside it
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/figures"))]
    figures: PathBuf,
}

impl Stored {
    /// Whether figures are to be measured; if not, renders the table.
    pub(crate) fn measures(&self, quick: bool, document: Document) -> bool {
        if self.render {
            let rendered = Store::of(TABLE, &self.figures).render(document);
            rendered.unwrap_or_else(|why| exit(&why));
        } else if self.write && quick {
            exit("--write stores figures, --quick measures none");
        }
        !self.render
    }

    /// Reports what was measured under `conditions`, and stores it if requested.
    pub(crate) fn report(&self, conditions: &str, records: Vec<Record>, document: Document) {
        let processor = Processor::discover();
        let folder = self.machine.clone().unwrap_or_else(|| processor.folder());
        let folder = self.write.then_some(&*folder);
        let run = [&*processor.title(), conditions];
        let reported = Store::of(TABLE, &self.figures).report(folder, run, records, document);
        reported.unwrap_or_else(|why| exit(&why));
    }
}

fn file() -> String {
    format!("benches/{}.md", TABLE.to_uppercase())
}

/// Prints `complaint`, and ends the program as after a usage error.
pub(crate) fn exit(complaint: &str) -> ! {
    eprintln!("{complaint}");
    std::process::exit(2)
}
