//! The settings of a runtime, with their values, sources and reasons.
#![forbid(unsafe_code)]

use super::placement::Placement;
use crate::host::pinning::ranges;
use crate::setting::{
    self, Choice, PHASER_DEGREE, PIN, PLACES, PLATFORM, Rules, Setting, Source, WORKERS,
};
use crate::{Machine, phaser};
use tautline_core::glb::Config;
use tautline_node::machine::Fallback;

/// The facts from which the settings of a runtime follow.
pub(crate) struct Facts<'a> {
    pub machine: &'a Machine,
    pub balancing: &'a Config,
    /// The rules that variables set.
    pub rules: &'a Rules,
    pub places: Source,
    pub workers: Source,
    /// The reason for the places, if a division of the machine gives them.
    pub division: Option<String>,
    /// The processor of each worker; empty if they are not pinned.
    pub cpus: &'a [usize],
    pub placement: &'a Placement,
    /// Unexpected properties of the placement, and ignored variables.
    pub surprises: Vec<String>,
    /// The name of the described platform.
    pub platform: Option<&'a str>,
    pub described: Source,
    pub phasers: phaser::Config,
    pub degree: Source,
}

impl Facts<'_> {
    pub(crate) fn choices(&self) -> Vec<Choice> {
        let mut all = self.shape();
        all.extend(fallbacks(self.machine));
        let surprise = |line: &String| {
            let source = Source::Detected;
            Choice::chosen("placement", line, source, line.clone())
        };
        all.extend(self.surprises.iter().map(surprise));
        all.extend(setting::choices(self.balancing, self.rules));
        all
    }

    fn shape(&self) -> Vec<Choice> {
        let Config { places, .. } = *self.balancing;
        let workers = self.balancing.all_workers();
        let processors = self.machine.cpus().len();
        let default = match &self.division {
            Some(why) => format!("{places}: {why}"),
            None => PLACES.why.to_owned(),
        };
        let each = match self.platform {
            Some(_) => "one for each of the platform".to_owned(),
            None => format!("{processors}, {}", WORKERS.why),
        };
        let (pinned, memories) = match self.cpus {
            [] => ("not pinned".to_owned(), self.platform.unwrap_or("one")),
            cpus => (ranges(cpus), self.platform.unwrap_or("one")),
        };
        let choice = |setting: Setting, value: String, source, why: String| {
            let why = match source {
                Source::Rule | Source::Detected if !why.starts_with(&value) => {
                    format!("{value}, {why}")
                }
                _ => why,
            };
            Choice::chosen(setting.name, value, source, why)
        };
        let degree = self.phasers.degree.to_string();
        vec![
            choice(PLACES, places.to_string(), self.places, default),
            choice(WORKERS, workers.to_string(), self.workers, each),
            choice(
                PIN,
                pinned,
                self.placement.source,
                match &self.placement.why_not {
                    Some(why) => why.clone(),
                    None => PIN.why.to_owned(),
                },
            ),
            choice(
                PLATFORM,
                memories.to_owned(),
                self.described,
                PLATFORM.why.to_owned(),
            ),
            choice(
                PHASER_DEGREE,
                format!("degree {degree}"),
                self.degree,
                PHASER_DEGREE.why.to_owned(),
            ),
        ]
    }
}

