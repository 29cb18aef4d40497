//! The search (kernel 2): a finish of the team for each level.

use super::graph::Graph;
use super::tree::{NONE, Tree};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;
use tautline::Result;
use tautline::runtime::Cx;
use tautline::team::{At, Handler, Operator, Team, handler};
use tautline::world::Rank;

/// The fewest vertices of a task.
const TASK_MIN: usize = 64;
/// The elements of the tree that are gathered by one call.
const GATHERED: usize = 1 << 22;

/// The memory of searches, at a rank: of its vertices, by their rows.
pub(super) struct Search<'a> {
    graph: &'a Graph,
    parents: Vec<AtomicU32>,
    levels: Vec<AtomicU32>,
    /// The rows of the visited vertices, in the order of their levels.
    queue: Vec<AtomicU32>,
    /// Their number.
    visited: AtomicUsize,
    /// A bit for each vertex of the graph: those of other ranks that this one has sent.
    sent: Vec<AtomicU64>,
}

impl<'a> Search<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        let own = || Vec::from_iter(graph.division.own().map(|_| AtomicU32::new(NONE)));
        let bits = match graph.division.ranks {
            1 => 0,
            _ => graph.division.vertices.div_ceil(64),
        };
        Self {
            graph,
            parents: own(),
            levels: own(),
            queue: own(),
            visited: AtomicUsize::new(0),
            sent: Vec::from_iter((0..bits).map(|_| AtomicU64::new(0))),
        }
    }

    /// Searches from `key`, and returns the number of vertices in each level, and the seconds.
    pub(super) fn run(
        &mut self,
        key: u32,
        cx: &mut Cx<'_, '_>,
        team: &mut Team,
    ) -> Result<(Vec<u64>, f64)> {
        team.barrier().wait(cx)?;
        let began = Instant::now();
        self.clear();
        let division = self.graph.division;
        if division.owner(key) == division.rank {
            self.claim(division.row(key) as u32, key, 0);
        }
        let (mut sizes, mut from) = (Vec::new(), 0);
        let this = &*self;
        loop {
            // ORDERING: Relaxed: the finish of the last level has ordered its tasks before.
            let to = this.visited.load(Ordering::Relaxed);
            let own = (to - from) as u64;
            match team.all_reduce(own, |a, b| a + b).wait(cx)? {
                0 => break,
                size => sizes.push(size),
            }
            let level = sizes.len() as u32;
            let claim = |(row, parent)| this.claim(row, parent, level);
            let visit = handler(|_, _, found: (u32, u32)| claim(found)).short();
            team.finish(cx, &visit, |cx, at| {
                this.expand(cx, at, from..to, &visit, &claim);
            })?;
            from = to;
        }
        Ok((sizes, began.elapsed().as_secs_f64()))
    }

    fn clear(&mut self) {
        for word in self.parents.iter_mut().chain(&mut self.levels) {
            *word.get_mut() = NONE;
        }
        for word in &mut self.sent {
            *word.get_mut() = 0;
        }
        *self.visited.get_mut() = 0;
    }

    /// Visits the vertex of this rank at a row, unless it has been visited.
    fn claim(&self, row: u32, parent: u32, level: u32) {
        let own = &self.parents[row as usize];
        // ORDERING: Relaxed: only one exchange of the word succeeds, and the words below are read
        // after the finish of the level, which orders them. The same for the load and the stores.
        if own.load(Ordering::Relaxed) != NONE
            || own
                .compare_exchange(NONE, parent, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        // ORDERING: Relaxed: as above.
        self.levels[row as usize].store(level, Ordering::Relaxed);
        // ORDERING: Relaxed: each addition reserves a slot of its own.
        let slot = self.visited.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Relaxed: as above.
        self.queue[slot].store(row, Ordering::Relaxed);
    }

    /// Whether this rank sends a vertex of another one for the first time.
    fn is_new(&self, vertex: u32) -> bool {
        let (word, bit) = (&self.sent[vertex as usize / 64], 1 << (vertex % 64));
        // ORDERING: Relaxed: the bits publish nothing; the second access corrects a stale one.
        word.load(Ordering::Relaxed) & bit == 0
            // ORDERING: Relaxed: as above.
            && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Visits the neighbours of a level, which is this part of the queue.
    fn expand<'s, F: Sync>(
        &'s self,
        cx: &mut Cx<'s, '_>,
        at: At<'s>,
        level: Range<usize>,
        visit: &'s Handler<F, (u32, u32), ()>,
        claim: &'s (impl Fn((u32, u32)) + Sync),
    ) {
        let division = self.graph.division;
        let level = &self.queue[level];
        let size = level.len().div_ceil(self.graph.pieces).max(TASK_MIN);
        for piece in level.chunks(size) {
            cx.spawn(move |cx| {
                let mut batch = at.batch(cx, visit);
                for row in piece {
                    // ORDERING: Relaxed: the finish of the last level has ordered its store before.
                    let row = row.load(Ordering::Relaxed);
                    let vertex = division.vertex(row);
                    for &here in self.graph.here(row as usize) {
                        claim((here, vertex));
                    }
                    for &neighbour in self.graph.elsewhere(row as usize) {
                        if self.is_new(neighbour) {
                            let found = (division.row(neighbour) as u32, vertex);
                            batch.push(cx, Rank(division.owner(neighbour)), found);
                        }
                    }
                }
            });
        }
    }

    /// Returns the whole tree, at all ranks.
    pub(super) fn tree(&mut self, key: u32, cx: &mut Cx<'_, '_>, team: &mut Team) -> Result<Tree> {
        let division = self.graph.division;
        let mut gathered = |words: &mut [AtomicU32]| -> Result<Vec<u32>> {
            let mut all = vec![0; division.vertices as usize];
            for (vertex, word) in division.own().zip(words) {
                // No vertex is 0, the least.
                all[vertex as usize] = word.get_mut().wrapping_add(1);
            }
            for part in all.chunks_mut(GATHERED) {
                team.all_reduce_slice(part, Operator::Max).wait(cx)?;
            }
            all.iter_mut().for_each(|word| *word = word.wrapping_sub(1));
            Ok(all)
        };
        Ok(Tree {
            key,
            parents: gathered(&mut self.parents)?,
            levels: gathered(&mut self.levels)?,
        })
    }
}
