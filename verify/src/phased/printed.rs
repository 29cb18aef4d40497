//! The phaser as printed as a subject.

use super::Subject;
use tautline_core::phaser::Mode;
use tautline_exhibits::printed::Printed;

impl Subject for Printed {
    fn register(&mut self, mode: Mode) -> Self {
        self.register(mode)
    }

    fn founded(&self) {
        self.found();
    }

    fn signal(&mut self) {
        self.signal();
    }

    fn signal_early(&mut self) {
        self.signal_early();
    }

    fn wait(&mut self) {
        self.wait();
    }
}
