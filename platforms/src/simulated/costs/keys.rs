//! The rows of the costs.
#![forbid(unsafe_code)]

use super::{Access, Key, Section, Unit};

/// One second: more would overflow the virtual clock.
const COST_MAX_NS: u64 = 1_000_000_000;
/// An hour.
const FAULT_MAX_NS: u64 = 3_600_000_000_000;
const RATE_MAX_MB_PER_S: u64 = 1_000_000_000;
const BYTES_MAX: u64 = 1 << 20;
const JITTER_MAX_PERCENT: u64 = 1_000;
/// The maximum number of simulated places.
const PLACES_MAX: u64 = 1 << 17;

/// The access to a field with a number.
macro_rules! number {
    ($($field:ident).+) => {
        Access::Number {
            get: |costs| costs.$($field).+.into(),
            set: |costs, number| costs.$($field).+ = number.try_into().expect("it is within bounds"),
        }
    };
}

/// All costs, in the order of lines and data.
pub const KEYS: &[Key] = &[
    ns("task_ns", number!(machine.task_ns))
        .from(1)
        .option()
        .says("One task [default: its usual time by the machine's slowdown]"),
    ns("look_ns", number!(machine.look_ns))
        .of(Section::Costs)
        .says("A turn's poll when there is nothing to do"),
    ns("serve_ns", number!(machine.serve_ns))
        .of(Section::Costs)
        .says("Receiving one message, and what follows from it except the division of a bag"),
    ns("send_ns", number!(machine.send_ns))
        .of(Section::Costs)
        .option()
        .says("Passing one message to the network"),
    ns("split_ns", number!(machine.split_ns))
        .of(Section::Costs)
        .says("Dividing a bag"),
    ns("merge_ns", number!(machine.merge_ns))
        .of(Section::Costs)
        .says("Putting work into a reserve, or taking it out"),
    ns("wake_ns", number!(machine.cluster.wake_ns))
        .of(Section::Costs)
        .says("From waking a sleeping worker to its next turn"),
    ns("spin_ns", number!(machine.cluster.spin_ns))
        .says("The time for which a thread without work spins before it sleeps [default: wake_ns of the machine]"),
    of("network", Unit::Network, Access::Network)
        .of(Section::Network)
        .option()
        .says(
            "Network between nodes: flat, torus:X,Y,Z, fat-tree:NODES,LEAVES,UP,UP2 (nodes of a leaf switch, leaf switches \
             of a pod, links up from a switch of each level) or dragonfly:NODES,ROUTERS,GLOBALS (nodes of a router, \
             routers of a group, links from a router to other groups)",
        ),
    ns("near_ns", number!(machine.cluster.near_ns))
        .of(Section::Network)
        .says("A message within a node"),
    ns("far_ns", number!(machine.cluster.far_ns))
        .of(Section::Network)
        .option()
        .says("A message to another node, over the first hop"),
    ns("hop_ns", number!(machine.cluster.hop_ns))
        .of(Section::Network)
        .absent(0)
        .says("Each further hop: link of a torus, switch of other shapes"),
    ns("gap_ns", number!(machine.cluster.gap_ns))
        .of(Section::Network)
        .absent(0)
        .says("The time for which a node's adapter is busy with one message to another node"),
    ns("loot_task_ns", number!(machine.loot_task_ns))
        .of(Section::Network)
        .absent(0)
        .says("Additional time of a message for each task of its loot [default: 0 with mb_per_s]"),
    rate("mb_per_s", number!(machine.cluster.mb_per_s))
        .of(Section::Network)
        .says("Bandwidth of a node's adapter; 0: unlimited"),
    rate("link_mb_per_s", number!(machine.cluster.link_mb_per_s))
        .of(Section::Network)
        .says("Bandwidth of a link between switches; 0: unlimited, and links are not simulated"),
    of("message_bytes", Unit::Bytes, number!(machine.message_bytes))
        .of(Section::Network)
        .to(BYTES_MAX)
        .absent(32)
        .says("Size of a message without its loot"),
    of("task_bytes", Unit::Bytes, number!(machine.task_bytes))
        .of(Section::Network)
        .to(BYTES_MAX)
        .absent(32)
        .says("Size of a task of loot"),
    of("jitter_percent", Unit::Percent, number!(machine.cluster.jitter_percent))
        .of(Section::Network)
        .to(JITTER_MAX_PERCENT)
        .says("Largest relative delay of a message"),
    of("ordered", Unit::Switch, Access::Switch(|costs| &mut costs.machine.cluster.ordered))
        .of(Section::Network)
        .absent(0)
        .says("Whether no message overtakes another of the same two processes, or places"),
    of("rank_places", Unit::Count, number!(machine.cluster.ranks.places))
        .of(Section::Ranks)
        .called("places")
        .to(PLACES_MAX)
        .absent(0)
        .option()
        .says("Places of a process; messages between processes are encoded. 0: one process"),
    ns("rank_message_ns", number!(machine.cluster.ranks.message_ns))
        .of(Section::Ranks)
        .called("message_ns")
        .says("Encoding or decoding a message between processes, beside its bytes"),
    rate("encode_mb_per_s", number!(machine.cluster.ranks.encode_mb_per_s))
        .of(Section::Ranks)
        .says("Rate of encoding; 0: unlimited"),
    rate("decode_mb_per_s", number!(machine.cluster.ranks.decode_mb_per_s))
        .of(Section::Ranks)
        .says("Rate of decoding; 0: unlimited"),
    of(
        "communication_worker",
        Unit::Switch,
        Access::Switch(|costs| &mut costs.machine.cluster.ranks.worker),
    )
    .of(Section::Ranks)
    .called("worker")
    .absent(0)
    .says("Whether a thread of each process encodes and decodes in place of its workers"),
    of("fault_seed", Unit::Count, number!(faults.seed))
        .of(Section::Faults)
        .to(u64::MAX)
        .says("Seed that selects the messages which are late or lost [default: 0]"),
    ns("timeout_ns", number!(faults.timeout_ns))
        .of(Section::Faults)
        .from(1)
        .to(FAULT_MAX_NS)
        .says(
            "Time until a transmission that is not acknowledged is repeated; it doubles each time [default: 20000]",
        ),
    ns("detect_ns", number!(faults.detect_ns))
        .of(Section::Faults)
        .to(FAULT_MAX_NS)
        .says("Time from a crash, or from the beginning of a partition, until it is reported [default: 1000000]"),
];

/// A cost that is required where its section is.
const fn of(name: &'static str, unit: Unit, access: Access) -> Key {
    Key {
        name,
        section: Section::Derived,
        file_name: name,
        unit,
        least: 0,
        most: 1,
        absent: None,
        is_option: false,
        help: "",
        access,
    }
}

const fn ns(name: &'static str, access: Access) -> Key {
    of(name, Unit::Ns, access).to(COST_MAX_NS)
}

const fn rate(name: &'static str, access: Access) -> Key {
    of(name, Unit::MbPerS, access)
        .to(RATE_MAX_MB_PER_S)
        .absent(0)
}

impl Key {
    const fn of(self, section: Section) -> Self {
        Self { section, ..self }
    }

    const fn called(self, file_name: &'static str) -> Self {
        Self { file_name, ..self }
    }

    const fn from(self, least: u64) -> Self {
        Self { least, ..self }
    }

    const fn to(self, most: u64) -> Self {
        Self { most, ..self }
    }

    const fn absent(self, number: u64) -> Self {
        Self {
            absent: Some(number),
            ..self
        }
    }

    const fn option(self) -> Self {
        Self {
            is_option: true,
            ..self
        }
    }

    const fn says(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}
