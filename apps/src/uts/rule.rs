//! The number of children of a node, from the last word of its state.
//!
//! # Algorithm
//!
//! The geometric law gives `floor(ln(1 - u) / ln(1 - p))` children, `u` one of 2^31 values. That
//! is monotone in `u`, so it is a list of thresholds: the smallest value with at least `j`
//! children, for j = 1..=100. Each is found by inverting the law and then stepping with the formula
//! itself, in the arithmetic of the reference program, so that the table equals the formula.
//!
//! Thresholds are evenly distributed on the scale of `ln(1 - u)`. The first bits of `1 - u` as a
//! floating point number are a step function of that scale, and cheap: they number the [`Step`]s.
//! Up to a mean of about 15 children a step contains at most one threshold, except for the last few
//! values, and one comparison is enough.

/// The maximum number of children of a node, unless it is the root of a binomial tree or the tree
/// is balanced.
pub(super) const CHILDREN_MAX: u32 = 100;

/// The number of values of `u`.
pub(super) const VALUES: u32 = 1 << 31;

/// Steps to a doubling, as a power of two.
const STEP_BITS: u32 = 4;

/// 2^31 values are 32 doublings.
const STEPS: usize = 32 << STEP_BITS;

/// Computes the number of children of a node from the last word of its state.
pub(super) trait Rule {
    /// Returns the number of children.
    fn count(&self, word: u32) -> u32;
}

/// The exact law of the reference program, for the levels that have no table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    /// `ln(1 - p)`, `p` such that the mean is the branching factor.
    log: f64,
}

impl Law {
    /// Creates the geometric law with mean `branching`.
    pub(super) fn new(branching: f64) -> Self {
        let p = 1.0 / (1.0 + branching);
        Self {
            log: (1.0 - p).ln(),
        }
    }

    fn children(&self, value: u32) -> u32 {
        let u = f64::from(value) / f64::from(VALUES);
        // A cast from f64 saturates: no value is too large, and NaN does not occur.
        (((1.0 - u).ln() / self.log).floor() as u32).min(CHILDREN_MAX)
    }

    /// Returns the smallest value with at least `j` children; `VALUES` if there is none.
    fn threshold(&self, j: u32) -> u32 {
        let estimate = -f64::from(VALUES) * (f64::from(j) * self.log).exp_m1();
        let mut value = (estimate as u32).min(VALUES - 1);
        while value > 0 && self.children(value - 1) >= j {
            value -= 1;
        }
        while value < VALUES && self.children(value) < j {
            value += 1;
        }
        value
    }
}

impl Rule for Law {
    #[inline]
    fn count(&self, word: u32) -> u32 {
        self.children(word & (VALUES - 1))
    }
}

/// Values that differ in at most one threshold, or are few.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The first threshold in or after this step.
    next: u32,
    /// The number of children of values below `next`.
    base: u16,
    /// Whether the step has further thresholds.
    more: bool,
}

/// The geometric law as a table.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    steps: [Step; STEPS],
    /// `VALUES` after the last.
    thresholds: [u32; CHILDREN_MAX as usize + 1],
}

impl Steps {
    /// Returns the table of a law.
    pub(super) fn new(law: &Law) -> Self {
        let mut thresholds = [VALUES; CHILDREN_MAX as usize + 1];
        for (j, threshold) in (1..=CHILDREN_MAX).zip(&mut thresholds) {
            *threshold = law.threshold(j);
            if *threshold == VALUES {
                break;
            }
        }
        let mut inside = [0u16; STEPS];
        for &threshold in thresholds.iter().filter(|&&t| t < VALUES) {
            inside[step_of(threshold)] += 1;
        }
        let mut steps = [Step {
            next: VALUES,
            base: 0,
            more: false,
        }; STEPS];
        let mut base = 0;
        // The larger the value, the smaller 1 - u: ascending in children is descending in bits.
        for place in (0..STEPS).rev() {
            let place = (place + step_of(VALUES - 1)) % STEPS;
            steps[place] = Step {
                next: thresholds[usize::from(base)],
                base,
                more: inside[place] > 1,
            };
            base += inside[place];
        }
        Self { steps, thresholds }
    }

    #[cold]
    fn walk(&self, value: u32) -> u32 {
        self.thresholds.partition_point(|&t| t <= value) as u32
    }
}

