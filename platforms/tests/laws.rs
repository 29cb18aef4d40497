//! Bags that break their contract: the check names the law, and a run ends instead of hanging.

use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use tautline::balance::laws::{self, Broken, Law};
use tautline::prelude::*;
use tautline::world;

/// The way in which a bag breaks its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Fault {
    Sound,
    /// Once only, which the balancer must bear.
    PausesOnce,
    DoesNothing,
    StopsEarly,
    DoesTooMuch,
    GivesNothing,
    LeavesNothing,
    LosesInSplit,
    RefusesSplits,
    SplitsTheUnsplittable,
    LosesInMerge,
    IsNeverEmpty,
    ForgetsTheSum,
    DropsTheSum,
    DropsHalf,
    DecodesWithoutSum,
    DecodesWithoutTasks,
}

use Fault::*;

/// Numbers, each of which leads to all smaller ones of its half, and their sum.
#[derive(Serialize, Deserialize)]
#[serde(from = "Sent", into = "Sent")]
#[derive(Clone)]
struct Numbers {
    todo: Vec<u64>,
    sum: u64,
    fault: Fault,
    paused: bool,
}

#[derive(Serialize, Deserialize)]
struct Sent(Vec<u64>, u64, Fault);

impl From<Numbers> for Sent {
    fn from(bag: Numbers) -> Self {
        Self(bag.todo, bag.sum, bag.fault)
    }
}

impl From<Sent> for Numbers {
    fn from(Sent(mut todo, mut sum, fault): Sent) -> Self {
        match fault {
            DecodesWithoutSum => sum = 0,
            DecodesWithoutTasks => todo.truncate(1),
            _ => {}
        }
        Self {
            todo,
            sum,
            fault,
            paused: false,
        }
    }
}

impl Numbers {
    fn new(fault: Fault) -> Self {
        Self {
            todo: vec![1 << 12],
            sum: 0,
            fault,
            paused: false,
        }
    }
}

impl Bag for Numbers {
    type Shared = ();
    type Output = u64;

    fn process(&mut self, n: usize, (): &()) -> usize {
        let n = match self.fault {
            DoesNothing => 0,
            StopsEarly => n.min(3),
            PausesOnce if !std::mem::replace(&mut self.paused, true) => 0,
            _ => n,
        };
        for done in 0..n {
            let Some(number) = self.todo.pop() else {
                return done;
            };
            self.sum += number;
            if number > 1 {
                self.todo.extend([number / 2, number / 2]);
            }
        }
        n + usize::from(self.fault == DoesTooMuch)
    }

    fn split(&mut self, share: Share) -> Option<Self> {
        let len = self.todo.len();
        let taken = match (self.fault, share.of(len)) {
            (RefusesSplits, _) => return None,
            (GivesNothing, _) => 0,
            (LeavesNothing, _) => len,
            (SplitsTheUnsplittable, taken) if len > 1 => taken.max(1),
            (_, 0) => return None,
            (_, taken) => taken,
        };
        let mut todo: Vec<_> = self.todo.drain(..taken).collect();
        if self.fault == LosesInSplit && todo.len() > 1 {
            todo.pop();
        }
        Some(Self {
            todo,
            sum: 0,
            ..*self
        })
    }

    fn merge(&mut self, mut other: Self) {
        if self.fault == LosesInMerge {
            other.todo.pop();
        }
        self.todo.extend(other.todo);
        if self.fault != ForgetsTheSum {
            self.sum += other.sum;
        }
    }

    fn len(&self) -> usize {
        self.todo.len()
    }

    fn is_empty(&self) -> bool {
        self.todo.is_empty() && self.fault != IsNeverEmpty
    }

    fn is_splittable(&self) -> bool {
        self.todo.len() >= 2 + usize::from(self.fault == SplitsTheUnsplittable)
    }

    fn drop_tasks(&mut self) {
        let left = if self.fault == DropsHalf {
            self.todo.len() / 2
        } else {
            0
        };
        self.todo.truncate(left);
        if self.fault == DropsTheSum {
            self.sum = 0;
        }
    }

    fn submit(self, output: &mut u64) {
        *output += self.sum;
    }
}

fn check(fault: Fault) -> Result<laws::Checked<u64>, Broken> {
    laws::check_portable(|| Numbers::new(fault), || (), || 0)
}

#[test]
fn a_bag_that_keeps_the_laws_passes() {
    let checked = check(Sound).expect("it keeps them");
    assert_eq!((checked.tasks, checked.output), (8191, 13 << 12));
}

