//! Machines of many shapes, as topologies in the form of `lstopo --of xml`.

use std::fmt::Write as _;
use tautline::Machine;
use tautline::platform::machine_from_xml;

/// Performance cores of two threads and efficiency cores of one, four of which share a cache; their
/// kinds; and a memory without processors.
pub(crate) const HYBRID: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="3.0">
  <info name="hwlocVersion" value="3.0.0"/>
  <object type="Machine" os_index="0" cpuset="0x000000ff" allowed_cpuset="0x000000ff" allowed_nodeset="0x3" gp_index="1">
    <object type="NUMANode" os_index="1" cpuset="0x0" nodeset="0x2" local_memory="17179869184" subtype="CXL"/>
    <object type="Package" os_index="0" cpuset="0x000000ff">
      <object type="MemCache" cpuset="0x000000ff" depth="1" cache_size="1073741824" cache_type="0">
        <object type="NUMANode" os_index="0" cpuset="0x000000ff" local_memory="8589934592"/>
      </object>
      <object type="Die" os_index="0" cpuset="0x000000ff">
        <object type="Group" cpuset="0x0000000f" kind="4">
          <object type="Core" os_index="0" cpuset="0x00000003">
            <object type="PU" os_index="0" cpuset="0x00000001"/><object type="PU" os_index="1" cpuset="0x00000002"/>
          </object>
          <object type="Core" os_index="4" cpuset="0x0000000c">
            <object type="PU" os_index="2" cpuset="0x00000004"/><object type="PU" os_index="3" cpuset="0x00000008"/>
          </object>
        </object>
        <object type="L2Cache" cpuset="0x000000f0" cache_size="2097152" depth="2" cache_type="0">
          <object type="Core" os_index="8" cpuset="0x00000010"><object type="PU" os_index="4" cpuset="0x00000010"/></object>
          <object type="Core" os_index="9" cpuset="0x00000020"><object type="PU" os_index="5" cpuset="0x00000020"/></object>
          <object type="Core" os_index="10" cpuset="0x00000040"><object type="PU" os_index="6" cpuset="0x00000040"/></object>
          <object type="Core" os_index="11" cpuset="0x00000080"><object type="PU" os_index="7" cpuset="0x00000080"/></object>
        </object>
      </object>
    </object>
  </object>
  <distances2hetero nbobjs="2" kind="6" name="XGMI"><indexes length="10">Package:0 </indexes></distances2hetero>
  <memattr name="Bandwidth" flags="5"><memattr_value target_obj_type="NUMANode" value="1"/></memattr>
  <cpukind cpuset="0x0000000f" forced_efficiency="1"><info name="CoreType" value="IntelCore"/></cpukind>
  <cpukind cpuset="0x000000f0"><info name="CoreType" value="IntelAtom"/></cpukind>
</topology>
"#;

/// A machine whose parts are all alike, but for the processors that are missing.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub packages: usize,
    /// Memory nodes of a package; with none the machine has one memory of which nothing is said.
    pub nodes: usize,
    /// Last-level caches of a node.
    pub caches: usize,
    /// Cores of a cache.
    pub cores: usize,
    pub threads: usize,
    /// Processors that are in no object.
    pub offline: fn(usize) -> bool,
    /// Processors that may be used.
    pub allowed: fn(usize) -> bool,
    /// Memory nodes that have no processor.
    pub far: usize,
}

impl Shape {
    /// All processors online and allowed.
    pub(crate) const fn new(
        packages: usize,
        nodes: usize,
        caches: usize,
        cores: usize,
        threads: usize,
    ) -> Self {
        Self {
            packages,
            nodes,
            caches,
            cores,
            threads,
            offline: |_| false,
            allowed: |_| true,
            far: 0,
        }
    }

    pub(crate) fn cores(&self) -> usize {
        self.packages * self.nodes.max(1) * self.caches * self.cores
    }

    pub(crate) fn cpus(&self) -> usize {
        self.cores() * self.threads
    }

    /// Numbered through all first threads, then all second ones.
    fn of_core(&self, core: usize) -> Vec<usize> {
        let cpus = (0..self.threads).map(|thread| thread * self.cores() + core);
        cpus.filter(|&cpu| !(self.offline)(cpu)).collect()
    }

