//! Statistics of samples.
#![forbid(unsafe_code)]

use serde_json::Value;

/// The distribution of samples, in their unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// The median; of an even number of samples the mean of the middle two.
    pub median: f64,
    /// The largest.
    pub most: f64,
    /// The standard deviation of the population, estimated about the mean; 0 for one sample.
    pub deviation: f64,
    /// The number of samples.
    pub samples: usize,
}

impl Spread {
    /// Returns the distribution of `samples`; `None` if there are no samples.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut all = samples.to_vec();
        all.sort_by(f64::total_cmp);
        let (least, most, count) = (*all.first()?, *all.last()?, all.len());
        let mean = all.iter().sum::<f64>() / count as f64;
        let squares: f64 = all.iter().map(|one| (one - mean).powi(2)).sum();
        Some(Self {
            least,
            median: (all[(count - 1) / 2] + all[count / 2]) / 2.0,
            most,
            deviation: (squares / (count.max(2) - 1) as f64).sqrt(),
            samples: count,
        })
    }

    /// Adds the distribution of `samples`, in nanoseconds, to a JSON object; nothing without
    /// samples.
    pub fn describe(object: &mut Value, samples: &[f64]) {
        let Some(spread) = Self::of(samples) else {
            return;
        };
        for (key, ns) in [
            ("min_ns", spread.least),
            ("median_ns", spread.median),
            ("max_ns", spread.most),
            ("sd_ns", spread.deviation),
        ] {
            object[key] = ns.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn known_samples_have_known_spreads() {
        let spread = Spread::of(&[4.0, 2.0, 9.0, 5.0]).unwrap();
        assert_eq!((spread.least, spread.median, spread.most), (2.0, 4.5, 9.0));
        // The squares about the mean of 5 add up to 26.
        assert!((spread.deviation - (26.0f64 / 3.0).sqrt()).abs() < 1e-12);
        let one = Spread::of(&[7.0]).unwrap();
        assert_eq!((one.median, one.deviation, one.samples), (7.0, 0.0, 1));
        assert_eq!(Spread::of(&[]), None);
    }
}