/// Returns the assumptions about `machine` where it states nothing, and the limit of its control
/// group.
pub(crate) fn fallbacks(machine: &Machine) -> Vec<Choice> {
    let unknown = |setting, cpus: &[usize], assumed: &str| {
        let why = format!("unknown for CPUs {}: {assumed}", ranges(cpus));
        Choice::chosen(setting, "unknown", Source::Detected, why)
    };
    let row = |fallback: &Fallback| match fallback {
        Fallback::Cores(cpus) => unknown("cores", cpus, "each counts as a core"),
        Fallback::Caches(cpus) => unknown("caches", cpus, "none is shared"),
        Fallback::Nodes(cpus) => unknown("memory nodes", cpus, "one memory is assumed"),
        Fallback::Quota(text) => {
            let why = format!("{}: malformed, taken for no limit", text.escape_debug());
            Choice::chosen("CPU quota", "none", Source::Detected, why)
        }
        _ => Choice::chosen("fallback", "", Source::Detected, format!("{fallback:?}")),
    };
    let mut rows: Vec<_> = machine.fallbacks().iter().map(row).collect();
    if let Some(quota) = machine.quota() {
        let workers = machine.cpus().len();
        if workers < machine.allowed().len() || quota < 1.0 {
            let plural = if workers == 1 { "" } else { "s" };
            let why = format!("{quota:.3} CPUs: {workers} worker{plural}");
            rows.push(Choice::chosen(
                "CPU quota",
                format!("{quota:.3}"),
                Source::Detected,
                why,
            ));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A folder with these files, which is removed at the end.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("tautline-{name}-{}", std::process::id()));
            for (file, text) in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The lines that `tautline topo --explain` shows of the machine in `root`, with two
    /// processors.
    fn lines(root: &Root) -> Vec<String> {
        let machine = Machine::read(&root.0, &[0, 1]);
        let plan = crate::execution::runtime::Builder::on(machine)
            .plan()
            .unwrap();
        let line = |choice: &Choice| format!("{}: {choice}", choice.setting);
        plan.explain().iter().map(line).collect()
    }

    /// A control group of the second generation with this limit.
    fn limited(name: &str, limit: &str) -> Vec<String> {
        lines(&Root::new(
            name,
            &[
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/cpu.max", limit),
            ],
        ))
    }

    #[test]
    fn a_machine_without_a_description_is_explained() {
        let lines = lines(&Root::new("bare", &[("proc/self/status", "Name: x\n")]));
        for part in [
            "cores: unknown for CPUs 0-1: each counts as a core [detected]",
            "memory nodes: unknown for CPUs 0-1: one memory is assumed [detected]",
            "workers: 2, one for each processor that this process may use [detected]",
        ] {
            assert!(lines.iter().any(|line| line == part), "{part}: {lines:#?}");
        }
    }

    /// Topology files that are empty, and one that is no number.
    #[test]
    fn a_partial_description_is_explained() {
        let lines = lines(&Root::new(
            "partial",
            &[
                ("sys/devices/system/cpu/cpu0/topology/core_id", "0\n"),
                (
                    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
                    "0\n",
                ),
                ("sys/devices/system/cpu/cpu1/topology/core_id", ""),
                (
                    "sys/devices/system/cpu/cpu1/topology/physical_package_id",
                    "no\n",
                ),
            ],
        ));
        let cores = lines.iter().find(|line| line.starts_with("cores: "));
        assert!(cores.is_some_and(|line| line.contains("1")), "{lines:#?}");
    }

    #[test]
    fn a_quota_below_one_processor_leaves_one_worker() {
        let lines = limited("quota", "50000 100000\n");
        for part in [
            "CPU quota: 0.500 CPUs: 1 worker [detected]",
            "workers: 1, one for each processor that this process may use [detected]",
        ] {
            assert!(lines.iter().any(|line| line == part), "{part}: {lines:#?}");
        }
    }

    /// A quota of fewer processors than are allowed is that of a shared machine: workers are not
    /// pinned unless that is requested.
    #[test]
    fn a_quota_leaves_workers_unpinned() {
        let quota = |name: &str, files: &[(&str, &str)]| {
            let mut all = vec![("proc/self/cgroup", "0::/a/b\n")];
            all.extend(files);
            Root::new(name, &all)
        };
        let own = ("sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
        let parents = ("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
        let v1 = ("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
        let period = ("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
        let unlimited = ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        let all = ("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n");
        for (root, expected) in [
            (quota("own", &[own]), Some("1.000")),
            (quota("parent", &[unlimited, parents]), Some("1.500")),
            (quota("least", &[all, parents]), Some("1.500")),
            (quota("all", &[all]), None),
            (quota("unlimited", &[unlimited]), None),
            (
                quota(
                    "old",
                    &[("proc/self/cgroup", "1:cpu,cpuacct:/a\n"), v1, period],
                ),
                Some("0.500"),
            ),
        ] {
            let machine = Machine::read(&root.0, &[0, 1]);
            let builder = crate::execution::runtime::Builder::on(machine);
            let plan = builder.plan().unwrap();
            let row = plan.explain().iter().find(|row| row.setting == PIN.name);
            let row = row.expect("every plan explains where workers are");
            match expected {
                None => assert_eq!((plan.pinned, &*row.value), (true, "0-1")),
                Some(quota) => {
                    assert_eq!((plan.pinned, &*row.value), (false, "not pinned"));
                    assert!(plan.cpus.is_empty());
                    let why = format!(
                        "not pinned: a quota of {quota} of 2 CPUs is that of a shared machine; \
                         `pinned(true)` or TAUTLINE_NO_PIN=0 pins them nevertheless"
                    );
                    assert_eq!((row.source, &row.why), (Source::Detected, &why));
                }
            }
            let asked = builder.pinned(true).plan().unwrap();
            assert!(asked.pinned && asked.cpus[0] == 0);
        }
    }

    #[test]
    fn a_malformed_quota_is_explained() {
        let lines = limited("no-quota", "half 100000\n");
        let found = lines.iter().find(|line| line.starts_with("CPU quota: "));
        let found = found.expect("a line about the quota");
        assert!(
            found.contains("half 100000: malformed, taken for no limit"),
            "{found}"
        );
    }
}
