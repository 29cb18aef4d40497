//! Trees with names, and their known counts.

use super::params::Shape::{Cyclic, Fixed, Linear};
use super::params::{Kind, ParamError, Params, Shape};

/// A tree with a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named {
    /// Its name.
    pub name: &'static str,
    /// Its parameters.
    pub params: Params,
    /// The number of its nodes.
    pub nodes: u64,
    /// The number of its leaves, if published or counted.
    pub leaves: Option<u64>,
    /// The depth of the deepest node, if published or counted.
    pub depth: Option<u32>,
}

/// A geometric tree.
const fn geometric(shape: Shape, depth: u32, branching: f64, seed: u32) -> Params {
    Params {
        kind: Kind::Geometric,
        seed,
        branching,
        arity: 4,
        chance: 15.0 / 64.0,
        shape,
        depth,
        shift: 0.5,
        granularity: 1,
        count_last_level: false,
    }
}

/// A binomial tree.
const fn binomial(branching: f64, chance: f64, arity: u32, seed: u32) -> Params {
    Params {
        kind: Kind::Binomial,
        chance,
        arity,
        ..geometric(Shape::Linear, 6, branching, seed)
    }
}

/// A row of the table whose leaves and depth are known.
const fn row(name: &'static str, params: Params, nodes: u64, leaves: u64, depth: u32) -> Named {
    Named {
        name,
        params,
        nodes,
        leaves: Some(leaves),
        depth: Some(depth),
    }
}

/// A row of the table whose leaves are not published.
const fn part(name: &'static str, params: Params, nodes: u64, depth: Option<u32>) -> Named {
    Named {
        name,
        params,
        nodes,
        leaves: None,
        depth,
    }
}

/// All trees with names.
///
/// `T…` are the sample trees of the UTS benchmark, from 4 million (`T1`) to 300 thousand million
/// nodes. `triloka`, `anl`, `p7` and `geo` are those of Saraswat et al. 2011, table 1. `D6` to
/// `D13` are `T1` cut off at another depth; `D13` is the tree of the X10 GLB and JavaGLB programs.
#[rustfmt::skip] // A table.
pub const TREES: &[Named] = &[
    row("T1", geometric(Fixed, 10, 4.0, 19), 4_130_071, 3_305_118, 10),
    row("T2", geometric(Cyclic, 16, 6.0, 502), 4_117_769, 2_342_762, 81),
    row("T3", binomial(2000.0, 0.124875, 8, 42), 4_112_897, 3_599_034, 1572),
    row("T4", Params { kind: Kind::Hybrid, ..geometric(Linear, 16, 6.0, 1) }, 4_132_453, 3_108_986, 134),
    row("T5", geometric(Linear, 20, 4.0, 34), 4_147_582, 2_181_318, 20),
    row("T1L", geometric(Fixed, 13, 4.0, 29), 102_181_082, 81_746_377, 13),
    row("T2L", geometric(Cyclic, 23, 7.0, 220), 96_793_510, 53_791_152, 67),
    row("T3L", binomial(2000.0, 0.200014, 5, 7), 111_345_631, 89_076_904, 17844),
    row("T1XL", geometric(Fixed, 15, 4.0, 29), 1_635_119_272, 1_308_100_063, 15),
    part("T1XXL", geometric(Fixed, 15, 4.0, 19), 4_230_646_601, Some(15)),
    row("T2XXL", binomial(2000.0, 0.499999995, 2, 0), 10_612_052_303, 5_306_027_151, 216_370),
    part("T3XXL", binomial(2000.0, 0.499995, 2, 316), 2_793_220_501, None),
    row("T1WL", geometric(Fixed, 18, 4.0, 19), 270_751_679_750, 216_601_257_283, 18),
    row("T2WL", binomial(2000.0, 0.4999999995, 2, 559), 295_393_891_003, 147_696_946_501, 1_021_239),
    row("T3WL", binomial(2000.0, 0.4999995, 2, 559), 157_063_495_159, 78_531_748_579, 758_577),
    row("triloka", binomial(2000.0, 0.49995, 2, 559), 57_354_859, 28_678_429, 19532),
    row("anl", binomial(2000.0, 0.4995, 2, 559), 2_859_057, 1_430_528, 1933),
    // The paper prints 324 nodes fewer, 510 009 729; this is the count of the reference program.
    row("p7", binomial(20000.0, 0.166666665, 6, 42), 510_010_053, 425_011_710, 17633),
    row("geo", geometric(Fixed, 10, 4.0, 0), 6_700_654, 5_358_786, 10),
    part("D6", geometric(Fixed, 6, 4.0, 19), 16_000, Some(6)),
    part("D7", geometric(Fixed, 7, 4.0, 19), 63_914, Some(7)),
    part("D8", geometric(Fixed, 8, 4.0, 19), 257_042, Some(8)),
    part("D9", geometric(Fixed, 9, 4.0, 19), 1_031_269, Some(9)),
    row("D10", geometric(Fixed, 10, 4.0, 19), 4_130_071, 3_305_118, 10),
    row("D11", geometric(Fixed, 11, 4.0, 19), 16_526_523, 13_221_220, 11),
    row("D12", geometric(Fixed, 12, 4.0, 19), 66_106_929, 52_886_192, 12),
    row("D13", geometric(Fixed, 13, 4.0, 19), 264_459_392, 211_575_471, 13),
];

/// Returns the tree of that name, regardless of case.
///
/// ```
/// use tautline_cli::uts::named;
///
/// assert_eq!(named::find("t1")?.nodes, 4_130_071);
/// assert!(named::find("T9").is_err());
/// # Ok::<(), tautline::Error>(())
/// ```
///
/// # Errors
///
/// No tree has this name; the message lists all names.
pub fn find(name: &str) -> Result<&'static Named, ParamError> {
    let found = TREES.iter().find(|t| t.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| ParamError::Name {
        name: name.to_owned(),
        known: TREES.iter().map(|t| t.name).collect::<Vec<_>>().join(" "),
    })
}

/// Whether the tree is finite although its expectation is not, since it was counted. T3L, with
/// 1.00007 children a node, belongs to the 14 trees of 15 that end nevertheless.
pub(super) fn has_end(params: &Params) -> bool {
    TREES.iter().any(|tree| {
        let plain = Params {
            granularity: tree.params.granularity,
            count_last_level: tree.params.count_last_level,
            // Not used by a binomial tree.
            shape: tree.params.shape,
            depth: tree.params.depth,
            shift: tree.params.shift,
            ..*params
        };
        tree.params.kind == Kind::Binomial && plain == tree.params
    })
}
