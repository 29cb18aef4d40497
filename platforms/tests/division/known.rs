//! Machines that exist, in numbers: packages, memory nodes of each, last-level caches of a node,
//! cores of a cache, threads of a core.

use crate::shape::Shape;

const fn new(parts: [usize; 5]) -> Shape {
    let [packages, nodes, caches, cores, threads] = parts;
    Shape::new(packages, nodes, caches, cores, threads)
}

/// Without these processors.
const fn offline(parts: [usize; 5], offline: fn(usize) -> bool) -> Shape {
    let whole = new(parts);
    Shape { offline, ..whole }
}

/// With only these processors allowed.
const fn allowed(parts: [usize; 5], allowed: fn(usize) -> bool) -> Shape {
    let whole = new(parts);
    Shape { allowed, ..whole }
}

/// With this number of memory nodes that have no processor.
const fn far(parts: [usize; 5], far: usize) -> Shape {
    let whole = new(parts);
    Shape { far, ..whole }
}

pub(crate) const KNOWN: &[(&str, Shape)] = &[
    ("one core", new([1, 0, 1, 1, 1])),
    ("a virtual machine of two threads", new([1, 1, 1, 1, 2])),
    ("a virtual machine of 96, flat", new([1, 0, 1, 96, 1])),
    ("a virtual machine of 896", new([16, 1, 1, 28, 2])),
    ("Raspberry Pi 4", new([1, 0, 1, 4, 1])),
    ("SiFive U740", new([1, 0, 1, 4, 1])),
    ("Sophon SG2042", new([1, 4, 4, 4, 1])),
    ("Loongson 3A5000", new([1, 1, 1, 4, 1])),
    ("Apple M1 Ultra", new([1, 1, 2, 10, 1])),
    ("Fujitsu A64FX", new([1, 4, 1, 12, 1])),
    ("AWS Graviton3", new([1, 1, 1, 64, 1])),
    ("2 x AWS Graviton4", new([2, 1, 1, 96, 1])),
    ("2 x Ampere Altra Q80", new([2, 1, 1, 80, 1])),
    ("2 x Ampere Altra M128", new([2, 1, 1, 128, 1])),
    ("AmpereOne A192", new([1, 1, 1, 192, 1])),
    ("NVIDIA Grace", new([1, 1, 1, 72, 1])),
    ("2 x NVIDIA Grace", new([2, 1, 1, 72, 1])),
    ("2 x NVIDIA Grace, two GPUs", far([2, 1, 1, 72, 1], 2)),
    ("2 x Huawei Kunpeng 920", new([2, 2, 1, 32, 1])),
    ("2 x Cavium ThunderX2", new([2, 1, 1, 32, 4])),
    (
        "Rockchip RK3399, 2 large and 4 small cores",
        new([1, 0, 1, 6, 1]),
    ),
    ("IBM Blue Gene/Q", new([1, 0, 1, 16, 4])),
    ("4 x IBM POWER7", new([4, 1, 8, 1, 4])),
    ("2 x IBM POWER8", new([2, 2, 6, 1, 8])),
    ("2 x IBM POWER9", new([2, 1, 11, 2, 4])),
    ("2 x IBM POWER9, six GPUs", far([2, 1, 11, 2, 4], 6)),
    (
        "2 x IBM POWER9, two threads a core",
        offline([2, 1, 11, 2, 4], |cpu| cpu >= 88),
    ),
    (
        "2 x IBM POWER9, a core of each offline",
        offline([2, 1, 11, 2, 4], |cpu| cpu % 22 == 21),
    ),
    ("16 x IBM POWER10", new([16, 1, 15, 1, 8])),
    ("4 x Sun UltraSPARC T2+", new([4, 1, 1, 8, 8])),
    ("8 x SPARC T5", new([8, 1, 1, 16, 8])),
    ("8 x AMD Opteron 8356", new([8, 1, 1, 4, 1])),
    ("4 x AMD Opteron 6276", new([4, 2, 1, 8, 1])),
    ("AMD Ryzen 7 5800X", new([1, 1, 1, 8, 2])),
    ("AMD Ryzen 9 7950X", new([1, 1, 2, 8, 2])),
    ("AMD Threadripper 3990X", new([1, 1, 16, 4, 2])),
    ("AMD Threadripper 7995WX", new([1, 1, 12, 8, 2])),
    ("2 x AMD EPYC 7601", new([2, 4, 2, 4, 2])),
    ("AMD EPYC 7302", new([1, 1, 8, 2, 2])),
    ("AMD EPYC 7F52", new([1, 1, 16, 1, 2])),
    ("2 x AMD EPYC 7742", new([2, 1, 16, 4, 2])),
    ("2 x AMD EPYC 7742, four nodes each", new([2, 4, 4, 4, 2])),
    ("2 x AMD EPYC 7763", new([2, 1, 8, 8, 2])),
    ("2 x AMD EPYC 7763, one thread a core", new([2, 1, 8, 8, 1])),
    ("2 x AMD EPYC 7763, four nodes each", new([2, 4, 2, 8, 2])),
    (
        "2 x AMD EPYC 7763, a node for each cache",
        new([2, 8, 1, 8, 2]),
    ),
    (
        "2 x AMD EPYC 7763, processor 1 offline",
        offline([2, 1, 8, 8, 2], |cpu| cpu == 1),
    ),
    (
        "2 x AMD EPYC 7763, the first 100 allowed",
        allowed([2, 1, 8, 8, 2], |cpu| cpu < 100),
    ),
    (
        "2 x AMD EPYC 7763, one package allowed",
        allowed([2, 1, 8, 8, 2], |cpu| cpu % 128 < 64),
    ),
    ("2 x AMD EPYC 9654", new([2, 1, 12, 8, 2])),
    ("2 x AMD EPYC 9654, four nodes each", new([2, 4, 3, 8, 2])),
    (
        "2 x AMD EPYC 9654, a core of each cache reserved",
        allowed([2, 1, 12, 8, 2], |cpu| cpu % 8 != 0),
    ),
    (
        "2 x AMD EPYC 9654, two memories over CXL",
        far([2, 1, 12, 8, 2], 2),
    ),
    ("2 x AMD EPYC 9754", new([2, 1, 16, 8, 2])),
    ("2 x AMD EPYC 9965", new([2, 1, 12, 16, 2])),
    (
        "Intel Core i5-1240P, 4 cores of two threads and 8 of one",
        offline([1, 1, 1, 12, 2], |cpu| cpu >= 16),
    ),
    (
        "Intel Core i9-13900K, 8 cores of two threads and 16 of one",
        offline([1, 1, 1, 24, 2], |cpu| cpu >= 32),
    ),
    ("2 x Intel Xeon X5650", new([2, 1, 1, 6, 2])),
    ("2 x Intel Xeon E5-2670", new([2, 1, 1, 8, 2])),
    (
        "2 x Intel Xeon E5-2690 v4, two nodes each",
        new([2, 2, 1, 7, 2]),
    ),
    ("8 x Intel Xeon E7-8890 v4", new([8, 1, 1, 24, 2])),
    (
        "32 x Intel Xeon 8280 (Superdome Flex)",
        new([32, 1, 1, 28, 2]),
    ),
    ("2 x Intel Xeon 8280", new([2, 1, 1, 28, 2])),
    ("2 x Intel Xeon 8280, two nodes each", new([2, 2, 1, 14, 2])),
    ("2 x Intel Xeon 8380", new([2, 1, 1, 40, 2])),
    ("2 x Intel Xeon 8480+", new([2, 1, 1, 56, 2])),
    (
        "2 x Intel Xeon 8480+, four nodes each",
        new([2, 4, 1, 14, 2]),
    ),
    (
        "2 x Intel Xeon 8480+, ten processors allowed",
        allowed([2, 1, 1, 56, 2], |cpu| cpu % 11 == 5 && cpu < 110),
    ),
    (
        "2 x Intel Xeon Max 9480, four nodes and memories each",
        far([2, 4, 1, 14, 2], 8),
    ),
    (
        "2 x Intel Xeon 6980P, nodes of 43, 43 and 42 cores",
        offline([2, 3, 1, 43, 2], |cpu| cpu % 129 == 128),
    ),
    ("2 x Intel Xeon 6780E", new([2, 1, 1, 144, 1])),
    ("Intel Xeon Phi 7210", new([1, 1, 32, 2, 4])),
    ("Intel Xeon Phi 7210, four nodes", new([1, 4, 8, 2, 4])),
    (
        "Intel Xeon Phi 7210, four nodes and memories",
        far([1, 4, 8, 2, 4], 4),
    ),
    ("Intel Xeon Phi 7250", new([1, 1, 34, 2, 4])),
    (
        "Intel Xeon Phi 7250, every fifth core offline",
        offline([1, 1, 34, 2, 4], |cpu| cpu % 68 % 5 == 2),
    ),
];
