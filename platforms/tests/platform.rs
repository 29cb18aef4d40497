//! Trees of memories: described, imported and found.
//!
//! The files of `topology` are made by hand, in the form of `lstopo --of xml`: a dual-socket x86
//! whose cores have two threads (hwloc 2), a POWER8 node with eight threads a core (hwloc 1), and
//! an Arm server of two dies of 24 cores, five of them not allowed (hwloc 2).

mod shape;
#[path = "platform/shapes.rs"]
mod shapes;
#[path = "platform/topologies.rs"]
mod topologies;

use tautline::hierarchy::{Domain, Hierarchy, Kind};
use tautline::internal::machine::{Cache, Cpu};
use tautline::platform::{machine_from_file, machine_from_xml};
use tautline::{Machine, Platform};

const XML: &str = include_str!("hpt/xeon.xml");
const TOML: &str = include_str!("hpt/xeon.toml");
const TOPOLOGY: &str = include_str!("topology/xeon-2x4x2.xml");

fn folder(file: &str) -> String {
    format!("{}/tests/{file}", env!("CARGO_MANIFEST_DIR"))
}

fn machine(file: &str) -> Machine {
    machine_from_file(folder(&format!("topology/{file}"))).unwrap_or_else(|error| panic!("{error}"))
}

/// Chatterjee, acceptance fact 8, for the tree of a file.
fn check_xeon(platform: &Platform) {
    let tree = platform.hierarchy();
    assert_eq!((tree.len(), tree.workers()), (15, 8));
    assert_eq!(tree.subtree(Domain(3)), 0..2);
    assert_eq!(tree.subtree(Domain(7)), 0..1);
    assert!((0..8).all(|worker| tree.leaf_of(worker) == Domain(7 + worker)));
    assert_eq!(tree.kind(Domain(0)), &Kind::Memory);
    assert_eq!(tree.domains_of_kind(&Kind::Cache).count(), 14);
    let tuning: Vec<_> = tree.tuning_domains().collect();
    assert_eq!(tuning, [Domain(1), Domain(2)]);
    assert_eq!(platform.info(), "dual quad-core Xeon");
}

#[test]
fn chatterjee_8_the_xeon_described_in_xml() {
    check_xeon(&Platform::from_xml("xeon.xml", XML).unwrap());
    check_xeon(&Platform::from_file(folder("hpt/xeon.xml")).unwrap());
    assert_eq!(Platform::from_xml("xeon.xml", XML).unwrap().cpu(0), None);
}

#[test]
fn chatterjee_8_the_xeon_described_in_toml() {
    check_xeon(&Platform::from_toml("xeon.toml", TOML).unwrap());
    check_xeon(&Platform::from_file(folder("hpt/xeon.toml")).unwrap());
}

/// The one line that refuses the text.
fn refusal(read: Result<impl std::fmt::Debug, tautline::FileError>) -> String {
    let line = read.map_or_else(|e| e.to_string(), |read| format!("accepted {read:?}"));
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}

/// The line that refuses a text in which `old` has become `new`; line and column are those of
/// `mark`.
fn check(text: &str, old: &str, new: &str, mark: &str, message: &str) {
    assert!(text.contains(old), "no {old}");
    let text = text.replacen(old, new, 1);
    let line = match text.contains("[place]") {
        true => refusal(Platform::from_toml("my", &text)),
        false if text.contains("<topology") => refusal(machine_from_xml("my", &text)),
        false => refusal(Platform::from_xml("my", &text)),
    };
    let at = text.find(mark).unwrap_or_else(|| panic!("no {mark}"));
    let row = text[..at].matches('\n').count() + 1;
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let column = text[start..at].chars().count() + 1;
    assert_eq!(line, format!("my:{row}:{column}: {message}"));
}

const LEAF: &str = "<worker num=\"1\"/>";
const L1: &str = "num=\"2\" type=\"cache\" name=\"L1\"";

