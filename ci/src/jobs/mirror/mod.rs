//! One name, three places: a module, its tests and its models. Facts that tests name are listed in
//! one file.

mod facts;

use super::{Verdict, judge};
use crate::context::say;
use crate::tree::Tree;
use anyhow::Result;

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
        missing: "verify/tests/coherence.rs",
        instead: "verify/tests/explore/coherence.rs",
        why: "machines without shared words, as those of `collective`",
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

#[cfg(test)]
mod tests {
    use super::{EXCEPTIONS, Exception, check};
    use crate::tree::sample::Sample;

    const WHOLE: &[(&str, &str)] = &[
        ("core/src/deque/mod.rs", ""),
        ("core/src/port/mod.rs", ""),
        ("core/src/sync/mod.rs", ""),
        ("core/tests/deque.rs", ""),
        ("core/tests/sync.rs", ""),
        ("verify/tests/deque.rs", ""),
        ("verify/tests/sync.rs", ""),
    ];

    #[test]
    fn a_whole_tree_is_silent() {
        let tree = Sample::new(WHOLE);
        assert_eq!(check(&tree, EXCEPTIONS).unwrap(), [""; 0]);
    }

    #[test]
    fn each_missing_mirror_is_named() {
        for gone in &WHOLE[3..] {
            let left: Vec<_> = WHOLE.iter().filter(|f| *f != gone).copied().collect();
            let found = check(&Sample::new(&left), EXCEPTIONS).unwrap();
            assert_eq!(found.len(), 1);
            assert!(found[0].starts_with(gone.0), "{found:?}");
        }
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
