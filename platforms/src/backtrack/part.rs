//! A path and the branches still open along it.
//!
//! # Words
//! `branches` is flat, a level's own behind those of the level above. Of these, `next..end` are open,
//! and `next - 1` is the branch taken, but for the last level, where none is. A cut lowers `end`; what
//! it leaves behind is stale and written over when the walk comes by.

/// The open branches of one level, by their places in the list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub next: u32,
    pub end: u32,
}

impl Level {
    fn open(self) -> usize {
        (self.end - self.next) as usize
    }
}

/// One path of a search.
#[derive(Clone, Debug)]
pub(super) struct Part<B> {
    pub branches: Vec<B>,
    pub levels: Vec<Level>,
}

impl<B> Default for Part<B> {
    fn default() -> Self {
        Self {
            branches: Vec::new(),
            levels: Vec::new(),
        }
    }
}

impl<B: Copy> Part<B> {
    /// How many branches are open.
    pub fn open(&self) -> usize {
        self.levels.iter().map(|level| level.open()).sum()
    }

    /// A level of the branches listed from `first` on.
    pub fn descend(&mut self, first: usize) {
        self.levels.push(Level {
            next: first as u32,
            end: self.branches.len() as u32,
        });
    }

    /// The branches taken, from the root to where this part is.
    pub fn path(&self) -> impl Iterator<Item = B> + '_ {
        let (_, above) = self.levels.split_last().unwrap_or((&Level { next: 0, end: 0 }, &[]));
        above.iter().map(|level| self.branches[level.next as usize - 1])
    }

    /// Becomes what `other` is, in the room that is there.
    pub fn copy_from(&mut self, other: &Self) {
        self.branches.clone_from(&other.branches);
        self.levels.clone_from(&other.levels);
    }

    /// Takes from the end of each level as many branches as `due` says when told how many are open.
    pub fn cut(&mut self, due: &mut impl FnMut(usize) -> usize) -> Option<Self> {
        let mut loot = Self {
            branches: Vec::with_capacity(self.levels.len() + self.open()),
            levels: Vec::with_capacity(self.levels.len()),
        };
        // What the loot's path needs: below its last open branches it leads nowhere.
        let mut needed = 0;
        for level in &mut self.levels {
            // Behind the last level's `next` there may be nothing, and nobody asks for it.
            loot.branches.extend(level.next.checked_sub(1).map(|taken| self.branches[taken as usize]));
            let first = loot.branches.len();
            let given = match level.open() {
                0 => 0,
                open => due(open),
            };
            let kept = level.end - given as u32;
            loot.branches.extend(&self.branches[kept as usize..level.end as usize]);
            level.end = kept;
            loot.descend(first);
            if given > 0 {
                needed = loot.levels.len();
            }
        }
        loot.levels.truncate(needed);
        loot.branches.truncate(loot.levels.last()?.end as usize);
        Some(loot)
    }
}
