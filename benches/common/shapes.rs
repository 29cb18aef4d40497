//! Shapes of forks whose leaves are long: what a scheduler must share at once to keep its workers
//! busy.

use crate::forks::{Fork, Task};
use std::hint::black_box;
use std::time::Duration;

/// The work of a leaf. A long leaf takes [`UNITS`] units, a short one fewer.
#[derive(Clone, Copy, Debug)]
pub enum Leaf {
    /// Sleeps this long a unit: then more workers than processors are meaningful.
    Sleeps(Duration),
    /// Computes this number of turns per unit.
    Computes(u64),
}

/// Units of a long leaf.
pub(crate) const UNITS: u32 = 8;

impl Leaf {
    /// Works for this number of units.
    pub fn run(self, units: u32) {
        match self {
            // A sleep, since the leaf stands for work of a known duration that needs no processor.
            Self::Sleeps(unit) => std::thread::sleep(unit * units),
            Self::Computes(turns) => {
                // Each turn waits for the one before.
                let work = (0..turns * u64::from(units)).fold(1_u64, |x, turn| {
                    black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn)
                });
                black_box(work);
            }
        }
    }
}

/// A shape, with what it needs to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Its name in tables.
    pub name: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    NestedFirst,
    LeafFirst,
    Balanced,
    Thin,
    Uneven,
    Spawns,
    Loop,
}

/// Leaves of a shape.
const LEAVES: u32 = 16;
/// Rounds of the loop.
const ROUNDS: u32 = 8;
/// Nodes of the thin tree, and the units that a node and its side take.
const SPINE: u32 = 32;
const NODE: u32 = 2;
const SIDE: u32 = 1;

/// All shapes.
pub(crate) const SHAPES: [Shape; 7] = [
    shape("chain, join(nested, leaf)", Kind::NestedFirst),
    shape("chain, join(leaf, nested)", Kind::LeafFirst),
    shape("balanced tree", Kind::Balanced),
    shape("long spine, tiny sides", Kind::Thin),
    shape("uneven random tree", Kind::Uneven),
    shape("spawns in one scope", Kind::Spawns),
    shape("one fork a turn of a loop", Kind::Loop),
];

const fn shape(name: &'static str, kind: Kind) -> Shape {
    Shape { name, kind }
}

impl Shape {
    /// Units of all its leaves, and of the longest path.
    fn units(self) -> [u32; 2] {
        match self.kind {
            Kind::NestedFirst | Kind::LeafFirst | Kind::Balanced | Kind::Spawns => {
                [LEAVES * UNITS, UNITS]
            }
            Kind::Thin => [SPINE * (NODE + SIDE), SPINE * NODE],
            Kind::Uneven => {
                let mut units = Vec::new();
                Uneven::WHOLE.leaves(&mut units);
                [units.iter().sum(), units.into_iter().max().unwrap_or(0)]
            }
            Kind::Loop => [2 * ROUNDS * UNITS, ROUNDS * UNITS],
        }
    }

    /// Returns a lower bound of the time for this number of workers, in units.
    pub fn ideal(self, workers: u32) -> f64 {
        let [all, path] = self.units();
        let shared = match self.kind {
            // Leaves of one size: one worker has at least this number.
            Kind::NestedFirst | Kind::LeafFirst | Kind::Balanced | Kind::Spawns => {
                f64::from(LEAVES.div_ceil(workers) * UNITS)
            }
            _ => f64::from(all) / f64::from(workers),
        };
        shared.max(f64::from(path))
    }

    /// The scope of spawns, which is no tree of forks.
    pub fn spawned(self) -> Option<u32> {
        (self.kind == Kind::Spawns).then_some(LEAVES)
    }

    /// The forks.
    pub fn task(self, leaf: Leaf) -> Forks {
        Forks { shape: self, leaf }
    }
}

/// A shape with its leaves.
pub struct Forks {
    shape: Shape,
    leaf: Leaf,
}

impl Task for Forks {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let Self { shape, leaf } = self;
        match shape.kind {
            Kind::NestedFirst => NestedFirst(LEAVES, leaf).run(fork),
            Kind::LeafFirst => LeafFirst(LEAVES, leaf).run(fork),
            Kind::Balanced => Balanced(LEAVES, leaf).run(fork),
            Kind::Thin => Thin(SPINE, leaf).run(fork),
            Kind::Uneven => (Uneven::WHOLE, leaf).run(fork),
            Kind::Spawns => unreachable!("spawned, not forked"),
            Kind::Loop => {
                for _ in 0..ROUNDS {
                    fork.join(One(leaf, UNITS), One(leaf, UNITS));
                }
            }
        }
    }
}

/// One leaf of this number of units.
struct One(Leaf, u32);

impl Task for One {
    type Out = ();

    fn run<F: Fork>(self, _: &mut F) {
        self.0.run(self.1);
    }
}

struct NestedFirst(u32, Leaf);

impl Task for NestedFirst {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let Self(count, leaf) = self;
        if count > 0 {
            fork.join(Self(count - 1, leaf), One(leaf, UNITS));
        }
    }
}

struct LeafFirst(u32, Leaf);

impl Task for LeafFirst {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let Self(count, leaf) = self;
        if count > 0 {
            fork.join(One(leaf, UNITS), Self(count - 1, leaf));
        }
    }
}

struct Balanced(u32, Leaf);

impl Task for Balanced {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let Self(count, leaf) = self;
        if count == 1 {
            return leaf.run(UNITS);
        }
        let half = count / 2;
        fork.join(Self(half, leaf), Self(count - half, leaf));
    }
}

/// Works at every node of a spine, with a tiny side beside the rest.
struct Thin(u32, Leaf);

impl Task for Thin {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let Self(count, leaf) = self;
        if count > 0 {
            leaf.run(NODE);
            fork.join(Self(count - 1, leaf), One(leaf, SIDE));
        }
    }
}

/// Leaves split at random places, each of random length; the same in every run.
#[derive(Clone, Copy)]
struct Uneven {
    leaves: u32,
    seed: u64,
}

impl Uneven {
    const WHOLE: Self = Self {
        leaves: 24,
        seed: 42,
    };

    /// A number below `bound` that depends on the seed alone.
    fn draw(self, bound: u32) -> u32 {
        let mixed = self.seed.wrapping_mul(0xd134_2543_de82_ef95);
        ((mixed >> 40) % u64::from(bound)) as u32
    }

    /// Units of a leaf: a quarter to twice as many as of a long one.
    fn units(self) -> u32 {
        UNITS / 4 + self.draw(UNITS * 7 / 4)
    }

    fn halves(self) -> [Self; 2] {
        let first = 1 + self.draw(self.leaves - 1);
        let seed = |turn: u64| {
            self.seed
                .wrapping_add(turn)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        };
        let half = |leaves, turn| Self {
            leaves,
            seed: seed(turn),
        };
        [half(first, 1), half(self.leaves - first, 2)]
    }

    fn leaves(self, units: &mut Vec<u32>) {
        if self.leaves == 1 {
            return units.push(self.units());
        }
        for half in self.halves() {
            half.leaves(units);
        }
    }
}

impl Task for (Uneven, Leaf) {
    type Out = ();

    fn run<F: Fork>(self, fork: &mut F) {
        let (tree, leaf) = self;
        if tree.leaves == 1 {
            return leaf.run(tree.units());
        }
        let [first, second] = tree.halves();
        fork.join((first, leaf), (second, leaf));
    }
}
