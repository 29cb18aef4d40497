//! Accumulators: the result is the fold of the values, each included once.

use super::ports::{Random, Way, Yield, config, is_released, on_threads};
use std::fmt::Debug;
use tautline_core::phaser::Mode::{Signal, SignalWait, SignalWaitSingle, Wait};
use tautline_core::phaser::{
    Accumulator, At, Config, Element, Op, Phase, PhaserError, Registration,
};

type Sum<T> = (Accumulator<T, Yield>, Vec<Registration<Yield>>);

/// Creates a phaser that accumulates, with `n` tasks.
fn members<T: Element>(op: Op, init: Option<T>, config: Config, n: usize) -> Sum<T> {
    let (sum, mut first) = Accumulator::create(Yield, op, init, config).unwrap();
    let rest: Vec<_> = (1..n)
        .map(|_| first.register(SignalWait).unwrap())
        .collect();
    (sum, [first].into_iter().chain(rest).collect())
}

/// Runs a few phases with drawn values, some tasks contributing none; compares all results with
/// those of the fold, by `same`.
fn agrees<T: Element + Debug>(
    op: Op,
    mut draw: impl FnMut() -> T,
    fold: impl Fn(T, T) -> T,
    same: impl Fn(T, T) -> bool,
) {
    for n in [1, 2, 3, 7, 20] {
        for init in [None, Some(draw())] {
            let (sum, mut all) = members(op, init, config(2 + n % 3, 0), n);
            for phase in 0..4 {
                let mut values: Vec<T> = init.into_iter().collect();
                for (me, task) in all.iter_mut().enumerate() {
                    if phase == 0 || me % 3 != phase {
                        // A later value replaces an earlier one.
                        sum.put(task, draw()).unwrap();
                        values.push(draw());
                        sum.put(task, *values.last().unwrap()).unwrap();
                    }
                    task.signal().unwrap();
                }
                assert!(all.iter_mut().all(is_released));
                let Some(wanted) = values.iter().copied().reduce(&fold) else {
                    continue;
                };
                let got = sum.get();
                assert!(
                    same(got, wanted),
                    "{op:?} of {values:?}: {got:?}, not {wanted:?}"
                );
            }
        }
    }
}

fn equal<T: PartialEq>(a: T, b: T) -> bool {
    a == b
}

fn refused<T: Element>(ops: &[Op]) {
    for &op in ops {
        let answer = Accumulator::<T, _>::create(Yield, op, None, Config::default());
        assert_eq!(answer.err(), Some(PhaserError::Operator { op }));
    }
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        #[test]
        fn $type() {
            let mut random = Random(77);
            // Zeros and extremes are as frequent as all others together.
            let mut draw = || match random.below(6) {
                0 => 0,
                1 => $type::MAX,
                2 => $type::MIN,
                _ => random.below(u64::MAX) as $type,
            };
            type Fold = fn($type, $type) -> $type;
            let all: [(Op, Fold); 10] = [
                (Op::Max, |a, b| if a > b { a } else { b }),
                (Op::Min, |a, b| if a < b { a } else { b }),
                (Op::Sum, |a, b| (a as u128).wrapping_add(b as u128) as $type),
                (Op::Prod, |a, b| (a as u128).wrapping_mul(b as u128) as $type),
                (Op::LogicalAnd, |a, b| (a != 0 && b != 0) as $type),
                (Op::LogicalOr, |a, b| (a != 0 || b != 0) as $type),
                (Op::LogicalXor, |a, b| ((a != 0) ^ (b != 0)) as $type),
                (Op::BitAnd, |a, b| !(!a | !b)),
                (Op::BitOr, |a, b| !(!a & !b)),
                (Op::BitXor, |a, b| (a | b) & !(a & b)),
            ];
            for (op, fold) in all {
                let logical = matches!(op, Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor);
                let truth = |v: $type| if logical { (v != 0) as $type } else { v };
                agrees(op, || truth(draw()), fold, equal);
            }
            refused::<$type>(&[Op::MaxLoc, Op::MinLoc]);
        }
    )*};
}

/// Fact 47: every operator with every type of value for which it is defined, against a separate
/// fold; all other combinations are refused.
mod every_operator {
    use super::*;

    integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);

    macro_rules! floats {
        ($($type:ident)*) => {$(
            #[test]
            fn $type() {
                let mut random = Random(78);
                // Small enough for sums and products to be exact in any order.
                let mut draw = || [-2.0, -1.0, 0.5, 1.0, 2.0, 4.0][random.below(6) as usize];
                agrees::<$type>(Op::Max, &mut draw, |a, b| if a > b { a } else { b }, equal);
                agrees::<$type>(Op::Min, &mut draw, |a, b| if a < b { a } else { b }, equal);
                agrees::<$type>(Op::Sum, &mut draw, |a, b| a + b, equal);
                agrees::<$type>(Op::Prod, &mut draw, |a, b| a * b, equal);
                let nan = |v: $type| if v > 1.0 { $type::NAN } else { v };
                let number = |a: $type, b: $type| if a.is_nan() || b > a { b } else { a };
                let same = |a: $type, b: $type| a == b || (b.is_nan() && a == $type::NEG_INFINITY);
                agrees::<$type>(Op::Max, || nan(draw()), |a, b| if b.is_nan() { a } else { number(a, b) }, same);
                let all = Op::ALL;
                refused::<$type>(&all[4..]);
            }
        )*};
    }

    floats!(f32 f64);

    #[test]
    fn bool() {
        let mut random = Random(79);
        let mut draw = || random.below(2) == 1;
        for op in [Op::LogicalAnd, Op::BitAnd, Op::Min] {
            agrees(op, &mut draw, |a, b| if a { b } else { false }, equal);
        }
        for op in [Op::LogicalOr, Op::BitOr, Op::Max] {
            agrees(op, &mut draw, |a, b| if a { true } else { b }, equal);
        }
        for op in [Op::LogicalXor, Op::BitXor] {
            agrees(op, &mut draw, |a, b| a != b, equal);
        }
        refused::<bool>(&[Op::Sum, Op::Prod, Op::MaxLoc, Op::MinLoc]);
    }

    #[test]
    fn with_an_index() {
        let mut random = Random(80);
        let mut draw = || At {
            value: random.below(4) as i16 - 2,
            index: random.below(1000),
        };
        type Pair = At<i16>;
        let first = |a: Pair, b: Pair| if b.index < a.index { b } else { a };
        agrees(
            Op::MaxLoc,
            &mut draw,
            |a, b| match a.value.cmp(&b.value) {
                std::cmp::Ordering::Less => b,
                std::cmp::Ordering::Equal => first(a, b),
                std::cmp::Ordering::Greater => a,
            },
            equal,
        );
        agrees(
            Op::MinLoc,
            &mut draw,
            |a, b| match a.value.cmp(&b.value) {
                std::cmp::Ordering::Less => a,
                std::cmp::Ordering::Equal => first(a, b),
                std::cmp::Ordering::Greater => b,
            },
            equal,
        );
        refused::<Pair>(&Op::ALL[..10]);
    }
}

/// Fact 47: values of tasks that are registered in the phase, also into leaves that were gathered
/// already, and of tasks that deregister in it after their signal, are included once; on threads
/// that help each other.
#[test]
fn newcomers_and_leavers_count_once() {
    for help_after in [0, 30] {
        for degree in [2, 4] {
            let (sum, all) = members(Op::Sum, Some(5u64), config(degree, help_after), 4);
            on_threads(all, |me, mut task| {
                for phase in 0..400u64 {
                    let way = Way::ALL[(me + phase as usize) % 3];
                    let newcomers = (phase % 7) * u64::from(me == phase as usize % 4);
                    for _ in 0..newcomers {
                        let mut child = task.register(SignalWait).unwrap();
                        sum.put(&mut child, 10).unwrap();
                        child.signal().unwrap();
                    }
                    sum.put(&mut task, 1000).unwrap();
                    way.next(&mut task);
                    assert_eq!(sum.get(), 5 + 10 * (phase % 7) + 4000, "phase {phase}");
                }
            });
        }
    }
}

