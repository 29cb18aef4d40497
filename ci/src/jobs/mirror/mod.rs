//! One name, four places: a module, its tests, its models and its benchmark. Facts that tests name
//! are listed in one file.

mod facts;

use super::deps::{Floor, floor_of};
use super::{Verdict, judge};
use crate::context::say;
use crate::tree::Tree;
use anyhow::Result;
use toml::Value;

/// A file that need not exist, because another does its work.
struct Exception {
    missing: &'static str,
    instead: &'static str,
    why: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        missing: "verify/tests/hierarchy.rs",
        instead: "core/tests/hierarchy.rs",
        why: "a tree that never changes once it is built has no schedules",
    },
    Exception {
        missing: "verify/tests/collective.rs",
        instead: "verify/tests/explore/collective.rs",
        why: "machines without shared words: the explorer delivers their messages in every order",
    },
    Exception {
        missing: "verify/tests/defer.rs",
        instead: "verify/tests/explore/defer.rs",
        why: "machines without shared words, as those of `collective`",
    },
    Exception {
        missing: "verify/tests/watch.rs",
        instead: "core/tests/watch.rs",
        why: "hints in single words publish nothing, and accounts are under a lock, which has its models",
    },
    Exception {
        missing: "verify/tests/loops.rs",
        instead: "verify/tests/taper.rs",
        why: "a loop is claims of `taper` in forks of `task`, which have their models; its own words are hints",
    },
];

pub(super) fn run(tree: &Tree, _: &[String]) -> Result<Verdict> {
    for e in EXCEPTIONS {
        say!("{} is {}: {}", e.missing, e.instead, e.why);
    }
    let modules = tree.folders("core/src").len();
    let mut findings = check(tree, EXCEPTIONS)?;
    findings.extend(facts::check(tree)?);
    judge(findings, format!("{modules} modules"))
}

fn check(tree: &Tree, exceptions: &[Exception]) -> Result<Vec<String>> {
    let mut out = Vec::new();
    for module in tree.folders("core/src") {
        // A port is judged by the conformance suite, backend by backend.
        if module == "port" {
            continue;
        }
        for place in ["core/tests", "verify/tests"] {
            let want = format!("{place}/{module}.rs");
            let exception = exceptions.iter().find(|e| e.missing == want);
            let have = exception.map_or(want.as_str(), |e| e.instead);
            if !tree.has(have) {
                out.push(format!(
                    "{have}: missing, core/src/{module} has no mirror there"
                ));
            }
        }
        if matches!(floor_of(&module), Some(Floor::Words | Floor::Protocols)) {
            out.extend(bench(tree, &module)?);
        }
    }
    for e in exceptions {
        if tree.has(e.missing) {
            out.push(format!(
                "{}: exists, so its exception is not needed any more",
                e.missing
            ));
        }
    }
    Ok(out)
}

/// A benchmark must exist and be declared, or cargo does not run it.
fn bench(tree: &Tree, module: &str) -> Result<Vec<String>> {
    let file = format!("benches/{module}.rs");
    if !tree.has(&file) && !tree.has(format!("benches/{file}")) {
        return Ok(vec![format!(
            "{file}: missing, core/src/{module} has no mirror there"
        )]);
    }
    let manifest = tree.toml("benches/Cargo.toml")?;
    let declared = manifest.get("bench").and_then(Value::as_array);
    let declared = declared.into_iter().flatten().any(|b| {
        b.get("name").and_then(Value::as_str) == Some(module)
            && b.get("harness").and_then(Value::as_bool) == Some(false)
    });
    Ok(if declared {
        Vec::new()
    } else {
        vec![format!(
            "benches/Cargo.toml: no [[bench]] with name = \"{module}\" and harness = false"
        )]
    })
}

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, Exception, check};
    use crate::tree::sample::Sample;

    const BENCH: &str = "[[bench]]\nname = \"deque\"\npath = \"deque.rs\"\nharness = false\n";
    const WHOLE: &[(&str, &str)] = &[
        ("core/src/deque/mod.rs", ""),
        ("core/src/port/mod.rs", ""),
        ("core/src/sync/mod.rs", ""),
        ("core/tests/deque.rs", ""),
        ("core/tests/sync.rs", ""),
        ("verify/tests/deque.rs", ""),
        ("verify/tests/sync.rs", ""),
        ("benches/deque.rs", ""),
        ("benches/Cargo.toml", BENCH),
    ];

    #[test]
    fn a_whole_tree_is_silent() {
        let tree = Sample::new(WHOLE);
        assert_eq!(check(&tree, EXCEPTIONS).unwrap(), [""; 0]);
    }

    #[test]
    fn each_missing_mirror_is_named() {
        for gone in &WHOLE[3..WHOLE.len() - 1] {
            let left: Vec<_> = WHOLE.iter().filter(|f| *f != gone).copied().collect();
            let found = check(&Sample::new(&left), EXCEPTIONS).unwrap();
            assert_eq!(found.len(), 1);
            assert!(found[0].starts_with(gone.0), "{found:?}");
        }
    }

    #[test]
    fn a_benchmark_must_be_declared() {
        let tree = Sample::new(WHOLE);
        tree.write("benches/Cargo.toml", &BENCH.replace("false", "true"));
        assert_eq!(check(&tree, EXCEPTIONS).unwrap().len(), 1);
    }

    #[test]
    fn an_exception_needs_its_substitute_and_expires() {
        let tree = Sample::new(WHOLE);
        tree.write("core/src/task/mod.rs", "");
        tree.write("verify/tests/task.rs", "");
        let exceptions = &[Exception {
            missing: "core/tests/task.rs",
            instead: "backends/node/tests/pool.rs",
            why: "threads",
        }];
        assert!(check(&tree, exceptions).unwrap()[0].starts_with("backends/node/tests/pool.rs"));
        tree.write("backends/node/tests/pool.rs", "");
        assert_eq!(check(&tree, exceptions).unwrap(), [""; 0]);
        tree.write("core/tests/task.rs", "");
        assert!(check(&tree, exceptions).unwrap()[0].contains("not needed any more"));
    }
}
