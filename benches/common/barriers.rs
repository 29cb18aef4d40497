//! Peers of barriers, behind the trait that ours are measured by.

use tautline_cli::bench::{Barrier, Episodes, Kind, kinds};

/// Degrees of the trees.
pub(crate) const DEGREES: &[usize] = &[2, 4, 8];

/// All barriers for threads, ours first.
pub(crate) fn for_threads() -> Vec<Kind> {
    let mut all = kinds(DEGREES);
    all.push(Kind::new("hurdles", Hurdles::new));
    all
}

/// hurdles, which does not tell the number of its parties.
pub(crate) struct Hurdles(hurdles::Barrier, usize);

impl Hurdles {
    /// Creates a barrier for this number of tasks.
    pub(crate) fn new(tasks: usize) -> Self {
        Self(hurdles::Barrier::new(tasks), tasks)
    }
}

impl Barrier for Hurdles {
    type Party<'a> = AtHurdles;

    fn parties(&self) -> Vec<AtHurdles> {
        (0..self.1).map(|_| AtHurdles(self.0.clone())).collect()
    }
}

/// A task at [`Hurdles`].
pub(crate) struct AtHurdles(hurdles::Barrier);

impl Episodes for AtHurdles {
    fn wait(&mut self) {
        self.0.wait();
    }
}
