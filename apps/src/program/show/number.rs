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
