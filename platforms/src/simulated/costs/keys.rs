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

/// The costs for which the command has an option of their name, too.
pub(super) const OPTIONS: [&str; 5] = ["task_ns", "send_ns", "network", "far_ns", "rank_places"];

/// The rows: the name, the one in files if it is another, unit, section, field, bounds, the value
/// where a file does not state it, and the help.
macro_rules! keys {
    ($($name:ident $(= $file:ident)?: $unit:ident $section:ident [$($field:tt)*] $least:literal..=$most:expr, $absent:expr, $help:expr;)*) => {
        /// All costs, in the order of lines and data.
        pub const KEYS: &[Key] = &[$(Key {
            name: stringify!($name),
            section: Section::$section,
            file_name: keys!(@name $name $($file)?),
            unit: Unit::$unit,
            least: $least,
            most: $most,
            absent: $absent,
            help: $help,
            access: keys!(@access $unit $($field)*),
        }),*];
    };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $file:ident) => { stringify!($file) };
    (@access Network) => { None };
    (@access Switch $($field:tt)*) => {
        Some(Access {
            get: |costs| costs.$($field)*.into(),
            set: |costs, number| costs.$($field)* = number > 0,
        })
    };
    (@access $unit:ident $($field:tt)*) => {
        Some(Access {
            get: |costs| costs.$($field)*.into(),
            set: |costs, number| costs.$($field)* = number.try_into().expect("it is within bounds"),
        })
    };
}

keys! {
    task_ns: Ns Derived [machine.task_ns] 1..=COST_MAX_NS, None,
        "One task [default: its usual time by the machine's slowdown]";
    look_ns: Ns Costs [machine.look_ns] 0..=COST_MAX_NS, None,
        "A turn's poll when there is nothing to do";
    serve_ns: Ns Costs [machine.serve_ns] 0..=COST_MAX_NS, None,
        "Receiving one message, and what follows from it except the division of a bag";
    send_ns: Ns Costs [machine.send_ns] 0..=COST_MAX_NS, None,
        "Passing one message to the network";
    split_ns: Ns Costs [machine.split_ns] 0..=COST_MAX_NS, None,
        "Dividing a bag";
    merge_ns: Ns Costs [machine.merge_ns] 0..=COST_MAX_NS, None,
        "Putting work into a reserve, or taking it out";
    wake_ns: Ns Costs [machine.cluster.wake_ns] 0..=COST_MAX_NS, None,
        "From waking a sleeping worker to its next turn";
    spin_ns: Ns Derived [machine.cluster.spin_ns] 0..=COST_MAX_NS, None,
        "The time for which a thread without work spins before it sleeps [default: wake_ns of the machine]";
    network: Network Network [] 0..=1, None,
        "Network between nodes: flat, torus:X,Y,Z, fat-tree:NODES,LEAVES,UP,UP2 (nodes of a leaf switch, leaf switches \
             of a pod, links up from a switch of each level) or dragonfly:NODES,ROUTERS,GLOBALS (nodes of a router, \
             routers of a group, links from a router to other groups)";
    near_ns: Ns Network [machine.cluster.near_ns] 0..=COST_MAX_NS, None,
        "A message within a node";
    far_ns: Ns Network [machine.cluster.far_ns] 0..=COST_MAX_NS, None,
        "A message to another node, over the first hop";
    hop_ns: Ns Network [machine.cluster.hop_ns] 0..=COST_MAX_NS, Some(0),
        "Each further hop: link of a torus, switch of other shapes";
    gap_ns: Ns Network [machine.cluster.gap_ns] 0..=COST_MAX_NS, Some(0),
        "The time for which a node's adapter is busy with one message to another node";
    loot_task_ns: Ns Network [machine.loot_task_ns] 0..=COST_MAX_NS, Some(0),
        "Additional time of a message for each task of its loot [default: 0 with mb_per_s]";
    mb_per_s: MbPerS Network [machine.cluster.mb_per_s] 0..=RATE_MAX_MB_PER_S, Some(0),
        "Bandwidth of a node's adapter; 0: unlimited";
    link_mb_per_s: MbPerS Network [machine.cluster.link_mb_per_s] 0..=RATE_MAX_MB_PER_S, Some(0),
        "Bandwidth of a link between switches; 0: unlimited, and links are not simulated";
    message_bytes: Bytes Network [machine.message_bytes] 0..=BYTES_MAX, Some(32),
        "Size of a message without its loot";
    task_bytes: Bytes Network [machine.task_bytes] 0..=BYTES_MAX, Some(32),
        "Size of a task of loot";
    jitter_percent: Percent Network [machine.cluster.jitter_percent] 0..=JITTER_MAX_PERCENT, None,
        "Largest relative delay of a message";
    ordered: Switch Network [machine.cluster.ordered] 0..=1, Some(0),
        "Whether no message overtakes another of the same two processes, or places";
    rank_places = places: Count Ranks [machine.cluster.ranks.places] 0..=PLACES_MAX, Some(0),
        "Places of a process; messages between processes are encoded. 0: one process";
    rank_message_ns = message_ns: Ns Ranks [machine.cluster.ranks.message_ns] 0..=COST_MAX_NS, None,
        "Encoding or decoding a message between processes, beside its bytes";
    encode_mb_per_s: MbPerS Ranks [machine.cluster.ranks.encode_mb_per_s] 0..=RATE_MAX_MB_PER_S, Some(0),
        "Rate of encoding; 0: unlimited";
    decode_mb_per_s: MbPerS Ranks [machine.cluster.ranks.decode_mb_per_s] 0..=RATE_MAX_MB_PER_S, Some(0),
        "Rate of decoding; 0: unlimited";
    communication_worker = worker: Switch Ranks [machine.cluster.ranks.worker] 0..=1, Some(0),
        "Whether a thread of each process encodes and decodes in place of its workers";
    fault_seed: Count Faults [faults.seed] 0..=u64::MAX, None,
        "Seed that selects the messages which are late or lost [default: 0]";
    timeout_ns: Ns Faults [faults.timeout_ns] 1..=FAULT_MAX_NS, None,
        "Time until a transmission that is not acknowledged is repeated; it doubles each time [default: 20000]";
    detect_ns: Ns Faults [faults.detect_ns] 0..=FAULT_MAX_NS, None,
        "Time from a crash, or from the beginning of a partition, until it is reported [default: 1000000]";
}
