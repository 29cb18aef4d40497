//! Links for tests: one that is plain enough to be judged by eye, and wrappers that delay or spoil
//! any link.

mod delayed;
mod faulty;
mod plain;
mod simulated;

pub use delayed::Delayed;
pub use faulty::{Fault, Faulty};
pub use plain::Plain;
pub use simulated::Simulated;

/// Numbers from a seed (SplitMix64).
#[derive(Clone, Copy, Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// Returns the next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}
