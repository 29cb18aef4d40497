//! Lengths as decimal numbers, without rounding.

/// A positive decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// Not divisible by ten.
    digits: u128,
    exponent: i32,
}

/// The number of digits that always fit.
pub(super) const DIGITS: usize = 38;

impl Decimal {
    /// Parses `12`, `0.25` or `1.5e-3`. Returns `None` if it is not a number above 0 with at most
    /// [`DIGITS`] digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i16>().ok()?),
            None => (text, 0),
        };
        let number = number.strip_prefix('+').unwrap_or(number);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let mut exponent = i32::from(exponent) - i32::try_from(fraction.len()).ok()?;
        let all = format!("{whole}{fraction}");
        let ended = all.trim_end_matches('0');
        exponent += (all.len() - ended.len()) as i32;
        let significant = ended.trim_start_matches('0');
        if significant.len() > DIGITS {
            return None;
        }
        let digits = significant.parse().ok()?;
        Some(Self { digits, exponent })
    }

    /// Returns the power of ten of its last digit.
    pub(super) fn exponent(self) -> i32 {
        self.exponent
    }

    /// Returns the number in units of 10^`unit`, if it fits.
    pub(super) fn scaled(self, unit: i32) -> Option<u128> {
        let factor = 10_u128.checked_pow(u32::try_from(self.exponent - unit).ok()?)?;
        self.digits.checked_mul(factor)
    }
}

/// Whether the text is a decimal number, of any sign and length.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') && digits.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact() {
        let decimal = |digits, exponent| Some(Decimal { digits, exponent });
        for (text, expected) in [
            ("12", decimal(12, 0)),
            ("1200", decimal(12, 2)),
            ("0.250", decimal(25, -2)),
            ("+1.5e-3", decimal(15, -4)),
            (".5E2", decimal(5, 1)),
            ("0.3333333333333333", decimal(3_333_333_333_333_333, -16)),
            ("1e-23", decimal(1, -23)),
            ("0.00e5", None),
            ("0", None),
            ("-1", None),
            ("1e", None),
            ("1_0", None),
            ("nan", None),
            ("inf", None),
            ("", None),
            (".", None),
            ("1e99999", None),
        ] {
            assert_eq!(Decimal::parse(text), expected, "{text}");
        }
        let most = "9".repeat(DIGITS);
        assert_eq!(Decimal::parse(&most).unwrap().scaled(0), most.parse().ok());
        assert_eq!(Decimal::parse(&format!("{most}9")), None);
        assert_eq!(
            Decimal::parse("1e38").unwrap().scaled(0),
            Some(10_u128.pow(38))
        );
        assert_eq!(Decimal::parse("1e39").unwrap().scaled(0), None);
    }

    #[test]
    fn words_are_told_from_numbers() {
        for text in ["1", "-1", "+.5", "1e-300", "0", "1."] {
            assert!(is_number(text), "{text}");
        }
        for text in ["nan", "inf", "-inf", "e5", "", ".", "1,5", "{}", "a"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
