//! Topologies of each version of hwloc, in the shapes of many machines.

use super::*;
use crate::shape::{self, HYBRID, Shape};

/// 64 cores with four threads each, a cache for every two.
const KNIGHT: Shape = Shape::new(1, 1, 32, 2, 4);

#[test]
fn each_version_describes_the_same_machine() {
    for shape in [
        Shape::new(2, 1, 1, 64, 1),
        Shape::new(2, 1, 12, 8, 2),
        KNIGHT,
        Shape::new(1, 0, 1, 1, 1),
        Shape::new(2, 4, 2, 2, 2),
    ] {
        let machine = shape.machine();
        assert_eq!(machine.allowed().len(), shape.cpus());
        assert_eq!(machine.cores(), shape.cores());
        assert_eq!(machine.nodes().len(), shape.packages * shape.nodes);
        let tree = Platform::of(&machine);
        assert_eq!(tree.hierarchy().workers() as usize, shape.cpus());
        for version in ["2.0", "2.1", "3.0", "3.1"] {
            let other = machine_from_xml("my.xml", &shape.xml(version)).unwrap();
            assert_eq!(other, machine, "{version}");
        }
    }
}

#[test]
fn offline_and_disallowed_processors_are_left_out() {
    let shape = Shape {
        offline: |cpu| cpu % 4 == 1,
        allowed: |cpu| cpu < 96,
        ..Shape::new(2, 1, 8, 4, 2)
    };
    let machine = shape.machine();
    let expected: Vec<usize> = (0..96).filter(|cpu| cpu % 4 != 1).collect();
    let found: Vec<usize> = machine.allowed().iter().map(|cpu| cpu.id).collect();
    assert_eq!(found, expected);
    let workers = Platform::of(&machine).hierarchy().workers();
    assert_eq!(workers as usize, expected.len());
}

#[test]
fn a_hybrid_processor_with_a_memory_of_its_own() {
    let machine = machine_from_xml("hybrid.xml", HYBRID).unwrap();
    assert_eq!((machine.cores(), machine.allowed().len()), (6, 8));
    assert_eq!(machine.cpus(), [0, 2, 4, 5, 6, 7, 1, 3]);
    let nodes: Vec<_> = machine.nodes().iter().map(|node| node.id).collect();
    assert_eq!(nodes, [0], "the other has no processor");
    let platform = Platform::of(&machine);
    let tree = platform.hierarchy();
    assert_eq!(tree.workers(), 8);
    assert_eq!(tree.domains_of_kind(&Kind::Cache).count(), 1);
}

#[test]
fn truncated_and_contradictory_topologies_are_refused_in_one_line() {
    let text = KNIGHT.xml("3.0");
    // Every document that ends early, but for the end of its last line.
    for end in (0..text.len() - 12).step_by(997) {
        let line = refusal(machine_from_xml("my.xml", &text[..end]));
        assert!(line.starts_with("my.xml:") && line.contains("not XML"));
    }
    for (old, new, message) in [
        (
            "<object type=\"Core\" os_index=\"4\" cpuset=\"0x0000000c\">",
            "<object type=\"Core\" os_index=\"4\" cpuset=\"0x00000004\">",
            "cpuset 0x00000004: with PU 3, which is in it",
        ),
        (
            "os_index=\"7\" cpuset",
            "os_index=\"6\" cpuset",
            "cpuset 0x00000080: that of PU 6 alone",
        ),
        (
            "allowed_cpuset=\"0x000000ff\"",
            "allowed_cpuset=\"0x00000f00\"",
            "allowed_cpuset 0x00000f00: some PU of this machine",
        ),
        (
            "version=\"3.0\"",
            "version=\"4.0\"",
            "version 4.0: 1, 2 or 3",
        ),
    ] {
        assert!(HYBRID.contains(old), "{old}");
        let line = refusal(machine_from_xml("my.xml", &HYBRID.replacen(old, new, 1)));
        assert!(line.ends_with(message), "{line}");
    }
    assert_eq!(shape::set(&[0, 33]), "0x00000002,0x00000001");
}
