//! A worker's whole life in a fixed number of buckets.

use tautline_core::watch::{Observer, State};

/// Ticks by state.
type Ticks = [u64; State::ALL.len()];

/// Adds up a worker's ticks by state in buckets of equal width. When the run outgrows them the
/// width doubles and neighbours merge, so that any run fits and no tick is lost.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Life {
    /// The first tick seen: where bucket 0 begins.
    origin: Option<u64>,
    /// A bucket is this power of two wide.
    shift: u32,
    buckets: Vec<Ticks>,
}

impl Life {
    /// The maximum number of buckets.
    pub const BUCKETS: usize = 1024;

    /// The buckets in use: the first tick of each, and the ticks by state in it.
    ///
    /// ```
    /// use tautline::story::Life;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut life = Life::default();
    /// life.span(State::Computing, 0, 60);
    /// life.span(State::Idle, 60, 100);
    /// let computing: u64 = life.buckets().map(|(_, ticks)| ticks[State::Computing as usize]).sum();
    /// assert_eq!(computing, 60);
    /// ```
    pub fn buckets(&self) -> impl Iterator<Item = (u64, &Ticks)> {
        let origin = self.origin.unwrap_or_default();
        let starts = (0u64..).map(move |bucket| origin + (bucket << self.shift));
        starts.zip(&self.buckets)
    }

    /// Returns the width of a bucket, in ticks.
    ///
    /// ```
    /// use tautline::story::Life;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut life = Life::default();
    /// life.span(State::Computing, 0, 60);
    /// life.span(State::Idle, 60, 100);
    /// assert!(life.width() >= 1 && life.width().is_power_of_two());
    /// ```
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    /// The ticks by state in each of `columns` equal parts of the `length` ticks from `began` on. A
    /// bucket that lies in several columns is shared out evenly.
    ///
    /// ```
    /// use tautline::story::Life;
    /// use tautline::watch::{Observer, State};
    ///
    /// let mut life = Life::default();
    /// life.span(State::Computing, 0, 60);
    /// life.span(State::Idle, 60, 100);
    /// let columns = life.columns(0, 100.0, 2);
    /// assert_eq!(columns[0][State::Computing as usize], 50.0);
    /// ```
    pub fn columns(&self, began: u64, length: f64, columns: usize) -> Vec<[f64; State::ALL.len()]> {
        let mut parts = vec![[0.0; State::ALL.len()]; columns];
        let scale = columns as f64 / length.max(1.0);
        for (start, ticks) in self.buckets() {
            // Clocks of two processors may differ a little: nothing lies before the beginning.
            let first = start.saturating_sub(began) as f64 * scale;
            let last = (first + self.width() as f64 * scale).min(columns as f64);
            let first = first.min(last);
            let share = 1.0 / (last - first).max(f64::MIN_POSITIVE);
            let range = first as usize..(last.ceil() as usize).min(columns);
            for (at, part) in parts[range.clone()].iter_mut().enumerate() {
                let at = (range.start + at) as f64;
                let inside = (last.min(at + 1.0) - first.max(at)).max(0.0) * share;
                for (to, &from) in part.iter_mut().zip(ticks) {
                    *to += from as f64 * inside;
                }
            }
        }
        parts
    }

    /// Moves all of it in time.
    #[cfg(feature = "serde")]
    pub(super) fn shift(&mut self, ticks: i64) {
        self.origin = self.origin.map(|tick| tick.saturating_add_signed(ticks));
    }

    fn merge_neighbours(&mut self) {
        self.shift += 1;
        let merged = self.buckets.len().div_ceil(2);
        for bucket in 0..merged {
            let mut sum = self.buckets[2 * bucket];
            if let Some(other) = self.buckets.get(2 * bucket + 1) {
                sum.iter_mut().zip(other).for_each(|(to, from)| *to += from);
            }
            self.buckets[bucket] = sum;
        }
        self.buckets.truncate(merged);
    }
}

impl Observer for Life {
    fn span(&mut self, state: State, from: u64, to: u64) {
        let origin = *self.origin.get_or_insert(from);
        let (mut from, to) = (from.saturating_sub(origin), to.saturating_sub(origin));
        if from >= to {
            return;
        }
        while (to - 1) >> self.shift >= Self::BUCKETS as u64 {
            self.merge_neighbours();
        }
        let last = ((to - 1) >> self.shift) as usize;
        if self.buckets.len() <= last {
            self.buckets.resize(last + 1, Ticks::default());
        }
        while from < to {
            let bucket = from >> self.shift;
            let end = to.min((bucket + 1) << self.shift);
            self.buckets[bucket as usize][state as usize] += end - from;
            from = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uneven stretches in all states, `count` of them from tick `at` on.
    fn live(life: &mut Life, at: u64, count: u64) -> Ticks {
        let mut sums = Ticks::default();
        let mut now = at;
        for turn in 0..count {
            let length = turn * turn % 97 * (1 + turn % 13);
            let state = State::ALL[(turn * 7 % 5) as usize];
            life.span(state, now, now + length);
            sums[state as usize] += length;
            now += length;
        }
        sums
    }

    fn sums(life: &Life) -> Ticks {
        life.buckets()
            .fold(Ticks::default(), |mut sum, (_, ticks)| {
                sum.iter_mut().zip(ticks).for_each(|(to, from)| *to += from);
                sum
            })
    }

    #[test]
    fn merging_keeps_every_tick() {
        for count in [0, 1, 2, 100, 1_000, 20_000] {
            let mut life = Life::default();
            let expected = live(&mut life, 1 << 50, count);
            assert_eq!(sums(&life), expected);
            assert!(life.buckets.len() <= Life::BUCKETS);
            let full = life
                .buckets()
                .all(|(_, t)| t.iter().sum::<u64>() <= life.width());
            assert!(full, "a bucket holds more ticks than it is wide");
        }
    }

    #[test]
    fn one_stretch_may_outgrow_everything() {
        let mut life = Life::default();
        life.span(State::Idle, 5, 6);
        life.span(State::Computing, 6, 1 << 60);
        assert_eq!(sums(&life)[State::Computing as usize], (1 << 60) - 6);
        assert!(life.buckets.len() <= Life::BUCKETS);
    }

    #[test]
    fn columns_keep_the_sums() {
        let mut life = Life::default();
        let expected = live(&mut life, 1_000, 5_000);
        let length: u64 = expected.iter().sum();
        for columns in [1, 3, 512, 3_000] {
            let parts = life.columns(1_000, length as f64, columns);
            for (state, &ticks) in expected.iter().enumerate() {
                let sum: f64 = parts.iter().map(|part| part[state]).sum();
                assert!((sum - ticks as f64).abs() < 1e-6 * length as f64);
            }
        }
    }

    #[test]
    fn columns_outside_the_run_are_cut() {
        let mut life = Life::default();
        life.span(State::Idle, 100, 300);
        assert!(
            life.columns(900, 10.0, 4)
                .iter()
                .flatten()
                .all(|&t| t >= 0.0)
        );
        assert_eq!(life.columns(0, 50.0, 4).iter().flatten().sum::<f64>(), 0.0);
    }
}
