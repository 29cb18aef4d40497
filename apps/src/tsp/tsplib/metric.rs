//! The distance functions of TSPLIB 95 (Reinelt 1991, 1995), digit for digit.

/// How the distance between two points is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    Euclid,
    EuclidUp,
    Manhattan,
    Maximum,
    /// A tenth of the squared distance, its root rounded up.
    Att,
    /// On a sphere, coordinates in degrees and minutes.
    Geo,
}

/// The library's value, on which the published optima depend.
#[expect(clippy::approx_constant)]
const PI: f64 = 3.141592;
/// Kilometres.
const EARTH_RADIUS: f64 = 6378.388;

impl Metric {
    pub(super) const NAMES: [(&'static str, Self); 6] = [
        ("EUC_2D", Self::Euclid),
        ("CEIL_2D", Self::EuclidUp),
        ("MAN_2D", Self::Manhattan),
        ("MAX_2D", Self::Maximum),
        ("ATT", Self::Att),
        ("GEO", Self::Geo),
    ];

    pub(super) fn distance(self, a: [f64; 2], b: [f64; 2]) -> f64 {
        let [dx, dy] = [a[0] - b[0], a[1] - b[1]];
        let square = dx * dx + dy * dy;
        match self {
            Self::Euclid => nearest(square.sqrt()),
            Self::EuclidUp => square.sqrt().ceil(),
            Self::Manhattan => nearest(dx.abs() + dy.abs()),
            Self::Maximum => nearest(dx.abs()).max(nearest(dy.abs())),
            Self::Att => (square / 10.0).sqrt().ceil(),
            Self::Geo => geographical(a.map(radians), b.map(radians)),
        }
    }
}

impl Metric {
    /// Returns the place on a map, from left to right and from bottom to top: latitudes precede longitudes.
    pub(super) fn on_map(self, [first, second]: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Geo => [second, first],
            _ => [first, second],
        }
    }
}

/// The library rounds halves up.
fn nearest(x: f64) -> f64 {
    (x + 0.5).floor()
}

/// Converts degrees with minutes as decimals: 38.24 is 38 degrees and 24 minutes.
fn radians(coordinate: f64) -> f64 {
    let degrees = coordinate.trunc();
    let minutes = coordinate - degrees;
    PI * (degrees + 5.0 * minutes / 3.0) / 180.0
}

fn geographical([lat_a, long_a]: [f64; 2], [lat_b, long_b]: [f64; 2]) -> f64 {
    let q1 = (long_a - long_b).cos();
    let q2 = (lat_a - lat_b).cos();
    let q3 = (lat_a + lat_b).cos();
    let cosine = 0.5 * ((1.0 + q1) * q2 - (1.0 - q1) * q3);
    (EARTH_RADIUS * cosine.clamp(-1.0, 1.0).acos() + 1.0).trunc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_rounds_as_the_library_says() {
        let d = |metric: Metric, to| metric.distance([0.0, 0.0], to);
        assert_eq!(d(Metric::Euclid, [1.0, 1.0]), 1.0);
        assert_eq!(d(Metric::Euclid, [1.5, 0.0]), 2.0);
        assert_eq!(d(Metric::EuclidUp, [1.0, 1.0]), 2.0);
        assert_eq!(d(Metric::Manhattan, [1.2, 1.2]), 2.0);
        assert_eq!(d(Metric::Maximum, [-1.2, 3.6]), 4.0);
        assert_eq!(d(Metric::Att, [10.0, 0.0]), 4.0);
        assert_eq!(d(Metric::Att, [0.0, 0.0]), 0.0);
        // A degree along a meridian is 111 km, and the library adds a kilometre before truncation.
        assert_eq!(d(Metric::Geo, [1.0, 0.0]), 112.0);
        assert_eq!(d(Metric::Geo, [0.30, 0.0]), 56.0);
        assert_eq!(d(Metric::Geo, [0.0, 0.0]), 1.0);
    }
}
