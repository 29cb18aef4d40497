//! The initial tour.

use super::Instance;

/// Goes to the nearest city not visited yet, from city 0; then exchanges two edges for two shorter
/// ones as long as there are such (2-opt, Croes 1958).
pub(super) fn tour(instance: &Instance) -> Vec<u16> {
    let cities = instance.cities();
    let mut tour: Vec<u16> = (0..cities as u16).collect();
    let d = |a: u16, b: u16| u64::from(instance.distance(usize::from(a), usize::from(b)));
    for last in 0..cities.saturating_sub(1) {
        let nearest = (last + 1..cities).min_by_key(|at| (d(tour[last], tour[*at]), tour[*at]));
        tour.swap(last + 1, nearest.unwrap_or(last + 1));
    }
    let mut improved = true;
    while improved {
        improved = false;
        for from in 1..cities {
            for to in from + 1..cities {
                let [before, first, last] = [tour[from - 1], tour[from], tour[to]];
                let after = tour[(to + 1) % cities];
                if d(before, last) + d(first, after) < d(before, first) + d(last, after) {
                    tour[from..=to].reverse();
                    improved = true;
                }
            }
        }
    }
    tour
}
