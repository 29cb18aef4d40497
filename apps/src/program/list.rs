//! Lists of values in one option: `2,4,8`, `1..64`, `gss,taper`.

use std::ops::RangeInclusive;

/// The maximum number of values of a range.
const RANGE_MAX: usize = 10_000;

/// The form of a range, for error lines.
pub const RANGES: &str = "ranges A..B, A..B..STEP, A..B..xFACTOR";

/// Values that one use of an option lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List<T>(Vec<T>);

impl<T: Clone> List<T> {
    /// Returns the values of all uses of an option.
    pub fn join(lists: &[Self]) -> Vec<T> {
        lists.iter().flat_map(|list| list.0.clone()).collect()
    }
}

/// Parses whole numbers of `range` and [ranges](RANGES) of them, with commas.
///
/// # Errors
/// Another text: the rule that it breaks, for a line of refusal.
pub fn numbers(text: &str, range: RangeInclusive<u64>) -> Result<List<u64>, String> {
    let one = |part: &str| match part.contains("..") {
        true => sequence(part),
        false => part.parse().ok().map(|number| vec![number]),
    };
    let all: Option<Vec<Vec<u64>>> = text.split(',').map(str::trim).map(one).collect();
    let all = all.map(|all| all.concat());
    let all = all.filter(|all| all.iter().all(|number| range.contains(number)));
    all.map(List).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        format!("whole numbers from {least} to {most} with commas, or {RANGES}")
    })
}

/// Parses names, with commas.
///
/// # Errors
/// Another text: the rule that it breaks, for a line of refusal.
pub fn names(text: &str) -> Result<List<String>, String> {
    let all: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    match all.iter().any(String::is_empty) {
        true => Err("names with commas".to_owned()),
        false => Ok(List(all)),
    }
}

/// Returns the numbers of `A..B`, both ends included, of `A..B..STEP`, or of `A..B..xFACTOR`, in
/// which each number is the one before by the factor; `None` if the text has another form, or there
/// are more than 10 000.
pub fn sequence(text: &str) -> Option<Vec<u64>> {
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => text.parse::<u64>().ok(),
        false => None,
    };
    let mut parts = text.split("..");
    let (first, last) = (number(parts.next()?)?, number(parts.next()?)?);
    let step = parts.next().unwrap_or("1");
    if parts.next().is_some() || first > last {
        return None;
    }
    let after = |value: u64| match step.strip_prefix('x') {
        Some(factor) => value.checked_mul(number(factor)?),
        None => value.checked_add(number(step)?),
    };
    number(step.strip_prefix('x').unwrap_or(step))?;
    // By a step that leads nowhere, as 0 and x1 are, there are too many.
    let values = std::iter::successors(Some(first), |&value| after(value));
    let values: Vec<u64> = values
        .take_while(|&value| value <= last)
        .take(RANGE_MAX + 1)
        .collect();
    (values.len() <= RANGE_MAX).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_read() {
        for (text, expected) in [
            ("4", vec![4]),
            ("2, 4,8", vec![2, 4, 8]),
            ("2..5", vec![2, 3, 4, 5]),
            ("7..7", vec![7]),
            ("1..10..4", vec![1, 5, 9]),
            ("1..64..x4", vec![1, 4, 16, 64]),
            ("3..64..x4,100", vec![3, 12, 48, 100]),
        ] {
            assert_eq!(numbers(text, 1..=100), Ok(List(expected)), "{text}");
        }
        let lists = [numbers("1,2", 1..=9).unwrap(), numbers("2", 1..=9).unwrap()];
        assert_eq!(List::join(&lists), [1, 2, 2]);
    }

    #[test]
    fn other_texts_are_no_lists() {
        for text in [
            "",
            ",",
            "2,,4",
            "2,4,",
            ",2",
            "2;4",
            "2 4",
            "2-4",
            "0",
            "101",
            "-1",
            "2.5",
            "two",
            "1..",
            "..4",
            "4..2",
            "1..4..0",
            "1..4..x1",
            "1..4..x",
            "1..4..",
            "1...4",
            "1..=4",
            "1..4..1..1",
            "1..+4",
            "0..4..x2",
            "1..999999999999",
            "{2,4}",
        ] {
            let refused = numbers(text, 1..=100).expect_err(text);
            let form = "whole numbers from 1 to 100 with commas, or ranges A..B, ";
            assert!(refused.starts_with(form), "{text}: {refused}");
        }
        assert_eq!(
            names("gss, taper"),
            Ok(List(vec!["gss".into(), "taper".into()]))
        );
        for text in ["", ",", "gss,,taper", "gss,", " "] {
            assert!(names(text).is_err(), "{text}");
        }
    }
}
