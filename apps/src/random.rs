//! Seeded random numbers for generated instances: the same on every machine.
#![forbid(unsafe_code)]

/// SplitMix64 (Steele, Lea, Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number uniform in `0..below`, up to a part in 2^64 / `below`.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(below)) >> 64) as u64
    }

    /// Returns a number uniform in `[0, 1)`, in steps of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles; every order is equally likely (Fisher, Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
