//! Trees of searches, and their validation by the five rules of Graph500.

use super::rmat::Edge;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The parent and the level of a vertex that was not visited.
pub const NONE: u32 = u32::MAX;

/// The result of a breadth-first search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The vertex where the search began: the root, its own parent.
    pub key: u32,
    /// The parent of each vertex, or [`NONE`].
    pub parents: Vec<u32>,
    /// The number of edges from the key to each vertex, or [`NONE`].
    pub levels: Vec<u32>,
}

/// A rule of the validation of Graph500, in the order of its specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The parents are a tree without a cycle, whose root is the key.
    Acyclic,
    /// The levels of a vertex and its parent differ by one.
    TreeLevels,
    /// The levels of the ends of each edge of the graph differ by at most one.
    EdgeLevels,
    /// The tree spans the whole component: no edge leaves it.
    Component,
    /// A vertex and its parent are joined by an edge of the graph.
    TreeEdges,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 5] = [
        Self::Acyclic,
        Self::TreeLevels,
        Self::EdgeLevels,
        Self::Component,
        Self::TreeEdges,
    ];
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = *self as u32 + 1;
        let rule = match self {
            Self::Acyclic => "the tree has no cycle, and the key is its root",
            Self::TreeLevels => "the levels of a vertex and its parent differ by one",
            Self::EdgeLevels => "the levels of the ends of an edge differ by at most one",
            Self::Component => "the tree spans the component of the key",
            Self::TreeEdges => "a vertex and its parent are joined by an edge",
        };
        write!(f, "rule {number}, {rule}")
    }
}

/// A rule that a tree breaks, and the first vertex where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The vertex; of an edge the end that is named first.
    pub vertex: u32,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vertex {} breaks {}", self.vertex, self.rule)
    }
}

impl Violation {
    /// Returns it as a number, in the same order.
    pub(super) fn number(self) -> u64 {
        (self.rule as u64) << 32 | u64::from(self.vertex)
    }

    pub(super) fn of_number(number: u64) -> Option<Self> {
        let rule = *Rule::ALL.get((number >> 32) as usize)?;
        let vertex = number as u32;
        Some(Self { rule, vertex })
    }
}

impl Tree {
    /// Validates the tree of a search in the graph of these edges by the five rules. Returns how
    /// many of the edges are in the component of the key, with loops and parallel ones: those that
    /// Graph500 counts as traversed.
    ///
    /// ```
    /// use tautline_cli::bfs::{NONE, Rule, Tree};
    ///
    /// let edges = [[0, 1], [1, 2], [1, 0], [3, 3]];
    /// let mut tree = Tree {
    ///     key: 0,
    ///     parents: vec![0, 0, 1, NONE],
    ///     levels: vec![0, 1, 2, NONE],
    /// };
    /// assert_eq!(tree.validate(&edges), Ok(3));
    /// tree.parents[2] = 0;
    /// tree.levels[2] = 1;
    /// assert_eq!(tree.validate(&edges).map_err(|broken| broken.rule), Err(Rule::TreeEdges));
    /// ```
    ///
    /// # Errors
    /// A violation, of the first rule that is broken.
    ///
    /// # Panics
    /// If an edge has a vertex that the tree does not have.
    pub fn validate(&self, edges: &[Edge]) -> Result<u64, Violation> {
        let joined = self.unjoined();
        self.check_parents()?;
        let traversed = self.check_edges(edges, &joined)?;
        self.check_joined(&bits(joined))?;
        Ok(traversed)
    }

    /// Returns a bit for each vertex, which [`check_edges`](Self::check_edges) sets.
    pub(super) fn unjoined(&self) -> Vec<AtomicU64> {
        let words = 0..self.parents.len().div_ceil(64);
        Vec::from_iter(words.map(|_| AtomicU64::new(0)))
    }

    /// Returns the visited vertices, with their parents and levels.
    pub(super) fn visited(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        let all = (0..).zip(&self.parents).zip(&self.levels);
        let all = all.map(|((vertex, parent), level)| (vertex, *parent, *level));
        all.filter(|(_, parent, _)| *parent != NONE)
    }