#[test]
fn each_mistake_in_xml_is_one_line_with_its_place() {
    let check =
        |old: &str, new: &str, mark: &str, message: &str| check(XML, old, new, mark, message);
    check(
        "num=\"2\"",
        "num=\"0\"",
        "num=\"0\"",
        "num 0: from 1 to 1048576",
    );
    check(
        "num=\"2\"",
        "num=\"-1\"",
        "num=\"-1\"",
        "num -1: from 1 to 1048576",
    );
    check(
        "num=\"2\"",
        "num=\"many\"",
        "num=\"many\"",
        "num many: from 1 to 1048576",
    );
    check(
        "num=\"1\" type",
        "num=\"2\" type",
        "<place num=\"2\" type=\"mem\"",
        "num 2: there is one root",
    );
    check(
        LEAF,
        "<worker num=\"0\"/>",
        "num=\"0\"",
        "workers 0: from 1 to 1048576",
    );
    check(
        LEAF,
        "",
        "<place num=\"2\" type=\"cache\" name=\"L1\"",
        "0 workers on a leaf: at least 1",
    );
    check(
        "<place num=\"2\" type=\"cache\" name=\"L2\">",
        "<place num=\"2\" type=\"cache\" name=\"L2\"><worker/>",
        "<place num=\"2\" type=\"cache\" name=\"L2\"",
        "1 workers on a domain with domains below it: only on a leaf",
    );
    check(
        L1,
        "num=\"1000000\" type=\"cache\"",
        "<place num=\"2\" type=\"cache\" name=\"L2\"",
        "num 2 makes too many domains: at most 1048576",
    );
    check(
        LEAF,
        "<worker num=\"1048576\"/>",
        "<place num=\"2\" type=\"cache\" name=\"L1\"",
        "2 x 1048576 workers: at most 1048576 in all",
    );
    check(
        "type=\"mem\"",
        "type=\"\"",
        "type=\"\"",
        "type : mem, cache, core, node, device, or another word",
    );
    check(
        " type=\"mem\"",
        "",
        "<place num=\"1\">",
        "place without a type: mem, cache, core, node, device, or another word",
    );
    check(
        "tuning=\"1\"",
        "tuning=\"yes\"",
        "tuning=\"yes\"",
        "tuning yes: 0 or 1",
    );
    check(
        "name=\"L2\"",
        "size=\"4\"",
        "size=\"4\"",
        "size: no attribute of place, which has num, type, tuning, name, bytes",
    );
    check(
        "name=\"L2\"",
        "bytes=\"4K\"",
        "bytes=\"4K\"",
        "bytes 4K: a whole number, not negative",
    );
    check(
        LEAF,
        "<job/>",
        "<job/>",
        "element job: place or worker may stand here",
    );
    check(
        LEAF,
        "<worker><place/></worker>",
        "<place/>",
        "element place: nothing may stand here",
    );
}

#[test]
fn each_mistake_in_the_form_of_xml_is_one_line_with_its_place() {
    let check =
        |old: &str, new: &str, mark: &str, message: &str| check(XML, old, new, mark, message);
    check(
        LEAF,
        "w0\nw1",
        "\n          w0",
        "w0\\nw1: only elements stand in place",
    );
    check(
        "<HPT version=\"0.1\"",
        "<HPT cores=\"8\"",
        "cores=\"8\"",
        "cores: no attribute of HPT, which has version, info, cpus",
    );
    check(
        "</HPT>",
        "<place type=\"mem\"><worker/></place></HPT>",
        "<place type=\"mem\"><worker/></place>",
        "2 places in HPT: 1, the root, with all others in it",
    );
    let line = |text: &str| refusal(Platform::from_xml("my", text));
    assert_eq!(
        line("<HPT/>"),
        "my:1:1: 0 places in HPT: 1, the root, with all others in it"
    );
    assert_eq!(
        line("<hpt/>"),
        "my:1:1: element hpt: HPT is the outermost one"
    );
    assert_eq!(
        line("<HPT><worker/></HPT>"),
        "my:1:6: element worker: place may stand here"
    );
    for text in [
        "",
        "<",
        "<HPT>",
        "<HPT></place>",
        "place",
        "<HPT a=\"1\" a=\"2\"/>",
        "\u{1}",
        "<HPT>é&lt;&oops;</HPT>",
    ] {
        let line = line(text);
        assert!(
            line.starts_with("my:1:") && line.contains(": not XML: "),
            "{line}"
        );
    }
}

#[test]
fn towers_of_elements_are_refused_before_the_stack_ends() {
    for deep in [65, 300, 100_000] {
        let (open, close) = ("<place type=\"mem\">".repeat(deep), "</place>".repeat(deep));
        let line = refusal(Platform::from_xml(
            "my",
            &format!("<HPT>{open}<worker/>{close}</HPT>"),
        ));
        assert!(line.contains("at most"), "{line}");
        let objects = "<object type=\"Group\">".repeat(deep);
        let end = "</object>".repeat(deep);
        let text =
            format!("<topology>{objects}<object type=\"PU\" os_index=\"0\"/>{end}</topology>");
        match deep {
            // Nested groups around one processor are one place.
            65 => assert_eq!(machine_from_xml("my", &text).unwrap().cpus(), [0]),
            _ => assert!(refusal(machine_from_xml("my", &text)).contains("at most 256")),
        }
    }
    let places =
        (1..66).map(|level| format!("[[place{}]]\ntype = \"mem\"\n", ".place".repeat(level)));
    let toml = format!("[place]\ntype = \"mem\"\n{}", places.collect::<String>());
    assert!(refusal(Platform::from_toml("my", &toml)).contains("level 64: at most 64 levels"));
}