    fn of_cores(&self, first: usize, count: usize) -> Vec<usize> {
        (first..first + count)
            .flat_map(|core| self.of_core(core))
            .collect()
    }

    /// The topology, as a version of hwloc writes it.
    pub(crate) fn xml(&self, version: &str) -> String {
        let all: Vec<usize> = (0..self.cpus()).collect();
        let online = self.of_cores(0, self.cores());
        let allowed: Vec<usize> = online
            .iter()
            .copied()
            .filter(|&cpu| (self.allowed)(cpu))
            .collect();
        let mut text = format!(
            "<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n\
             <topology version=\"{version}\">\n<object type=\"Machine\" cpuset=\"{}\" \
             complete_cpuset=\"{}\" allowed_cpuset=\"{}\">\n<info name=\"Backend\" value=\"Linux\"/>\n",
            set(&online),
            set(&all),
            set(&allowed)
        );
        for memory in 0..self.far {
            let index = self.packages * self.nodes + memory;
            let about = format!("os_index=\"{index}\" local_memory=\"1073741824\"");
            open(&mut text, "NUMANode", &about, &[]);
            text.push_str("</object>\n");
        }
        let of_package = self.cores() / self.packages;
        for package in 0..self.packages {
            let cpus = self.of_cores(package * of_package, of_package);
            let index = format!("os_index=\"{package}\"");
            open(&mut text, "Package", &index, &cpus);
            let of_node = of_package / self.nodes.max(1);
            for node in 0..self.nodes.max(1) {
                let number = package * self.nodes.max(1) + node;
                self.node(&mut text, number, of_node);
            }
            text.push_str("</object>\n");
        }
        text.push_str(
            "</object>\n<distances2 type=\"NUMANode\" nbobjs=\"1\" kind=\"5\" indexing=\"os\">",
        );
        text.push_str("<indexes length=\"2\">0 </indexes></distances2>\n");
        text.push_str("<distances2hetero nbobjs=\"2\" kind=\"6\" name=\"NVLink\"/>\n");
        text.push_str("<support name=\"discovery.pu\"/>\n<cpukind cpuset=\"0x1\"/>\n</topology>\n");
        text
    }

    fn node(&self, text: &mut String, number: usize, cores: usize) {
        let cpus = self.of_cores(number * cores, cores);
        open(text, "Group", "", &cpus);
        if self.nodes > 0 {
            open(text, "MemCache", "cache_size=\"1\" depth=\"1\"", &cpus);
            let index = format!("os_index=\"{number}\" local_memory=\"1073741824\"");
            open(text, "NUMANode", &index, &cpus);
            text.push_str("</object>\n</object>\n");
        }
        for cache in 0..self.caches {
            let first = number * cores + cache * self.cores;
            let cpus = self.of_cores(first, self.cores);
            if cpus.is_empty() {
                continue;
            }
            let about = "cache_size=\"33554432\" depth=\"3\" cache_type=\"0\"";
            open(text, "L3Cache", about, &cpus);
            for core in first..first + self.cores {
                let cpus = self.of_core(core);
                if cpus.is_empty() {
                    continue;
                }
                open(text, "Core", "", &cpus);
                for cpu in cpus {
                    open(text, "PU", &format!("os_index=\"{cpu}\""), &[cpu]);
                    text.push_str("</object>\n");
                }
                text.push_str("</object>\n");
            }
            text.push_str("</object>\n");
        }
        text.push_str("</object>\n");
    }

    /// The machine that the topology describes.
    pub(crate) fn machine(&self) -> Machine {
        let machine = machine_from_xml("shape.xml", &self.xml("3.0"));
        machine.unwrap_or_else(|error| panic!("{error}"))
    }
}

fn open(text: &mut String, kind: &str, about: &str, cpus: &[usize]) {
    let cpus = set(cpus);
    let _ = writeln!(text, "<object type=\"{kind}\" {about} cpuset=\"{cpus}\">");
}

/// A set in words of 32 bits, the highest first.
pub(crate) fn set(cpus: &[usize]) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let mut bits = vec![0u32; words];
    for cpu in cpus {
        bits[cpu / 32] |= 1 << (cpu % 32);
    }
    let words: Vec<String> = bits
        .iter()
        .rev()
        .map(|word| format!("0x{word:08x}"))
        .collect();
    words.join(",")
}
