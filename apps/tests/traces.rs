//! The traces that the command writes, by the rules of their format.

mod scratch;
mod started;

use scratch::Scratch;
use serde_json::Value;
use started::tautline;
use std::collections::{BTreeMap, BTreeSet};

/// The rules of the trace event format that readers rely on, as Perfetto's documentation states
/// them: complete events of a thread nest or are disjoint (here: disjoint); times are microseconds,
/// not negative; metadata has no time; processes and threads have numbers from 1, as 0 is the
/// kernel's idle thread, and a thread's number belongs to one process. Counters belong to a
/// process; theirs count its workers that compute, and return to 0.
fn check_trace(trace: &Value, places: usize, threads: usize) {
    assert!(["ms", "ns"].contains(&trace["displayTimeUnit"].as_str().unwrap()));
    assert!(trace["otherData"]["dropped_spans"].is_u64());
    let number = |event: &Value, key: &str| {
        let number = event[key].as_u64().unwrap_or_else(|| panic!("{event}"));
        assert!((1..1 << 31).contains(&number), "{event}");
        number
    };
    let (mut processes, mut owner, mut ends) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
    let mut counters = BTreeMap::new();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    let is_arrow = |event: &&Value| event["ph"] == "s" || event["ph"] == "f";
    for event in events.filter(|event| !is_arrow(event)) {
        let pid = number(event, "pid");
        if event["ph"] == "C" {
            let (ts, count) = (&event["ts"], &event["args"]["workers"]);
            let (ts, count) = (ts.as_f64().unwrap(), count.as_u64().unwrap());
            let (before, last) = counters.entry(pid).or_insert((-1.0, 0));
            assert!(
                ts > *before && count != *last && count <= threads as u64,
                "{event}"
            );
            (*before, *last) = (ts, count);
            continue;
        }
        let tid = number(event, "tid");
        let name = event["name"].as_str().unwrap();
        if event["ph"] == "M" {
            let fields: Vec<_> = event.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["args", "name", "ph", "pid", "tid"]);
            assert!(event["args"]["name"].is_string(), "{event}");
            let new = match name {
                "process_name" => processes.insert(pid),
                "thread_name" => owner.insert(tid, pid).is_none(),
                _ => panic!("{event}"),
            };
            assert!(new, "named twice: {event}");
            continue;
        }
        assert_eq!(event["ph"], "X", "{event}");
        assert_eq!(owner.get(&tid), Some(&pid), "not named before: {event}");
        assert!(processes.contains(&pid) && event["cat"] == "state");
        let states = ["computing", "distributing", "idle", "probing", "stealing"];
        assert!(states.contains(&name), "{event}");
        let ns = |key: &str| {
            let ns = event[key].as_f64().unwrap() * 1e3;
            assert!(ns >= 0.0 && (ns - ns.round()).abs() < 1e-3, "{event}");
            ns.round() as u64
        };
        let end = ends.entry(tid).or_insert(0);
        assert!(ns("ts") >= *end, "overlaps the one before: {event}");
        *end = ns("ts") + ns("dur");
    }
    assert_eq!((processes.len(), owner.len()), (places, threads));
    assert_eq!(ends.len(), threads, "every worker did something");
    assert!(counters.values().all(|(_, last)| *last == 0));
    assert!(counters.keys().all(|pid| processes.contains(pid)));
}

/// The rules of flow events: each number has one start and one finish, with the same name and
/// category, the start before the finish, and both within complete events of their threads. Returns
/// how many there are.
fn check_arrows(trace: &Value) -> usize {
    let ns = |value: &Value| (value.as_f64().unwrap() * 1e3).round() as u64;
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |kind: &'static str| events.iter().filter(move |event| event["ph"] == kind);
    let by_number = |kind| -> BTreeMap<u64, &Value> {
        let numbered = of(kind).map(|event| (event["id"].as_u64().unwrap(), event));
        numbered.collect()
    };
    let (starts, finishes) = (by_number("s"), by_number("f"));
    assert_eq!(
        (of("s").count(), of("f").count()),
        (starts.len(), starts.len())
    );
    assert!(starts.keys().eq(finishes.keys()));
    for (start, finish) in starts.values().zip(finishes.values()) {
        assert!(ns(&start["ts"]) < ns(&finish["ts"]), "{start} {finish}");
        assert_eq!(start["name"], finish["name"]);
        assert!(start["cat"] == "steal" && finish["cat"] == "steal");
        assert_eq!(finish["bp"], "e");
        assert_ne!(start["tid"], finish["tid"]);
        for end in [start, finish] {
            let is_around = |event: &&Value| {
                let (from, length) = (ns(&event["ts"]), ns(&event["dur"]));
                (from..from + length).contains(&ns(&end["ts"]))
            };
            let same = |event: &&Value| ["pid", "tid"].iter().all(|key| event[*key] == end[*key]);
            assert_eq!(of("X").filter(same).filter(is_around).count(), 1, "{end}");
        }
    }
    starts.len()
}

#[test]
fn traces_follow_the_rules_of_their_format() {
    for (command, places, threads) in [
        ("uts D8 --places 2 --workers 2 --baseline none", 2, 4),
        ("simulate uts D8 --places 5 --workers 3", 5, 15),
    ] {
        let trace = Scratch::new("trace.json");
        let output = tautline(command).arg("--trace").arg(&trace.0).output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        let trace = serde_json::from_str(&trace.text()).expect("the trace is JSON");
        check_trace(&trace, places, threads);
        let arrows = check_arrows(&trace);
        assert!(arrows > 0 || !command.starts_with("simulate"), "{command}");
    }
}
