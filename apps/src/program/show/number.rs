//! Formatted numbers.

pub use tautline::pinning::ranges;

/// Formats 1234567 as `1 234 567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a number in at most `width` characters, at least 4: exactly if it fits, else with as
/// many digits as do and a unit of thousands, `12.35M`.
pub fn within(number: u64, width: usize) -> String {
    let exact = grouped(number);
    if exact.len() <= width {
        return exact;
    }
    let scaled = |(unit, size): (char, f64)| {
        let value = number as f64 / size;
        let is_largest = format!("{value:.0}").len() <= 3;
        // A point and one digit are two characters more than none.
        let texts = (0..width)
            .rev()
            .map(|digits| format!("{value:.digits$}{unit}"));
        let mut fitting = texts.filter(|text| text.len() <= width);
        is_largest.then(|| fitting.next()).flatten()
    };
    let units = [
        ('k', 1e3),
        ('M', 1e6),
        ('G', 1e9),
        ('T', 1e12),
        ('P', 1e15),
        ('E', 1e18),
    ];
    units.into_iter().find_map(scaled).unwrap_or(exact)
}

/// Formats a rate with four significant digits and a unit of thousands.
pub fn rate(per_second: f64) -> String {
    let (value, unit) = match per_second {
        r if r >= 1e9 => (r / 1e9, " G"),
        r if r >= 1e6 => (r / 1e6, " M"),
        r if r >= 1e3 => (r / 1e3, " k"),
        r => (r, " "),
    };
    let digits = match value {
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}{unit}")
}

/// Formats a time in seconds, to the millisecond; a short one to the microsecond.
pub fn seconds(time: f64) -> String {
    let digits = if time < 0.1 { 6 } else { 3 };
    format!("{time:.digits$}")
}

/// Formats a size in the largest unit that divides it.
pub fn bytes(size: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (size as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(value.fract() > 0.04 && value < 100.0);
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [1, 12, 123, 1234, 1234567].map(grouped),
            ["1", "12", "123", "1 234", "1 234 567"]
        );
        let numbers = [
            0, 9_999, 10_000, 99_949, 99_951, 999_499, 999_500, 1_234_567,
        ];
        let texts = [
            "0", "9 999", "10.0k", "99.9k", "100k", "999k", "1.00M", "1.23M",
        ];
        assert_eq!(numbers.map(|number| within(number, 5)), texts);
        let numbers = [999_999, 1_234_567, 102_181_082, 999_999_999, u64::MAX];
        let texts = ["999 999", "1.2346M", "102.18M", "1.0000G", "18.447E"];
        assert_eq!(numbers.map(|number| within(number, 7)), texts);
        assert_eq!(rate(30_042_000.0), "30.04 M");
        assert_eq!(rate(0.0), "0.000 ");
        assert_eq!(
            [0, 1 << 10, 3 << 19, 32 << 20].map(bytes),
            ["0 B", "1 KiB", "1.5 MiB", "32 MiB"]
        );
        assert_eq!(ranges(&[0, 1, 2, 8, 10, 11]), "0-2 8 10-11");
        assert_eq!(ranges(&[2, 0]), "2 0");
        assert_eq!([12.34567, 0.01234567].map(seconds), ["12.346", "0.012346"]);
    }
}