/// Returns the number of the step of a value.
#[inline(always)]
fn step_of(value: u32) -> usize {
    let rest = (VALUES - value) as f32;
    (rest.to_bits() >> (f32::MANTISSA_DIGITS - 1 - STEP_BITS)) as usize % STEPS
}

impl Rule for Steps {
    #[inline(always)]
    fn count(&self, word: u32) -> u32 {
        let value = word & (VALUES - 1);
        let step = &self.steps[step_of(value)];
        if step.more {
            return self.walk(value);
        }
        u32::from(step.base) + u32::from(value >= step.next)
    }
}

/// `arity` children or none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coin {
    limit: u32,
    arity: u32,
}

impl Coin {
    /// `arity` children with probability `chance`.
    pub(super) fn new(chance: f64, arity: u32) -> Self {
        // value / 2^31 < q exactly if value < q * 2^31, as scaling by a power of two is exact.
        Self {
            limit: (chance * f64::from(VALUES)).ceil() as u32,
            arity,
        }
    }
}

impl Rule for Coin {
    #[inline(always)]
    fn count(&self, word: u32) -> u32 {
        if word & (VALUES - 1) < self.limit {
            self.arity
        } else {
            0
        }
    }
}

/// The same number for all nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Same(pub(super) u32);

impl Rule for Same {
    #[inline(always)]
    fn count(&self, word: u32) -> u32 {
        // The benchmark hashes these nodes, too: without this the compiler could remove the unused
        // hash.
        std::hint::black_box(word);
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEANS: [f64; 14] = [
        1e-6, 0.01, 0.2, 0.5, 1.0, 3.9999, 4.0, 6.0, 7.0, 15.0, 40.0, 100.0, 2000.0, 1e6,
    ];

    #[test]
    fn table_is_the_formula_at_every_threshold() {
        for mean in MEANS {
            let law = Law::new(mean);
            let steps = Steps::new(&law);
            let mut values = vec![0, 1, 2, VALUES - 3, VALUES - 2, VALUES - 1];
            for &t in &steps.thresholds {
                values.extend((t.saturating_sub(3)..=t.saturating_add(3)).filter(|&v| v < VALUES));
            }
            // Where a step begins.
            for octave in 0..31u32 {
                for part in 0..32u64 {
                    let rest = ((1u64 << octave) * (32 + part) / 32) as u32;
                    values.extend((rest.max(3) - 2..rest + 3).map(|r| VALUES - r));
                }
            }
            for value in values.into_iter().filter(|&v| v < VALUES) {
                assert_eq!(steps.count(value), law.count(value), "{mean} {value}");
                assert_eq!(
                    steps.count(value | VALUES),
                    law.count(value),
                    "{mean} {value}"
                );
            }
        }
    }

    #[test]
    fn table_is_the_formula_at_random() {
        let mut word = 1u32;
        for mean in MEANS {
            let law = Law::new(mean);
            let steps = Steps::new(&law);
            for _ in 0..200_000 {
                word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert_eq!(steps.count(word), law.count(word), "{mean} {word}");
            }
        }
    }

    #[test]
    #[ignore = "cargo ci deep: minutes, with --release"]
    fn table_is_the_formula_for_every_value() {
        for mean in [4.0, 0.5] {
            let law = Law::new(mean);
            let steps = Steps::new(&law);
            for value in 0..VALUES {
                assert_eq!(steps.count(value), law.count(value), "{mean} {value}");
            }
        }
    }

    #[test]
    fn one_comparison_is_enough_for_the_usual_means() {
        for mean in [0.5, 1.0, 4.0, 6.0, 7.0, 15.0] {
            let steps = Steps::new(&Law::new(mean));
            for octave in 5..31 {
                for part in 0..1u32 << STEP_BITS {
                    let rest = (1 << octave) + (part << (octave - STEP_BITS));
                    let step = steps.steps[step_of(VALUES - rest)];
                    assert!(!step.more, "{mean} {rest}");
                }
            }
        }
    }

    #[test]
    fn coin_is_the_formula_at_its_threshold() {
        for q in [0.0, 0.124875, 0.200014, 0.4999999995, 15.0 / 64.0, 1.0] {
            let coin = Coin::new(q, 3);
            for value in (coin.limit.saturating_sub(3)..coin.limit + 3).filter(|&v| v < VALUES) {
                let head = f64::from(value) / 2147483648.0 < q;
                assert_eq!(coin.count(value | VALUES), if head { 3 } else { 0 }, "{q}");
            }
        }
    }
}
