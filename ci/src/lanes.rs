//! Runs jobs, one after the other or in two lanes at once, and prints how they ended.
//!
//! The output of one lane comes line by line; that of the other one comes whole, when its job has
//! ended.

use crate::context::{Context, Output, lock, say};
use crate::jobs::{Job, Lane, Run, Verdict};
use crate::times;
use crate::tree::Tree;
use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// A job and the words after its name.
pub(crate) type Asked = (&'static Job, Vec<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Ok,
    Failed,
    NotRun,
}

/// The end of a job.
#[derive(Debug)]
pub(crate) struct End {
    name: &'static str,
    pub mark: Mark,
    wall: Duration,
    /// Processor time, of commands as well.
    used: Duration,
    said: String,
}

/// The number of findings of a job that the table repeats: a log is often cut before its end.
const FINDINGS: usize = 12;

/// Runs the jobs in this order.
pub(crate) fn in_sequence(tree: &Tree, asked: &[Asked], strict: bool) -> Vec<End> {
    let ends = asked.iter().flat_map(|(job, words)| {
        let runs = [Some(job.run), job.alone];
        let runs = runs.into_iter().flatten();
        runs.map(|run| end(tree, job, run, words, strict, Output::Attached))
    });
    ends.collect()
}

/// Runs each lane's jobs in this order, both lanes at once; afterwards those that need the machine
/// for themselves.
pub(crate) fn in_lanes(tree: &Tree, asked: &[Asked], strict: bool) -> Vec<End> {
    let of = |lane| {
        let jobs = asked.iter().enumerate();
        let jobs = jobs.filter(move |(_, (job, _))| job.lane == lane);
        jobs.collect::<VecDeque<_>>()
    };
    let (shared, own) = (Mutex::new(of(Lane::Shared)), Mutex::new(of(Lane::Own)));
    let ends = Mutex::new(Vec::new());
    let perform = |(at, (job, words)): (usize, &Asked), output| {
        let end = end(tree, job, job.run, words, strict, output);
        lock(&ends).push((at, end));
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Some(job) = take(&own, VecDeque::pop_front) {
                let (output, text) = Output::collecting();
                Output::Lines.text(&format!(
                    "\n=== {} begins in the other lane; its output follows when it has ended\n",
                    job.1.0.name
                ));
                perform(job, output);
                Output::Lines.text(&lock(&text));
            }
        });
        // A job of the other lane builds in a folder of its own, so this lane can run it, too.
        let next = || {
            let shared = take(&shared, VecDeque::pop_front);
            shared.or_else(|| take(&own, VecDeque::pop_back))
        };
        while let Some(job) = next() {
            perform(job, Output::Lines);
        }
    });
    let mut ends = ends.into_inner().unwrap_or_default();
    let alone = asked.iter().enumerate();
    for (at, (job, words)) in alone {
        if let Some(run) = job.alone {
            let end = end(tree, job, run, words, strict, Output::Attached);
            ends.push((at, end));
        }
    }
    ends.sort_by_key(|(at, _)| *at);
    ends.into_iter().map(|(_, end)| end).collect()
}

/// Takes a job, without holding the lock any longer.
fn take<T>(jobs: &Mutex<VecDeque<T>>, pop: fn(&mut VecDeque<T>) -> Option<T>) -> Option<T> {
    pop(&mut lock(jobs))
}

fn end(tree: &Tree, job: &Job, run: Run, words: &[String], strict: bool, output: Output) -> End {
    // The others take hours, each as many as its machine needs.
    let context = Context::new(output, job.default);
    let (start, own) = (Instant::now(), times::of_this_thread());
    let (mark, said) = context.enter(|| {
        say!("\n=== {}: {}", job.name, job.about);
        let (mark, said) = match run(tree, words) {
            Ok(Verdict::Holds(said)) => (Mark::Ok, said),
            Ok(Verdict::CannotRun(why)) if strict => (Mark::Failed, format!("cannot run: {why}")),
            Ok(Verdict::CannotRun(why)) => (Mark::NotRun, why),
            Err(error) => (Mark::Failed, format!("{error:#}")),
        };
        if mark != Mark::Ok {
            say!("{}: {said}", job.name);
        }
        (mark, said)
    });
    context.add(times::of_this_thread().saturating_sub(own));
    End {
        name: job.name,
        mark,
        wall: start.elapsed(),
        used: context.used(),
        said,
    }
}

/// A line for each job, with the seconds until its end and those of processors, and their sums.
pub(crate) fn table(ends: &[End], wall: Duration) -> String {
    let line = |e: &End| {
        let mark = match e.mark {
            Mark::Ok => "ok",
            Mark::Failed => "FAILED",
            Mark::NotRun => "not run",
        };
        let mut said = e.said.lines();
        let mut line = row(
            e.name,
            mark,
            [e.wall, e.used],
            said.next().unwrap_or_default(),
        );
        // All of them are printed at the end of their job.
        for finding in said.by_ref().take(FINDINGS) {
            line += &format!("    {finding}\n");
        }
        match said.count() {
            0 => line,
            more => line + &format!("    and {more} more, above\n"),
        }
    };
    let heads = format!("{:<21} {:>10} {:>10}\n", "", "wall", "processors");
    let lines: String = ends.iter().map(line).collect();
    let sums = [|e: &End| e.wall, |e: &End| e.used].map(|of| ends.iter().map(of).sum());
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    heads + &lines + &row("sum", "", sums, "") + &share(wall, sums[1], processors)
}

