//! The shapes of networks in options, files and data.
#![forbid(unsafe_code)]

use std::fmt;
use tautline_sim::Shape;

const SIZE_MAX: u32 = 1 << 16;

/// A shape of networks that has sizes.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The name in options.
    pub name: &'static str,
    /// The names of its sizes.
    pub sizes: &'static [&'static str],
}

/// All of them. A flat network has no sizes.
pub const FORMS: [Form; 3] = [
    Form {
        name: "torus",
        sizes: &["X", "Y", "Z"],
    },
    Form {
        name: "fat-tree",
        sizes: &["NODES", "LEAVES", "UP", "UP2"],
    },
    Form {
        name: "dragonfly",
        sizes: &["NODES", "ROUTERS", "GLOBALS"],
    },
];

impl Form {
    /// Returns the name in files and data.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    /// Returns the network of these sizes; `None` if there are more or fewer of them, or one is out
    /// of bounds.
    pub fn of(&self, sizes: &[i64]) -> Option<Shape> {
        let size = |&size: &i64| u32::try_from(size).ok();
        let size = |given| size(given).filter(|size| (1..=SIZE_MAX).contains(size));
        let sizes: Vec<u32> = sizes.iter().map(size).collect::<Option<_>>()?;
        match (self.name, &sizes[..]) {
            ("torus", &[x, y, z]) => Some(Shape::Torus([x, y, z])),
            ("fat-tree", &[nodes, leaves, first, second]) => {
                let up = [first, second];
                Some(Shape::FatTree { nodes, leaves, up })
            }
            ("dragonfly", &[nodes, routers, globals]) => Some(Shape::Dragonfly {
                nodes,
                routers,
                globals,
            }),
            _ => None,
        }
    }

    /// Returns the allowed sizes, in words.
    pub fn allowed(&self) -> String {
        format!("{} whole numbers from 1 to {SIZE_MAX}", self.sizes.len())
    }
}

/// Returns the form of the shape and its sizes; `None` if it is flat.
pub fn form(shape: Shape) -> Option<(&'static Form, Vec<u32>)> {
    let [torus, fat_tree, dragonfly] = &FORMS;
    match shape {
        Shape::Flat => None,
        Shape::Torus(extents) => Some((torus, extents.to_vec())),
        Shape::FatTree { nodes, leaves, up } => Some((fat_tree, vec![nodes, leaves, up[0], up[1]])),
        Shape::Dragonfly {
            nodes,
            routers,
            globals,
        } => Some((dragonfly, vec![nodes, routers, globals])),
    }
}

/// Returns the number of nodes for which a network has room; `None`: any number.
pub fn room(shape: Shape) -> Option<u64> {
    match shape {
        Shape::Flat | Shape::FatTree { .. } => None,
        Shape::Torus(extents) => Some(extents.map(u64::from).iter().product()),
        Shape::Dragonfly {
            nodes,
            routers,
            globals,
        } => {
            let [of, routers, globals] = [nodes, routers, globals].map(u64::from);
            Some(of * routers * (routers * globals + 1))
        }
    }
}

/// Parses the shape of a network.
///
/// # Errors
/// The allowed forms.
pub fn parse_network(text: &str) -> Result<Shape, String> {
    if text == "flat" {
        return Ok(Shape::Flat);
    }
    let read = || {
        let (name, sizes) = text.split_once(':')?;
        let form = FORMS.iter().find(|form| form.name == name)?;
        let size = |size: &str| size.trim().parse::<i64>().ok();
        let sizes: Vec<i64> = sizes.split(',').map(size).collect::<Option<_>>()?;
        form.of(&sizes)
    };
    read().ok_or_else(allowed)
}

/// The allowed forms, in words.
pub(super) fn allowed() -> String {
    let forms = FORMS.map(|form| format!("{}:{}", form.name, form.sizes.join(",")));
    let [torus, fat_tree, dragonfly] = forms;
    format!("flat, {torus}, {fat_tree} or {dragonfly}, each size from 1 to {SIZE_MAX}")
}

/// A shape in the form that is parsed.
pub(super) struct Spelled(pub(super) Shape);

impl fmt::Display for Spelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match form(self.0) {
            None => f.write_str("flat"),
            Some((form, sizes)) => {
                let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
                write!(f, "{}:{}", form.name, sizes.join(","))
            }
        }
    }
}
