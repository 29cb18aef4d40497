//! Declarations that are refused before anything runs, and accesses that are refused where they
//! happen.

use super::crew::on;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use tautline_core::loops::LoopScope;

/// Returns the message with which these loops are refused. None of them may run.
fn refused<'e>(declare: impl for<'s> FnOnce(&mut LoopScope<'s, 'e>)) -> String {
    let mut line = None;
    on(2, |cx| {
        line = Some(cx.concurrent(declare).expect_err("refused").to_string())
    });
    line.unwrap()
}

fn one(c: usize) -> Range<usize> {
    c..c + 1
}

#[test]
fn columns_that_do_not_exist() {
    let mut q = [0; 8];
    let line = refused(|loops| {
        let q = loops.columns("q", &mut q, 1);
        loops
            .par_for(5..9)
            .named("rows")
            .reads(&q, one)
            .run(|_, _| unreachable!());
    });
    assert_eq!(
        line,
        "loop `rows`: iteration 8 reads columns 8..9 of `q`, which has 0..8"
    );
    let mut q = [0; 8];
    let line = refused(|loops| {
        let q = loops.columns("q", &mut q, 1);
        #[allow(clippy::reversed_empty_ranges, reason = "refused")]
        let reversed = loops.par_for(0..1).writes(&q, |_| 5..4);
        reversed.run(|_, _| unreachable!());
    });
    assert_eq!(
        line,
        "loop 0: iteration 0 writes columns 5..4 of `q`, which has 0..8"
    );
    // An iteration that is not active declares nothing.
    let mut q = [0; 8];
    on(2, |cx| {
        let ran = cx.concurrent(|loops| {
            let q = loops.columns("q", &mut q, 1);
            let some = loops.par_for(0..20).only(|c| c < 8).writes(&q, one);
            some.run(|c, (mut q,)| q[c][0] = 1);
        });
        assert!(ran.is_ok());
    });
    assert_eq!(q, [1; 8]);
}

#[test]
fn iterations_of_one_loop_that_conflict() {
    let mut q = [0; 8];
    let line = refused(|loops| {
        let q = loops.columns("q", &mut q, 1);
        let both = loops
            .par_for(0..8)
            .named("A")
            .reads(&q, |_| 0..8)
            .writes(&q, one);
        both.run(|_, _| unreachable!());
    });
    let rule = "only one access of one iteration may reach a column that is written";
    assert_eq!(
        line,
        format!(
            "loop `A`: iteration 0 reads columns 0..8 of `q`, of which iteration 0 writes 0..1: {rule}"
        )
    );
    let mut q = [0; 8];
    let line = refused(|loops| {
        let q = loops.columns("q", &mut q, 1);
        let wide = loops.par_for(0..7).named("A").writes(&q, |c| c..c + 2);
        wide.run(|_, _| unreachable!());
    });
    assert_eq!(
        line,
        format!(
            "loop `A`: iteration 1 writes columns 1..3 of `q`, of which iteration 0 writes 1..2: {rule}"
        )
    );
    // Two views of one iteration would reach the same items.
    let mut q = [0; 8];
    let line = refused(|loops| {
        let q = loops.columns("q", &mut q, 1);
        let twice = loops.par_for(0..8).writes(&q, one).writes(&q, one);
        twice.run(|_, _| unreachable!());
    });
    assert!(
        line.contains("loop 0: iteration 0 writes columns 0..1"),
        "{line}"
    );
}

#[test]
fn loops_at_a_time_that_conflict() {
    for (first, second, verbs) in [
        (true, false, "`A` writes and `B` reads"),
        (false, true, "`A` reads and `B` writes"),
        (true, true, "`A` writes and `B` writes"),
    ] {
        let mut q = [0; 8];
        let line = refused(|loops| {
            let q = loops.columns("q", &mut q, 1);
            for (name, is_write) in [("A", first), ("B", second)] {
                let mask = |c: usize| name == "A" || (3..6).contains(&c);
                let each = loops.par_for(0..8).named(name).only(mask);
                match is_write {
                    true => each.writes(&q, one).run(|_, _| unreachable!()),
                    false => each.reads(&q, one).run(|_, _| unreachable!()),
                };
            }
        });
        assert_eq!(
            line,
            format!(
                "loops `A` and `B` run concurrently, but {verbs} columns 3..6 of `q`: let `B` come after `A`"
            )
        );
    }
    // An order with another loop does not help.
    let mut q = [0; 8];
    let line = refused(|loops| {
        let q = loops.columns("q", &mut q, 1);
        let a = loops
            .par_for(0..8)
            .writes(&q, one)
            .run(|_, _| unreachable!());
        loops.par_for(0..8).after(a).for_each(|_| unreachable!());
        loops
            .par_for(0..8)
            .reads(&q, one)
            .run(|_, _| unreachable!());
    });
    assert!(
        line.starts_with("loops 0 and 2 run concurrently, but 0 writes and 2 reads"),
        "{line}"
    );
}

/// Reads of columns that no other iteration writes, though others of the same array are written.
#[test]
fn disjoint_columns_are_accepted() {
    let mut q = [1; 8];
    on(2, |cx| {
        let ran = cx.concurrent(|loops| {
            let q = loops.columns("q", &mut q, 1);
            let low = loops.par_for(0..4).reads(&q, |_| 4..6).writes(&q, one);
            low.run(|c, (read, mut write)| write[c][0] = read[4][0] + read[5][0]);
            let high = loops.par_for(6..8).reads(&q, |_| 4..6).writes(&q, one);
            high.run(|c, (read, mut write)| write[c][0] = 5 * read[5][0]);
        });
        assert!(ran.is_ok());
    });
    assert_eq!(q, [2, 2, 2, 2, 1, 1, 5, 5]);
}

#[test]
fn accesses_that_were_not_declared() {
    let mut q = [0; 8];
    let ended = catch_unwind(AssertUnwindSafe(|| {
        on(2, |cx| {
            _ = cx.concurrent(|loops| {
                let q = loops.columns("q", &mut q, 2);
                let each = loops.par_for(0..4).named("A").writes(&q, one);
                each.run(|c, (mut q,)| q[if c == 2 { 3 } else { c }][0] = 1);
            });
        });
    }));
    let payload = ended.expect_err("iteration 2 is refused");
    let message = payload.downcast_ref::<String>().expect("a message");
    assert_eq!(
        message,
        "loop `A`: iteration 2 writes column 3 of `q`, but declares columns 2..3"
    );
}

/// A function that changes its mind: what it returned first counts.
#[test]
fn declarations_are_computed_once() {
    let mut q = [0; 64];
    let is_later = AtomicBool::new(false);
    on(2, |cx| {
        let ran = cx.concurrent(|loops| {
            let q = loops.columns("q", &mut q, 1);
            let fickle = |c: usize| {
                if is_later.load(SeqCst) {
                    0..1
                } else {
                    c..c + 1
                }
            };
            let each = loops.par_for(0..64).writes(&q, fickle);
            is_later.store(true, SeqCst);
            each.run(|c, (mut q,)| q[c][0] = c);
        });
        assert!(ran.is_ok());
    });
    assert!(q.into_iter().eq(0..64));
}

#[test]
#[should_panic(expected = "`q`: 8 items are no columns of 3")]
fn columns_of_unequal_width() {
    let mut q = [0; 8];
    refused(|loops| _ = loops.columns("q", &mut q, 3));
}
