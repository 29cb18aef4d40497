//! Prices of cities that make the spanning tree a tight bound.
//!
//! # Algorithm
//!
//! A 1-tree is a minimum spanning tree of all cities but the first, and the two cheapest edges of
//! the first. A tour is a 1-tree in which every city has two edges. A price added to all edges of a
//! city lengthens every tour by twice the price, but a 1-tree by the price times the number of the
//! city's edges: expensive cities lose edges, cheap ones gain some. The shortest 1-tree, less twice
//! all prices, is a lower bound of all tours; its maximum over the prices is sought by steps along
//! the surplus of edges (Held, Karp 1970, 1971; the step of Held, Wolfe, Crowder 1974; the momentum
//! after Volgenant, Jonker 1982). The prices are then rounded: any prices give a valid bound, so
//! rounding in the search for them does not matter.

use super::Instance;
use super::fixed::Fixed;

/// Distances with prices added, in parts of a unit.
#[derive(Clone, Debug)]
pub(super) struct Priced {
    pub(super) cities: usize,
    /// Row by row.
    weights: Vec<i32>,
    /// The other cities of each city, the nearest first; a row for each city.
    near: Vec<u16>,
    /// Parts of a unit of length.
    scale: i64,
    /// The amount that the prices and fixed edges add to every tour.
    added: i64,
    pub(super) fixed: Fixed,
}

/// The maximum number of parts of a unit: far finer than the differences of lengths.
const SCALE_MAX: i64 = 1 << 10;
/// Bounds of scaled distances and of prices; two distances and two prices must fit 32 bits.
const SCALED_MAX: i64 = 1 << 28;

impl Priced {
    /// `upper`: the length of some tour; `None`: all prices are zero.
    pub(super) fn new(instance: &Instance, upper: Option<usize>) -> Self {
        let cities = instance.cities();
        let pairs = || (0..cities).flat_map(|a| (0..cities).map(move |b| (a, b)));
        let longest = pairs().map(|(a, b)| instance.distance(a, b)).max();
        let longest = longest.unwrap_or(0).max(1) as i32;
        let fixed = instance.fixed();
        let distances: Vec<_> = pairs()
            .map(|(a, b)| {
                let distance = instance.distance(a, b) as i32;
                match (a as u16, b as u16) {
                    (a, b) if fixed.contains(a, b) => distance - longest,
                    (a, b) if !fixed.allows(a, b) => distance + longest,
                    _ => distance,
                }
            })
            .collect();
        let longest = i64::from(longest);
        let shorter = longest * fixed.edges() as i64;
        let mut scale = SCALE_MAX;
        while scale * longest > SCALED_MAX {
            scale /= 2;
        }
        let prices = upper.map_or_else(
            || vec![0.0; cities],
            |upper| ascend(&distances, cities, upper as f64 - shorter as f64),
        );
        let prices: Vec<i64> = prices
            .into_iter()
            .map(|price| ((price * scale as f64).round() as i64).clamp(-SCALED_MAX, SCALED_MAX))
            .collect();
        let weight = |(a, b)| {
            let scaled = i64::from(distances[a * cities + b]) * scale;
            (scaled + prices[a] + prices[b]) as i32
        };
        let weights: Vec<_> = pairs().map(weight).collect();
        let near = (0..cities as u16).flat_map(|city| {
            let row = &weights[usize::from(city) * cities..][..cities];
            let mut others: Vec<_> = (0..cities as u16).filter(|b| *b != city).collect();
            others.sort_by_key(|b| (row[usize::from(*b)], *b));
            others
        });
        Self {
            cities,
            near: near.collect(),
            weights,
            scale,
            added: 2 * prices.iter().sum::<i64>() - shorter * scale,
            fixed: fixed.clone(),
        }
    }

    /// Returns the maximum weight of a tour that is shorter than `best`.
    #[inline]
    pub(super) fn limit(&self, best: usize) -> i64 {
        (best as i64 - 1) * self.scale + self.added
    }

    /// Returns the weights of the edges of a city.
    #[inline]
    pub(super) fn row(&self, city: u16) -> &[i32] {
        &self.weights[usize::from(city) * self.cities..][..self.cities]
    }

    /// Returns all other cities, the nearest first.
    #[inline]
    pub(super) fn near(&self, city: u16) -> &[u16] {
        let others = self.cities - 1;
        &self.near[usize::from(city) * others..][..others]
    }
}

/// Steps along the surplus until the prices converge: enough for dozens of cities, and
/// fewer for many, so that this takes a second at most.
fn steps(cities: usize) -> usize {
    (400_000_000 / (cities * cities).max(1)).min(60 * cities)
}

/// Returns the prices of all cities.
fn ascend(distances: &[i32], cities: usize, upper: f64) -> Vec<f64> {
    let mut prices = vec![0.0; cities];
    let (mut best, mut best_prices) = (f64::NEG_INFINITY, prices.clone());
    let mut last = vec![0.0; cities];
    let (mut agility, mut idle) = (2.0, 0);
    for _ in 0..steps(cities) {
        let (weight, edges) = one_tree(distances, &prices);
        let bound = weight - 2.0 * prices.iter().sum::<f64>();
        let surplus: Vec<f64> = edges.iter().map(|edges| f64::from(*edges) - 2.0).collect();
        let square: f64 = surplus.iter().map(|s| s * s).sum();
        if bound > best {
            (best, idle) = (bound, 0);
            best_prices.clone_from(&prices);
        } else {
            idle += 1;
        }
        if square == 0.0 || agility < 1e-4 {
            break;
        }
        if idle > cities / 2 + 5 {
            (agility, idle) = (agility * 0.7, 0);
        }
        let step = agility * (upper - bound).max(1e-3) / square;
        for ((price, surplus), last) in prices.iter_mut().zip(surplus).zip(&mut last) {
            *price += step * (0.7 * surplus + 0.3 * *last);
            *last = surplus;
        }
    }
    best_prices
}

/// Returns the weight of the shortest 1-tree, and the number of edges of each city in it.
fn one_tree(distances: &[i32], prices: &[f64]) -> (f64, Vec<u32>) {
    let cities = prices.len();
    let priced = |a: usize, b: usize| f64::from(distances[a * cities + b]) + prices[a] + prices[b];
    let mut edges = vec![0; cities];
    let mut weight = 0.0;
    // Prim 1957: for each city outside of the tree its nearest one inside, and the distance.
    let mut outside: Vec<_> = (2..cities).map(|city| (city, 1, priced(city, 1))).collect();
    while let Some(at) = (0..outside.len()).min_by(|a, b| outside[*a].2.total_cmp(&outside[*b].2)) {
        let (city, inside, distance) = outside.swap_remove(at);
        weight += distance;
        edges[city] += 1;
        edges[inside] += 1;
        for (other, nearest, distance) in &mut outside {
            let there = priced(*other, city);
            if there < *distance {
                (*nearest, *distance) = (city, there);
            }
        }
    }
    let mut first: Vec<_> = (1..cities).map(|city| (priced(0, city), city)).collect();
    first.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (distance, city) in first.into_iter().take(2) {
        weight += distance;
        edges[city] += 1;
        edges[0] += 1;
    }
    (weight, edges)
}
