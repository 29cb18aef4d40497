//! Discovery on the tables of machines that others gathered, and on tables that lie.

use std::fs;
use std::path::{Path, PathBuf};
use tautline_node::Machine;
use tautline_node::machine::Fallback;

/// Tables in a folder, which is removed at the end of the test.
struct Tables(PathBuf);

impl Tables {
    fn new(name: &str) -> Self {
        let name = format!("tautline-tables-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Writes those of a text: a line for each, with its path and its contents. `{}` in a path
    /// stands for the numbers from 0; their contents are divided by `|`, and `*N` repeats one; `~`
    /// is a table that is missing.
    fn of(name: &str, text: &str) -> Self {
        let tables = Self::new(name);
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        for line in lines {
            let (path, contents) = line.split_once('\t').expect("a path and its contents");
            if !path.contains("{}") {
                tables.put(path, &plain(contents));
                continue;
            }
            let all = contents.split('|').flat_map(|part| {
                let (content, times) = part.split_once('*').unwrap_or((part, "1"));
                std::iter::repeat_n(content, times.parse().expect("a number"))
            });
            for (number, content) in all.enumerate().filter(|(_, content)| *content != "~") {
                tables.put(&path.replace("{}", &number.to_string()), &plain(content));
            }
        }
        tables
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder for a table");
        fs::write(path, content).expect("a table that can be written");
    }

    fn read(&self, processors: usize) -> Machine {
        Machine::read(&self.0, &(0..processors).collect::<Vec<_>>())
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn plain(escaped: &str) -> String {
    escaped.replace("\\n", "\n").replace("\\0", "\0")
}

/// Cores, packages and memory nodes.
fn counts(machine: &Machine) -> [usize; 3] {
    let packages = machine.allowed().iter().filter_map(|cpu| cpu.package);
    let mut packages: Vec<usize> = packages.collect();
    packages.sort_unstable();
    packages.dedup();
    [machine.cores(), packages.len(), machine.nodes().len()]
}

#[test]
fn kunpeng_920_has_its_cores_and_nodes() {
    let tables = Tables::of("kunpeng", include_str!("machine/kunpeng-920.txt"));
    let machine = tables.read(128);
    assert_eq!(counts(&machine), [128, 2, 4]);
    assert_eq!(machine.model(), Some("HiSilicon part 0xd01"));
    assert_eq!(machine.nodes()[3].cpus, (96..128).collect::<Vec<_>>());
    assert_eq!(machine.caches().len(), 3 * 128 + 4);
    assert_eq!((machine.fallbacks(), machine.online()), (&[][..], 128));
}

#[test]
fn power7_has_its_caches_and_nodes() {
    let tables = Tables::of("power7", include_str!("machine/power7.txt"));
    let machine = tables.read(256);
    assert_eq!(counts(&machine), [64, 0, 8]);
    let model = "POWER7 (architected), altivec supported";
    assert_eq!(machine.model(), Some(model));
    let nodes: Vec<usize> = machine.nodes().iter().map(|node| node.id).collect();
    assert_eq!(nodes, [0, 1, 4, 5, 8, 9, 12, 13]);
    assert_eq!(machine.nodes()[7].cpus, (224..256).collect::<Vec<_>>());
    // Of the first node, whose caches the tables have: four a core.
    let machine = tables.read(32);
    assert_eq!((machine.caches().len(), machine.fallbacks()), (32, &[][..]));
    let last = machine.caches().last().expect("the caches of eight cores");
    assert_eq!((last.level, last.bytes), (3, 4 << 20));
    assert_eq!(last.cpus, [28, 29, 30, 31]);
}

#[test]
fn a_mainframe_has_cores_and_nothing_else() {
    let tables = Tables::of("z196", include_str!("machine/z196.txt"));
    let machine = tables.read(20);
    assert_eq!(counts(&machine), [20, 0, 0]);
    assert_eq!(machine.model(), Some("IBM machine 2817"));
    let all: Vec<usize> = (0..20).collect();
    let missing = [Fallback::Caches(all.clone()), Fallback::Nodes(all)];
    assert_eq!(machine.fallbacks(), missing);
}

#[test]
fn modules_of_two_cores_are_two_cores() {
    let tables = Tables::of("opteron", include_str!("machine/opteron-6276.txt"));
    let machine = tables.read(64);
    assert_eq!(counts(&machine), [64, 4, 8]);
    assert_eq!(machine.fallbacks(), []);
    let last = machine.caches().last().expect("caches of eight nodes");
    assert_eq!((last.level, last.cpus.len()), (3, 8));
}

#[test]
fn processors_that_are_offline_leave_the_others_whole() {
    let tables = Tables::of("offline", include_str!("machine/xeon-offline.txt"));
    let online: Vec<usize> = (4..21).collect();
    let machine = Machine::read(&tables.0, &online);
    assert_eq!(counts(&machine), [17, 2, 1]);
    assert_eq!((machine.online(), machine.allowed()[0].id), (17, 4));
    let halves = [
        (4..21).step_by(2).collect::<Vec<_>>(),
        (5..21).step_by(2).collect(),
    ];
    let caches = machine.caches();
    let last: Vec<&Vec<usize>> = caches[17..].iter().map(|cache| &cache.cpus).collect();
    assert_eq!((caches.len(), last), (17 + 2, halves.iter().collect()));
    // The node of the others is offline, too.
    assert_eq!(machine.fallbacks(), [Fallback::Nodes(halves[0].clone())]);
    assert_eq!(
        (machine.nodes()[0].id, &machine.nodes()[0].cpus),
        (1, &halves[1])
    );
    // Those without a known node come first.
    assert_eq!(machine.cpus(), halves.concat());
}

#[test]
fn a_hybrid_of_arm_has_both_kinds() {
    let tables = Tables::of("gb10", include_str!("machine/gb10.txt"));
    let machine = tables.read(20);
    assert_eq!(counts(&machine), [20, 1, 1]);
    assert_eq!(machine.model(), Some("Arm parts 0xd87, 0xd85"));
    let caches = machine.caches().iter();
    let of = |level| caches.clone().filter(move |cache| cache.level == level);
    let second: Vec<u64> = of(2).map(|cache| cache.bytes >> 10).collect();
    assert_eq!((second[0], second[5], second.len()), (512, 2048, 20));
    let third: Vec<_> = of(3)
        .map(|cache| (cache.bytes >> 20, cache.cpus.len()))
        .collect();
    assert_eq!(third, [(8, 10), (16, 10)]);
    assert_eq!(machine.fallbacks(), []);
}

/// Small cores have one thread and share their caches, so they count as whole cores before the
/// second threads of large ones.
#[test]
fn a_hybrid_of_intel_has_cores_with_and_without_threads() {
    let tables = Tables::of("hybrid", include_str!("machine/core-i7-hybrid.txt"));
    let machine = tables.read(20);
    assert_eq!(counts(&machine), [14, 1, 1]);
    let first = (0..12).step_by(2).chain(12..20);
    let order: Vec<usize> = first.chain((1..12).step_by(2)).collect();
    assert_eq!(machine.cpus(), order);
    let second = machine.caches().iter().filter(|cache| cache.level == 2);
    let second: Vec<usize> = second.map(|cache| cache.cpus.len()).collect();
    assert_eq!(second, [2, 2, 2, 2, 2, 2, 4, 4]);
    assert_eq!(machine.fallbacks(), []);
}

#[test]
fn what_tables_cannot_mean_is_not_believed() {
    let topology = "sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    for siblings in [
        "0-999999", "0-65535", "0-64", "3-0", "\0\0", "0x0", "-1", "0-1-2", "1",
    ] {
        let tables = Tables::new("siblings");
        tables.put(topology, siblings);
        let machine = tables.read(2);
        assert_eq!(machine.cores(), 2, "{siblings:?}");
        let cores = Fallback::Cores(vec![0, 1]);
        assert_eq!(machine.fallbacks()[0], cores, "{siblings:?}");
    }
    // Each node claims all processors.
    let tables = Tables::new("nodes");
    for node in 0..8 {
        tables.put(
            &format!("sys/devices/system/node/node{node}/cpulist"),
            "0-7\n",
        );
    }
    let machine = tables.read(8);
    assert!(machine.nodes().is_empty() && machine.allowed()[0].node.is_none());
    let nodes = Fallback::Nodes((0..8).collect());
    assert_eq!(machine.fallbacks().last(), Some(&nodes));
    // Other tables with any of these bytes: the machine has the wanted processors all the same.
    for rubbish in [
        "",
        "\0",
        "0-999999",
        "9-0",
        "ffffffff,".repeat(9999).as_str(),
        "4294967295K",
    ] {
        let tables = Tables::new("rubbish");
        for name in ["level", "type", "size", "shared_cpu_list", "shared_cpu_map"] {
            tables.put(
                &format!("sys/devices/system/cpu/cpu0/cache/index0/{name}"),
                rubbish,
            );
        }
        for name in ["cpulist", "cpumap", "meminfo"] {
            tables.put(&format!("sys/devices/system/node/node0/{name}"), rubbish);
        }
        for name in ["core_id", "physical_package_id", "core_cpus"] {
            tables.put(
                &format!("sys/devices/system/cpu/cpu0/topology/{name}"),
                rubbish,
            );
        }
        tables.put("sys/devices/system/cpu/online", rubbish);
        tables.put("proc/cpuinfo", rubbish);
        let machine = tables.read(2);
        assert_eq!(machine.cpus().len(), 2, "{rubbish:.20}");
    }
}

/// The trees of hwloc's tests, by name: processors, cores, packages, memory nodes with processors,
/// whether caches are known.
#[rustfmt::skip] // A table.
const TREES: &[(&str, usize, [usize; 3], bool)] = &[
    ("128arm-2pa2n8cluster4co", 128, [128, 2, 4], true),
    ("128ia64-17n4s2c", 128, [128, 64, 16], false), // the 17th node has no processors
    ("16amd64-4n4c-cgroup-distance-merge", 16, [16, 4, 4], true),
    ("16amd64-8n2c", 16, [16, 8, 8], true),
    ("16amd64-8n2c-cpusets", 15, [15, 8, 8], true), // one processor is offline
    ("16em64t-4s2c2t", 16, [8, 4, 1], true),
    ("20s390-2g2g2s4co", 20, [20, 0, 0], false),
    ("256ppc-8n8s4t", 256, [64, 0, 8], true),
    ("2arm-2c", 2, [2, 1, 0], false),
    ("2i386-2c-nohugepage", 2, [2, 1, 0], true),
    ("2ps3-2t", 2, [1, 0, 0], false),
    ("32amd64-4s2n4c-cgroup", 32, [32, 4, 8], true),
    ("32em64t-2n8c+1mic", 16, [16, 2, 2], true), // its hardware threads are offline
    ("32intel64-2p8co2t+8ve", 32, [16, 2, 2], true),
    ("40intel64-4n10c+pci-conflicts", 40, [40, 4, 4], true),
    ("48amd64-4d2n6c-sparse", 48, [48, 4, 8], true),
    ("64amd64-4s2n4ca2co", 64, [64, 4, 8], true),
    ("8em64t-2s2ca2c", 8, [8, 2, 1], true),
    ("8em64t-2s2ca2c-buggynuma", 8, [8, 2, 0], true), // each of its nodes claims all processors
    ("8em64t-2s4c-heterogeneous", 8, [8, 2, 1], true),
    ("8ia64-2n2s2c", 8, [8, 4, 2], true),
    ("96em64t-4n4d3ca2co", 96, [96, 16, 4], true),
];

/// More trees of hwloc's tests, which need not be in the folder. Those named `fake` are made up.
#[rustfmt::skip] // A table.
const MORE: &[(&str, usize, [usize; 3], bool)] = &[
    ("16em64t-4s2c2t-offlines", 12, [7, 4, 1], true), // 4 of 16 processors are offline
    ("16em64t-4s2ca2c-cpusetreorder", 16, [16, 4, 1], true),
    ("16ia64-8n2s", 16, [16, 8, 8], true), // the two packages of a node have one number
    ("20em64t-hybrid-1p6c2t+2ca4co1t", 20, [14, 1, 1], true),
    ("256ia64-64n2s2c", 256, [256, 128, 64], false),
    ("2i386-2t-hugepagesizecount", 2, [1, 1, 0], true),
    ("2pa-pcidomain32bits", 2, [2, 2, 1], true),
    ("40intel64-2g2n4c+pci", 40, [40, 4, 4], true),
    ("4fake-4gr1nu1pu", 4, [4, 1, 4], false),
    ("64fake-4n2s2ca2c2t", 64, [32, 8, 4], true),
    ("8ia64-2s2c2t", 8, [4, 2, 1], true),
    ("fakecpuid1f-64intel64-2p4d2n2c2t", 64, [32, 4, 16], true), // its tables have four packages
    ("fakeheterocpunuma", 24, [12, 2, 0], false), // its nodes overlap
    ("fakeheteromemtiers", 6, [6, 1, 3], true),
    ("fakememinitiators-1np2c+1npp+gi", 8, [8, 2, 4], false),
    ("fakepcilocalities", 40, [40, 4, 4], false),
    ("memorysidecaches", 80, [40, 2, 4], true),
    ("nvidia-dgx-gb10", 20, [20, 1, 1], true),
    ("nvidiagpunumanodes", 32, [8, 2, 2], true), // further nodes are memory of GPUs
    ("offline-cpu0-node0", 17, [17, 2, 1], true), // 7 of 24 processors, and a node, are offline
];

/// Reads the unpacked trees of the folder that `TAUTLINE_TREES` names. Trees other than those of
/// the tables are read and printed.
#[test]
#[ignore = "cargo ci deep: the trees are not part of the repository"]
fn gathered_trees_are_what_their_names_tell() {
    let folder = std::env::var_os("TAUTLINE_TREES").expect("TAUTLINE_TREES: a folder of trees");
    let mut read = 0;
    for entry in fs::read_dir(folder).expect("a folder of trees").flatten() {
        let (root, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if !root.join("sys/devices/system/cpu").is_dir() {
            continue;
        }
        let machine = Machine::read(&root, &processors(&root));
        let found = (machine.allowed().len(), counts(&machine));
        let has_caches = !machine.caches().is_empty();
        println!("{name}: {found:?} {:?}", machine.model());
        let named = TREES.iter().chain(MORE).find(|tree| tree.0 == name);
        if let Some((_, cpus, counts, caches)) = named {
            assert_eq!((found, has_caches), ((*cpus, *counts), *caches), "{name}");
            read += usize::from(TREES.iter().any(|tree| tree.0 == name));
        }
    }
    assert_eq!(read, TREES.len(), "trees of the table");
}

/// The processors of a tree that run; if no table lists them, those with a folder whose table does
/// not show them as offline.
fn processors(root: &Path) -> Vec<usize> {
    let folder = root.join("sys/devices/system/cpu");
    let online = fs::read_to_string(folder.join("online")).unwrap_or_default();
    let parts = online.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    let mut all: Vec<usize> = parts.flatten().collect();
    if all.is_empty() {
        let entries = fs::read_dir(folder)
            .expect("a folder of processors")
            .flatten();
        all.extend(entries.filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix("cpu")?.parse::<usize>().ok();
            let online = fs::read_to_string(entry.path().join("online"));
            number.filter(|_| online.map_or(true, |online| online.trim() != "0"))
        }));
        all.sort_unstable();
    }
    all
}
