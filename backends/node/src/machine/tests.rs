//! Machines made of files.

use super::*;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A machine made of files; removed at the end of the test.
struct Fake(PathBuf);

impl Fake {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tautline-machine-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn put(&self, path: &str, text: &str) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn cpu(&self, id: usize, siblings: &str) -> &Self {
        let topology = format!("sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
        self.put(&topology, siblings)
    }

    fn read(&self, allowed: &[usize]) -> Machine {
        Machine::read(&self.0, allowed)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn without_tables_every_allowed_cpu_is_a_core() {
    let machine = Fake::new().read(&[1, 3]);
    assert_eq!(machine.cpus(), [1, 3]);
    assert_eq!(machine.cores(), 2);
    assert_eq!((machine.quota(), machine.model()), (None, None));
    assert!(machine.caches().is_empty() && machine.nodes().is_empty());
    assert_eq!(machine.online(), 2);
    let all = vec![1, 3];
    let expected = [
        Fallback::Cores(all.clone()),
        Fallback::Caches(all.clone()),
        Fallback::Nodes(all),
    ];
    assert_eq!(machine.fallbacks(), expected);
    let fake = Fake::new();
    fake.put("sys/devices/system/cpu/online", "0-5,7\n");
    assert_eq!(fake.read(&[1, 3]).online(), 7);
}

#[test]
fn this_machine_has_a_cpu() {
    let machine = Machine::discover();
    assert!(!machine.cpus().is_empty());
    assert!((1..=machine.allowed().len()).contains(&machine.cores()));
}

#[test]
fn cores_come_before_their_second_threads() {
    let fake = Fake::new();
    fake.cpu(0, "0-1")
        .cpu(1, "0-1")
        .cpu(2, "2-3\n")
        .cpu(3, "2-3");
    assert_eq!(fake.read(&[0, 1, 2, 3]).cpus(), [0, 2, 1, 3]);
    assert_eq!(fake.read(&[0, 1, 2, 3]).cores(), 2);
    let sparse = fake.read(&[1, 3]);
    assert_eq!((sparse.cpus(), sparse.cores()), (vec![1, 3], 2));
    assert_eq!(sparse.allowed()[0].core, 0);
}

#[test]
fn a_sparse_mask_is_never_widened_and_never_counted_through() {
    let fake = Fake::new();
    // Eight threads a core, as on POWER; the mask has holes, and a core with its first thread
    // missing.
    for cpu in 0..32 {
        let first = cpu / 8 * 8;
        fake.cpu(cpu, &format!("{first}-{}", first + 7));
    }
    let mask = [1, 3, 9, 24, 25, 31];
    let machine = fake.read(&mask);
    assert_eq!(machine.cpus(), [1, 9, 24, 3, 25, 31]);
    assert_eq!(machine.cores(), 3);
    for (percent, cpus) in [(10, &[1][..]), (200, &[1, 9]), (450, &[1, 9, 24, 3, 25])] {
        fake.put("proc/self/cgroup", "0::/\n")
            .put("sys/fs/cgroup/cpu.max", &format!("{percent}000 100000\n"));
        assert_eq!(fake.read(&mask).cpus(), cpus, "{percent} %");
    }
    fake.put("sys/fs/cgroup/cpu.max", "9900000 100000\n");
    assert_eq!(fake.read(&mask).cpus().len(), mask.len());
}

#[test]
fn packages_are_those_of_the_tables() {
    let fake = Fake::new();
    for (cpu, package) in [(0, "1\n"), (1, "0"), (2, "-1")] {
        let table = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        fake.put(&table, package);
    }
    let machine = fake.read(&[0, 1, 2, 3]);
    let packages: Vec<_> = machine.allowed().iter().map(|cpu| cpu.package).collect();
    assert_eq!(packages, [Some(1), Some(0), None, None]);
}

#[test]
fn a_described_machine_is_used_like_one_that_was_read() {
    let fake = Fake::new();
    fake.cpu(0, "0,4").cpu(4, "0,4").cpu(1, "1,5").cpu(5, "1,5");
    let read = fake.read(&[0, 1, 4, 5]);
    let mut cpus = read.allowed().to_vec();
    cpus.reverse();
    cpus.iter_mut().for_each(|cpu| cpu.thread = 7);
    let described = Machine::described(None, cpus, Vec::new(), Vec::new());
    assert_eq!(described.allowed(), read.allowed());
    assert!(described.fallbacks().is_empty());
    assert_eq!(described.cpus(), [0, 1, 4, 5]);
}

/// As if the mask of the process had been narrower when the tables were read.
#[test]
fn a_restricted_machine_is_that_of_a_narrower_mask() {
    let fake = Fake::new();
    fake.cpu(0, "0,4").cpu(4, "0,4").cpu(1, "1,5").cpu(5, "1,5");
    for (node, cpus) in [(0, "0,4"), (1, "1-2,5")] {
        fake.put(&format!("sys/devices/system/node/node{node}/cpulist"), cpus);
    }
    for (cpu, index, level, cpus) in [
        (0, 0, 1, "0,4"),
        (4, 0, 1, "0,4"),
        (1, 0, 1, "1,5"),
        (5, 0, 1, "1,5"),
        (0, 1, 3, "0-1,4-5"),
        (1, 1, 3, "0-1,4-5"),
        (4, 1, 3, "0-1,4-5"),
        (5, 1, 3, "0-1,4-5"),
    ] {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        fake.put(&format!("{folder}/shared_cpu_list"), cpus)
            .put(&format!("{folder}/level"), &format!("{level}\n"))
            .put(&format!("{folder}/type"), "Unified\n");
    }
    fake.put("sys/devices/system/cpu/online", "0-5\n")
        .put("proc/self/cgroup", "0::/\n")
        .put("sys/fs/cgroup/cpu.max", "250000 100000\n");
    // The tables of processors 2 and 3 are missing.
    let machine = fake.read(&[0, 1, 2, 3, 4, 5]);
    for share in [
        &[0, 1, 2, 3, 4, 5][..],
        &[0, 4],
        &[4, 5],
        &[1, 2, 5],
        &[3],
        &[0, 5],
    ] {
        assert_eq!(machine.restricted(share), fake.read(share), "{share:?}");
    }
}

#[test]
fn the_quota_rounds_up_and_limits() {
    let fake = Fake::new();
    fake.put("proc/self/cgroup", "0::/job/step\n")
        .put("sys/fs/cgroup/job/cpu.max", "150000 100000\n")
        .put("sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
    let machine = fake.read(&[0, 1, 2, 3]);
    assert_eq!(machine.quota(), Some(1.5));
    assert_eq!(machine.cpus(), [0, 1]);
    fake.put("sys/fs/cgroup/job/step/cpu.max", "1000 100000");
    assert_eq!(fake.read(&[2, 3]).cpus(), [2]);
}

#[test]
fn the_old_hierarchy_counts_too() {
    let fake = Fake::new();
    fake.put(
        "proc/self/cgroup",
        "5:cpuset:/\n4:cpu,cpuacct:/docker/ab\n0::/\n",
    )
    .put(
        "proc/self/mountinfo",
        "30 20 0:1 /docker/ab /ctl\\040cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
    )
    .put("ctl cpu/cpu.cfs_quota_us", "250000\n")
    .put("ctl cpu/cpu.cfs_period_us", "100000\n");
    assert_eq!(fake.read(&[0, 1, 2, 3]).quota(), Some(2.5));
    fake.put("ctl cpu/cpu.cfs_quota_us", "-1\n");
    assert_eq!(fake.read(&[0, 1, 2, 3]).quota(), None);
}

#[test]
fn nonsense_in_the_tables_is_no_limit() {
    let fake = Fake::new();
    fake.put("proc/self/cgroup", "0::/../..\nrubbish\n")
        .put("sys/fs/cgroup/cpu.max", "many few")
        .put("proc/self/mountinfo", "\n - \n 1 2 3 - cgroup2\n")
        .cpu(0, "x-,9999999999999999999999");
    let machine = fake.read(&[0]);
    assert_eq!((machine.quota(), machine.cores()), (None, 1));
    let quota = Fallback::Quota("many few".to_owned());
    assert_eq!(machine.fallbacks().last(), Some(&quota));
}

#[test]
fn caches_and_nodes_are_cut_to_the_allowed_cpus() {
    let fake = Fake::new();
    for (cpu, level, size, shared) in [(0, 1, "32K", "0"), (0, 3, "8M", "0-3"), (2, 3, "8M", "0-3")]
    {
        let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{level}");
        fake.put(&format!("{cache}/level"), &level.to_string())
            .put(&format!("{cache}/type"), "Unified\n")
            .put(&format!("{cache}/size"), size)
            .put(&format!("{cache}/shared_cpu_list"), shared);
    }
    fake.put("sys/devices/system/node/node0/cpulist", "2-3\n")
        .put(
            "sys/devices/system/node/node0/meminfo",
            "Node 0 MemTotal:  16 kB\n",
        )
        .put("sys/devices/system/node/node1/cpulist", "0-1\n")
        .put("sys/devices/system/node/node7/cpulist", "\n")
        .put("proc/cpuinfo", "processor : 0\nmodel name\t: A Chip\n");
    let machine = fake.read(&[0, 2]);
    assert_eq!(machine.model(), Some("A Chip"));
    assert_eq!(machine.caches().len(), 2);
    assert_eq!(machine.caches()[1].cpus, [0, 2]);
    assert_eq!(machine.caches()[1].bytes, 8 << 20);
    let nodes: Vec<_> = machine.nodes().iter().map(|n| (n.id, n.bytes)).collect();
    assert_eq!(nodes, [(0, 16 << 10), (1, 0)]);
    assert_eq!(machine.cpus(), [2, 0]);
}

#[test]
fn a_mask_without_processors_is_that_of_the_first() {
    let machine = Fake::new().read(&[]);
    assert_eq!((machine.cpus(), machine.online()), (vec![0], 1));
}

#[test]
fn a_quota_of_less_than_a_processor_leaves_one() {
    let fake = Fake::new();
    fake.put("proc/self/cgroup", "0::/\n");
    for (limit, quota) in [
        ("25000 100000\n", Some(0.25)),
        ("1000 1000000", Some(0.001)),
        ("max 100000\n", None),
        ("0 100000", None),
        ("100000", None),
        ("-5 100000", None),
        ("100000 0", None),
        ("", None),
    ] {
        fake.put("sys/fs/cgroup/cpu.max", limit);
        let machine = fake.read(&[4, 5]);
        assert_eq!(machine.quota(), quota, "{limit:?}");
        let expected: &[usize] = if quota.is_some() { &[4] } else { &[4, 5] };
        assert_eq!(machine.cpus(), expected, "{limit:?}");
        let malformed = Fallback::Quota(limit.trim().to_owned());
        let known = quota.is_some() || limit.starts_with("max");
        assert_eq!(
            machine.fallbacks().contains(&malformed),
            !known,
            "{limit:?}"
        );
    }
}

/// As in containers that hide a part of the tables, and under kernels that have only some of them.
#[test]
fn partial_tables_are_used_as_far_as_they_go() {
    let fake = Fake::new();
    // Two processors of a core, one without a table, one whose table names another, one that is
    // empty.
    fake.cpu(0, "0-1").cpu(1, "0-1").cpu(3, "4-5").cpu(4, "\n");
    fake.put("sys/devices/system/node/node0/cpulist", "0-1\n")
        .put("sys/devices/system/node/node1/meminfo", "no list")
        .put("sys/devices/system/node/possible", "0-1\n")
        .put("sys/devices/system/cpu/cpu0/cache/index0/level", "1");
    let machine = fake.read(&[0, 1, 2, 3, 4]);
    assert_eq!(machine.cpus(), [2, 3, 4, 0, 1]);
    let cores: Vec<_> = machine.allowed().iter().map(|cpu| cpu.core).collect();
    assert_eq!(cores, [0, 0, 2, 3, 4]);
    assert_eq!(
        machine.fallbacks(),
        [
            Fallback::Cores(vec![2, 3, 4]),
            Fallback::Caches(vec![0, 1, 2, 3, 4]),
            Fallback::Nodes(vec![2, 3, 4]),
        ]
    );
}

#[test]
fn tables_that_are_not_text_are_missing_tables() {
    let fake = Fake::new();
    fake.cpu(0, "0").put("sys/devices/system/cpu/online", "0-3");
    let table = "sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
    fs::write(fake.0.join(table), [0xff, 0xfe]).unwrap();
    // A folder in the place of a table.
    fs::create_dir_all(fake.0.join("proc/self/cgroup")).unwrap();
    let machine = fake.read(&[0]);
    assert_eq!(machine.fallbacks()[0], Fallback::Cores(vec![0]));
    assert_eq!((machine.quota(), machine.online()), (None, 4));
}

/// Two cores of two threads with a cache and a memory node each, of which the first is above
/// processor 63.
#[test]
fn masks_are_read_where_there_are_no_lists() {
    let fake = Fake::new();
    let low = "00000000,00000000,00000003\n";
    let high = "0000000c,00000000,00000000\n";
    for (cpu, set) in [(0, low), (1, low), (66, high), (67, high)] {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        let cache = format!("{folder}/cache/index0");
        fake.put(&format!("{folder}/topology/thread_siblings"), set)
            .put(&format!("{cache}/shared_cpu_map"), set)
            .put(&format!("{cache}/level"), "2\n")
            .put(&format!("{cache}/type"), "Unified\n");
    }
    fake.put("sys/devices/system/node/node0/cpumap", low)
        .put("sys/devices/system/node/node1/cpumap", high);
    let machine = fake.read(&[0, 1, 66, 67]);
    assert_eq!((machine.cores(), machine.cpus()), (2, vec![0, 66, 1, 67]));
    let cpus = |sets: Vec<&Vec<usize>>| sets.into_iter().cloned().collect::<Vec<_>>();
    let halves = [vec![0, 1], vec![66, 67]];
    assert_eq!(
        cpus(machine.caches().iter().map(|it| &it.cpus).collect()),
        halves
    );
    assert_eq!(
        cpus(machine.nodes().iter().map(|it| &it.cpus).collect()),
        halves
    );
    assert_eq!(machine.fallbacks(), []);

    // A damaged mask is a missing one, and a list counts before a mask.
    fake.put(
        "sys/devices/system/cpu/cpu0/topology/thread_siblings",
        "x,,\n",
    );
    fake.cpu(1, "1");
    let machine = fake.read(&[0, 1, 66, 67]);
    assert_eq!(
        (machine.cores(), machine.fallbacks()),
        (3, &[Fallback::Cores(vec![0])][..])
    );
}
