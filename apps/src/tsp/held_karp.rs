//! The shortest tour by dynamic programming over sets of cities: the reference for small searches.

use super::Instance;

/// The maximum number of cities of [`held_karp`]: 80 MB, and a second or so.
pub const CITIES_MAX: usize = 20;

/// Lengths of tours are below 2 to this power.
const LENGTH_BITS: u32 = 40;

/// Returns the length of the shortest tour with all fixed edges, or `None` for more than
/// [`CITIES_MAX`] cities.
///
/// Requires 2^(n-1) (n-1) words of 8 bytes and n times as many steps. Source: Held, Karp 1962;
/// Bellman 1962.
pub fn held_karp(instance: &Instance) -> Option<usize> {
    let cities = instance.cities();
    if cities > CITIES_MAX {
        return None;
    }
    if cities < 2 {
        return Some(0);
    }
    // All tours start at the last city; the others are bits of a set.
    let home = cities - 1;
    // Of two tours that with fewer other edges than fixed ones is shorter: that of least cost has
    // all fixed edges.
    let cost = |a: usize, b: usize| {
        let is_other = !instance.fixed().contains(a as u16, b as u16);
        u64::from(instance.distance(a, b)) + (u64::from(is_other) << LENGTH_BITS)
    };
    let far = u64::MAX;
    let mut best = vec![far; home << home];
    for city in 0..home {
        best[(1 << city) * home + city] = cost(home, city);
    }
    for set in 1..1usize << home {
        for last in (0..home).filter(|last| set >> last & 1 == 1) {
            let so_far = best[set * home + last];
            for next in (0..home).filter(|next| set >> next & 1 == 0) {
                let there = &mut best[(set | 1 << next) * home + next];
                *there = (*there).min(so_far + cost(last, next));
            }
        }
    }
    let all = (1 << home) - 1;
    let round = |last| best[all * home + last] + cost(last, home);
    let least = (0..home).map(round).min();
    least.map(|cost| (cost % (1 << LENGTH_BITS)) as usize)
}
