//! The options on stored figures, and the end of a program that cannot continue.

pub use crate::figures::Replaces;
use crate::figures::{Figures, Record, Store};
use crate::machine::Processor;
use std::marker::PhantomData;
use std::path::PathBuf;

/// A table that is rendered from the figures of all machines.
pub trait Table {
    /// The name of its figures, and in upper case that of its document.
    const NAME: &'static str;

    /// The figures that a run replaces.
    const REPLACES: Replaces = Replaces::Rows;

    /// Renders machines, and the notes that end the table.
    fn document(machines: &[&Figures], notes: &str) -> String;
}

/// Options on the figures of a table that are stored in benches/figures.
#[derive(clap::Args)]
pub struct Stored<T: Table> {
    #[arg(long, help = format!("Store the figures as this machine's, and render {}", file::<T>()))]
    write: bool,
    #[arg(long, help = format!("Render {} from the stored figures, and measure nothing", file::<T>()))]
    render: bool,
    /// The folder in benches/figures of this machine, if not that of its processor's name.
    #[arg(long)]
    machine: Option<String>,
    /// The folder of the figures; the table is rendered beside it
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/figures"))]
    figures: PathBuf,
    #[arg(skip)]
    table: PhantomData<T>,
}

impl<T: Table> Stored<T> {
    fn store(&self) -> Store {
        Store::of(T::NAME, &self.figures)
    }

    /// Whether figures are to be measured; if not, renders the table.
    pub fn measures(&self, quick: bool) -> bool {
        if self.render {
            self.store()
                .render(T::document)
                .unwrap_or_else(|why| exit(&why));
        } else if self.write && quick {
            exit("--write stores figures, --quick measures none");
        }
        !self.render
    }

    /// Reports what was measured under `conditions`, and stores it if requested.
    pub fn report(&self, conditions: &str, records: Vec<Record>) {
        let processor = Processor::discover();
        let folder = self.machine.clone().unwrap_or_else(|| processor.folder());
        let folder = self.write.then_some(&*folder);
        let run = [&*processor.title(), conditions];
        let reported = self
            .store()
            .report(folder, run, (records, T::REPLACES), T::document);
        reported.unwrap_or_else(|why| exit(&why));
    }
}

fn file<T: Table>() -> String {
    format!("benches/{}.md", T::NAME.to_uppercase())
}

/// Prints `complaint`, and ends the program as after a usage error.
pub fn exit(complaint: &str) -> ! {
    eprintln!("{complaint}");
    std::process::exit(2)
}
