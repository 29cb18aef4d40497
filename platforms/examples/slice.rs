//! Loops over a slice: a sum, a map, a sort.
use tautline::prelude::*;

fn main() -> tautline::Result<()> {
    let rt = Runtime::new()?;
    let numbers: Vec<u64> = (0..1_000_000u64)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)
        .collect();

    let sum: u64 = rt.run(|cx| cx.par(&numbers).map(|n| *n).sum());
    assert_eq!(sum, numbers.iter().sum::<u64>());

    let halves: Vec<f64> = rt.run(|cx| cx.par(&numbers).map(|n| *n as f64 / 2.0).collect());
    assert!(
        halves
            .iter()
            .zip(&numbers)
            .all(|(half, n)| half * 2.0 == *n as f64)
    );

    let mut sorted = numbers.clone();
    rt.run(|cx| cx.par(&mut sorted).sort_unstable());
    let mut expected = numbers;
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    println!(
        "{} numbers: sum {sum}, median {}",
        sorted.len(),
        sorted[sorted.len() / 2]
    );
    Ok(())
}
