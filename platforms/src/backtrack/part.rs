//! A path and the branches still open along it.

use super::Branches;

/// A position on a path.
#[derive(Clone, Debug)]
pub(super) struct Level<B: Branches> {
    /// The branch that leads here; none leads to the root.
    pub entered: Option<B::Item>,
    /// Not taken yet.
    pub open: B,
}

/// One path of a search, from the root to where it has come.
#[derive(Clone, Debug)]
pub(super) struct Part<B: Branches> {
    pub levels: Vec<Level<B>>,
}

impl<B: Branches> Default for Part<B> {
    fn default() -> Self {
        Self { levels: Vec::new() }
    }
}

impl<B: Branches> Part<B> {
    /// How many branches are open.
    pub fn open(&self) -> usize {
        self.levels.iter().map(|level| level.open.len()).sum()
    }

    /// No branch is open.
    pub fn is_done(&self) -> bool {
        self.levels.iter().rev().all(|level| level.open.len() == 0)
    }

    /// The branches taken from the root on.
    pub fn path(&self) -> impl Iterator<Item = B::Item> + '_ {
        self.levels.iter().filter_map(|level| level.entered)
    }

    /// Takes from the end of each level as many branches as `due` says when told how many are open.
    pub fn cut(&mut self, due: &mut impl FnMut(usize) -> usize) -> Option<Self> {
        let mut levels = Vec::with_capacity(self.levels.len());
        // What the loot's path needs: below its last open branches it leads nowhere.
        let mut needed = 0;
        for level in &mut self.levels {
            let given = match level.open.len() {
                0 => 0,
                open => due(open),
            };
            levels.push(Level {
                entered: level.entered,
                open: level.open.split_off(given),
            });
            if given > 0 {
                needed = levels.len();
            }
        }
        levels.truncate(needed);
        (needed > 0).then_some(Self { levels })
    }
}
