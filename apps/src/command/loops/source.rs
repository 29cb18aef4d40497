//! The origin of the times of iterations.

use crate::command::Failure;
use crate::command::quote::shown;
use std::path::Path;
use tautline_cli::iterations::{Distribution, Kernel, Times};
use tautline_cli::text::STANDARD_INPUT;
use tautline_sim::Program;

/// The default number of iterations.
const ITERATIONS: u64 = 6400;

/// A loop.
pub(super) enum Source {
    /// Drawn: the distribution, the number of iterations and their mean time in nanoseconds.
    Drawn(Distribution, usize, u64),
    /// With the shape of an application: the program and the number of iterations.
    Shaped(Program, usize),
    /// Measured, one iteration after the other.
    Measured(Kernel),
    /// Recorded in a file.
    Recorded(Times),
}

/// Returns the names of all loops that are not in files.
pub(super) fn names() -> Vec<String> {
    let distributions = Distribution::all().map(|distribution| distribution.to_string());
    let programs = Program::ALL.map(|program| program.name().to_owned());
    let kernels = Kernel::NAMES.map(str::to_owned);
    distributions.chain(programs).chain(kernels).collect()
}

impl Source {
    /// Finds the loop that is called `name`.
    pub(super) fn find(name: &str, iterations: Option<u64>, mean_ns: u64) -> Result<Self, Failure> {
        let len = iterations.unwrap_or(ITERATIONS) as usize;
        let allowed = match name.parse() {
            Ok(distribution) => return Ok(Self::Drawn(distribution, len, mean_ns)),
            Err(allowed) => allowed,
        };
        if let Some(program) = Program::ALL
            .into_iter()
            .find(|program| program.name() == name)
        {
            return Ok(Self::Shaped(program, len));
        }
        if let Ok(kernel) = Kernel::named(name, len) {
            return Ok(Self::Measured(kernel));
        }
        let path = Path::new(name);
        // What looks like neither a file nor `normal:CV` is a misspelled name.
        let is_file = path.exists() || name.contains(['.', '/']) || name == STANDARD_INPUT;
        if !is_file || name.starts_with("normal:") {
            let kernels = Kernel::NAMES.join(", ");
            let programs = Program::ALL.map(Program::name).join(", ");
            return Err(Failure::Usage(format!(
                "{}: expected {allowed}; a program: {programs}; a kernel: {kernels}; or a file",
                shown(name)
            )));
        }
        let times = Times::from_file(path)?;
        match iterations {
            None => Ok(Self::Recorded(times)),
            Some(n) => Err(Failure::Usage(format!(
                "--iterations {n}: not with the file {name}, which has {}",
                times.len()
            ))),
        }
    }

    /// Returns the times of an execution. Those of a distribution depend on `seed`, which is at
    /// least 1; those of a program are of this instance.
    pub(super) fn times(&self, seed: u64) -> Times {
        match self {
            Self::Drawn(distribution, len, mean) => Times::draw(*distribution, *len, *mean, seed),
            Self::Shaped(program, len) => Times::new(program.times(*len as u64, seed - 1)),
            Self::Measured(kernel) => kernel.measure(),
            Self::Recorded(times) => times.clone(),
        }
    }
}
