//! Cities and the distances between them.

use super::fixed::{Fixed, FixedError};
use crate::random::SplitMix;
use thiserror::Error;

/// Cities and the distance between any two of them, the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    name: String,
    cities: usize,
    /// The positions of the cities on a map, from the left and from the bottom, if they are known.
    places: Option<Vec<[f64; 2]>>,
    /// Row by row.
    distances: Vec<u32>,
    fixed: Fixed,
}

/// The reason why distances are not an instance.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// Too many cities for a search.
    #[error("{0} cities: at most {most}", most = Instance::CITIES_MAX)]
    Cities(usize),
    /// A side without room for random cities.
    #[error("side {0}: from 1 to {most}", most = Instance::SIDE_MAX)]
    Side(u32),
    /// A distance that is too long.
    #[error("distance {0}: at most {most}", most = Instance::DISTANCE_MAX)]
    Distance(u64),
    /// A distance that differs between the two directions.
    #[error("distance {there} from {from} to {to}, {back} back: both the same")]
    Asymmetric {
        /// One city.
        from: usize,
        /// The other.
        to: usize,
        /// From one to the other.
        there: u64,
        /// The opposite direction.
        back: u64,
    },
}

impl From<InstanceError> for tautline::Error {
    fn from(refusal: InstanceError) -> Self {
        Self::invalid(refusal)
    }
}

impl Instance {
    /// The maximum number of cities. A search to the end is feasible for some dozens.
    pub const CITIES_MAX: usize = 1024;
    /// The maximum distance: sums of scaled distances and prices must fit their words.
    pub const DISTANCE_MAX: u32 = (1 << 26) - 1;
    /// The maximum side of the square of random cities: its diagonal is a distance.
    pub const SIDE_MAX: u32 = 1 << 25;

    /// Creates an instance of `cities` cities; `distance` is called once for each ordered pair of
    /// different ones.
    ///
    /// # Errors
    /// Too many cities, a distance that is too long, or one that differs between the two
    /// directions.
    pub fn new(
        name: impl Into<String>,
        cities: usize,
        distance: impl Fn(usize, usize) -> u64,
    ) -> Result<Self, InstanceError> {
        if cities > Self::CITIES_MAX {
            return Err(InstanceError::Cities(cities));
        }
        let mut distances = vec![0; cities * cities];
        for from in 0..cities {
            for to in 0..from {
                let (there, back) = (distance(from, to), distance(to, from));
                if there != back {
                    return Err(InstanceError::Asymmetric {
                        from,
                        to,
                        there,
                        back,
                    });
                }
                let fits = u32::try_from(there)
                    .ok()
                    .filter(|d| *d <= Self::DISTANCE_MAX);
                let length = fits.ok_or(InstanceError::Distance(there))?;
                distances[from * cities + to] = length;
                distances[to * cities + from] = length;
            }
        }
        Ok(Self {
            name: name.into(),
            cities,
            places: None,
            distances,
            fixed: Fixed::default(),
        })
    }

    /// Creates cities at integer coordinates drawn uniformly from a square, with Euclidean
    /// distances rounded to the nearest integer: the same for a seed on every machine.
    ///
    /// # Errors
    /// Too many cities, or a side out of bounds.
    pub fn random(cities: usize, side: u32, seed: u64) -> Result<Self, InstanceError> {
        if cities > Self::CITIES_MAX {
            return Err(InstanceError::Cities(cities));
        }
        if !(1..=Self::SIDE_MAX).contains(&side) {
            return Err(InstanceError::Side(side));
        }
        let mut random = SplitMix::new(seed);
        let mut draw = || random.below(u64::from(side)) as i64;
        let places: Vec<_> = (0..cities).map(|_| [draw(), draw()]).collect();
        let made = Self::new(format!("random{cities}-{seed}"), cities, |from, to| {
            let [dx, dy] = [0, 1].map(|axis| places[from][axis].abs_diff(places[to][axis]));
            nearest_root(dx * dx + dy * dy)
        })?;
        let map = places.iter().map(|place| place.map(|at| at as f64));
        Ok(made.on_map(map.collect()))
    }

