//! The unevenness of a schedule, chunk by chunk.
//!
//! # Algorithm
//! The Fill Lemma (Lucco 1995, 003:670-704; spec 2.4.1): each chunk goes to the processor with the
//! smallest finish time. It either fills in, which reduces the lag by its cost, or it exceeds the
//! largest finish time, after which the lag is at most p − 1 times its cost, whatever it was.

/// The effect of a chunk on the lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// It ends before the last processor does.
    In,
    /// It ends last.
    Excess,
}

/// The finish times of p processors that take chunks first-available, with their lag: the sum of
/// what each finishes before the last one.
///
/// ```
/// # use tautline_core::taper::{Fill, Lag};
/// let mut finish = [0, 0];
/// let mut lag = Lag::new(&mut finish);
/// assert_eq!((lag.assign(10), lag.lag()), (Fill::Excess, 10));
/// assert_eq!((lag.assign(4), lag.lag()), (Fill::In, 6));
/// assert!(lag.lag() <= lag.bound());
/// assert_eq!(lag.finish(), [10, 4]);
/// ```
#[derive(Debug)]
pub struct Lag<'a> {
    finish: &'a mut [u64],
    last: u64,
    sum: u128,
    /// lag_0 − Σ cost.
    initial: i128,
    /// max_i((p − 1) cost_i − fill_i).
    exceeded: Option<i128>,
}

impl<'a> Lag<'a> {
    /// Begins with the times at which the processors start.
    ///
    /// # Panics
    /// If there is no processor.
    pub fn new(finish: &'a mut [u64]) -> Self {
        let last = *finish.iter().max().expect("0 processors: at least 1");
        let sum = finish.iter().map(|&t| u128::from(t)).sum();
        let mut lag = Self {
            finish,
            last,
            sum,
            initial: 0,
            exceeded: None,
        };
        lag.initial = lag.lag() as i128;
        lag
    }

    /// Assigns a chunk of `cost` to the first available processor.
    ///
    /// # Panics
    /// If its finish time exceeds 64 bits.
    pub fn assign(&mut self, cost: u64) -> Fill {
        let first = self.finish.iter_mut().min();
        let first = first.expect("checked when the schedule began");
        *first = first.checked_add(cost).expect("a finish time of 64 bits");
        let end = *first;
        self.sum += u128::from(cost);
        let others = self.finish.len() as i128 - 1;
        let cost = i128::from(cost);
        self.initial -= cost;
        let before = self.exceeded.map_or(i128::MIN, |bound| bound - cost);
        self.exceeded = Some(before.max(others * cost));
        if end <= self.last {
            return Fill::In;
        }
        self.last = end;
        Fill::Excess
    }

    /// Returns the lag: the idle time of all processors together if the loop ended now.
    pub fn lag(&self) -> u128 {
        u128::from(self.last) * self.finish.len() as u128 - self.sum
    }

    /// Returns a bound of the lag from the costs alone: corollary 3, the largest (p − 1) cost_i −
    /// fill_i, where fill_i is the cost of all chunks after i; or lag_0 − Σ cost if that is larger,
    /// as it may be without any excess, for which the corollary does not hold.
    pub fn bound(&self) -> u128 {
        let bound = self.exceeded.unwrap_or(i128::MIN).max(self.initial);
        // A lag is never negative.
        u128::try_from(bound).unwrap_or(0)
    }

    /// Returns the time at which each processor finishes.
    pub fn finish(&self) -> &[u64] {
        self.finish
    }
}
