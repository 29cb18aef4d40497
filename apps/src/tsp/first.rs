//! The initial tour.

use super::Instance;

/// Goes to the nearest city not visited yet, from city 0, along fixed edges where there are such;
/// then exchanges two other edges for two shorter ones while there are such (2-opt, Croes 1958).
pub(super) fn tour(instance: &Instance) -> Vec<u16> {
    let cities = instance.cities();
    let d = |a: u16, b: u16| u64::from(instance.distance(usize::from(a), usize::from(b)));
    let is_fixed = |a: u16, b: u16| instance.fixed().contains(a, b);
    let mut tour = nearest(instance);
    let mut improved = true;
    while improved {
        improved = false;
        for from in 1..cities {
            for to in from + 1..cities {
                let [before, first, last] = [tour[from - 1], tour[from], tour[to]];
                let after = tour[(to + 1) % cities];
                if d(before, last) + d(first, after) < d(before, first) + d(last, after)
                    && !is_fixed(before, first)
                    && !is_fixed(last, after)
                {
                    tour[from..=to].reverse();
                    improved = true;
                }
            }
        }
    }
    tour
}

/// Returns a tour that goes from each path of fixed edges to the nearest end of another one, from
/// the path of city 0.
fn nearest(instance: &Instance) -> Vec<u16> {
    let fixed = instance.fixed();
    let cities = instance.cities() as u16;
    let is_end = |city: &u16| fixed.of(*city).count() < 2;
    // From an end of its path; there is none if a whole tour is fixed.
    let start = fixed.path(0).last().copied().filter(is_end);
    let mut tour = match cities {
        0 => Vec::new(),
        _ => fixed.path(start.unwrap_or(0)),
    };
    let mut left: Vec<u16> = (0..cities).filter(|city| !tour.contains(city)).collect();
    while let Some(last) = tour.last().filter(|_| !left.is_empty()) {
        let ends = left.iter().copied().filter(is_end);
        let d = |city: u16| instance.distance(usize::from(*last), usize::from(city));
        let Some(next) = ends.min_by_key(|city| (d(*city), *city)) else {
            break;
        };
        let path = fixed.path(next);
        left.retain(|city| !path.contains(city));
        tour.extend(path);
    }
    let zero = tour.iter().position(|city| *city == 0);
    tour.rotate_left(zero.unwrap_or(0));
    tour
}
