//! The same work for many items, on all processors.

use crate::context;
use anyhow::Result;
use std::num::NonZero;
use std::sync::Mutex;
use std::thread::{self, ScopedJoinHandle};

/// Calls `work` for each item, on all processors; returns the results in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = Mutex::new(items.iter().enumerate());
    let take = || next.lock().expect("no lane panics with the lock").next();
    let lane = || -> Result<Vec<(usize, R)>> {
        let mut out = Vec::new();
        while let Some((number, item)) = take() {
            out.push((number, work(item)?));
        }
        Ok(out)
    };
    let lanes = thread::available_parallelism().map_or(1, NonZero::get);
    let context = context::current();
    let ends: Result<Vec<_>> = thread::scope(|scope| {
        let (lane, context) = (&lane, &context);
        let start = |_| scope.spawn(move || context.enter(lane));
        let started: Vec<_> = (0..lanes).map(start).collect();
        let ended = started.into_iter().map(ScopedJoinHandle::join);
        ended
            .map(|end| end.expect("a lane returns its errors"))
            .collect()
    });
    let mut all: Vec<(usize, R)> = ends?.into_iter().flatten().collect();
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, end)| end).collect())
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let all: Vec<u32> = (0..100).collect();
        assert_eq!(each(&all, |n| Ok(*n)).unwrap(), all);
        assert!(
            each(&all, |n| anyhow::Context::context(
                (*n != 50).then_some(*n),
                "50"
            ))
            .is_err()
        );
    }
}
