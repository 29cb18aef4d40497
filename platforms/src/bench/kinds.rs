//! The list of barriers.
#![forbid(unsafe_code)]

use super::{Central, CombiningTree, Kind};

/// All barriers of this library and of the standard one that are compared, a tree for each of `degrees`.
pub fn kinds(degrees: &[usize]) -> Vec<Kind> {
    let mut all = vec![
        Kind::new("std::sync::Barrier", std_barrier),
        Kind::new("central counter", Central::new),
    ];
    all.extend(degrees.iter().map(|&degree| {
        Kind::new(format!("combining tree, degree {degree}"), move |tasks| {
            CombiningTree::new(tasks, degree)
        })
    }));
    all
}

fn std_barrier(tasks: usize) -> (std::sync::Barrier, usize) {
    (std::sync::Barrier::new(tasks), tasks)
}