/// The rules of Finnerty 2022 for a bag, B-1 to B-4, and those of this library: each is broken by
/// one bag, which the check reports in one line.
#[test]
fn every_broken_law_is_named() {
    for (fault, law, evidence) in [
        (
            DoesNothing,
            Law::Progress,
            "it did 0 of 1 with 1 in the bag, and 1 are left",
        ),
        (PausesOnce, Law::Progress, "it did 0 of 1"),
        (StopsEarly, Law::Quota, "it did 3 of 4 with "),
        (DoesTooMuch, Law::Quota, "it did 2 of 1 with 1 in the bag"),
        (GivesNothing, Law::SplitGives, "gave 0, left "),
        (LeavesNothing, Law::SplitLeaves, ", left 0"),
        (LosesInSplit, Law::SplitKeeps, "Half of "),
        (RefusesSplits, Law::Splittable, "it was true, and Half of "),
        (
            SplitsTheUnsplittable,
            Law::Splittable,
            "it was false, and Half of 2 gave a bag",
        ),
        (LosesInMerge, Law::MergeKeeps, "1 and 1 make 1"),
        (IsNeverEmpty, Law::Empty, "it is false with 0 tasks"),
        (ForgetsTheSum, Law::Order, ", 53248 in sequence"),
        (DropsTheSum, Law::DropTasks, "0 instead of "),
        (DropsHalf, Law::DropTasks, " are left"),
        (DecodesWithoutSum, Law::Portable, "decoded after 1 tasks"),
        (DecodesWithoutTasks, Law::Portable, "1 tasks instead of "),
    ] {
        let broken = check(fault).expect_err("it breaks a law");
        let line = broken.to_string();
        assert_eq!(broken.law, law, "{fault:?}: {line}");
        assert!(line.contains(evidence), "{fault:?}: {line}");
        assert!(
            line.starts_with(law.text()) && line.lines().count() == 1,
            "{line}"
        );
        assert_eq!(format!("{broken:?}"), line);
    }
}

/// Runs the bag and returns the message of the panic that ended the run.
fn ended<T>(run: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(run)) else {
        panic!("the run ended without a panic");
    };
    *payload.downcast::<String>().expect("a message")
}

/// The bags that would keep a run from ending, and what is to be said of them.
const HANGING: [(Fault, Law); 3] = [
    (DoesNothing, Law::Progress),
    (GivesNothing, Law::SplitGives),
    (LeavesNothing, Law::SplitLeaves),
];

fn runtime(places: u32, workers: usize) -> Runtime {
    let builder = Runtime::builder().places(places).workers(workers);
    builder.pinned(false).build().unwrap()
}

#[test]
fn a_broken_bag_ends_a_run_on_threads() {
    for (fault, law) in HANGING {
        for (places, workers) in [(1, 2), (2, 1), (3, 2)] {
            let rt = runtime(places, workers);
            let balancer = rt.balancer().grain(10);
            let message = ended(|| balancer.run(Numbers::new(fault), |_| (), 0));
            let start = format!("the bag breaks its contract: {}: ", law.text());
            assert!(
                message.starts_with(&start),
                "{places} x {workers}: {message}"
            );
        }
    }
}

#[test]
fn a_broken_bag_ends_a_simulated_run() {
    let machine = tautline::machines::find("jaguar").expect("it is described");
    for (fault, law) in HANGING {
        for (places, workers) in [(1, 2), (16, 1)] {
            let balancer = tautline::balancer().places(places).workers(workers);
            let simulated = balancer.grain(10).simulated(&machine, 50);
            let message = ended(|| simulated.run(Numbers::new(fault), |_| (), 0));
            assert!(
                message.contains(law.text()),
                "{places} x {workers}: {message}"
            );
        }
    }
}

#[test]
fn a_broken_bag_ends_a_run_over_ranks() {
    for (fault, law) in HANGING {
        let message = ended(|| {
            world::loopback(2, |world| {
                world.wait_at_most(Duration::from_secs(30));
                let rt = runtime(1, 2);
                let across = rt.balancer().grain(10).across(world);
                across.run(Numbers::new(fault), |_| (), 0)
            })
        });
        assert!(message.contains(law.text()), "{message}");
    }
}

/// A grain in which a bag does nothing is no reason to end the run, unless it never does anything.
#[test]
fn a_bag_that_pauses_is_borne() {
    for (places, workers) in [(1, 1), (2, 2)] {
        let rt = runtime(places, workers);
        let balancer = rt.balancer().grain(10);
        let run = balancer.run(Numbers::new(PausesOnce), |_| (), 0);
        let run = run.expect("threads start");
        assert_eq!((run.output, run.complete), (13 << 12, true));
    }
}