    /// Checks rules 1 and 2, which do not need the edges.
    pub(super) fn check_parents(&self) -> Result<(), Violation> {
        self.check_paths()?;
        let broken = |(vertex, parent, level): &(u32, u32, u32)| match *vertex == self.key {
            true => *level != 0,
            false => self.levels[*parent as usize].checked_add(1) != Some(*level),
        };
        // Of those that were not visited.
        let odd = (0..).zip(&self.parents).zip(&self.levels);
        let odd = odd.filter(|((_, parent), level)| **parent == NONE && **level != NONE);
        let odd = odd.map(|((vertex, _), _)| vertex);
        let broken = self.visited().filter(broken).map(|(vertex, ..)| vertex);
        first(Rule::TreeLevels, broken.chain(odd))
    }

    /// Checks that the parents lead from each visited vertex to the key.
    fn check_paths(&self) -> Result<(), Violation> {
        let rule = Rule::Acyclic;
        let root = self.parents.get(self.key as usize);
        if root != Some(&self.key) {
            let vertex = self.key;
            return Err(Violation { rule, vertex });
        }
        // Whether the path from a vertex is known to lead to the key.
        let mut leads = vec![false; self.parents.len()];
        leads[self.key as usize] = true;
        let mut path = Vec::new();
        for (vertex, ..) in self.visited() {
            let mut at = vertex;
            while !leads.get(at as usize).copied().unwrap_or(false) {
                let parent = self.parents.get(at as usize).copied();
                // A path that is longer than there are vertices has a cycle.
                let Some(parent) = parent.filter(|_| path.len() < leads.len()) else {
                    return Err(Violation { rule, vertex });
                };
                path.push(at);
                at = parent;
            }
            for on_path in path.drain(..) {
                leads[on_path as usize] = true;
            }
        }
        Ok(())
    }

    /// Checks rules 3 and 4 on some edges of the graph, and sets the bits of the vertices that one
    /// of them joins to their parents. Returns how many are in the tree.
    pub(super) fn check_edges(
        &self,
        edges: &[Edge],
        joined: &[AtomicU64],
    ) -> Result<u64, Violation> {
        let (mut traversed, mut broken) = (0, None);
        for &[one, other] in edges {
            let levels = [one, other].map(|vertex| self.levels[vertex as usize]);
            let rule = match levels {
                [NONE, NONE] => continue,
                [NONE, _] | [_, NONE] => Rule::Component,
                [a, b] if a.abs_diff(b) > 1 => Rule::EdgeLevels,
                _ => {
                    traversed += 1;
                    for (vertex, parent) in [(one, other), (other, one)] {
                        if self.parents[vertex as usize] == parent {
                            // ORDERING: Relaxed: the tasks are joined before the bits are read.
                            joined[vertex as usize / 64]
                                .fetch_or(1 << (vertex % 64), Ordering::Relaxed);
                        }
                    }
                    continue;
                }
            };
            let found = Some(Violation { rule, vertex: one });
            broken = broken.or(found).min(found);
        }
        broken.map_or(Ok(traversed), Err)
    }

    /// Checks rule 5, once all edges have set their bits.
    pub(super) fn check_joined(&self, joined: &[u64]) -> Result<(), Violation> {
        let is_joined = |vertex: u32| joined[vertex as usize / 64] >> (vertex % 64) & 1 == 1;
        let others = self.visited().map(|(vertex, ..)| vertex);
        let others = others.filter(|vertex| *vertex != self.key && !is_joined(*vertex));
        first(Rule::TreeEdges, others)
    }
}

/// Returns the bits, once all edges have set theirs.
pub(super) fn bits(joined: Vec<AtomicU64>) -> Vec<u64> {
    joined.into_iter().map(AtomicU64::into_inner).collect()
}

