//! A tree: the law of every level, computed once and shared by all walks.

use std::f64::consts::PI;
use std::sync::{Arc, OnceLock};

use super::hash::{self, Block, Engine, State};
use super::params::{Kind, ParamError, Params, Shape};
use super::rule::{Coin, Law, Rule, Same, Steps};

/// The number of levels with a table, created when first needed. Deeper levels, of which only
/// uncountable trees have many, compute the formula: the tables stay below 5 MB.
const TABLED_LEVELS: u32 = 1024;

/// A tree prepared for walking. Clones share the tables of its levels.
#[derive(Clone, Debug)]
pub struct Tree {
    params: Params,
    coin: Coin,
    /// One for all levels of a fixed shape, else one a level.
    tables: Arc<[OnceLock<Box<Steps>>]>,
    /// The depth at which nodes count their children instead of having them hashed.
    tally: Option<u32>,
    engine: Engine,
}

/// The law of one level.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level<'a> {
    Steps(&'a Steps),
    Law(Law),
    Coin(Coin),
    Same(Same),
}

impl Rule for Level<'_> {
    fn count(&self, word: u32) -> u32 {
        match self {
            Self::Steps(rule) => rule.count(word),
            Self::Law(rule) => rule.count(word),
            Self::Coin(rule) => rule.count(word),
            Self::Same(rule) => rule.count(word),
        }
    }
}

/// One node of a tree, for programs with their own walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    state: State,
    /// Zero: the hash reads an index there, so that it can load whole vectors.
    padding: [u32; 2],
    depth: u32,
}

impl Node {
    fn new(state: State, depth: u32) -> Self {
        Self {
            state,
            padding: [0; 2],
            depth,
        }
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Returns the distance from the root, which is at 0.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// For programs that send nodes: five words of state, two of padding, and the depth.
impl From<Node> for [u32; 8] {
    fn from(node: Node) -> Self {
        let ([a, b, c, d, e], [f, g]) = (node.state, node.padding);
        [a, b, c, d, e, f, g, node.depth]
    }
}

/// The inverse; the padding is zero whatever the sixth and seventh words are.
impl From<[u32; 8]> for Node {
    fn from([a, b, c, d, e, _, _, depth]: [u32; 8]) -> Self {
        Self::new([a, b, c, d, e], depth)
    }
}

impl Tree {
    /// Prepares the tree of these parameters.
    ///
    /// # Errors
    ///
    /// See [`Params::check`].
    pub fn new(params: Params) -> Result<Self, ParamError> {
        Self::with_engine(params, Engine::fastest())
    }

    /// Prepares the same tree for a certain engine: for tests and measurements.
    ///
    /// # Errors
    ///
    /// See [`Params::check`].
    #[doc(hidden)]
    pub fn with_engine(params: Params, engine: Engine) -> Result<Self, ParamError> {
        params.check()?;
        let levels = match (params.kind, params.shape) {
            (Kind::Binomial | Kind::Balanced, _) => 0,
            (_, Shape::Fixed) => 1,
            (_, Shape::Linear) => params.depth.min(TABLED_LEVELS),
            (_, Shape::Cyclic) => (5 * params.depth + 1).min(TABLED_LEVELS),
            (_, Shape::Exponential) => TABLED_LEVELS,
        };
        Ok(Self {
            params,
            coin: Coin::new(params.chance.clamp(0.0, 1.0), params.arity),
            tables: (0..levels).map(|_| OnceLock::new()).collect(),
            tally: (params.count_last_level && params.depth > 0).then(|| params.depth - 1),
            engine,
        })
    }

    /// Returns the tree's parameters.
    #[inline]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Returns the engine by which this tree is hashed.
    #[inline]
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Returns the root.
    pub fn root(&self) -> Node {
        Node::new(hash::root(self.params.seed), 0)
    }

    /// Returns child `index` of `node`, from 0.
    #[inline]
    pub fn child(&self, node: &Node, index: u32) -> Node {
        let mut block = Block::of(&<[u32; 8]>::from(*node));
        block.start_at(index);
        if self.params.granularity > 1 {
            block.repeat(index, self.params.granularity - 1);
        }
        Node::new(block.child(index), node.depth + 1)
    }

    /// Returns the number of children of `node`.
    #[inline]
    pub fn children(&self, node: &Node) -> u32 {
        self.level(node.depth).count(node.state[4])
    }

    /// Whether nodes at this depth count their children, which are leaves, themselves.
    #[inline]
    pub(super) fn tallies(&self, depth: u32) -> bool {
        self.tally == Some(depth)
    }

    /// Returns the law at a depth.
    #[inline]
    pub(super) fn level(&self, depth: u32) -> Level<'_> {
        let p = &self.params;
        match p.kind {
            Kind::Binomial if depth == 0 => Level::Same(Same(p.branching as u32)),
            Kind::Binomial => Level::Coin(self.coin),
            Kind::Geometric => self.geometric(depth),
            Kind::Hybrid if f64::from(depth) < p.shift * f64::from(p.depth) => {
                self.geometric(depth)
            }
            Kind::Hybrid => Level::Coin(self.coin),
            Kind::Balanced if depth < p.depth => Level::Same(Same(p.branching as u32)),
            Kind::Balanced => Level::Same(Same(0)),
        }
    }

    #[inline]
    fn geometric(&self, depth: u32) -> Level<'_> {
        let p = &self.params;
        let (index, ends) = match p.shape {
            Shape::Fixed => (0, p.depth),
            Shape::Linear => (depth, p.depth),
            Shape::Cyclic => (depth, 5 * p.depth + 1),
            Shape::Exponential => (depth, u32::MAX),
        };
        if depth >= ends {
            return Level::Same(Same(0));
        }
        match self.tables.get(index as usize) {
            Some(table) => Level::Steps(
                table.get_or_init(|| Box::new(Steps::new(&Law::new(self.branching(depth))))),
            ),
            None => Level::Law(Law::new(self.branching(depth))),
        }
    }

    /// Returns the mean number of children at a depth, operation for operation as the reference
    /// program.
    fn branching(&self, depth: u32) -> f64 {
        let b = self.params.branching;
        if depth == 0 {
            return b;
        }
        let (here, depth) = (f64::from(depth), f64::from(self.params.depth));
        match self.params.shape {
            Shape::Fixed => b,
            Shape::Linear => b * (1.0 - here / depth),
            Shape::Cyclic => b.powf((2.0 * PI * here / depth).sin()),
            Shape::Exponential => b * here.powf(-b.ln() / depth.ln()),
        }
    }
}
