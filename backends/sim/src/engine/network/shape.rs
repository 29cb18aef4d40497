//! Topologies of nodes, and the links that a message passes.

/// The topology of a cluster's nodes.
///
/// Messages take the shortest way, in a fixed order of links: along the first extent of a torus
/// first; up a fat tree by the number of the destination (D-mod-k); through the one link between
/// two groups of a dragonfly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Every node is one hop from every other: a switch without contention.
    #[default]
    Flat,
    /// A torus with these extents; an extent of 0 counts as 1. Nodes beyond the last start again at
    /// the first, so a torus too small folds a machine onto itself.
    Torus([u32; 3]),
    /// Switches in three levels. Fewer links up than down: the tree is oversubscribed. A 0 counts
    /// as 1.
    FatTree {
        /// Nodes of a leaf switch.
        nodes: u32,
        /// Leaf switches of a pod.
        leaves: u32,
        /// Links from a leaf switch to the second level, which has as many switches in each pod;
        /// and from each of these to the third.
        up: [u32; 2],
    },
    /// Groups of routers, all routers of a group connected, and a link between any two groups (Kim
    /// et al. 2008). There are `routers` times `globals` plus 1 groups; nodes beyond the last start
    /// again at the first. A 0 counts as 1.
    Dragonfly {
        /// Nodes of a router.
        nodes: u32,
        /// Routers of a group.
        routers: u32,
        /// Links from a router to other groups.
        globals: u32,
    },
}

/// A link in one direction: its kind, where it begins, and which of the links there it is.
pub(super) type Link = [u32; 3];

impl Shape {
    /// Returns the hops between two nodes: 0 from a node to itself, else at least 1. On a torus the
    /// links on the shortest path, elsewhere the switches.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        match *self {
            _ if from == to => 0,
            Self::Flat => 1,
            Self::Torus(extents) => distance(extents, from, to).max(1),
            Self::FatTree { .. } | Self::Dragonfly { .. } => self.links(from, to) + 1,
        }
    }

    fn links(&self, from: u32, to: u32) -> u32 {
        (0..)
            .find(|&k| self.link(from, to, k).is_none())
            .unwrap_or(0)
    }

    /// Returns the link number `k` between two nodes, counted from 0.
    pub(super) fn link(&self, from: u32, to: u32, k: u32) -> Option<Link> {
        match *self {
            Self::Flat => None,
            Self::Torus(extents) => torus_link(extents, from, to, k),
            Self::FatTree { nodes, leaves, up } => {
                let [nodes, leaves] = [nodes.max(1), leaves.max(1)];
                tree_link([nodes, leaves], up.map(|links| links.max(1)), [from, to], k)
            }
            Self::Dragonfly {
                nodes,
                routers,
                globals,
            } => {
                let of = [nodes.max(1), routers.max(1), globals.max(1)];
                dragonfly_link(of, from, to)
                    .into_iter()
                    .flatten()
                    .nth(k as usize)
            }
        }
    }
}

/// Returns the Manhattan distance on a torus, either way around.
fn distance(extents: [u32; 3], mut from: u32, mut to: u32) -> u32 {
    extents
        .into_iter()
        .map(|extent| {
            let extent = extent.max(1);
            let apart = (from % extent).abs_diff(to % extent);
            (from, to) = (from / extent, to / extent);
            apart.min(extent - apart)
        })
        .fold(0, u32::saturating_add)
}

/// Begins at the node reached by `k` steps along the first extents; its direction is the axis,
/// twice, plus 1 backwards.
fn torus_link(extents: [u32; 3], mut from: u32, mut to: u32, mut k: u32) -> Option<Link> {
    let (mut node, mut stride) = (0u32, 1u32);
    let mut found = None;
    for (axis, extent) in (0..).zip(extents) {
        let extent = extent.max(1);
        let (f, t) = (from % extent, to % extent);
        (from, to) = (from / extent, to / extent);
        let forward = (t + (extent - f)) % extent;
        let back = extent - forward;
        let steps = forward.min(back) % extent;
        let at = match found {
            // What follows the link is still at its beginning.
            Some(_) => f,
            None if k < steps && forward <= back => {
                found = Some(2 * axis);
                (f + k) % extent
            }
            None if k < steps => {
                found = Some(2 * axis + 1);
                (f + extent - k) % extent
            }
            None => {
                k -= steps;
                t
            }
        };
        node = node.wrapping_add(at.wrapping_mul(stride));
        stride = stride.wrapping_mul(extent);
    }
    found.map(|way| [0, node, way])
}

