//! Many small tasks under one finish.

use crate::Chip;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "overflow")]
use tautline_core::port::Thread;
use tautline_core::task::Cx;

const SPAWNERS: u64 = 200;
const TASKS: u64 = 1000;

/// Uses some hundred bytes of stack a level.
const LEVELS: u64 = 30_000;

/// Tasks that spawn tasks, each of which adds its number.
pub fn finish(cx: &mut Cx<'_, '_, Chip>) -> String {
    let sum = AtomicU64::new(0);
    let ended = cx.finish(|cx| {
        for spawner in 0..SPAWNERS {
            let sum = &sum;
            cx.spawn(move |cx| {
                for task in spawner * TASKS..(spawner + 1) * TASKS {
                    cx.spawn(move |_| _ = sum.fetch_add(task, Ordering::Relaxed));
                }
            });
        }
    });
    assert!(ended.is_ok(), "no task cancels it");
    let (tasks, sum) = (SPAWNERS * TASKS, sum.into_inner());
    assert_eq!(
        sum,
        tasks * (tasks - 1) / 2,
        "the sum of 0 to {}",
        tasks - 1
    );
    format!("{tasks} tasks, sum {sum}")
}

/// Nested forks, far beyond the stack of a hart.
pub fn deep(cx: &mut Cx<'_, '_, Chip>) -> String {
    fn fork(cx: &mut Cx<'_, '_, Chip>, levels: u64) -> u64 {
        if levels == 0 {
            return 0;
        }
        let (below, here) = cx.join(|cx| fork(cx, levels - 1), |_| 1);
        below + here
    }
    let forks = fork(cx, LEVELS);
    assert_eq!(forks, LEVELS);
    format!("{forks} forks in each other")
}

/// Recurses until the stack is full: that of the hart or, with one hart only, a further piece.
#[cfg(feature = "overflow")]
pub fn overflow(cx: &mut Cx<'_, '_, Chip>) -> String {
    fn deeper(levels: u64) -> u64 {
        let here = core::hint::black_box([levels; 64]);
        match levels {
            u64::MAX => 0,
            _ => deeper(levels + 1) + here[63],
        }
    }
    let chip = cx.pool().port();
    let mut levels = 0;
    if chip.harts() == 1 {
        chip.on_more_stack(&mut || levels = deeper(0));
    } else {
        levels = deeper(0);
    }
    format!("{levels} levels")
}
