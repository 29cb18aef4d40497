//! The distance functions of TSPLIB 95 (Reinelt 1991, 1995), digit for digit.

/// The formula of the distance between two points. A plane is the space whose third coordinates
/// are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Metric {
    Euclid,
    EuclidUp,
    Manhattan,
    Maximum,
    /// A tenth of the squared distance, its root rounded up.
    Att,
    /// On a sphere, coordinates in degrees and minutes.
    Geo,
    /// The time of a diffractometer that turns about three axes at these speeds, the first of them
    /// in degrees all around.
    Xray([f64; 3]),
}

/// The library's value, on which the published optima depend.
#[expect(clippy::approx_constant)]
const PI: f64 = 3.141592;
/// Kilometres.
const EARTH_RADIUS: f64 = 6378.388;

/// A point of a plane or of space.
pub(super) type Point = [f64; 3];

impl Metric {
    /// By name: the metric, and the number of coordinates of a point.
    pub(super) const NAMES: [(&'static str, (Self, usize)); 11] = [
        ("EUC_2D", (Self::Euclid, 2)),
        ("EUC_3D", (Self::Euclid, 3)),
        ("MAX_2D", (Self::Maximum, 2)),
        ("MAX_3D", (Self::Maximum, 3)),
        ("MAN_2D", (Self::Manhattan, 2)),
        ("MAN_3D", (Self::Manhattan, 3)),
        ("CEIL_2D", (Self::EuclidUp, 2)),
        ("GEO", (Self::Geo, 2)),
        ("ATT", (Self::Att, 2)),
        ("XRAY1", (Self::Xray([1.0; 3]), 3)),
        ("XRAY2", (Self::Xray([1.25, 1.5, 1.15]), 3)),
    ];

    pub(super) fn distance(self, a: Point, b: Point) -> f64 {
        let [dx, dy, dz] = [0, 1, 2].map(|axis| (a[axis] - b[axis]).abs());
        let square = dx * dx + dy * dy + dz * dz;
        match self {
            Self::Euclid => nearest(square.sqrt()),
            Self::EuclidUp => square.sqrt().ceil(),
            Self::Manhattan => nearest(dx + dy + dz),
            Self::Maximum => nearest(dx).max(nearest(dy)).max(nearest(dz)),
            Self::Att => (square / 10.0).sqrt().ceil(),
            Self::Geo => geographical(a.map(radians), b.map(radians)),
            Self::Xray([x, y, z]) => {
                let around = dx.min((dx - 360.0).abs());
                nearest(100.0 * (around / x).max(dy / y).max(dz / z))
            }
        }
    }

    /// Returns the place on a map, from left to right and from bottom to top: latitudes precede
    /// longitudes.
    pub(super) fn on_map(self, [first, second, _]: Point) -> [f64; 2] {
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

fn geographical([lat_a, long_a, _]: Point, [lat_b, long_b, _]: Point) -> f64 {
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
        let d = |metric: Metric, [x, y]: [f64; 2]| metric.distance([0.0; 3], [x, y, 0.0]);
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

    #[test]
    fn space_has_a_third_coordinate() {
        let d = |metric: Metric, to| metric.distance([1.0, 1.0, 1.0], to);
        assert_eq!(d(Metric::Euclid, [3.0, 4.0, 7.0]), 7.0);
        assert_eq!(d(Metric::Manhattan, [3.0, 4.0, 7.2]), 11.0);
        assert_eq!(d(Metric::Maximum, [3.0, -7.0, 7.0]), 8.0);
    }

    #[test]
    fn the_first_axis_of_a_diffractometer_turns_either_way() {
        let [slow, fast] = [Metric::NAMES[9], Metric::NAMES[10]].map(|(_, (metric, _))| metric);
        let d = |metric: Metric, to| metric.distance([350.0, 0.0, 0.0], to);
        assert_eq!(d(slow, [5.0, 0.0, 0.0]), 1500.0);
        assert_eq!(d(slow, [5.0, 30.0, 0.0]), 3000.0);
        assert_eq!(d(fast, [5.0, 0.0, 0.0]), 1200.0);
        assert_eq!(d(fast, [5.0, 30.0, 0.0]), 2000.0);
        assert_eq!(d(fast, [350.0, 0.0, -23.0]), 2000.0);
    }
}
