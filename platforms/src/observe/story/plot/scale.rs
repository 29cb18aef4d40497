//! The position of a value on an axis, and the marked values.

/// Beyond, the span of an axis might be infinite.
pub(super) const VALUE_MAX: f64 = 1e100;
const LOG_MIN: f64 = 1.0 / VALUE_MAX;

/// One axis: the values shown, from the first to the last.
#[derive(Debug)]
pub(super) struct Scale {
    log: bool,
    low: f64,
    high: f64,
    /// The marked values, in order.
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// Creates an axis for `values`, at most [`VALUE_MAX`] in size, with about `most` marks. A
    /// logarithmic one requires values of at least [`LOG_MIN`], else it is linear.
    pub(super) fn of(values: &[f64], log: bool, from_zero: bool, most: usize) -> Self {
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.is_empty() {
            return Self::linear(0.0, 1.0, most);
        }
        if log && smallest >= LOG_MIN {
            return Self::logarithmic(values, smallest, largest, most);
        }
        // Zero is omitted only where the values are far from it.
        let near_zero = smallest > 0.0 && smallest < largest - smallest;
        match from_zero && near_zero {
            true => Self::linear(0.0, largest, most),
            false => Self::linear(smallest, largest, most),
        }
    }

    fn linear(mut smallest: f64, mut largest: f64, most: usize) -> Self {
        if smallest == largest {
            let room = if smallest == 0.0 {
                1.0
            } else {
                smallest.abs() / 2.0
            };
            (smallest, largest) = (smallest - room, largest + room);
        }
        let step = round_step((largest - smallest) / most as f64);
        let (first, last) = ((smallest / step).floor(), (largest / step).ceil());
        let count = (last - first) as usize;
        Self {
            log: false,
            low: first * step,
            high: last * step,
            ticks: (0..=count).map(|n| (first + n as f64) * step).collect(),
        }
    }

    /// Marks at powers of two if all values are such, else at powers of ten, with 2 and 5 times
    /// them if there are few.
    fn logarithmic(values: &[f64], smallest: f64, largest: f64, most: usize) -> Self {
        let room = match smallest == largest {
            true => 2f64.sqrt(),
            false => (largest / smallest).powf(0.03),
        };
        let (low, high) = (smallest / room, largest * room);
        let within = |value: &f64| (low..=high).contains(value);
        let ticks = if values.iter().all(|&value| value.log2().fract() == 0.0) {
            let (first, last) = (smallest.log2() as i32, largest.log2() as i32);
            let every = ((last - first) as usize).div_ceil(most).max(1);
            let powers = (first..=last).step_by(every);
            powers.map(|power| 2f64.powi(power)).collect()
        } else {
            let (first, last) = (low.log10().floor() as i32, high.log10().floor() as i32);
            let every = ((last - first - 1).max(0) as usize).div_ceil(most).max(1);
            let parts: &[f64] = match last - first {
                ..=2 => &[1.0, 2.0, 5.0],
                _ => &[1.0],
            };
            let powers = (first..=last).step_by(every);
            let all = powers.flat_map(|power| parts.iter().map(move |p| p * 10f64.powi(power)));
            all.filter(within).collect::<Vec<_>>()
        };
        let ticks = match ticks.len() {
            ..=1 => {
                let mut ticks = Self::linear(smallest, largest, most).ticks;
                ticks.retain(within);
                ticks
            }
            _ => ticks,
        };
        Self {
            log: true,
            low,
            high,
            ticks,
        }
    }

    /// Returns the position of `value`: 0 at the beginning of the axis, 1 at its end.
    pub(super) fn at(&self, value: f64) -> f64 {
        match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }
}

/// Returns the smallest of 1, 2 and 5 times a power of ten that is at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let parts = [1.0, 2.0, 5.0, 10.0].map(|part| part * power);
    parts
        .into_iter()
        .find(|&step| step >= least)
        .unwrap_or(parts[3])
}

