//! Mergesort with parallel merges: the longer run is cut in half, the other where that item would
//! be.
use tautline::prelude::*;

const SMALL: usize = 512;

/// Sorts `items`, into `room` if `there`, which is as long.
fn sort(cx: &mut Cx, items: &mut [u32], room: &mut [u32], there: bool) {
    if items.len() <= SMALL {
        items.sort();
        return if there {
            room.copy_from_slice(items)
        };
    }
    let (low, high) = items.split_at_mut(items.len() / 2);
    let (low_room, high_room) = room.split_at_mut(low.len());
    cx.join(
        |cx| sort(cx, low, low_room, !there),
        |cx| sort(cx, high, high_room, !there),
    );
    if there {
        merge(cx, low, high, room);
    } else {
        merge(cx, low_room, high_room, items);
    }
}

fn merge(cx: &mut Cx, a: &[u32], b: &[u32], into: &mut [u32]) {
    if into.len() <= SMALL {
        let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
        for slot in into {
            let from_a = b.peek().is_none_or(|y| a.peek().is_some_and(|x| x <= y));
            let next = if from_a { &mut a } else { &mut b }.next();
            *slot = *next.expect("as long as both");
        }
        return;
    }
    if a.len() < b.len() {
        return merge(cx, b, a, into);
    }
    let i = a.len() / 2;
    let j = b.partition_point(|y| *y < a[i]);
    let (low, high) = into.split_at_mut(i + j);
    cx.join(
        |cx| merge(cx, &a[..i], &b[..j], low),
        |cx| merge(cx, &a[i..], &b[j..], high),
    );
}

fn main() -> tautline::Result<()> {
    let scattered = |i: u32| i.wrapping_mul(0x9e37_79b1) % 1000;
    let mut numbers: Vec<u32> = (0..1 << 20).map(scattered).collect();
    let (mut expected, mut room) = (numbers.clone(), numbers.clone());
    Runtime::new()?.run(|cx| sort(cx, &mut numbers, &mut room, false));
    expected.sort();
    assert_eq!(numbers, expected);
    println!("{} numbers sorted", numbers.len());
    Ok(())
}
