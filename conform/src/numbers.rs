//! Numbers from a seed.

/// SplitMix64.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// Returns the next number.
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}
