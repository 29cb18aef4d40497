//! Edges that every tour must contain.

use thiserror::Error;

/// Edges that every tour must contain: paths without a common city, or one tour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fixed {
    /// The other ends of the edges of each city; empty if there are no edges.
    ends: Vec<[Option<u16>; 2]>,
    edges: usize,
}

/// The reason why no tour contains an edge and those fixed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FixedError {
    /// Both ends are the same city.
    #[error("an edge from a city to itself")]
    Loop,
    /// A city whose edges are all fixed.
    #[error("a third fixed edge at city {0}")]
    Third(usize),
    /// The edge closes a round trip through some of the cities.
    #[error("fixed edges that close a round trip through {0} of the cities")]
    Closed(usize),
}

impl Fixed {
    /// Adds an edge between two of `cities` cities; one that is fixed already changes nothing.
    pub(super) fn add(&mut self, cities: usize, from: u16, to: u16) -> Result<(), FixedError> {
        if from == to {
            return Err(FixedError::Loop);
        }
        if self.contains(from, to) {
            return Ok(());
        }
        self.ends.resize(cities, [None; 2]);
        for city in [from, to].map(usize::from) {
            if self.ends[city][1].is_some() {
                return Err(FixedError::Third(city));
            }
        }
        let path = self.path(from);
        if path.last() == Some(&to) && path.len() < cities {
            return Err(FixedError::Closed(path.len()));
        }
        for (city, other) in [(from, to), (to, from)] {
            let ends = &mut self.ends[usize::from(city)];
            ends[usize::from(ends[0].is_some())] = Some(other);
        }
        self.edges += 1;
        Ok(())
    }

    /// Returns the number of edges.
    pub(super) fn edges(&self) -> usize {
        self.edges
    }

    /// Returns the other ends of the edges of a city.
    pub(super) fn of(&self, city: u16) -> impl Iterator<Item = u16> {
        let ends = self.ends.get(usize::from(city)).copied();
        ends.unwrap_or_default().into_iter().flatten()
    }

    pub(super) fn contains(&self, from: u16, to: u16) -> bool {
        self.of(from).any(|end| end == to)
    }

    /// Whether a tour may contain this edge: it is fixed, or each of its cities has an edge that is
    /// not.
    pub(super) fn allows(&self, from: u16, to: u16) -> bool {
        self.contains(from, to) || [from, to].iter().all(|city| self.of(*city).count() < 2)
    }

    /// Whether a round trip contains all edges.
    pub(super) fn are_in(&self, tour: &[u16]) -> bool {
        let next = tour.iter().cycle().skip(1);
        let legs = tour.iter().zip(next);
        // Two cities have one edge, which their tour contains twice.
        let fixed = legs.filter(|(from, to)| self.contains(**from, **to));
        fixed.count() >= self.edges
    }

    /// Returns the cities from `start` along the edges to the end of the path, or once around;
    /// `start` is an end of its path if it has one edge or none.
    pub(super) fn path(&self, start: u16) -> Vec<u16> {
        let mut path = vec![start];
        let mut last = None;
        let mut here = start;
        while let Some(next) = self.of(here).find(|end| Some(*end) != last) {
            if next == start {
                break;
            }
            path.push(next);
            (last, here) = (Some(here), next);
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(cities: usize, edges: &[(u16, u16)]) -> Result<Fixed, FixedError> {
        let mut fixed = Fixed::default();
        for (from, to) in edges {
            fixed.add(cities, *from, *to)?;
        }
        Ok(fixed)
    }

    #[test]
    fn edges_that_no_tour_contains_are_refused() {
        assert_eq!(fixed(5, &[(1, 1)]), Err(FixedError::Loop));
        let star = fixed(5, &[(0, 1), (2, 0), (0, 3)]);
        assert_eq!(star, Err(FixedError::Third(0)));
        let triangle = fixed(5, &[(0, 1), (1, 2), (2, 0)]);
        assert_eq!(triangle, Err(FixedError::Closed(3)));
        assert_eq!(fixed(3, &[(0, 1), (1, 2), (2, 0)]).unwrap().edges(), 3);
        assert_eq!(fixed(3, &[(0, 1), (1, 0)]).unwrap().edges(), 1);
    }

    #[test]
    fn a_path_is_walked_from_its_end() {
        let fixed = fixed(6, &[(4, 1), (2, 4), (0, 5)]).unwrap();
        assert_eq!(fixed.path(1), [1, 4, 2]);
        assert_eq!(fixed.path(2), [2, 4, 1]);
        assert_eq!(fixed.path(3), [3]);
        assert!(fixed.are_in(&[0, 5, 1, 4, 2, 3]));
        assert!(!fixed.are_in(&[0, 5, 1, 2, 4, 3]));
        assert!(fixed.allows(4, 2) && fixed.allows(2, 3) && !fixed.allows(4, 3));
    }

    #[test]
    fn a_whole_tour_may_be_fixed() {
        let fixed = fixed(4, &[(0, 2), (2, 1), (1, 3), (3, 0)]).unwrap();
        assert_eq!(fixed.path(0).len(), 4);
        assert!(fixed.are_in(&[0, 2, 1, 3]) && !fixed.are_in(&[0, 1, 2, 3]));
    }
}
