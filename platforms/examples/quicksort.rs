//! Quicksort in place: both sides of the pivot at the same time, borrowed from one slice.
use tautline::prelude::*;

/// Below it, what a fork saves is not worth looking for.
const SMALL: usize = 256;

fn sort<T: Ord + Send>(cx: &mut Cx, items: &mut [T]) {
    if items.len() <= SMALL {
        return items.sort_unstable();
    }
    let pivot = partition(items);
    let (below, above) = items.split_at_mut(pivot);
    cx.join(|cx| sort(cx, below), |cx| sort(cx, &mut above[1..]));
}

/// Moves what is less than the median of three to the front (Lomuto), and returns its index there.
fn partition<T: Ord>(items: &mut [T]) -> usize {
    let (middle, last) = (items.len() / 2, items.len() - 1);
    let mut three = [0, middle, last];
    three.sort_unstable_by_key(|&i| &items[i]);
    items.swap(three[1], last);
    let mut less = 0;
    for i in 0..last {
        if items[i] < items[last] {
            items.swap(i, less);
            less += 1;
        }
    }
    items.swap(less, last);
    less
}

fn main() -> tautline::Result<()> {
    // Each number below 2^20 once: an odd factor permutes them.
    let mut numbers: Vec<u32> = (0..1 << 20)
        .map(|i: u32| i.wrapping_mul(0x9e37_79b1) % (1 << 20))
        .collect();
    Runtime::new()?.run(|cx| sort(cx, &mut numbers));
    assert!((0..1 << 20).eq(numbers.iter().copied()));
    println!("{} numbers sorted", numbers.len());
    Ok(())
}