#[test]
fn each_mistake_in_toml_is_one_line_with_its_place() {
    let check =
        |old: &str, new: &str, mark: &str, message: &str| check(TOML, old, new, mark, message);
    check("num = 2", "num = 0", "0\ntype", "num 0: from 1 to 1048576");
    check(
        "num = 2",
        "num = -3",
        "-3\ntype",
        "num -3: from 1 to 1048576",
    );
    check(
        "num = 2",
        "num = 99999999999",
        "99999999999",
        "num 99999999999: from 1 to 1048576",
    );
    check(
        "workers = 1",
        "workers = 0",
        "0\n",
        "workers 0: from 1 to 1048576",
    );
    check(
        "workers = 1",
        "",
        "[[place.place.place.place]]",
        "0 workers on a leaf: at least 1",
    );
    check(
        "type = \"mem\"",
        "type = \"mem\"\nworkers = 2",
        "[place]",
        "2 workers on a domain with domains below it: only on a leaf",
    );
    check(
        "type = \"mem\"",
        "type = \"mem\"\nnum = 2",
        "[place]",
        "num 2: there is one root",
    );
    check(
        "type = \"mem\"",
        "type = \"\"",
        "\"\"",
        "type : mem, cache, core, node, device, or another word",
    );
    check(
        "type = \"mem\"",
        "type = \"mem\"\nbytes = -1",
        "-1",
        "bytes -1: a whole number, not negative",
    );
    let line = |old: &str, new: &str| {
        assert!(TOML.contains(old));
        refusal(Platform::from_toml("my", &TOML.replacen(old, new, 1)))
    };
    assert!(line("tuning = true", "tuning = 1").starts_with("my:11:10: invalid type"));
    assert!(line("tuning = true", "tunning = true").contains("unknown field `tunning`"));
    assert!(line("type = \"mem\"", "").contains("missing field `type`"));
    assert!(line("num = 2", "num = \"two\"").contains("invalid type"));
    assert!(line("[place]", "[place").starts_with("my:5:"));
    assert!(refusal(Platform::from_toml("my", "")).contains("missing field `place`"));
}

#[test]
fn the_processors_of_workers_may_be_listed() {
    let with = |cpus: &str| {
        let cpus = format!("<HPT cpus=\"{cpus}\" ");
        Platform::from_xml("my", &XML.replacen("<HPT ", &cpus, 1))
    };
    let platform = with("8-11,0, 2,4-5").unwrap();
    let cpus: Vec<_> = (0..9).map(|worker| platform.cpu(worker)).collect();
    let expected = [8, 9, 10, 11, 0, 2, 4, 5].map(Some);
    assert_eq!((&cpus[..8], cpus[8]), (&expected[..], None));
    for (list, message) in [
        ("0-3", "cpus 0-3: 4 for 8 workers, one each"),
        ("0-8", "cpus 0-8: 9 for 8 workers, one each"),
        ("0-6,3", "cpus 0-6,3: 3 is there twice"),
        (
            "7-0",
            "cpus 7-0: numbers and ranges up to 1048575, such as 0-3,8",
        ),
        ("", "cpus : numbers and ranges up to 1048575, such as 0-3,8"),
        (
            "0-9999999",
            "cpus 0-9999999: numbers and ranges up to 1048575, such as 0-3,8",
        ),
    ] {
        assert_eq!(refusal(with(list)), format!("my:3:6: {message}"));
    }
    let toml = TOML.replacen("version = \"0.1\"", "cpus = \"0-7\"", 1);
    assert_eq!(Platform::from_toml("my", &toml).unwrap().cpu(7), Some(7));
    let toml = toml.replacen("0-7", "0-6", 1);
    assert_eq!(
        refusal(Platform::from_toml("my", &toml)),
        "my:2:8: cpus 0-6: 7 for 8 workers, one each"
    );
}

#[test]
fn what_cannot_be_read_is_named() {
    let line = refusal(Platform::from_file("/nowhere/node.xml"));
    assert!(line.starts_with("/nowhere/node.xml: "), "{line}");
    let line = refusal(machine_from_file(folder("topology")));
    assert!(line.contains("topology: "), "{line}");
}
