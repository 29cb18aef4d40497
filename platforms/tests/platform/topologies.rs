//! Machines imported from topologies, and the trees they give.

use super::*;

/// Each place as `kind label bytes workers`.
fn rows(tree: &Hierarchy) -> Vec<String> {
    let row = |place| {
        let (kind, label) = (tree.kind(place), tree.label(place));
        format!(
            "{kind} {label} {} {:?}",
            tree.bytes(place),
            tree.subtree(place)
        )
    };
    tree.domains().map(row).collect()
}

fn cpus(platform: &Platform) -> Vec<usize> {
    let workers = 0..platform.hierarchy().workers();
    workers.map(|w| platform.cpu(w).unwrap()).collect()
}

#[test]
fn two_sockets_with_two_threads_a_core() {
    let machine = machine("xeon-2x4x2.xml");
    assert_eq!((machine.cores(), machine.allowed().len()), (8, 16));
    assert_eq!(machine.cpus(), (0..16).collect::<Vec<_>>());
    assert_eq!(
        machine.model().unwrap(),
        "Intel(R) Xeon(R) Silver 4112 CPU @ 2.60GHz"
    );
    let second = &machine.allowed()[12];
    let expected = Cpu {
        id: 12,
        thread: 1,
        core: 4,
        node: Some(1),
        package: Some(1),
    };
    assert_eq!(*second, expected);
    let l3: Vec<_> = machine
        .caches()
        .iter()
        .filter(|cache| cache.level == 3)
        .collect();
    assert_eq!(l3[0].cpus, [0, 1, 2, 3, 8, 9, 10, 11]);
    assert_eq!((l3.len(), l3[1].bytes), (2, 20_185_088));
    let platform = Platform::of(&machine);
    let rows = rows(platform.hierarchy());
    assert_eq!(rows.len(), 11);
    assert_eq!(rows[0], "mem  206158430208 0..16");
    assert_eq!(rows[1], "mem socket 0 + node 0 + L3 103079215104 0..8");
    assert_eq!(rows[3], "core L2 + L1 + core 0 1048576 0..2");
    assert_eq!(cpus(&platform)[..10], [0, 8, 1, 9, 2, 10, 3, 11, 4, 12]);
    let victims: Vec<_> = platform.hierarchy().victims(0).take(3).collect();
    assert_eq!(victims, [1, 2, 3], "the other thread of the core first");
}

#[test]
fn power8_with_eight_threads_a_core_in_the_older_form() {
    let machine = machine("power8-4x3x8.xml");
    assert_eq!((machine.cores(), machine.allowed().len()), (12, 96));
    assert_eq!(
        machine.cpus()[..13],
        [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 1]
    );
    let nodes: Vec<_> = machine.nodes().iter().map(|node| node.id).collect();
    assert_eq!(nodes, [0, 1, 16, 17]);
    let platform = Platform::of(&machine);
    let tree = platform.hierarchy();
    assert_eq!((tree.len(), tree.workers()), (1 + 4 + 12, 96));
    assert_eq!(tree.label(Domain(3)), "socket 2 + node 16");
    assert_eq!(tree.label(Domain(5)), "L3 + L2 + L1 + core 0");
    assert_eq!(tree.bytes(Domain(5)), 8 << 20);
    assert_eq!(cpus(&platform), (0..96).collect::<Vec<_>>());
}

#[test]
fn arm_with_processors_that_are_not_allowed() {
    let machine = machine("arm-2x24.xml");
    assert_eq!((machine.cores(), machine.allowed().len()), (43, 43));
    assert!(!machine.cpus().contains(&30) && machine.cpus()[0] == 4);
    let platform = Platform::of(&machine);
    let tree = platform.hierarchy();
    assert_eq!(tree.workers(), 43);
    assert_eq!(rows(tree)[1], "mem node 0 + L3 68719476736 0..20");
    assert_eq!(rows(tree)[2], "mem node 1 + L3 68719476736 20..43");
    assert_eq!(tree.len(), 1 + 2 + 43);
    assert_eq!(platform.cpu(0), Some(4));
}

#[test]
fn a_topology_is_a_platform_too() {
    let file = folder("topology/power8-4x3x8.xml");
    let platform = Platform::from_file(file).unwrap();
    assert_eq!(platform, Platform::of(&machine("power8-4x3x8.xml")));
    assert!(platform.info().starts_with("POWER8"));
}

