//! Files of TSPLIB as texts.

use tautline_cli::text::Input;
use tautline_cli::tsp::Instance;
use tautline_cli::tsp::tsplib::{self, Contents};

/// Reads a file, or returns the line of its refusal.
pub(crate) fn read(file: impl AsRef<[u8]>) -> Result<Contents, String> {
    let input = Input::new("x.tsp", file.as_ref()).map_err(|error| error.to_string())?;
    tsplib::read(input).map_err(|error| error.to_string())
}

/// The instance of a file that is right.
pub(crate) fn instance(file: impl AsRef<[u8]>) -> Instance {
    let text = String::from_utf8_lossy(file.as_ref()).into_owned();
    read(file)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .instance
}

/// The distances between all pairs of cities, row by row.
pub(crate) fn distances(instance: &Instance) -> Vec<u32> {
    let cities = instance.cities();
    let pairs = (0..cities).flat_map(|a| (0..cities).map(move |b| (a, b)));
    pairs.map(|(a, b)| instance.distance(a, b)).collect()
}
