//! The costs and the network of a description.

use super::judge::Judge;
use super::value::{Number, Numbers};
use crate::host::file::Mistake;
use serde::Deserialize;
use tautline_sim::{Cluster, Machine, Ranks, Shape};
use toml::Spanned;

const JITTER_MAX_PERCENT: u64 = 1_000;
const BYTES_MAX: u64 = 1 << 20;
/// As many as can be simulated.
const RANK_PLACES_MAX: u64 = 1 << 17;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Costs {
    look_ns: Number,
    serve_ns: Number,
    send_ns: Number,
    split_ns: Number,
    merge_ns: Number,
    wake_ns: Number,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Network {
    torus: Option<Numbers>,
    fat_tree: Option<Numbers>,
    dragonfly: Option<Numbers>,
    near_ns: Number,
    far_ns: Option<Number>,
    hop_ns: Option<Number>,
    gap_ns: Option<Number>,
    mb_per_s: Option<Number>,
    link_mb_per_s: Option<Number>,
    message_bytes: Option<Number>,
    task_bytes: Option<Number>,
    loot_task_ns: Option<Number>,
    jitter_percent: Number,
    #[serde(default)]
    ordered: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Processes {
    places: Option<Number>,
    message_ns: Number,
    encode_mb_per_s: Option<Number>,
    decode_mb_per_s: Option<Number>,
    #[serde(default)]
    worker: bool,
}

/// Returns the machine with a task of 1 ns and one place a node.
pub(super) fn machine(
    costs: Costs,
    mut network: Network,
    processes: Option<Processes>,
    nodes: u32,
    judge: &mut Judge,
) -> Result<Machine, Mistake> {
    let bytes = |judge: &mut Judge, key: &str, number: Option<Number>| {
        number.map_or(Ok(32), |n| judge.whole(key, n, 0..=BYTES_MAX))
    };
    Ok(Machine {
        task_ns: 1,
        look_ns: judge.cost("costs.look_ns", costs.look_ns)?,
        serve_ns: judge.cost("costs.serve_ns", costs.serve_ns)?,
        send_ns: judge.cost("costs.send_ns", costs.send_ns)?,
        split_ns: judge.cost("costs.split_ns", costs.split_ns)?,
        merge_ns: judge.cost("costs.merge_ns", costs.merge_ns)?,
        message_bytes: bytes(judge, "network.message_bytes", network.message_bytes.take())?,
        task_bytes: bytes(judge, "network.task_bytes", network.task_bytes.take())?,
        loot_task_ns: loot_task_ns(&mut network, judge)?,
        cluster: cluster(costs.wake_ns, network, processes, nodes, judge)?,
    })
}

/// A loot takes time by its tasks or by its bytes.
fn loot_task_ns(network: &mut Network, judge: &mut Judge) -> Result<u64, Mistake> {
    let near = network.near_ns.span().start;
    match (network.loot_task_ns.take(), &network.mb_per_s) {
        (Some(number), None) => judge.cost("network.loot_task_ns", number),
        (None, Some(_)) => Ok(0),
        (Some(number), Some(_)) => {
            let message = "loot_task_ns and mb_per_s: only one of them, as both are the time of a loot's bytes";
            Err(Mistake::at(number.span().start, message))
        }
        (None, None) => Err(Mistake::at(near, "missing key loot_task_ns, or mb_per_s")),
    }
}

fn cluster(
    wake_ns: Number,
    network: Network,
    processes: Option<Processes>,
    nodes: u32,
    judge: &mut Judge,
) -> Result<Cluster, Mistake> {
    let near = network.near_ns.span();
    let near_ns = judge.cost("network.near_ns", network.near_ns)?;
    let far_ns = match network.far_ns {
        Some(number) => judge.cost("network.far_ns", number)?,
        None if nodes == 1 => near_ns,
        None => {
            let message = format!("missing key far_ns: {nodes} nodes send to each other");
            return Err(Mistake::at(near.start, message));
        }
    };
    let mut optional = |key, number: Option<Number>| number.map_or(Ok(0), |n| judge.cost(key, n));
    let hop_ns = optional("network.hop_ns", network.hop_ns)?;
    let gap_ns = optional("network.gap_ns", network.gap_ns)?;
    let shapes = [network.torus, network.fat_tree, network.dragonfly];
    let shape = shape(shapes, nodes, judge)?;
    if let (Shape::Flat, Some(number)) = (shape, &network.link_mb_per_s) {
        let message = "link_mb_per_s: a network without torus, fat_tree or dragonfly has no links";
        return Err(Mistake::at(number.span().start, message));
    }
    // A thread spins for about as long as a wake-up takes.
    let wake_ns = judge.cost("costs.wake_ns", wake_ns)?;
    let jitter = 0..=JITTER_MAX_PERCENT;
    Ok(Cluster {
        wake_ns,
        spin_ns: wake_ns,
        node_places: 1,
        shape,
        near_ns,
        far_ns,
        hop_ns,
        gap_ns,
        mb_per_s: judge.rate("network.mb_per_s", network.mb_per_s)?,
        link_mb_per_s: judge.rate("network.link_mb_per_s", network.link_mb_per_s)?,
        jitter_percent: judge.whole("network.jitter_percent", network.jitter_percent, jitter)?,
        ordered: network.ordered,
        ranks: processes.map_or(Ok(Ranks::default()), |processes| ranks(processes, judge))?,
    })
}

fn ranks(processes: Processes, judge: &mut Judge) -> Result<Ranks, Mistake> {
    let small = |number| judge.small("ranks.places", number, RANK_PLACES_MAX);
    Ok(Ranks {
        places: processes.places.map_or(Ok(0), small)?,
        message_ns: judge.cost("ranks.message_ns", processes.message_ns)?,
        encode_mb_per_s: judge.rate("ranks.encode_mb_per_s", processes.encode_mb_per_s)?,
        decode_mb_per_s: judge.rate("ranks.decode_mb_per_s", processes.decode_mb_per_s)?,
        worker: processes.worker,
    })
}

/// Returns the shape of a network of `nodes` nodes; at most one is given.
fn shape(shapes: [Option<Numbers>; 3], nodes: u32, judge: &mut Judge) -> Result<Shape, Mistake> {
    let spans: Vec<_> = shapes.iter().flatten().map(Spanned::span).collect();
    if let [_, second, ..] = &spans[..] {
        let message = "torus, fat_tree, dragonfly: only one of them";
        return Err(Mistake::at(second.start, message));
    }
    let refuse = |name: &str, sizes: &[u32], room: u64| match room < u64::from(nodes) {
        true => {
            let message = format!("{name} {sizes:?}: room for {room} nodes, not for all {nodes}");
            Err(Mistake::at(spans[0].start, message))
        }
        false => Ok(()),
    };
    match shapes {
        [Some(torus), ..] => {
            let extents: [u32; 3] = judge.sizes("torus", torus)?;
            refuse("torus", &extents, extents.map(u64::from).iter().product())?;
            Ok(Shape::Torus(extents))
        }
        [_, Some(tree), _] => {
            let [nodes, leaves, first, second] = judge.sizes("fat_tree", tree)?;
            Ok(Shape::FatTree {
                nodes,
                leaves,
                up: [first, second],
            })
        }
        [.., Some(dragonfly)] => {
            let sizes = judge.sizes("dragonfly", dragonfly)?;
            let [of, routers, globals] = sizes.map(u64::from);
            refuse("dragonfly", &sizes, of * routers * (routers * globals + 1))?;
            let [nodes, routers, globals] = sizes;
            Ok(Shape::Dragonfly {
                nodes,
                routers,
                globals,
            })
        }
        _ => Ok(Shape::Flat),
    }
}
