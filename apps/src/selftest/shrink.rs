//! The smallest program that still fails.

use super::Program;
use tautline::Result;

/// Programs that are tried, at most: large ones stay larger than they could be.
const ATTEMPTS: usize = 500;

/// Leaves out one statement after the other while the program fails, and returns the last one that
/// does.
///
/// # Errors
/// Those of `fails`.
pub fn shrink(
    program: &Program,
    mut fails: impl FnMut(&Program) -> Result<bool>,
) -> Result<Program> {
    let mut least = program.clone();
    let mut attempts = 0;
    // Statements that the failure needs.
    let mut needed = Vec::new();
    loop {
        let next = least.numbers().into_iter().find(|it| !needed.contains(it));
        let Some(number) = next.filter(|_| attempts < ATTEMPTS) else {
            return Ok(least);
        };
        attempts += 1;
        let less = least.without(number);
        match fails(&less)? {
            true => least = less,
            false => needed.push(number),
        }
    }
}
