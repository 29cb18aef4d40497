//! Processors for loops that are to end together.
//!
//! # Algorithm
//! Lucco 1995, 003:831-856: both sides begin with half of the p processors. While their finishes
//! differ by more than a tolerance, the later one gets f more. The source does not define f; spec
//! 2.13 has p/4, p/8, and so on at each correction, a bisection. A correction can overshoot, the
//! last one too, so the best division that was estimated counts: over all mixes of work the
//! finishes on 64 processors then differ by 7.5 % at most for shares of a quarter or more, instead
//! of 10.2 %. More than two loops are halves of a list, each of which counts as one loop, and are
//! divided again.

use super::super::fixed::Q16;
use super::finish::Demand;

/// The tolerance of the times at which two loops end.
///
/// ```
/// # use tautline_core::taper::{Allocator, Q16};
/// // Work of 3 : 1, whose finishes are the work over the processors.
/// let work = [300, 100];
/// let time = |side: usize, p: u32| Q16::ratio(work[side], p.into());
/// let shares = Allocator::default().divide(64, [1, 1], time);
/// assert_eq!((shares.of, shares.corrections), ([48, 16], 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocator {
    /// The difference of the finishes, over the later of the two, at which the division is
    /// accepted.
    pub tolerance: Q16,
    /// The most corrections.
    pub corrections: u32,
}

/// 5 % and 4 corrections (Lucco 1995, 003:840-852).
impl Default for Allocator {
    fn default() -> Self {
        Self {
            tolerance: Q16::ratio(1, 20),
            corrections: 4,
        }
    }
}

/// Processors of two sides. Made by [`Allocator::divide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The processors of each side; their sum is the number of processors.
    pub of: [u32; 2],
    /// The number of corrections of the division.
    pub corrections: u32,
}

impl Allocator {
    /// Divides `p` processors between two sides, at least `least` for each, so that the estimates
    /// `finish(side, processors)` of their ends are near each other. `finish` is called twice at
    /// first, and twice after each correction.
    ///
    /// # Panics
    /// If a side needs no processor, or both need more than `p`.
    pub fn divide(
        &self,
        p: u32,
        least: [u32; 2],
        mut finish: impl FnMut(usize, u32) -> Q16,
    ) -> Allocation {
        let needed = u64::from(least[0]) + u64::from(least[1]);
        assert!(
            least[0] > 0 && least[1] > 0 && needed <= u64::from(p),
            "{p} processors for sides of at least {} and {}: each needs 1, and both together no more than there are",
            least[0],
            least[1],
        );
        let first = (p - p / 2).clamp(least[0], p - least[1]);
        let mut of = [first, p - first];
        let mut best = (u64::MAX, of);
        let mut corrections = 0;
        loop {
            let ends = [0, 1].map(|side| finish(side, of[side]));
            let later = usize::from(ends[1] > ends[0]);
            let difference = ends[later].to_bits() - ends[1 - later].to_bits();
            let relative = Q16::ratio(difference, ends[later].to_bits().max(1));
            if relative.to_bits() < best.0 {
                best = (relative.to_bits(), of);
            }
            let step = p.checked_shr(corrections + 2).unwrap_or(0).max(1);
            let step = step.min(of[1 - later] - least[1 - later]);
            if relative <= self.tolerance || corrections == self.corrections || step == 0 {
                let of = best.1;
                return Allocation { of, corrections };
            }
            of[later] += step;
            of[1 - later] -= step;
            corrections += 1;
        }
    }

    /// Divides `p` processors among `loops`, at least 1 for each, and writes the number of each
    /// into `shares`.
    ///
    /// ```
    /// # use tautline_core::taper::{Allocator, Demand, Estimate, Overhead, Q16};
    /// let estimate = Estimate { mean_ns: Q16::whole(100), cv: Q16::ZERO };
    /// let of = |tasks| Demand { tasks, estimate, overhead: Overhead::default() };
    /// let mut shares = [0; 3];
    /// Allocator::default().divide_among(64, &[of(80_000), of(40_000), of(40_000)], &mut shares);
    /// assert_eq!(shares, [32, 16, 16]);
    /// ```
    ///
    /// # Panics
    /// If there are fewer processors than loops, or not as many shares as loops.
    pub fn divide_among(&self, p: u32, loops: &[Demand], shares: &mut [u32]) {
        let (count, places) = (loops.len(), shares.len());
        assert!(count == places, "{places} shares for {count} loops");
        assert!(count <= p as usize, "{p} processors for {count} loops");
        if let [share] = shares {
            *share = p;
            return;
        }
        if loops.is_empty() {
            return;
        }
        let half = halfway(loops);
        let sides = [&loops[..half], &loops[half..]];
        let least = sides.map(|side| side.len() as u32);
        let [first, second] = sides.map(|side| {
            let rest = side[1..].iter();
            rest.fold(side[0], |all, one| all.and(one))
        });
        let finish = |side: usize, p| [first, second][side].finish(p).total();
        let [left, right] = self.divide(p, least, finish).of;
        let (of_first, of_second) = shares.split_at_mut(half);
        self.divide_among(left, sides[0], of_first);
        self.divide_among(right, sides[1], of_second);
    }
}

/// Returns where a list of two loops or more is cut, so that its parts have about equal work.
fn halfway(loops: &[Demand]) -> usize {
    let work = |one: &Demand| u128::from(one.tasks) * u128::from(one.estimate.mean_ns.to_bits());
    let total: u128 = loops.iter().map(|one| work(one) >> 8).sum();
    let mut before = 0;
    for (at, one) in loops[..loops.len() - 1].iter().enumerate() {
        before += work(one) >> 8;
        if 2 * before >= total {
            return at + 1;
        }
    }
    loops.len() - 1
}