/// Formats a number: `0.25`, `16 384`, `2.5 M`, `3e-7`.
pub(super) fn label(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        _ if size >= 1e15 || (size > 0.0 && size < 1e-4) => return exponent(value),
        _ if size >= 1e12 => (value / 1e12, "\u{a0}T"),
        _ if size >= 1e9 => (value / 1e9, "\u{a0}G"),
        _ if size >= 1e6 => (value / 1e6, "\u{a0}M"),
        _ => (value, ""),
    };
    // Six digits, of which those not required before the point follow it.
    let before = scaled.abs().max(1.0).log10().floor() as usize;
    let digits = 5usize.saturating_sub(before);
    let text = format!("{scaled:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    match (text, unit) {
        ("-0", _) => "0".to_owned(),
        (_, "") => grouped(text),
        _ => format!("{text}{unit}"),
    }
}

fn exponent(value: f64) -> String {
    let text = format!("{value:.3e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}e{power}")
}

/// Groups thousands before the point.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    for (at, c) in whole.chars().enumerate() {
        let left = whole.len() - at;
        if left % 3 == 0 && at > 0 && !out.ends_with('-') {
            out.push('\u{a0}');
        }
        out.push(c);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_enclose_the_data() {
        for (values, ticks) in [
            (vec![0.0, 1.0], vec![0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (vec![3.0, 97.0], vec![0.0, 20.0, 40.0, 60.0, 80.0, 100.0]),
            (vec![91.0, 97.5], vec![90.0, 92.0, 94.0, 96.0, 98.0]),
            (vec![-1.0, 4.0], vec![-1.0, 0.0, 1.0, 2.0, 3.0, 4.0]),
            (vec![8.0], vec![4.0, 6.0, 8.0, 10.0, 12.0]),
            (vec![0.0], vec![-1.0, -0.5, 0.0, 0.5, 1.0]),
        ] {
            let scale = Scale::of(&values, false, true, 5);
            let close = scale
                .ticks
                .iter()
                .zip(&ticks)
                .all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(
                close && scale.ticks.len() == ticks.len(),
                "{values:?}: {scale:?}"
            );
            for value in values {
                assert!(
                    (0.0..=1.0).contains(&scale.at(value)),
                    "{value} on {scale:?}"
                );
            }
        }
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        for (values, ticks) in [
            (vec![1.0, 4.0, 16.0], vec![1.0, 2.0, 4.0, 8.0, 16.0]),
            (
                vec![1.0, 65_536.0],
                vec![1.0, 16.0, 256.0, 4_096.0, 65_536.0],
            ),
            (vec![1.0, 7.0, 30.0], vec![1.0, 2.0, 5.0, 10.0, 20.0]),
            (vec![3.0, 9e5], vec![10.0, 100.0, 1e3, 1e4, 1e5, 1e6]),
            (vec![3.0, 9e9], vec![100.0, 1e4, 1e6, 1e8, 1e10]),
            (vec![30.0, 31.0], vec![30.0, 30.2, 30.4, 30.6, 30.8, 31.0]),
        ] {
            let scale = Scale::of(&values, true, false, 5);
            assert!(scale.log);
            let close = scale
                .ticks
                .iter()
                .zip(&ticks)
                .all(|(a, b)| (a / b - 1.0).abs() < 1e-9);
            assert!(
                close && scale.ticks.len() == ticks.len(),
                "{values:?}: {scale:?}"
            );
            let ends = [values[0], values[values.len() - 1]].map(|value| scale.at(value));
            assert!(
                0.0 < ends[0] && ends[0] < ends[1] && ends[1] < 1.0,
                "{ends:?}"
            );
        }
        let one = Scale::of(&[10.0], true, false, 5);
        assert!((one.at(10.0) - 0.5).abs() < 1e-9);
        assert!(!Scale::of(&[0.0, 8.0], true, false, 5).log);
    }

    #[test]
    fn labels_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (0.1 + 0.2, "0.3"),
            (-2.5, "-2.5"),
            (1_024.0, "1 024"),
            (-131_072.0, "-131 072"),
            (999_999.0, "999 999"),
            (16_526_523.0, "16.5265 M"),
            (2e9, "2 G"),
            (0.000_05, "5e-5"),
            (1.5e18, "1.5e18"),
        ] {
            assert_eq!(label(value).replace('\u{a0}', " "), text);
        }
    }
}
