//! The costs and the network of a description.

use super::judge::Judge;
use super::value::Figure;
use crate::host::file::Mistake;
use crate::simulated::costs::{Costs, FORMS, KEYS, Key, Section, Unit};
use std::collections::BTreeMap;
use tautline_sim::{Cluster, Machine, Ranks, Shape};
use toml::Spanned;

/// A section as the file has it.
pub(super) type Given = Spanned<BTreeMap<String, Figure>>;

/// Returns the machine with a task of 1 ns and one place a node.
pub(super) fn machine(
    costs: Given,
    network: Given,
    processes: Option<Given>,
    nodes: u32,
    judge: &mut Judge,
) -> Result<Machine, Mistake> {
    let mut read = Costs {
        machine: Machine {
            task_ns: 1,
            cluster: Cluster {
                node_places: 1,
                shape: Shape::Flat,
                ranks: Ranks::default(),
                ..Cluster::default()
            },
            ..Machine::default()
        },
        ..Costs::default()
    };
    section(Section::Costs, costs, &mut read, judge)?;
    // A thread spins for about the duration of a wake-up.
    read.machine.cluster.spin_ns = read.machine.cluster.wake_ns;
    let network = shaped(network, nodes, &mut read, judge)?;
    section(Section::Network, network, &mut read, judge)?;
    if let Some(processes) = processes {
        section(Section::Ranks, processes, &mut read, judge)?;
    }
    Ok(read.machine)
}

/// Reads the keys of one section, all of which `given` must know.
fn section(
    section: Section,
    given: Given,
    costs: &mut Costs,
    judge: &mut Judge,
) -> Result<(), Mistake> {
    let name = section.name().expect("files have it");
    let at = given.span().start;
    let mut given = given.into_inner();
    let is_here = |key: &&Key| key.section == section && key.unit != Unit::Network;
    let keys = || KEYS.iter().filter(is_here);
    let is_unknown = |name: &str| keys().all(|key| key.file_name != name);
    if let Some((unknown, figure)) = given.iter().find(|(name, _)| is_unknown(name)) {
        let known: Vec<_> = keys().map(|key| key.file_name).collect();
        let known = known.join(", ");
        let message = format!("unknown key {name}.{unknown}, expected one of {known}");
        return Err(Mistake::at(figure.span().start, message));
    }
    for key in keys() {
        let value = match (given.remove(key.file_name), key.absent) {
            (Some(figure), _) => judge.cost(name, key, figure)?,
            (None, Some(number)) => key.value(number).expect("a default is within bounds"),
            (None, None) => {
                let message = format!("missing key {}", key.file_name);
                return Err(Mistake::at(at, message));
            }
        };
        key.set(costs, value);
    }
    Ok(())
}

/// Reads the shape of a network of `nodes` nodes, and returns its other keys, completed by those
/// that follow from them.
fn shaped(
    network: Given,
    nodes: u32,
    costs: &mut Costs,
    judge: &mut Judge,
) -> Result<Given, Mistake> {
    let span = network.span();
    let missing = |message: String| Err(Mistake::at(span.start, message));
    let mut given = network.into_inner();
    let refuse = |given: &BTreeMap<String, Figure>, key: &str, why: &str| match given.get(key) {
        Some(figure) => Err(Mistake::at(figure.span().start, why.to_owned())),
        None => Ok(()),
    };
    let shapes: Vec<_> = FORMS
        .iter()
        .filter(|form| given.contains_key(&form.key()))
        .collect();
    match shapes[..] {
        [] => {
            let why = "link_mb_per_s: a network without torus, fat_tree or dragonfly has no links";
            refuse(&given, "link_mb_per_s", why)?;
        }
        [form] => {
            let figure = given.remove(&form.key()).expect("it was found");
            costs.machine.cluster.shape = judge.shape(form, figure, nodes)?;
        }
        [_, second, ..] => {
            refuse(
                &given,
                &second.key(),
                "torus, fat_tree, dragonfly: only one of them",
            )?;
        }
    }
    // A loot takes time by its tasks or by its bytes.
    match ["loot_task_ns", "mb_per_s"].map(|key| given.contains_key(key)) {
        [true, true] => {
            let why = "loot_task_ns and mb_per_s: only one of them, as both are the time of a loot's bytes";
            refuse(&given, "loot_task_ns", why)?;
        }
        [false, false] => return missing("missing key loot_task_ns, or mb_per_s".to_owned()),
        _ => {}
    }
    if !given.contains_key("far_ns") {
        match (nodes, given.get("near_ns")) {
            (1, Some(near)) => _ = given.insert("far_ns".to_owned(), near.clone()),
            (1, None) => {}
            _ => {
                return missing(format!(
                    "missing key far_ns: {nodes} nodes send to each other"
                ));
            }
        }
    }
    Ok(Spanned::new(span, given))
}
