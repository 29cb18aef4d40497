//! Models of `tautline_core::taper::Claim`.
#![cfg(tautline_loom)]

use loom::cell::UnsafeCell;
use loom::thread;
use std::ops::Range;
use std::sync::Arc;
use tautline_core::taper::{Claim, Estimate, Instance, Policy, Q16, Taper};
use tautline_verify::model::Model;

/// A loop that several threads execute.
struct Scene {
    claim: Claim,
    policy: Policy,
    cx: Instance,
    estimate: Estimate,
}

impl Scene {
    fn new(policy: Policy, n: usize, p: u32) -> Arc<Self> {
        Arc::new(Self {
            claim: Claim::new(0..n),
            policy,
            cx: Instance::new(n as u64, p),
            estimate: Estimate {
                mean_ns: Q16::whole(100),
                cv: Q16::ratio(1, 4),
            },
        })
    }

    fn next(&self) -> Option<Range<usize>> {
        self.claim.take(&self.policy, self.estimate, &self.cx)
    }

    /// Takes chunks until none is left.
    fn chunks(&self) -> Vec<Range<usize>> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

/// Runs the scene on `p` threads; returns the chunks of each.
fn on_threads(scene: &Arc<Scene>, p: u32) -> Vec<Vec<Range<usize>>> {
    let others: Vec<_> = (1..p)
        .map(|_| {
            let scene = Arc::clone(scene);
            thread::spawn(move || scene.chunks())
        })
        .collect();
    let mine = scene.chunks();
    let theirs = others.into_iter().map(|other| other.join().unwrap());
    theirs.chain([mine]).collect()
}

/// Every iteration is in one chunk, and the chunks are those of the policy: no thread takes one
/// whose size belongs to another position.
fn each_once(policy: Policy, n: usize, p: u32) {
    let scene = Scene::new(policy, n, p);
    let mut all: Vec<_> = on_threads(&scene, p).into_iter().flatten().collect();
    all.sort_by_key(|chunk| chunk.start);
    let mut next = 0;
    for size in policy.dry_run(scene.estimate, &scene.cx) {
        let end = next + size as usize;
        assert_eq!(all.first(), Some(&(next..end)), "lost, or taken twice");
        all.remove(0);
        next = end;
    }
    assert_eq!((next, all.len()), (n, 0));
}

/// Two threads and three chunks, by each policy.
#[test]
fn claim_each_once() {
    let policies = [
        ("claim_self_scheduling", Policy::SelfScheduling, 3),
        ("claim_fixed", Policy::Fixed(2), 5),
        ("claim_guided", Policy::Guided, 6),
        ("claim_factoring", Policy::Factoring, 5),
        ("claim_trapezoid", Policy::Trapezoid, 5),
        ("claim_taper", Policy::Taper(Taper::default()), 4),
        ("claim_even_start", Policy::EvenStart(Taper::default()), 7),
    ];
    for (name, policy, n) in policies {
        let model = Model::new(name).floor(450);
        model.check(move || each_once(policy, n, 2));
    }
}

/// Three threads.
#[test]
fn claim_three_threads() {
    Model::new("claim_three_threads")
        .bound(2)
        .floor(1_000)
        .check(|| each_once(Policy::Guided, 4, 3));
}

/// An attempt fails only if another thread has taken a chunk since (loom has no spurious failures).
#[test]
fn claim_progress() {
    Model::new("claim_progress").floor(450).check(|| {
        let claim = Arc::new(Claim::new(0..3));
        let take_all = |claim: &Claim| {
            let (mut attempts, mut taken) = (0, 0);
            while claim
                .take_with(|_| {
                    attempts += 1;
                    1
                })
                .is_some()
            {
                taken += 1;
            }
            (attempts - taken, taken)
        };
        let theirs = Arc::clone(&claim);
        let other = thread::spawn(move || take_all(&theirs));
        let (mine_failed, mine) = take_all(&claim);
        let (theirs_failed, theirs) = other.join().unwrap();
        assert_eq!(mine + theirs, 3);
        assert!(mine_failed <= theirs && theirs_failed <= mine);
    });
}

/// A chunk that is too large for what is left is clipped, with the number of the same attempt.
#[test]
fn claim_clips() {
    Model::new("claim_clips").floor(70).check(|| {
        let claim = Arc::new(Claim::new(0..5));
        let theirs = Arc::clone(&claim);
        let take_all = |claim: &Claim| -> usize {
            std::iter::from_fn(|| claim.take_with(|_| 3))
                .flatten()
                .sum()
        };
        let other = thread::spawn(move || take_all(&theirs));
        let mine = take_all(&claim);
        assert_eq!(mine + other.join().unwrap(), 10);
    });
}

/// The cells that the iterations of a loop write: one for each, which loom observes.
struct Results(Vec<UnsafeCell<usize>>);

impl Results {
    fn new(n: usize) -> Self {
        Self((0..n).map(|_| UnsafeCell::new(0)).collect())
    }

    fn write(&self, chunk: Range<usize>) {
        for i in chunk {
            // SAFETY: loom checks that no access is concurrent.
            self.0[i].with_mut(|result| unsafe { *result += i + 1 });
        }
    }

    fn sum(&self) -> usize {
        // SAFETY: loom checks that no access is concurrent.
        let read = |cell: &UnsafeCell<usize>| cell.with(|result| unsafe { *result });
        self.0.iter().map(read).sum()
    }
}

/// The writes of the caller before it started the threads are visible to the iterations, and their
/// results after the join; the claim itself has no part in it.
#[test]
fn claim_results_after_join() {
    Model::new("claim_results_after_join").floor(450).check(|| {
        let shared = Arc::new((Scene::new(Policy::Guided, 4, 2), Results::new(4)));
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || {
            std::iter::from_fn(|| theirs.0.next()).for_each(|chunk| theirs.1.write(chunk));
        });
        std::iter::from_fn(|| shared.0.next()).for_each(|chunk| shared.1.write(chunk));
        other.join().unwrap();
        assert_eq!(shared.1.sum(), 10);
    });
}

/// A thread that finds no chunk left must not read the results of others: loom finds the race.
#[test]
fn claim_publishes_nothing() {
    let caught = Model::new("claim_publishes_nothing").find(|| {
        let shared = Arc::new((Scene::new(Policy::SelfScheduling, 1, 2), Results::new(1)));
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || {
            std::iter::from_fn(|| theirs.0.next()).for_each(|chunk| theirs.1.write(chunk));
        });
        if shared.0.next().is_none() {
            shared.1.sum();
        }
        other.join().unwrap();
    });
    let executions = caught.expect("a claim that synchronises is stronger than documented");
    println!(
        "MODEL claim_publishes_nothing executions={executions} floor=1 bound=none seconds=0.00"
    );
}
