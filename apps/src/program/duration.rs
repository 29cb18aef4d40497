//! Times as options and variables spell them: `10`, `500ms`, `1h30m`.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Some three years.
const SECONDS_MAX: Duration = Duration::from_secs(100_000_000);

/// Parses a time of at least `LEAST` nanoseconds: seconds, or numbers with units.
///
/// # Errors
/// Another text: the rule that it breaks, for a line of refusal.
pub fn seconds<const LEAST: u64>(text: &str) -> Result<Duration, String> {
    let least = Duration::from_nanos(LEAST);
    let plain = |text: &str| Duration::try_from_secs_f64(text.parse().ok()?).ok();
    let time = plain(text).or_else(|| with_units(text));
    time.filter(|time| (least..=SECONDS_MAX).contains(time))
        .ok_or_else(|| {
            let (least, most) = (least.as_secs_f64(), SECONDS_MAX.as_secs());
            format!("a time from {least} to {most} seconds, such as 10, 500ms or 1h30m")
        })
}

/// Parses a time in `range`: whole nanoseconds, or numbers with units.
///
/// # Errors
/// Another text: the rule that it breaks, for a line of refusal.
pub fn nanoseconds(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let units = || u64::try_from(with_units(text)?.as_nanos()).ok();
    let time = text.parse().ok().or_else(units);
    time.filter(|ns| range.contains(ns)).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        format!("a time from {least} to {most} nanoseconds, such as 500, 20us or 1ms")
    })
}

/// Parses numbers with the units ns, us, ms, s, m, h and d, by these or longer names.
fn with_units(text: &str) -> Option<Duration> {
    // To the library, `1 0s` is 10 s, and `M` are months, where minutes are meant.
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_split =
        |pair: &[&str]| is_digit(pair[0].chars().next_back()) && is_digit(pair[1].chars().next());
    match text.contains('M') || words.windows(2).any(is_split) {
        true => None,
        false => humantime::parse_duration(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_units() {
        for (text, ms) in [
            ("10", 10_000),
            ("0.25", 250),
            ("1e3", 1_000_000),
            ("10s", 10_000),
            ("500ms", 500),
            ("1500us", 1),
            ("1h", 3_600_000),
            ("1h30m", 5_400_000),
            ("1h 30m", 5_400_000),
            ("10 s", 10_000),
            ("1.5h", 5_400_000),
            ("2min", 120_000),
            ("2 minutes", 120_000),
            ("1d", 86_400_000),
        ] {
            let read = seconds::<1_000_000>(text).map(|time| time.as_millis());
            assert_eq!(read, Ok(ms), "{text}");
        }
        for (text, ns) in [("0", 0), ("500", 500), ("20us", 20_000), ("1ms", 1_000_000)] {
            assert_eq!(nanoseconds(text, 0..=1_000_000), Ok(ns), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_times() {
        for text in [
            "",
            " ",
            "soon",
            "0",
            "0s",
            "-1",
            "-5s",
            "nan",
            "inf",
            "1e300",
            "10x",
            "10S",
            "10M",
            "1 0s",
            "s",
            "1h30",
            "1:30",
            "1,5s",
            "0x10",
            "10ss",
            "999999999d",
            "100000001s",
            "18446744073709551616h",
            "0.5ns",
            "١0s",
            "1h\n30",
            "ten seconds",
            "\u{1b}[31m10s",
            "１０s",
            "0.0001",
        ] {
            let refused = seconds::<1_000_000>(text).expect_err(text);
            let allowed = "a time from 0.001 to 100000000 seconds, such as 10, 500ms or 1h30m";
            assert_eq!(refused, allowed, "{text}");
        }
        for text in ["-1", "1.5", "2s", "ns", "1e3", ""] {
            let refused = nanoseconds(text, 0..=1_000_000).expect_err(text);
            let allowed = "a time from 0 to 1000000 nanoseconds, such as 500, 20us or 1ms";
            assert_eq!(refused, allowed, "{text}");
        }
    }
}