fn tree_link(
    [nodes, leaves]: [u32; 2],
    up: [u32; 2],
    [from, to]: [u32; 2],
    k: u32,
) -> Option<Link> {
    let leaf = [from / nodes, to / nodes];
    let pod = leaf.map(|leaf| leaf / leaves);
    let (second, third) = (to % up[0], to / up[0] % up[1]);
    // Of the second level, the link to the third: by the switch in its pod, then by its link.
    let core = second * up[1] + third;
    match (leaf[0] == leaf[1], pod[0] == pod[1], k) {
        (true, ..) => None,
        (_, _, 0) => Some([1, leaf[0], second]),
        (_, true, 1) | (_, false, 3) => Some([2, leaf[1], second]),
        (_, false, 1) => Some([3, pod[0], core]),
        (_, false, 2) => Some([4, pod[1], core]),
        _ => None,
    }
}

fn dragonfly_link([nodes, routers, globals]: [u32; 3], from: u32, to: u32) -> [Option<Link>; 3] {
    let groups = routers.saturating_mul(globals).saturating_add(1);
    let router = [from / nodes, to / nodes];
    let group = router.map(|router| router / routers % groups);
    let place = router.map(|router| router % routers);
    let local =
        |group: u32, from: u32, to: u32| (from != to).then_some([5, group * routers + from, to]);
    if group[0] == group[1] {
        return [local(group[0], place[0], place[1]), None, None];
    }
    // The number of groups from one to the other, less 1, selects the link.
    let offset = |from: u32, to: u32| (to + (groups - from) - 1) % groups;
    let [there, back] = [offset(group[0], group[1]), offset(group[1], group[0])];
    [
        local(group[0], place[0], there / globals),
        Some([6, group[0], there]),
        local(group[1], back / globals, place[1]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const TREE: Shape = Shape::FatTree {
        nodes: 4,
        leaves: 3,
        up: [2, 2],
    };

    const FLY: Shape = Shape::Dragonfly {
        nodes: 2,
        routers: 3,
        globals: 2,
    };

    fn route(shape: Shape, from: u32, to: u32) -> Vec<Link> {
        (0..).map_while(|k| shape.link(from, to, k)).collect()
    }

    #[test]
    fn a_torus_is_crossed_link_by_link() {
        let shape = Shape::Torus([4, 3, 5]);
        for from in 0..60 {
            for to in 0..60 {
                let links = route(shape, from, to);
                assert_eq!(links.len() as u32, shape.hops(from, to), "{from} to {to}");
                let mut node = from;
                for [_, at, way] in links {
                    assert_eq!(at, node, "{from} to {to}");
                    let mut c = [node % 4, node / 4 % 3, node / 12];
                    let (axis, extent) = (way as usize / 2, [4, 3, 5][way as usize / 2]);
                    c[axis] = (c[axis] + if way % 2 == 0 { 1 } else { extent - 1 }) % extent;
                    node = c[0] + 4 * (c[1] + 3 * c[2]);
                }
                assert_eq!(node, to);
            }
        }
    }

    #[test]
    fn a_fat_tree_has_one_three_or_five_switches() {
        let hops = [(0, 0), (0, 3), (0, 4), (0, 11), (0, 12), (25, 1)];
        let hops = hops.map(|(from, to)| TREE.hops(from, to));
        assert_eq!(hops, [0, 1, 3, 3, 5, 5]);
        // Two links up from a leaf switch, by the parity of the destination; all to one node meet
        // below.
        assert_ne!(TREE.link(0, 4, 0), TREE.link(0, 5, 0));
        assert_eq!(TREE.link(0, 4, 0), TREE.link(1, 6, 0));
        assert_eq!(TREE.link(0, 20, 3), TREE.link(30, 20, 3));
        assert_ne!(TREE.link(0, 20, 1), TREE.link(0, 22, 1));
    }

    #[test]
    fn a_dragonfly_has_at_most_one_link_between_groups() {
        let nodes = 2 * 3 * 7;
        let mut globals = HashSet::new();
        for from in 0..nodes {
            for to in 0..nodes {
                let links = route(FLY, from, to);
                let far = links.iter().filter(|link| link[0] == 6).count();
                assert_eq!(far, usize::from(from / 6 != to / 6), "{from} to {to}");
                assert!(links.len() <= 3 && (from == to) == (FLY.hops(from, to) == 0));
                globals.extend(links.into_iter().filter(|link| link[0] == 6));
            }
        }
        // From each of 7 groups to each other.
        assert_eq!(globals.len(), 42);
        // Group 1 is entered at its last router.
        let hops = [(0, 1), (0, 2), (0, 6), (0, 10)].map(|(from, to)| FLY.hops(from, to));
        assert_eq!(hops, [1, 2, 3, 2]);
    }

    #[test]
    fn zeros_count_as_one() {
        let tree = Shape::FatTree {
            nodes: 0,
            leaves: 0,
            up: [0, 0],
        };
        let fly = Shape::Dragonfly {
            nodes: 0,
            routers: 0,
            globals: 0,
        };
        assert_eq!([tree, fly].map(|shape| shape.hops(0, 1)), [5, 2]);
    }
}
