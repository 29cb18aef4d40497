//! The barrier of hurdles. Feature `rivals`.
#![forbid(unsafe_code)]

use super::{Barrier, Episodes};

/// The barrier of hurdles, which does not report its number of parties.
pub struct Hurdles(::hurdles::Barrier, usize);

impl Hurdles {
    /// Creates a barrier for this number of tasks.
    pub fn new(tasks: usize) -> Self {
        Self(::hurdles::Barrier::new(tasks), tasks)
    }
}

impl Barrier for Hurdles {
    type Party<'a> = AtHurdles;

    fn parties(&self) -> Vec<AtHurdles> {
        (0..self.1).map(|_| AtHurdles(self.0.clone())).collect()
    }
}

/// A task at [`Hurdles`].
pub struct AtHurdles(::hurdles::Barrier);

impl Episodes for AtHurdles {
    fn wait(&mut self) {
        self.0.wait();
    }
}