fn row(name: &str, mark: &str, times: [Duration; 2], said: &str) -> String {
    let [wall, used] = times.map(|time| time.as_secs_f64());
    format!("{name:<12} {mark:<8} {wall:>8.1} s {used:>8.1} s  {said}\n")
}

/// Describes the used part of the processors. Empty where their time is not known.
fn share(wall: Duration, used: Duration, processors: usize) -> String {
    let (wall, used) = (wall.as_secs_f64(), used.as_secs_f64());
    if used == 0.0 {
        return String::new();
    }
    let share = 100.0 * used / (wall * processors as f64);
    format!("{wall:.1} s in all: {share:.0} % of the time of {processors} processors\n")
}

#[cfg(test)]
mod tests {
    use super::{End, FINDINGS, Mark, end, in_lanes, in_sequence, share, table};
    use crate::context::{Output, current, say};
    use crate::jobs::{Job, Lane, Verdict};
    use crate::tree::Tree;
    use std::path::PathBuf;
    use std::sync::Mutex;
    use std::time::Duration;

    fn nowhere() -> Tree {
        Tree {
            root: PathBuf::new(),
        }
    }

    const JOB: Job = Job {
        name: "x",
        about: "",
        default: false,
        lane: Lane::Shared,
        run: |_, _| Ok(Verdict::CannotRun("no such machine".to_owned())),
        alone: None,
    };

    #[test]
    fn what_cannot_run_fails_only_on_the_server() {
        let end = |strict| end(&nowhere(), &JOB, JOB.run, &[], strict, Output::Attached);
        assert_eq!(
            (end(false).mark, end(true).mark),
            (Mark::NotRun, Mark::Failed)
        );
    }

    static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn seen(name: &str) -> anyhow::Result<Verdict> {
        SEEN.lock().unwrap().push(name.to_owned());
        Ok(Verdict::Holds(name.to_owned()))
    }

    #[test]
    fn both_lanes_run_in_order_and_parts_alone_come_last() {
        static JOBS: [Job; 3] = [
            Job {
                name: "own",
                lane: Lane::Own,
                run: |_, _| {
                    say!("half");
                    assert!(matches!(current().output, Output::Collected(_)));
                    seen("own")
                },
                ..JOB
            },
            Job {
                name: "first",
                run: |_, _| {
                    assert!(matches!(current().output, Output::Lines));
                    // Ends after the job of the other lane.
                    while !SEEN.lock().unwrap().contains(&"own".to_owned()) {
                        std::thread::yield_now();
                    }
                    seen("first")
                },
                alone: Some(|_, _| seen("first, alone")),
                ..JOB
            },
            Job {
                name: "second",
                run: |_, _| seen("second"),
                ..JOB
            },
        ];
        let asked: Vec<_> = JOBS.iter().map(|job| (job, vec![])).collect();
        let ends = in_lanes(&nowhere(), &asked, true);
        let said: Vec<&str> = ends.iter().map(|end| &*end.said).collect();
        assert_eq!(said, ["own", "first", "first, alone", "second"]);
        assert_eq!(
            *SEEN.lock().unwrap(),
            ["own", "first", "second", "first, alone"]
        );
    }

    #[test]
    fn in_sequence_a_part_alone_follows_its_job() {
        static ONE: Job = Job {
            run: |_, words| Ok(Verdict::Holds(words.concat())),
            alone: Some(|_, _| Ok(Verdict::Holds("alone".to_owned()))),
            ..JOB
        };
        let asked = [(&ONE, vec!["word".to_owned()]), (&ONE, vec![])];
        let ends = in_sequence(&nowhere(), &asked, true);
        let said: Vec<&str> = ends.iter().map(|end| &*end.said).collect();
        assert_eq!(said, ["word", "alone", "", "alone"]);
    }

    fn failed(said: String) -> End {
        End {
            name: "models",
            mark: Mark::Failed,
            wall: Duration::from_millis(1250),
            used: Duration::from_millis(2500),
            said,
        }
    }

    #[test]
    fn the_table_says_what_failed_and_how_much_was_used() {
        let text = table(&[failed("why".to_owned())], Duration::from_secs(2));
        let line = text.lines().nth(1).unwrap();
        assert!(line.contains("models") && line.contains("FAILED") && line.ends_with("why"));
        assert!(line.contains(" 1.2 s") && line.contains(" 2.5 s"), "{line}");
        let used = share(Duration::from_secs(10), Duration::from_secs(15), 2);
        assert!(used.contains("75 % of the time of 2 processors"), "{used}");
    }

    #[test]
    fn the_table_repeats_findings_but_not_all_of_many() {
        let table = |findings: usize| {
            let said = format!(
                "{findings} findings{}",
                "\nx: 3 executions".repeat(findings)
            );
            table(&[failed(said)], Duration::from_secs(2))
        };
        let few = table(2);
        assert_eq!(few.matches("    x: 3 executions\n").count(), 2);
        assert!(!few.contains("more"));
        let many = table(FINDINGS + 5);
        assert_eq!(many.matches("x: 3").count(), FINDINGS);
        assert!(many.contains("and 5 more"));
    }
}
