//! Points in a plane, and their sums by the nearest of some centres.

/// The number of points.
pub(super) const POINTS: u64 = 48_000;
pub(super) const CENTRES: usize = 8;
/// Points of a task.
pub(super) const CHUNK: u64 = 1_000;

pub(super) type Point = [i64; 2];
/// The sum of the points of each centre, and their number.
pub(super) type Sums = Vec<(Point, i64)>;

/// Returns a point that looks random, near one of nine places.
pub(super) fn point(number: u64) -> Point {
    let mixed = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let places = [number % 3, number / 3 % 3];
    let offsets = [mixed >> 48, mixed >> 32 & 0xffff];
    [0, 1].map(|axis| (100_000 * places[axis] + offsets[axis]) as i64)
}

/// Adds the sums of other points.
pub(super) fn add(sums: &mut Sums, part: &Sums) {
    for ((sum, count), (point, more)) in sums.iter_mut().zip(part) {
        *sum = [sum[0] + point[0], sum[1] + point[1]];
        *count += more;
    }
}

/// Returns the sums of a chunk of the points.
pub(super) fn sums_of(chunk: u64, centres: &[Point]) -> Sums {
    let mut sums = vec![([0; 2], 0); CENTRES];
    for point in (CHUNK * chunk..CHUNK * (chunk + 1)).map(point) {
        let distance =
            |centre: &Point| (point[0] - centre[0]).pow(2) + (point[1] - centre[1]).pow(2);
        let nearest = (0..CENTRES).min_by_key(|at| distance(&centres[*at]));
        let (sum, count) = &mut sums[nearest.expect("a centre")];
        *sum = [sum[0] + point[0], sum[1] + point[1]];
        *count += 1;
    }
    sums
}
