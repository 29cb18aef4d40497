use super::*;
use crate::simulated::costs::{KEYS, Unit};
use tautline_core::PlaceId;

fn machine(name: &str) -> Description {
    find(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A description in which `old` has become `new`, and the error message.
fn refusal(old: &str, new: &str) -> String {
    let (_, text) = BUILT_IN[0];
    assert!(text.contains(old), "no {old}");
    parse("my.toml", &text.replacen(old, new, 1)).map_or_else(
        |error| error.to_string(),
        |read| format!("accepted {read:?}"),
    )
}

#[test]
fn every_built_in_machine_says_where_its_figures_come_from() {
    for name in names() {
        let machine = machine(name);
        assert_eq!(machine.name, name);
        assert!(!machine.sources.is_empty(), "{name}");
        // Without a network between nodes there are some fewer.
        assert!(machine.figures.len() >= 15, "{name}");
        for figure in &machine.figures {
            let said = match &figure.origin {
                Origin::Source(text) | Origin::Assumed(text) => text.len() > 5,
                Origin::Discovered => name == "host",
                Origin::Unsaid => false,
            };
            assert!(said, "{name}: {figure:?}");
        }
    }
}

#[test]
fn every_source_is_one_of_those_listed() {
    // Some figures follow from a standard, or are common knowledge.
    let common = ["Intrepid at Argonne", "the shortest frame"];
    for name in names() {
        let machine = machine(name);
        let cited = |text: &str| {
            let short = text.split([',', ':']).next().unwrap_or_default();
            common.iter().any(|known| text.starts_with(known))
                || machine
                    .sources
                    .iter()
                    .any(|source| source.starts_with(short))
        };
        for figure in &machine.figures {
            if let Origin::Source(text) = &figure.origin {
                assert!(cited(text), "{name}: {} cites {text}", figure.key);
            }
        }
    }
}

#[test]
fn speeds_are_those_of_the_sources() {
    for (name, slowdown) in [
        ("triloka", 40.0 / 2.1),
        ("bluegene-p", 40.0 / 0.54),
        ("p7hv32", 40.0 / 2.7),
        ("jaguar", 40.0 / 1.467),
        ("host", 1.0),
    ] {
        let found = machine(name).slowdown();
        assert!((found - slowdown).abs() < 1e-9, "{name}: {found}");
    }
    let units = [UNITS[0], UNITS[1], "another"];
    assert_eq!(
        units.map(|unit| machine("bluegene-p").unit_ns(unit)),
        [1_852, 2_703, 1_852]
    );
    assert_eq!(machine("bluegene-p").task_ns(25), 1_852);
    assert_eq!(machine("host").task_ns(0), 1);
}

#[test]
fn places_fill_nodes_and_the_smallest_torus() {
    let gene = machine("bluegene-p");
    for (places, torus) in [
        (1, [1, 1, 1]),
        (4, [1, 1, 1]),
        (8, [2, 1, 1]),
        (1_024, [8, 8, 4]),
        (4_096, [16, 8, 8]),
        (1 << 17, [32, 32, 32]),
        (163_840, [40, 32, 32]),
    ] {
        let machine = gene.machine(places, 1, 5);
        assert_eq!(
            machine.cluster.shape,
            Shape::Torus(torus),
            "{places} places"
        );
        assert_eq!((machine.cluster.node_places, machine.task_ns), (4, 5));
    }
    let cluster = gene.machine(1_024, 1, 5).cluster;
    let ns = |to| cluster.latency_ns(cluster.hops(PlaceId(0), PlaceId(to)));
    assert_eq!([1, 4, 8].map(ns), [2_000, 3_000, 3_100]);
    assert_eq!(gene.machine(1_024, 4, 5).cluster.node_places, 1);
    assert_eq!([1, 4, 5].map(|w| gene.places_max(w)), [163_840, 40_960, 0]);
}

#[test]
fn the_usual_machine_is_the_simulators() {
    let cluster = machine("cluster");
    assert_eq!(
        cluster.machine(1_024, 1, cluster.task_ns(25)),
        Machine::default()
    );
}

#[test]
fn the_form_in_the_documentation_is_read() {
    let source = include_str!("mod.rs");
    let (_, form) = source.split_once("//! ```toml\n").expect("a form");
    let (form, _) = form.split_once("//! ```\n").expect("its end");
    let form: String = form
        .lines()
        .map(|line| line[3..].to_owned() + "\n")
        .collect();
    let read = parse("form", &form).unwrap_or_else(|error| panic!("{error}"));
    for key in KEYS.iter().filter(|key| key.section.name().is_some()) {
        let line = format!(" {} = ", key.file_name);
        let is_there = key.unit == Unit::Network || form.contains(&line);
        assert!(is_there, "no {line}");
    }
    assert_eq!((read.nodes, read.cores, read.memory_gib), (64, 32, None));
    assert_eq!(read.figures[0].origin, Origin::Unsaid);
    let cluster = read.machine(64, 8, 400).cluster;
    let tree = Shape::FatTree {
        nodes: 8,
        leaves: 4,
        up: [4, 2],
    };
    assert_eq!((cluster.shape, cluster.node_places), (tree, 4));
    assert_eq!((cluster.mb_per_s, cluster.link_mb_per_s), (12_500, 12_500));
    assert!(cluster.ordered && cluster.ranks.worker);
    assert_eq!(read.costs().loot_task_ns, 0);
    assert_eq!(
        read.figures[1].origin,
        Origin::Source("data sheet".to_owned())
    );
}

#[test]
fn a_mistake_has_a_line_a_column_and_what_is_expected() {
    for (old, new, expected) in [
        (
            "nodes = {",
            "knots = {",
            "my.toml:5:1: unknown key knots, expected one of name, title, sources, nodes",
        ),
        ("nodes = {", "nodes = {,", "my.toml:5:10: "),
        (
            "value = 8192",
            "value = 0",
            "my.toml:5:9: nodes 0: a whole number from 1 to 1048576",
        ),
        (
            "value = 8192",
            "value = -3",
            "my.toml:5:9: nodes -3: a whole number from 1 to 1048576",
        ),
        (
            "value = 8192",
            "value = 2.5",
            "my.toml:5:9: nodes 2.5: a whole number",
        ),
        (
            "value = 8192",
            "value = \"many\"",
            "my.toml:5:9: nodes \"many\": a whole number",
        ),
        (
            "value = 8192",
            "value = \"discovered\"",
            "my.toml:5:9: nodes \"discovered\": a whole number",
        ),
        (
            "value = 8192, assumed",
            "value = 8192, guessed",
            "my.toml:5:9: nodes: unknown key guessed, expected one of value, source, assumed",
        ),
        ("{ value = 8192,", "{", "missing key value"),
        (
            "assumed = \"a usual node\"",
            "assumed = \"x\", source = \"y\"",
            "either a source or assumed, not both",
        ),
        (
            "nodes = {",
            "nodes = [1] # {",
            "my.toml:5:9: nodes [1]: a whole number",
        ),
        (
            "workers = { value = 1,",
            "workers = { value = 17,",
            "my.toml:7:11: workers 17: at most the 16 cores of a node",
        ),
        (
            "value = 1024",
            "value = 131073",
            "my.toml:8:18: default_places 131073: a whole number from 1 to 131072",
        ),
        (
            "value = 8192",
            "value = 2",
            "my.toml:8:18: default_places 1024: at most 32",
        ),
        (
            "value = 16, assumed = \"400",
            "value = 0, assumed = \"400",
            "my.toml:11:12: speed.slowdown 0: a number from 0.001 to 1000000",
        ),
        (
            "slowdown = {",
            "# {",
            "my.toml:10:1: speed is empty: one of slowdown",
        ),
        ("look_ns = {", "# {", "missing key look_ns"),
        (
            "value = 100, assumed = \"a probe",
            "value = 1000000001, assumed = \"a probe",
            "my.toml:14:11: costs.look_ns 1000000001: a whole number from 0 to 1000000000",
        ),
        (
            "far_ns",
            "hop_ns",
            "my.toml:21:1: missing key far_ns: 8192 nodes send",
        ),
        (
            "[network]",
            "[network]\ntorus = [2, 2, 2]",
            "my.toml:22:9: torus [2, 2, 2]: room for 8 nodes, not for all 8192",
        ),
        (
            "[network]",
            "[network]\ntorus = [2, 2]",
            "my.toml:22:9: torus [2, 2]: 3 whole numbers from 1 to 65536",
        ),
        (
            "[network]",
            "[network]\ntorus = { value = [0, 2, 2] }",
            "my.toml:22:9: torus [0, 2, 2]: 3 whole numbers from 1 to 65536",
        ),
        (
            "[network]",
            "[network]\nfat_tree = [8, 4, 0, 2]",
            "my.toml:22:12: fat_tree [8, 4, 0, 2]: 4 whole numbers from 1 to 65536",
        ),
        (
            "[network]",
            "[network]\ndragonfly = [2, 4, 2]",
            "my.toml:22:13: dragonfly [2, 4, 2]: room for 72 nodes, not for all 8192",
        ),
        (
            "[network]",
            "[network]\ntorus = [32, 32, 32]\nfat_tree = [8, 4, 4, 2]",
            "my.toml:23:12: torus, fat_tree, dragonfly: only one of them",
        ),
        (
            "[network]",
            "[network]\nmb_per_s = 12500",
            "loot_task_ns and mb_per_s: only one of them",
        ),
        (
            "loot_task_ns = {",
            "# {",
            "missing key loot_task_ns, or mb_per_s",
        ),
        (
            "[network]",
            "[network]\ntorus = [32, 32, 32]\nlink_mb_per_s = 1000000001",
            "network.link_mb_per_s 1000000001: a whole number from 0 to 1000000000",
        ),
        (
            "[network]",
            "[network]\nlink_mb_per_s = 10",
            "my.toml:22:17: link_mb_per_s: a network without torus, fat_tree or dragonfly has no links",
        ),
        (
            "[network]",
            "[network]\ntask_bytes = 1048577",
            "network.task_bytes 1048577: a whole number from 0 to 1048576",
        ),
        (
            "[network]",
            "[network]\nordered = 1",
            "my.toml:22:11: network.ordered 1: true or false",
        ),
        (
            "[ranks]",
            "[ranks]\nplaces = 131073",
            "my.toml:29:10: ranks.places 131073: a whole number from 0 to 131072",
        ),
        ("message_ns =", "places =", "missing key message_ns"),
        (
            "look_ns",
            "loook_ns",
            "my.toml:14:12: unknown key costs.loook_ns, expected one of look_ns, serve_ns",
        ),
        (
            "value = 20, assumed",
            "value = 1001, assumed",
            "network.jitter_percent 1001: a whole number from 0 to 1000",
        ),
        (
            "\"cluster\"",
            "\"a cluster\"",
            "my.toml:2:8: name \"a cluster\": 1 to 40 letters",
        ),
        ("name = \"cluster\"", "name = cluster", "my.toml:2:8: "),
        ("[costs]", "[costs", "my.toml:13:7: "),
    ] {
        let line = refusal(old, new);
        assert!(
            line.contains(expected),
            "{new}: no {expected:?} in {line:?}"
        );
        assert_eq!(line.lines().count(), 1, "{line:?}");
        assert!(
            line.starts_with("my.toml:") && !line.contains("accepted"),
            "{line}"
        );
    }
}

#[test]
fn a_name_that_is_none_and_a_file_that_is_none_are_told_apart() {
    let line = |name: &str| find(name).map_or_else(|e| e.to_string(), |d| d.name);
    assert!(
        line("trilokka").contains(
            "trilokka: no such machine, and no such file; the machines are cluster, host"
        )
    );
    assert!(line("no/such.toml").starts_with("no/such.toml: "));
    assert!(line("/").starts_with("/: "));
}
