//! The iterations of a rank that have not begun.

use super::Predict;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

/// Iterations, as ranges that do not overlap, in the order in which they are executed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stock {
    parts: VecDeque<Range<u64>>,
    len: u64,
}

impl Stock {
    /// Creates a stock of one range.
    pub fn new(part: Range<u64>) -> Self {
        let mut stock = Self::default();
        if !part.is_empty() {
            stock.put([part]);
        }
        stock
    }

    /// Returns the number of iterations.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether no iteration is left.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether `parts` can be added to the stock of a loop of `n` iterations: ranges inside
    /// the loop that are not empty and overlap neither each other nor the stock.
    pub fn admits(&self, parts: &[Range<u64>], n: u64) -> bool {
        let apart = |a: &Range<u64>, b: &Range<u64>| a.end <= b.start || b.end <= a.start;
        !parts.is_empty()
            && parts.iter().enumerate().all(|(at, part)| {
                let mut others = parts[..at].iter().chain(&self.parts);
                part.start < part.end && part.end <= n && others.all(|other| apart(part, other))
            })
    }

    /// Returns the predicted work of the iterations.
    pub fn work(&self, predict: &impl Predict) -> u64 {
        let work = |part: &Range<u64>| predict.work(part.clone());
        self.parts.iter().map(work).fold(0, u64::saturating_add)
    }

    /// Returns the number of iterations from the front whose work is closest to `most`.
    pub fn fit_front(&self, most: u64, predict: &impl Predict) -> u64 {
        let fit = |part: &Range<u64>, before| predict.fit(part.clone(), before, most);
        Self::fit(self.parts.iter(), fit, predict)
    }

    /// Returns the number of iterations from the back whose work is closest to `most`.
    pub fn fit_back(&self, most: u64, predict: &impl Predict) -> u64 {
        let fit = |part: &Range<u64>, before| predict.fit_back(part.clone(), before, most);
        Self::fit(self.parts.iter().rev(), fit, predict)
    }

    fn fit<'a>(
        parts: impl Iterator<Item = &'a Range<u64>>,
        fit: impl Fn(&Range<u64>, u64) -> u64,
        predict: &impl Predict,
    ) -> u64 {
        let (mut count, mut before) = (0, 0_u64);
        for part in parts {
            let fitting = fit(part, before);
            count += fitting;
            if fitting < part.end - part.start {
                break;
            }
            before = before.saturating_add(predict.work(part.clone()));
        }
        count
    }

    /// Appends iterations to the stock.
    pub fn put(&mut self, parts: impl IntoIterator<Item = Range<u64>>) {
        for part in parts {
            self.len += part.end - part.start;
            self.parts.push_back(part);
        }
    }

    /// Takes at most `most` iterations from the front, to execute them.
    pub fn take_front(&mut self, most: u64) -> Vec<Range<u64>> {
        let mut taken = Vec::new();
        let mut wanted = most.min(self.len);
        self.len -= wanted;
        while let Some(part) = self.parts.front_mut().filter(|_| wanted > 0) {
            let middle = part.start + wanted.min(part.end - part.start);
            wanted -= middle - part.start;
            taken.push(part.start..middle);
            part.start = middle;
            if part.is_empty() {
                self.parts.pop_front();
            }
        }
        taken
    }

    /// Takes at most `most` iterations from the back, to send them to another rank.
    pub fn take_back(&mut self, most: u64) -> Vec<Range<u64>> {
        let mut taken = Vec::new();
        let mut wanted = most.min(self.len);
        self.len -= wanted;
        while let Some(part) = self.parts.back_mut().filter(|_| wanted > 0) {
            let middle = part.end - wanted.min(part.end - part.start);
            wanted -= part.end - middle;
            taken.push(middle..part.end);
            part.end = middle;
            if part.is_empty() {
                self.parts.pop_back();
            }
        }
        taken.reverse();
        taken
    }

    /// Takes single iterations from the front on that come closest to the work `most`: each that
    /// fits, whether or not those before it did.
    pub fn take_fitting(&mut self, most: u64, predict: &impl Predict) -> Vec<Range<u64>> {
        let (mut taken, mut work) = (Vec::new(), 0_u64);
        for iteration in mem::take(self).parts.into_iter().flatten() {
            let one = iteration..iteration + 1;
            let own = predict.work(one.clone());
            if work < most && work.saturating_add(own / 2) <= most {
                work = work.saturating_add(own);
                taken.push(one);
            } else {
                self.put([one]);
            }
        }
        taken
    }

    /// Adds iterations before those of the stock.
    pub fn put_first(&mut self, parts: Vec<Range<u64>>) {
        for part in parts.into_iter().rev() {
            self.len += part.end - part.start;
            self.parts.push_front(part);
        }
    }
}
