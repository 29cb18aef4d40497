//! The parameters of a tree, and their errors.

use std::fmt;

use crate::program::quote::shown;
use thiserror::Error;

/// The distribution of the number of children of a node; `-t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `b` children at the root, then `m` children with probability `q`, else 0.
    Binomial,
    /// Geometric, the mean a function of the depth.
    Geometric,
    /// Geometric near the root, binomial below.
    Hybrid,
    /// `b` children everywhere, down to depth `d`.
    Balanced,
}

impl Kind {
    /// Returns the type with this number in the reference program.
    ///
    /// # Errors
    ///
    /// No type has this number.
    pub fn from_id(id: u32) -> Result<Self, ParamError> {
        match id {
            0 => Ok(Self::Binomial),
            1 => Ok(Self::Geometric),
            2 => Ok(Self::Hybrid),
            3 => Ok(Self::Balanced),
            _ => Err(ParamError::Kind(id)),
        }
    }
}

/// The mean number of children of a geometric tree as a function of the depth; `-a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// From `b` at the root down to 0 at depth `d`.
    Linear,
    /// A power of the depth: 1 at depth `d`, less below.
    Exponential,
    /// `b` to the power of a sine with period `d`; 0 below five periods.
    Cyclic,
    /// `b` everywhere, 0 from depth `d`.
    Fixed,
}

impl Shape {
    /// Returns the shape with this number in the reference program.
    ///
    /// # Errors
    ///
    /// No type has this number.
    pub fn from_id(id: u32) -> Result<Self, ParamError> {
        match id {
            0 => Ok(Self::Linear),
            1 => Ok(Self::Exponential),
            2 => Ok(Self::Cyclic),
            3 => Ok(Self::Fixed),
            _ => Err(ParamError::Shape(id)),
        }
    }
}

/// The parameters of a tree, with the names and defaults of the reference program.
///
/// Parameters that do not apply to the type of the tree are ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// `-t`: the type.
    pub kind: Kind,
    /// `-r`: the seed of the root, below 2^31.
    pub seed: u32,
    /// `-b`: the branching factor at the root.
    pub branching: f64,
    /// `-m`: the number of children of an inner node of a binomial tree, at most 100: the reference
    /// program would clamp more to 100 without a change of its expectations.
    pub arity: u32,
    /// `-q`: the probability that a node of a binomial tree is an inner node.
    pub chance: f64,
    /// `-a`: the shape of a geometric tree.
    pub shape: Shape,
    /// `-d`: the depth of a geometric or balanced tree.
    pub depth: u32,
    /// `-f`: the fraction of the depth at which a hybrid tree becomes binomial.
    pub shift: f64,
    /// `-g`: how often each node is hashed. More than once only adds work.
    pub granularity: u32,
    /// Whether the nodes of the last level are counted by their parents and never hashed.
    ///
    /// The rule of the UTS programs of X10 GLB and JavaGLB. Three nodes of four are in the last
    /// level of the usual trees: rates with and without must not be compared.
    pub count_last_level: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            kind: Kind::Geometric,
            seed: 0,
            branching: 4.0,
            arity: 4,
            chance: 15.0 / 64.0,
            shape: Shape::Linear,
            depth: 6,
            shift: 0.5,
            granularity: 1,
            count_last_level: false,
        }
    }
}

/// Invalid parameters. Every message is one line: option, value, what is allowed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ParamError {
    /// An unknown type.
    #[error("-t {0}: the tree type is 0 (binomial), 1 (geometric), 2 (hybrid) or 3 (balanced)")]
    Kind(u32),
    /// An unknown shape.
    #[error("-a {0}: the shape is 0 (linear), 1 (exponential), 2 (cyclic) or 3 (fixed)")]
    Shape(u32),
    /// A seed that is too large.
    #[error("-r {0}: the seed is at most {most}", most = Params::SEED_MAX)]
    Seed(u32),
    /// A branching factor that is not a number, or out of bounds.
    #[error("-b {value}: the branching factor of this type of tree is from {least} to {most}")]
    Branching {
        /// The value.
        value: f64,
        /// The minimum.
        least: f64,
        /// The maximum.
        most: f64,
    },
    /// An exponential shape without an end.
    #[error(
        "-b {0}: the branching factor of the exponential shape (-a 1) must be above 1, else the tree is infinite"
    )]
    Growing(f64),
    /// A number of children out of bounds.
    #[error("-m {0}: the number of children is from 1 to {most}", most = Params::ARITY_MAX)]
    Arity(u32),
    /// A value that is not a probability.
    #[error("-q {0}: the probability is from 0 to 1")]
    Chance(f64),
    /// An expected number of children that is not below one.
    #[error(
        "-q {chance} -m {arity}: q times m is {product}, and must be below 1, else the tree is infinite (except T3L)"
    )]
    Infinite {
        /// The probability.
        chance: f64,
        /// The number of children.
        arity: u32,
        /// Their product.
        product: f64,
    },
    /// A depth out of bounds.
    #[error("-d {value}: the depth of this type of tree is from {least} to {most}", most = Params::DEPTH_MAX)]
    Depth {
        /// The value.
        value: u32,
        /// The minimum.
        least: u32,
    },
    /// A value that is not a fraction.
    #[error("-f {0}: the fraction is from 0 to 1")]
    Shift(f64),
    /// A number of hashes out of bounds.
    #[error("-g {0}: the number of hashes a node is from 1 to {most}", most = Params::GRANULARITY_MAX)]
    Granularity(u32),
    /// A balanced tree that cannot be counted.
    #[error(
        "-b {branching} -d {depth}: this balanced tree has more than {} nodes",
        u64::MAX
    )]
    TooLarge {
        /// The branching factor.
        branching: f64,
        /// The depth.
        depth: u32,
    },
    /// A rule that requires a last level that is known in advance.
    #[error(
        "-t {kind}: counting the last level without hashing is for balanced trees (-t 3) and \
         geometric trees of fixed shape (-t 1 -a 3)"
    )]
    LastLevel {
        /// The type of the tree.
        kind: KindId,
    },
    /// An unknown name.
    #[error("{}: expected a named tree: {known}", shown(name))]
    Name {
        /// The name.
        name: String,
        /// All names.
        known: String,
    },
}

impl From<ParamError> for tautline::Error {
    fn from(refusal: ParamError) -> Self {
        Self::invalid(refusal)
    }
}

/// A tree type as the number of its option, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindId(pub(super) Kind, pub(super) Shape);

impl fmt::Display for KindId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::Geometric => write!(f, "1 -a {}", self.1 as u32),
            other => write!(f, "{}", other as u32),
        }
    }
}

impl Params {
    /// The maximum seed.
    pub const SEED_MAX: u32 = (1 << 31) - 1;
    /// The maximum depth. Cyclic trees are five times as deep, and depths have 32 bits.
    pub const DEPTH_MAX: u32 = 1_000_000;
    /// About a tenth of a second a node.
    pub const GRANULARITY_MAX: u32 = 1 << 20;
    /// The maximum number of children of an inner node of a binomial tree.
    pub const ARITY_MAX: u32 = 100;
}