/// Returns the violation of `rule` at the first of the vertices that break it.
fn first(rule: Rule, broken: impl Iterator<Item = u32>) -> Result<(), Violation> {
    match broken.min() {
        Some(vertex) => Err(Violation { rule, vertex }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two triangles that share vertex 2, a vertex 5 behind 4, and an edge without the key.
    const EDGES: [Edge; 9] = [
        [0, 1],
        [1, 2],
        [2, 0],
        [2, 3],
        [3, 4],
        [4, 2],
        [4, 5],
        [0, 0],
        [6, 7],
    ];

    fn tree() -> Tree {
        Tree {
            key: 0,
            parents: vec![0, 0, 0, 2, 2, 4, NONE, NONE],
            levels: vec![0, 1, 1, 2, 2, 3, NONE, NONE],
        }
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut Tree), rule: Rule, vertex: u32) {
        let mut broken = tree();
        change(&mut broken);
        assert_eq!(broken.validate(&EDGES), Err(Violation { rule, vertex }));
    }

    #[test]
    fn a_right_tree_is_accepted_with_the_edges_of_its_component() {
        assert_eq!(tree().validate(&EDGES), Ok(8));
    }

    #[test]
    fn rule_1_refuses_cycles_other_roots_and_parents_that_are_not_visited() {
        let rule = Rule::Acyclic;
        refused(|tree| tree.parents[2] = 4, rule, 2);
        refused(|tree| tree.parents[3] = 3, rule, 3);
        refused(|tree| tree.parents[0] = 1, rule, 0);
        refused(|tree| tree.parents[0] = NONE, rule, 0);
        refused(|tree| tree.parents[4] = 6, rule, 4);
        refused(|tree| tree.parents[4] = 99, rule, 4);
        refused(|tree| tree.key = 99, rule, 99);
    }

    #[test]
    fn rule_2_refuses_levels_that_are_not_one_more_than_that_of_the_parent() {
        let rule = Rule::TreeLevels;
        refused(|tree| tree.levels[5] = 2, rule, 5);
        refused(|tree| tree.levels[5] = 4, rule, 5);
        refused(|tree| tree.levels[3] = NONE, rule, 3);
        refused(|tree| tree.levels[7] = 1, rule, 7);
        refused(
            |tree| {
                tree.levels
                    .iter_mut()
                    .for_each(|level| *level = level.saturating_add(1))
            },
            rule,
            0,
        );
    }

    /// A tree of depth-first search, which rules 1, 2, 4 and 5 accept.
    #[test]
    fn rule_3_refuses_edges_over_several_levels() {
        let deep = |tree: &mut Tree| {
            tree.parents[..5].copy_from_slice(&[0, 0, 1, 2, 3]);
            tree.levels[..6].copy_from_slice(&[0, 1, 2, 3, 4, 5]);
        };
        refused(deep, Rule::EdgeLevels, 2);
    }

    #[test]
    fn rule_4_refuses_a_tree_that_does_not_span_the_component() {
        let short = |tree: &mut Tree| {
            tree.parents[5] = NONE;
            tree.levels[5] = NONE;
        };
        refused(short, Rule::Component, 4);
    }

    #[test]
    fn rule_5_refuses_parents_without_an_edge() {
        let rule = Rule::TreeEdges;
        // Vertex 1 has the right level, but no edge to 3 or 4.
        refused(|tree| tree.parents[3] = 1, rule, 3);
        // A vertex of another component, which no edge joins to it.
        let joined = |tree: &mut Tree| {
            tree.parents[6..].copy_from_slice(&[5, 5]);
            tree.levels[6..].copy_from_slice(&[4, 4]);
        };
        refused(joined, rule, 6);
    }

    #[test]
    fn violations_are_numbers_in_their_order() {
        let all = Rule::ALL.map(|rule| Violation { rule, vertex: 7 });
        assert!(all.is_sorted_by_key(|violation| violation.number()));
        for violation in all {
            assert_eq!(Violation::of_number(violation.number()), Some(violation));
        }
        assert_eq!(Violation::of_number(u64::MAX), None);
        assert_eq!(
            all[4].to_string(),
            "vertex 7 breaks rule 5, a vertex and its parent are joined by an edge"
        );
    }
}
