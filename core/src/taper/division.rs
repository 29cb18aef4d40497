//! Static divisions of a loop: which iterations a processor executes, without any communication.
//!
//! # Algorithm
//! The random division is a permutation followed by blocks. It takes no memory: a Feistel network
//! (Luby and Rackoff 1988) permutes the numbers of as many bits as N requires, less than 2N, and is
//! applied again while the result is not below N ("cycle walking", Black and Rogaway 2002), which
//! permutes 0..N. The halves of an odd number of bits differ by one.

use core::ops::Range;

/// A division of 0..N among p processors that is fixed before the loop starts.
///
/// ```
/// # use tautline_core::taper::Division;
/// let share = |division: Division, q| division.share(q, 10, 4).collect::<Vec<_>>();
/// assert_eq!(share(Division::Blocked, 1), [2, 3, 4]);
/// assert_eq!(share(Division::Cyclic, 1), [1, 5, 9]);
/// assert_eq!(share(Division::Random { seed: 7 }, 1).len(), 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Division {
    /// Contiguous: processor q executes ⌊qN/p⌋ up to ⌊(q + 1)N/p⌋.
    Blocked,
    /// Periodic: processor q executes q, q + p, q + 2p, and so on.
    Cyclic,
    /// As blocked, of a permutation that follows from the seed.
    Random {
        /// Selects the permutation.
        seed: u64,
    },
}

impl Division {
    /// Returns the iterations of processor `q` of `p` in a loop of `n`.
    ///
    /// # Panics
    /// If `q` is not below `p`, or `n` exceeds `2^63`.
    pub fn share(self, q: u32, n: u64, p: u32) -> Share {
        let rest = match self {
            Self::Blocked | Self::Random { .. } => blocked(q, n, p),
            // Positions in the processor's own sequence.
            Self::Cyclic => {
                check(q, n, p);
                0..n.saturating_sub(u64::from(q)).div_ceil(u64::from(p))
            }
        };
        Share {
            rest,
            order: match self {
                Self::Blocked => Order::Same,
                Self::Cyclic => Order::Every { q, p },
                Self::Random { seed } => Order::Permuted(Permutation::new(n, seed)),
            },
        }
    }
}

/// Returns the iterations of processor `q` of `p` in a loop of `n` in the blocked division, as a
/// range.
///
/// # Panics
/// If `q` is not below `p`, or `n` exceeds `2^63`.
pub const fn blocked(q: u32, n: u64, p: u32) -> Range<u64> {
    check(q, n, p);
    let q = q as u128;
    let (start, end) = (q * n as u128 / p as u128, (q + 1) * n as u128 / p as u128);
    start as u64..end as u64
}

const fn check(q: u32, n: u64, p: u32) {
    assert!(q < p, "the processor's number must be below their number");
    assert!(n <= 1 << 63, "more than 2^63 iterations");
}

/// The iterations of one processor. Made by [`Division::share`].
#[derive(Clone, Debug)]
pub struct Share {
    rest: Range<u64>,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Same,
    Every { q: u32, p: u32 },
    Permuted(Permutation),
}

impl Iterator for Share {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let at = self.rest.next()?;
        Some(match &self.order {
            Order::Same => at,
            Order::Every { q, p } => u64::from(*q) + at * u64::from(*p),
            Order::Permuted(permutation) => permutation.of(at),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

/// Rounds of the network.
const ROUNDS: u64 = 6;

/// A permutation of 0..n.
#[derive(Clone, Debug)]
struct Permutation {
    n: u64,
    seed: u64,
    /// Bits of the lower half; the upper one has as many, or one more.
    low: u32,
    high: u32,
}

impl Permutation {
    fn new(n: u64, seed: u64) -> Self {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Self {
            n,
            seed,
            low: bits / 2,
            high: bits.div_ceil(2),
        }
    }

    /// Returns the number at position `at`, both below n; less than 2 networks on average.
    fn of(&self, at: u64) -> u64 {
        let mut x = self.network(at);
        while x >= self.n {
            x = self.network(x);
        }
        x
    }

    /// Each round changes one half by a function of the other, so it can be inverted.
    fn network(&self, x: u64) -> u64 {
        let (mut high, mut low) = (x >> self.low, x & ((1 << self.low) - 1));
        for round in (0..ROUNDS).step_by(2) {
            low ^= self.hash(round, high) & ((1 << self.low) - 1);
            high ^= self.hash(round + 1, low) & ((1 << self.high) - 1);
        }
        (high << self.low) | low
    }

    /// The mixing function of splitmix64 (Steele, Lea and Flood 2014).
    fn hash(&self, round: u64, half: u64) -> u64 {
        let steps = half.wrapping_mul(ROUNDS).wrapping_add(round + 1);
        let mut z = self
            .seed
            .wrapping_add(steps.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
