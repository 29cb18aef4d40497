//! A simulated machine in one line, and as data.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tautline_sim::{Cluster, Machine, Ranks, Shape};

/// Returns the machine in one line, under its requested name.
pub(super) fn line(name: &str, machine: &Machine) -> String {
    let Machine {
        task_ns,
        look_ns,
        serve_ns,
        send_ns,
        split_ns,
        merge_ns,
        loot_task_ns,
        message_bytes,
        task_bytes,
        cluster,
    } = machine;
    let Cluster {
        wake_ns,
        spin_ns,
        node_places,
        near_ns,
        gap_ns,
        mb_per_s,
        link_mb_per_s,
        jitter_percent,
        ..
    } = cluster;
    let mut text = format!(
        "{name}: {node_places} places a node; ns: task {task_ns}, look {look_ns}, serve {serve_ns}, \
         send {send_ns}, split {split_ns}, merge {merge_ns}, wake {wake_ns} after {spin_ns}, near {near_ns}, \
         {}, gap {gap_ns}, task of loot {loot_task_ns}; jitter {jitter_percent} %",
        network(cluster)
    );
    if mb_per_s + link_mb_per_s + u64::from(cluster.ranks.places) > 0 {
        let _ = write!(
            text,
            "; bytes: message {message_bytes}, task {task_bytes}; MB/s: adapter {}, link {}",
            rate(*mb_per_s),
            rate(*link_mb_per_s)
        );
    }
    if cluster.ordered {
        text.push_str("; ordered");
    }
    text.push_str(&ranks(&cluster.ranks));
    text
}

fn network(cluster: &Cluster) -> String {
    let Cluster { far_ns, hop_ns, .. } = cluster;
    let shape = match cluster.shape {
        Shape::Flat => return format!("far {far_ns}"),
        Shape::Torus([x, y, z]) => format!("{x} x {y} x {z}"),
        Shape::FatTree { nodes, leaves, up } => {
            let [first, second] = up;
            format!("a fat tree {nodes}:{first}, {leaves}:{second}")
        }
        Shape::Dragonfly {
            nodes,
            routers,
            globals,
        } => format!("a dragonfly {nodes}, {routers}, {globals}"),
    };
    format!("far {far_ns} + {hop_ns} a hop on {shape}")
}

fn ranks(ranks: &Ranks) -> String {
    let Ranks {
        places,
        message_ns,
        encode_mb_per_s,
        decode_mb_per_s,
        worker,
    } = *ranks;
    if places == 0 {
        return String::new();
    }
    let by = match worker {
        true => "a communication worker",
        false => "the workers",
    };
    let [encode, decode] = [encode_mb_per_s, decode_mb_per_s].map(rate);
    format!(
        "; {places} places a rank, messages encoded at {encode} MB/s + {message_ns} ns and decoded at \
         {decode} MB/s + {message_ns} ns by {by}"
    )
}

fn rate(mb_per_s: u64) -> String {
    match mb_per_s {
        0 => "unlimited".to_owned(),
        rate => rate.to_string(),
    }
}

/// Returns the machine as data.
pub(super) fn json(name: &str, machine: &Machine) -> Value {
    let cluster = &machine.cluster;
    let ranks = &cluster.ranks;
    let (mut torus, mut fat_tree, mut dragonfly) = (None, None, None);
    match cluster.shape {
        Shape::Flat => {}
        Shape::Torus(extents) => torus = Some(extents),
        Shape::FatTree { nodes, leaves, up } => fat_tree = Some([nodes, leaves, up[0], up[1]]),
        Shape::Dragonfly {
            nodes,
            routers,
            globals,
        } => dragonfly = Some([nodes, routers, globals]),
    }
    json!({
        "name": name,
        "task_ns": machine.task_ns, "look_ns": machine.look_ns, "serve_ns": machine.serve_ns,
        "send_ns": machine.send_ns, "split_ns": machine.split_ns, "merge_ns": machine.merge_ns,
        "wake_ns": cluster.wake_ns, "spin_ns": cluster.spin_ns, "node_places": cluster.node_places,
        "torus": torus, "fat_tree": fat_tree, "dragonfly": dragonfly,
        "near_ns": cluster.near_ns, "far_ns": cluster.far_ns, "hop_ns": cluster.hop_ns,
        "gap_ns": cluster.gap_ns, "loot_task_ns": machine.loot_task_ns,
        "mb_per_s": cluster.mb_per_s, "link_mb_per_s": cluster.link_mb_per_s,
        "message_bytes": machine.message_bytes, "task_bytes": machine.task_bytes,
        "jitter_percent": cluster.jitter_percent, "ordered": cluster.ordered,
        "ranks": (ranks.places > 0).then(|| json!({
            "places": ranks.places, "message_ns": ranks.message_ns,
            "encode_mb_per_s": ranks.encode_mb_per_s, "decode_mb_per_s": ranks.decode_mb_per_s,
            "worker": ranks.worker,
        })),
    })
}