    /// Returns the instance with the places of its cities on a map.
    pub(super) fn on_map(self, places: Vec<[f64; 2]>) -> Self {
        let places = Some(places);
        Self { places, ..self }
    }

    /// Returns the instance under another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        let name = name.into();
        Self { name, ..self }
    }

    /// Requires of all tours that they contain the edge between these cities.
    ///
    /// # Errors
    /// If no tour contains it together with the edges fixed before; then the instance is as before.
    ///
    /// # Panics
    /// If there is no such city.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tautline_cli::tsp::{FixedError, Instance, Search, sequential};
    ///
    /// // A square: its diagonals are longer than its sides.
    /// let distance = |a: usize, b: usize| if a.abs_diff(b) == 2 { 14 } else { 10 };
    /// let mut square = Instance::new("square", 4, distance)?;
    /// square.fix(0, 2)?;
    /// let found = sequential(&Arc::new(Search::new(square.clone(), None)));
    /// assert_eq!(found.length(), Some(48));
    /// square.fix(2, 3)?;
    /// assert_eq!(square.fix(3, 0), Err(FixedError::Closed(3)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fix(&mut self, from: usize, to: usize) -> Result<(), FixedError> {
        let cities = self.cities;
        assert!(
            from < cities && to < cities,
            "{from}, {to}: {cities} cities"
        );
        self.fixed.add(cities, from as u16, to as u16)
    }

    /// Returns the number of edges that every tour must contain.
    pub fn fixed_edges(&self) -> usize {
        self.fixed.edges()
    }

    pub(super) fn fixed(&self) -> &Fixed {
        &self.fixed
    }

    /// Returns where the cities are on a map, from left to right and from bottom to top; `None` if
    /// only distances are known.
    pub fn places(&self) -> Option<&[[f64; 2]]> {
        self.places.as_deref()
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of cities.
    pub fn cities(&self) -> usize {
        self.cities
    }

    /// Returns the distance from one city to another.
    ///
    /// # Panics
    /// If there is no such city.
    #[inline]
    pub fn distance(&self, from: usize, to: usize) -> u32 {
        self.distances[from * self.cities + to]
    }

    /// Returns the length of a round trip that visits cities in this order and returns to the
    /// first. No cities or one: 0. Two: there and back.
    ///
    /// # Panics
    /// If there is no such city.
    pub fn length(&self, tour: &[u16]) -> usize {
        let next = tour.iter().cycle().skip(1);
        let legs = tour
            .iter()
            .zip(next)
            .map(|(from, to)| self.distance(usize::from(*from), usize::from(*to)) as usize);
        legs.sum()
    }

    /// Whether `tour` visits every city once and contains all fixed edges.
    pub fn is_tour(&self, tour: &[u16]) -> bool {
        let mut sorted = tour.to_vec();
        sorted.sort_unstable();
        let visits_all = sorted.iter().map(|c| usize::from(*c)).eq(0..self.cities);
        visits_all && self.fixed.are_in(tour)
    }
}

/// Returns the square root, rounded to the nearest integer; no square root is halfway between two.
fn nearest_root(square: u64) -> u64 {
    let root = square.isqrt();
    root + u64::from(square - root * root > root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_rounded_to_the_nearest() {
        for square in 0..10_000u64 {
            assert_eq!(nearest_root(square), (square as f64).sqrt().round() as u64);
        }
    }

    #[test]
    fn what_makes_no_instance_is_refused() {
        let no = |cities, distance: fn(usize, usize) -> u64| {
            Instance::new("no", cities, distance)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(no(1025, |_, _| 0), "1025 cities: at most 1024");
        assert_eq!(no(2, |_, _| 1 << 26), "distance 67108864: at most 67108863");
        assert_eq!(
            no(2, |from, _| from as u64),
            "distance 1 from 1 to 0, 0 back: both the same"
        );
        let side = Instance::random(3, 0, 1).unwrap_err();
        assert_eq!(side.to_string(), "side 0: from 1 to 33554432");
    }
}
