//! Random declarations: refused exactly if two accesses conflict, and else with the results of the
//! sequential loops.

use super::crew::on;
use super::reference::Random;
use super::{SHARINGS, work};
use std::ops::Range;
use std::sync::atomic::{AtomicI32, Ordering::SeqCst};
use tautline_core::loops::Sharing;

const COLUMNS: usize = 90;

/// The accesses of an iteration: reads of the first array, and writes of both.
#[derive(Clone)]
struct Iteration {
    reads: Range<usize>,
    writes: [Range<usize>; 2],
}

#[derive(Clone)]
struct Declaration {
    iterations: Vec<Iteration>,
    is_active: Vec<bool>,
    after: Vec<usize>,
    is_split: bool,
}

/// Column `i` of each iteration `i`, at a random place, or any columns.
fn random_loop(random: &mut Random, number: usize) -> Declaration {
    let len = random.below(12) as usize;
    let shifts: Vec<usize> = (0..3).map(|_| random.below(70) as usize).collect();
    let uses: Vec<u64> = (0..3).map(|_| random.below(8)).collect();
    let widest = if random.below(4) == 0 { 70 } else { 4 };
    let width = 1 + random.below(widest) as usize;
    let near = |at: usize, access: usize, width: usize| match uses[access] {
        0..3 => 0..0,
        _ => (at + shifts[access]).min(COLUMNS)..(at + shifts[access] + width).min(COLUMNS),
    };
    let mut iterations: Vec<Iteration> = (0..len)
        .map(|at| Iteration {
            reads: near(at, 0, width),
            writes: [near(at, 1, 1), near(at, 2, 1)],
        })
        .collect();
    if len > 0 && random.below(10) == 0 {
        let one = random.below(len as u64) as usize;
        let start = random.below(COLUMNS as u64) as usize;
        iterations[one].writes[1] = start..start + 1;
    }
    Declaration {
        is_active: (0..len).map(|_| random.below(3) > 0).collect(),
        iterations,
        after: (0..number).filter(|_| random.below(2) == 0).collect(),
        is_split: random.below(3) > 0,
    }
}

/// Returns whether an access of `a` and one of `b` reach a column, one to write it.
fn conflict(a: &Iteration, b: &Iteration) -> bool {
    let meet = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start) < a.end.min(b.end);
    meet(&a.writes[0], &b.writes[0])
        || meet(&a.writes[1], &b.writes[1])
        || meet(&a.reads, &b.writes[0])
        || meet(&a.writes[0], &b.reads)
}

fn active(of: &Declaration) -> impl Iterator<Item = (usize, &Iteration)> {
    let all = of.iterations.iter().enumerate();
    all.filter(|(at, _)| of.is_active[*at])
}

/// Returns whether loops may run as declared, by comparing any two accesses.
fn is_allowed(loops: &[Declaration]) -> bool {
    let mut before: Vec<Vec<bool>> = Vec::new();
    for (at, this) in loops.iter().enumerate() {
        let is_before = |earlier: usize| {
            let through = |on: &usize| *on == earlier || before[*on].get(earlier) == Some(&true);
            this.after.iter().any(through)
        };
        let earlier: Vec<bool> = (0..at).map(is_before).collect();
        for (i, one) in active(this) {
            let reads_own =
                one.reads.start.max(one.writes[0].start) < one.reads.end.min(one.writes[0].end);
            let clashes = |(j, other): (usize, &Iteration)| i != j && conflict(one, other);
            if reads_own || active(this).any(clashes) {
                return false;
            }
            for (other, _) in earlier.iter().enumerate().filter(|(_, is)| !**is) {
                if active(&loops[other]).any(|(_, other)| conflict(one, other)) {
                    return false;
                }
            }
        }
        before.push(earlier);
    }
    true
}

/// The value that an iteration writes into a column.
fn value(old: u64, reads: u64, of: usize, at: usize) -> u64 {
    old.wrapping_mul(31).wrapping_add(reads) ^ ((of << 8) | at) as u64
}