#[test]
fn each_mistake_in_a_topology_is_one_line_with_its_place() {
    let check =
        |old: &str, new: &str, mark: &str, message: &str| check(TOPOLOGY, old, new, mark, message);
    check(
        "version=\"2.0\"",
        "version=\"7\"",
        "version=\"7\"",
        "version 7: 1, 2 or 3",
    );
    let pu = "type=\"PU\" os_index=\"0\"";
    check(
        pu,
        "type=\"PU\" os_index=\"-1\"",
        "os_index=\"-1\"",
        "os_index -1: from 0 to 1048575",
    );
    check(
        pu,
        "type=\"PU\" os_index=\"8\"",
        "cpuset=\"0x00000001\"/>",
        "cpuset 0x00000001: that of PU 8 alone",
    );
    check(
        pu,
        "type=\"PU\"",
        "<object type=\"PU\" cpuset",
        "PU without os_index: its number",
    );
    check(
        "type=\"NUMANode\" os_index=\"1\"",
        "type=\"NUMANode\"",
        "<object type=\"NUMANode\" cpuset",
        "NUMANode without os_index: its number",
    );
    check(
        "cpuset=\"0x00000f0f\" local_memory",
        "local_memory",
        "<object type=\"NUMANode\" os_index=\"0\"",
        "NUMANode without cpuset: the processors near it",
    );
    check(
        "local_memory=\"103079215104\"",
        "local_memory=\"96G\"",
        "local_memory=\"96G\"",
        "size 96G: a whole number of bytes",
    );
    check(
        "cache_size=\"20185088\" depth=\"3\"",
        "depth=\"0\"",
        "depth=\"0\"",
        "depth 0: the level of a cache, 1 to 9",
    );
    check(
        "cache_size=\"20185088\" depth=\"3\"",
        "",
        "<object type=\"L3Cache\"",
        "cache without depth: its level, 1 to 9",
    );
    check(
        "cache_type=\"0\"",
        "cache_type=\"3\"",
        "cache_type=\"3\"",
        "cache_type 3: 0, 1 or 2",
    );
    let words = "hexadecimal words of 32 bits, such as 0x0000000f,0xffffffff";
    let allowed = "allowed_cpuset=\"0x0000ffff\"";
    for set in ["0xfffffffff", "0xf...f", "+1", "", "0x0000ffff,0xfg"] {
        let new = format!("allowed_cpuset=\"{set}\"");
        check(
            allowed,
            &new,
            &new,
            &format!("allowed_cpuset {set}: {words}"),
        );
    }
    let none = "allowed_cpuset=\"0x00010000\"";
    check(
        allowed,
        none,
        none,
        "allowed_cpuset 0x00010000: some PU of this machine",
    );
    check(
        "<object type=\"Machine\"",
        "<object",
        "<object os_index=\"0\" cpuset=\"0x0000ffff\"",
        "object without a type: Machine, Package, Core, PU, …",
    );
    check(
        "type=\"PU\" os_index=\"8\" cpuset=\"0x00000100\"",
        "type=\"PU\" os_index=\"0\"",
        "<object type=\"PU\" os_index=\"0\"/>",
        "os_index 0: there is a PU with this number already",
    );
}

#[test]
fn topologies_without_what_they_must_have_are_refused() {
    let line = |text: &str| refusal(machine_from_xml("my", text));
    assert_eq!(
        line("<HPT/>"),
        "my:1:1: element HPT: topology is the outermost one"
    );
    assert_eq!(
        line("<topology/>"),
        "my:1:1: 0 objects in topology: 1, the machine, with all others in it"
    );
    assert_eq!(
        line("<topology><object type=\"Machine\"/></topology>"),
        "my:1:11: 0 objects of type PU: at least 1"
    );
    let two = "<topology><object type=\"PU\" os_index=\"0\"/><object type=\"PU\" os_index=\"1\"/></topology>";
    assert_eq!(
        line(two),
        "my:1:43: 2 objects in topology: 1, the machine, with all others in it"
    );
    assert!(line(&TOPOLOGY[..TOPOLOGY.len() / 2]).contains("not XML"));
}

/// Tables that contradict each other give a tree all the same, with every processor in it once.
#[test]
fn a_tree_comes_of_any_tables() {
    let mut state = 1u64;
    let mut dice = |most: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % most
    };
    for _ in 0..500 {
        let count = 1 + dice(12) as usize;
        let cpus: Vec<Cpu> = (0..count)
            .map(|id| Cpu {
                id: id * 3,
                thread: 0,
                core: dice(6) as usize,
                node: None,
                package: (dice(3) > 0).then(|| dice(3) as usize),
            })
            .collect();
        let cache = |dice: &mut dyn FnMut(u64) -> u64| Cache {
            level: 1 + dice(3) as u32,
            kind: "Unified".to_owned(),
            bytes: 1 << 20,
            cpus: (0..40).filter(|_| dice(3) == 0).collect(),
        };
        let caches = (0..dice(8)).map(|_| cache(&mut dice)).collect();
        let machine = Machine::described(None, cpus, caches, Vec::new());
        let platform = Platform::of(&machine);
        let mut found = self::cpus(&platform);
        found.sort();
        let mut expected = machine.cpus();
        expected.sort();
        assert_eq!(found, expected, "{machine:?}");
    }
}

#[test]
fn a_tower_of_caches_gives_a_tree() {
    let cpu = |id| Cpu {
        id,
        thread: 0,
        core: id,
        node: None,
        package: None,
    };
    let cache = |from: usize| Cache {
        level: 1,
        kind: "Data".to_owned(),
        bytes: 0,
        cpus: (from..100).collect(),
    };
    let machine = Machine::described(
        None,
        (0..100).map(cpu).collect(),
        (0..100).map(cache).collect(),
        Vec::new(),
    );
    assert_eq!(cpus(&Platform::of(&machine)).len(), 100);
}

#[test]
fn this_machine_is_a_platform() {
    let platform = Platform::discover();
    let mut found = cpus(&platform);
    found.sort();
    let mut expected = Machine::discover().cpus();
    expected.sort();
    assert_eq!(found, expected);
}
