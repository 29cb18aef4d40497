//! What this machine lends the process: processors, quota, cores, caches, memory nodes.
//!
//! Everything is read from the system's own tables below a root that tests replace; a table that is
//! missing leaves its answer empty and never fails. The mask that a launcher set is the upper bound:
//! nothing here widens it.

mod cgroup;
mod mask;
mod tree;

pub use mask::pin;

use std::path::Path;

/// A processor that this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// Its number in the system.
    pub id: usize,
    /// Its position among the hardware threads of its core, 0 for the first allowed one.
    pub thread: usize,
    /// The number of the first hardware thread of its core, allowed or not; its own if unknown.
    pub core: usize,
    /// The memory node it belongs to.
    pub node: Option<usize>,
    /// The package (socket) it is in.
    pub package: Option<usize>,
}

/// A cache that allowed processors share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// 1 is nearest.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size, 0 if unknown.
    pub bytes: u64,
    /// The allowed processors behind it.
    pub cpus: Vec<usize>,
}

/// A memory node with allowed processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number in the system.
    pub id: usize,
    /// Its memory, 0 if unknown.
    pub bytes: u64,
    /// Its allowed processors.
    pub cpus: Vec<usize>,
}

/// The part of a machine that this process may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    model: Option<String>,
    cpus: Vec<Cpu>,
    online: usize,
    quota: Option<f64>,
    caches: Vec<Cache>,
    nodes: Vec<Node>,
}

impl Machine {
    /// Reads this machine, as the calling thread may use it.
    pub fn discover() -> Self {
        Self::read(Path::new("/"), &mask::allowed())
    }

    /// Reads the tables below `root`, for the processors `allowed`.
    pub fn read(root: &Path, allowed: &[usize]) -> Self {
        let nodes = tree::nodes(root, allowed);
        Self {
            model: tree::model(root),
            cpus: tree::cpus(root, allowed, &nodes),
            online: tree::online(root).max(allowed.len()),
            quota: cgroup::quota(root),
            caches: tree::caches(root, allowed),
            nodes,
        }
    }

    /// A machine that another table describes: its processor's name, the processors that may be used,
    /// their caches and memory nodes. No quota is known of it. [`Cpu::thread`] is counted here, in the
    /// order of the numbers.
    ///
    /// # Panics
    /// No processor.
    pub fn described(
        model: Option<String>,
        mut cpus: Vec<Cpu>,
        mut caches: Vec<Cache>,
        nodes: Vec<Node>,
    ) -> Self {
        assert!(!cpus.is_empty(), "a machine without a processor");
        cpus.sort_by_key(|cpu| cpu.id);
        tree::count_threads(&mut cpus);
        caches.sort_by_key(|cache| cache.level);
        Self {
            model,
            online: cpus.len(),
            cpus,
            quota: None,
            caches,
            nodes,
        }
    }

    /// The processor's name.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The allowed processors, by number.
    pub fn allowed(&self) -> &[Cpu] {
        &self.cpus
    }

    /// How many processors there are, allowed or not; at least the allowed ones.
    pub fn online(&self) -> usize {
        self.online
    }

    /// How many processors' worth of time the control group grants, if it sets a limit.
    pub fn quota(&self) -> Option<f64> {
        self.quota
    }

    /// The caches of the allowed processors, nearest first.
    pub fn caches(&self) -> &[Cache] {
        &self.caches
    }

    /// The memory nodes of the allowed processors.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many cores the allowed processors belong to.
    pub fn cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| cpu.thread == 0).count()
    }

    /// The processors that workers are pinned to by default, in this order: one for each allowed
    /// processor, at most the quota rounded up; first one of each core, node by node.
    pub fn cpus(&self) -> Vec<usize> {
        let mut order: Vec<&Cpu> = self.cpus.iter().collect();
        order.sort_by_key(|cpu| (cpu.thread, cpu.node, cpu.id));
        // `as` saturates: a quota beyond every count limits nothing.
        let most = self.quota.map_or(usize::MAX, |cpus| cpus.ceil() as usize);
        order.iter().take(most.max(1)).map(|cpu| cpu.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A machine made of files; gone at the end of the test.
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
        // Eight threads a core, as on POWER; the mask has holes, and a core with its first thread missing.
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
        assert_eq!(described, read);
        assert_eq!(described.cpus(), [0, 1, 4, 5]);
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
    }

    #[test]
    fn caches_and_nodes_are_cut_to_the_allowed_cpus() {
        let fake = Fake::new();
        for (cpu, level, size, shared) in
            [(0, 1, "32K", "0"), (0, 3, "8M", "0-3"), (2, 3, "8M", "0-3")]
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
}
