//! Random trees of forks, scopes and spawned tasks, some of which panic or cancel.

use super::WORKERS;
use super::crew::{Cx, on};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use tautline_core::finish::Reason;
use tautline_core::task::Wait;

/// The action of a task; each task has a unique number.
enum Plan {
    Leaf,
    Fork(Box<[Node; 2]>),
    /// Spawns, and does not wait.
    Spawn(Vec<Node>),
    Scope(Wait, Vec<Node>),
    Finish(Wait, Vec<Node>),
    Panic,
    Cancel,
}

struct Node {
    id: usize,
    plan: Plan,
    /// The number of nodes from this one on, itself included: `id..id + size`.
    size: usize,
}

/// The splitmix generator: the same trees everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % n
    }
}

struct Grower {
    random: Random,
    /// The number of nodes so far.
    count: usize,
    /// One in this number of nodes panics, or cancels; 0: none.
    panics: u64,
    cancels: u64,
}

impl Grower {
    fn grow(&mut self, deep: u64) -> Node {
        let id = self.count;
        self.count += 1;
        let one_in = |random: &mut Random, n: u64| n > 0 && random.below(n) == 0;
        let plan = if one_in(&mut self.random, self.panics) {
            Plan::Panic
        } else if one_in(&mut self.random, self.cancels) {
            Plan::Cancel
        } else if deep == 0 || self.random.below(8) == 0 {
            Plan::Leaf
        } else {
            let wait = [Wait::Help, Wait::Help, Wait::Own, Wait::Park];
            let wait = wait[self.random.below(4) as usize];
            match self.random.below(4) {
                0 => Plan::Fork(Box::new([self.grow(deep - 1), self.grow(deep - 1)])),
                1 => Plan::Spawn(self.some(deep)),
                2 => Plan::Scope(wait, self.some(deep)),
                _ => Plan::Finish(wait, self.some(deep)),
            }
        };
        let size = self.count - id;
        Node { id, plan, size }
    }

    fn some(&mut self, deep: u64) -> Vec<Node> {
        let many = self.random.below(5);
        (0..many).map(|_| self.grow(deep - 1)).collect()
    }
}

fn weight(id: usize) -> u64 {
    (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

/// The events of the nodes of a tree.
struct World {
    ran: Vec<AtomicUsize>,
    panicked: AtomicUsize,
    sum: AtomicU64,
    made: AtomicUsize,
    dropped: AtomicUsize,
}

/// Captured by every task.
struct Token<'w>(&'w World);

impl<'w> Token<'w> {
    fn new(world: &'w World) -> Self {
        world.made.fetch_add(1, SeqCst);
        Self(world)
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

fn spawn<'s, 'e: 's>(cx: &mut Cx<'s, 'e>, nodes: &'e [Node], world: &'e World) {
    for node in nodes {
        let token = Token::new(world);
        cx.spawn(move |cx| act(cx, node, token));
    }
}

fn act<'s, 'e: 's>(cx: &mut Cx<'s, 'e>, node: &'e Node, token: Token<'e>) {
    let world = token.0;
    world.ran[node.id].fetch_add(1, SeqCst);
    match &node.plan {
        Plan::Leaf => {}
        Plan::Fork(halves) => {
            let [first, second] = &**halves;
            let tokens = (Token::new(world), Token::new(world));
            cx.join(
                |cx| act(cx, first, tokens.0),
                |cx| act(cx, second, tokens.1),
            );
        }
        Plan::Spawn(nodes) => spawn(cx, nodes, world),
        Plan::Scope(wait, nodes) => {
            cx.scope_with(*wait, |cx| spawn(cx, nodes, world));
            whole(nodes, world);
        }
        Plan::Finish(wait, nodes) => {
            if cx.finish_with(*wait, |cx| spawn(cx, nodes, world)).is_ok() {
                whole(nodes, world);
            }
        }
        Plan::Panic => {
            world.panicked.fetch_add(1, SeqCst);
            panic_any(node.id);
        }
        Plan::Cancel => _ = cx.cancel(Reason::Found),
    }
    world.sum.fetch_add(weight(node.id), SeqCst);
}

/// Asserts that all tasks of a scope or finish that returned normally have run. Nested scopes have
/// asserted this for themselves.
fn whole(nodes: &[Node], world: &World) {
    for node in nodes {
        assert_eq!(world.ran[node.id].load(SeqCst), 1, "node {}", node.id);
        match &node.plan {
            Plan::Spawn(nodes) => whole(nodes, world),
            Plan::Fork(halves) => whole(&halves[..], world),
            Plan::Finish(..) | Plan::Scope(..) | Plan::Leaf | Plan::Cancel => {}
            Plan::Panic => panic!("a scope returned in spite of a panic"),
        }
    }
}

fn try_tree(seed: u64, workers: usize, panics: u64, cancels: u64) -> usize {
    let random = Random(seed);
    let mut grower = Grower {
        random,
        count: 0,
        panics,
        cancels,
    };
    let tree = grower.grow(9);
    let world = World {
        ran: (0..tree.size).map(|_| AtomicUsize::new(0)).collect(),
        panicked: AtomicUsize::new(0),
        sum: AtomicU64::new(0),
        made: AtomicUsize::new(0),
        dropped: AtomicUsize::new(0),
    };
    let run = AssertUnwindSafe(|| {
        on(workers, |cx| act(cx, &tree, Token::new(&world)));
    });
    let outcome = catch_unwind(run);
    let case = format!("seed {seed}, {workers} workers, {panics}, {cancels}");
    let ran: Vec<usize> = world.ran.iter().map(|n| n.load(SeqCst)).collect();
    assert!(ran.iter().all(|&n| n <= 1), "{case}: twice");
    let (made, dropped) = (world.made.load(SeqCst), world.dropped.load(SeqCst));
    assert_eq!(made, dropped, "{case}: captured values");
    let threw = world.panicked.load(SeqCst);
    match &outcome {
        Ok(()) => assert!(threw == 0 || cancels > 0, "{case}: a panic was lost"),
        Err(payload) => {
            let id = payload.downcast_ref::<usize>();
            let id = *id.unwrap_or_else(|| panic!("{case}: not a panic of the tree"));
            assert_eq!(ran[id], 1, "{case}");
        }
    }
    if panics == 0 && cancels == 0 {
        assert!(ran.iter().all(|&n| n == 1), "{case}: not all");
        let sum = (0..tree.size).map(weight).sum();
        assert_eq!(world.sum.load(SeqCst), sum, "{case}");
    }
    tree.size
}

fn try_trees(panics: u64, cancels: u64) {
    let mut nodes = 0;
    for seed in 0..60 {
        for workers in WORKERS {
            nodes += try_tree(seed, workers, panics, cancels);
        }
    }
    assert!(nodes > 20_000, "{nodes} nodes: the trees are too small");
}

/// Every task runs exactly once, the sum over all is right, and every captured value is dropped
/// once.
#[test]
fn random_trees_run_every_task_once() {
    try_trees(0, 0);
}

/// With a panic somewhere: no task runs twice, the panic propagates, and no captured value is
/// leaked or dropped twice.
#[test]
fn random_trees_with_panics() {
    try_trees(100, 0);
    try_trees(15, 0);
}

/// Cancelled finishes: those that return `Ok` are complete.
#[test]
fn random_trees_with_cancellations() {
    try_trees(0, 30);
}

/// Both.
#[test]
fn random_trees_with_panics_and_cancellations() {
    try_trees(60, 30);
}