fn sequential(loops: &[Declaration]) -> [Vec<u64>; 2] {
    let mut arrays = [vec![1; COLUMNS], vec![1; COLUMNS]];
    for (of, this) in loops.iter().enumerate() {
        for (at, one) in active(this) {
            let reads = one.reads.clone().map(|c| arrays[0][c]);
            let reads = reads.fold(0u64, u64::wrapping_add);
            for (array, columns) in arrays.iter_mut().zip(&one.writes) {
                columns
                    .clone()
                    .for_each(|c| array[c] = value(array[c], reads, of, at));
            }
        }
    }
    arrays
}

/// Concurrent accesses to a column: -1 for one that writes.
struct Guards(Vec<AtomicI32>);

impl Guards {
    fn new() -> Self {
        Self((0..COLUMNS).map(|_| AtomicI32::new(0)).collect())
    }

    fn begin(&self, columns: &Range<usize>, is_write: bool) {
        for column in columns.clone() {
            let before = match is_write {
                true => self.0[column].fetch_sub(1, SeqCst),
                false => self.0[column].fetch_add(1, SeqCst),
            };
            assert!(
                before == 0 || (!is_write && before > 0),
                "column {column}: {before}"
            );
        }
    }

    fn end(&self, columns: &Range<usize>, is_write: bool) {
        for column in columns.clone() {
            self.0[column].fetch_add(if is_write { 1 } else { -1 }, SeqCst);
        }
    }
}

/// Runs the loops; `None` if they are refused.
fn concurrent(loops: &[Declaration], workers: usize, sharing: Sharing) -> Option<[Vec<u64>; 2]> {
    let [mut q, mut p] = [vec![1; COLUMNS], vec![1; COLUMNS]];
    let guards = [Guards::new(), Guards::new()];
    let mut ran = None;
    on(workers, |cx| {
        let outcome = cx.concurrent(|scope| {
            scope.share_by(sharing);
            let (q, p) = (scope.columns("q", &mut q, 1), scope.columns("p", &mut p, 1));
            let mut ids = Vec::new();
            for (of, this) in loops.iter().enumerate() {
                let mut declared = scope.par_for(0..this.iterations.len());
                for earlier in &this.after {
                    declared = declared.after(ids[*earlier]);
                }
                if this.is_split {
                    declared = declared.split();
                }
                let guards = &guards;
                let id = declared
                    .only(|at| this.is_active[at])
                    .reads(&q, |at| this.iterations[at].reads.clone())
                    .writes(&q, |at| this.iterations[at].writes[0].clone())
                    .writes(&p, |at| this.iterations[at].writes[1].clone())
                    .run(move |at, (read, mut first, mut second)| {
                        let one = &this.iterations[at];
                        guards[0].begin(&one.reads, false);
                        guards[0].begin(&one.writes[0], true);
                        guards[1].begin(&one.writes[1], true);
                        work(20 * at);
                        let sum = read
                            .columns()
                            .map(|c| read[c][0])
                            .fold(0, u64::wrapping_add);
                        for c in first.columns() {
                            first[c][0] = value(first[c][0], sum, of, at);
                        }
                        for c in second.columns() {
                            second[c][0] = value(second[c][0], sum, of, at);
                        }
                        guards[0].end(&one.reads, false);
                        guards[0].end(&one.writes[0], true);
                        guards[1].end(&one.writes[1], true);
                    });
                ids.push(id);
            }
        });
        ran = outcome.ok();
    });
    ran.map(|_| [q, p])
}

#[test]
fn random_declarations_are_refused_or_equal_the_sequential_loops() {
    let mut random = Random(23);
    let (mut allowed, mut refused) = (0, 0);
    for run in 0..3000 {
        let count = 1 + random.below(4) as usize;
        let loops: Vec<_> = (0..count).map(|at| random_loop(&mut random, at)).collect();
        let workers = 1 + run % 4;
        match concurrent(&loops, workers, SHARINGS[run / 4 % 2]) {
            Some(arrays) => {
                assert!(is_allowed(&loops), "run {run}");
                assert_eq!(arrays, sequential(&loops), "run {run}");
                allowed += 1;
            }
            None => {
                assert!(!is_allowed(&loops), "run {run}");
                refused += 1;
            }
        }
    }
    println!("{allowed} allowed, {refused} refused");
    assert!(allowed > 500 && refused > 500);
}