/// Fact 47: the same for newcomers that stay for some phases.
#[test]
fn newcomers_that_stay_count_in_every_phase() {
    const STAY: u64 = 5;
    const PHASES: u64 = 100;
    let there = |phase: u64| phase.min(PHASES - 1) + 1 - phase.saturating_sub(STAY - 1);
    let (sum, all) = members(Op::Sum, None, config(2, 10), 3);
    std::thread::scope(|s| {
        for (me, mut task) in all.into_iter().enumerate() {
            let sum = &sum;
            s.spawn(move || {
                for phase in 0..PHASES {
                    if me == 0 {
                        let mut child = task.register(SignalWait).unwrap();
                        s.spawn(move || {
                            for phase in phase..phase + STAY {
                                sum.put(&mut child, 1).unwrap();
                                child.next_blocking().unwrap();
                                assert_eq!(sum.get(), there(phase), "phase {phase}");
                            }
                        });
                    }
                    task.next_blocking().unwrap();
                    assert_eq!(sum.get(), there(phase), "phase {phase}");
                }
            });
        }
    });
}

/// Fact 47: sums of floats have the same bits in every run, regardless of delays.
#[test]
fn sums_of_floats_are_the_same_in_every_run() {
    const N: usize = 7;
    const PHASES: usize = 12;
    let run = |seed: u64| -> Vec<u64> {
        let (sum, all) = members(Op::Sum, Some(0.1f64), config(2, (seed % 3) as u32 * 20), N);
        let results = on_threads(all, |me, mut task| {
            let mut random = Random(1 + seed * 131 + me as u64);
            let mut results = Vec::new();
            for phase in 0..PHASES {
                for _ in 0..random.below(20) {
                    std::thread::yield_now();
                }
                let magnitude = [1e-9, 1.0, 3e7, 1e17][(me * 5 + phase) % 4];
                if me == phase % N {
                    for value in [1e-3, 7e8] {
                        let mut child = task.register(SignalWait).unwrap();
                        sum.put(&mut child, value).unwrap();
                        child.signal().unwrap();
                    }
                }
                sum.put(&mut task, magnitude / 3.0).unwrap();
                Way::ALL[random.below(3) as usize].next(&mut task);
                results.push(sum.get().to_bits());
            }
            results
        });
        assert!(results.iter().all(|r| *r == results[0]));
        results.into_iter().next().unwrap()
    };
    let first = run(0);
    for seed in 1..150 {
        assert_eq!(run(seed), first, "run {seed}");
    }
}

/// Fact 47: the last result outlives all registrations; before the first phase, the result is that
/// of no values.
#[test]
fn the_result_outlives_the_tasks() {
    let (sum, mut all) = members(Op::Prod, Some(3i64), config(2, 0), 5);
    assert_eq!(sum.get(), 3);
    for task in &mut all {
        sum.put(task, 2).unwrap();
        task.signal().unwrap();
    }
    assert!(is_released(&mut all[0]));
    drop(all);
    let other = sum.clone();
    drop(sum);
    assert_eq!(other.get(), 3 * 32);
}

/// Fact 47: a value must precede the signal, and its task must be registered signal-wait.
#[test]
fn values_are_refused_that_would_not_count() {
    let (sum, mut all) = members(Op::Sum, None, Config::default(), 2);
    let (strange, mut stranger) =
        Accumulator::create(Yield, Op::Sum, None, Config::default()).unwrap();
    assert_eq!(
        sum.put(&mut stranger, 1u32),
        Err(PhaserError::NotRegistered)
    );
    assert_eq!(
        strange.put(&mut all[0], 1u32),
        Err(PhaserError::NotRegistered)
    );
    sum.put(&mut all[0], 1).unwrap();
    all[0].signal().unwrap();
    let phase = Phase(0);
    assert_eq!(
        sum.put(&mut all[0], 2),
        Err(PhaserError::Signalled { phase })
    );
    all[1].signal().unwrap();
    assert!(is_released(&mut all[0]));
    assert_eq!(sum.get(), 1);
    for asked in [Signal, Wait] {
        let refused = all[0].register(asked);
        assert_eq!(refused.unwrap_err(), PhaserError::Accumulates { asked });
    }
    let (held, asked) = (SignalWait, SignalWaitSingle);
    let refused = all[0].register(asked);
    assert_eq!(
        refused.unwrap_err(),
        PhaserError::Capability { held, asked }
    );
}
