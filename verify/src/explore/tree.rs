//! Small explicit task trees.

/// A forest of tasks; tasks with equal subtrees are the same kind, so that states that differ only
/// in which of two equal tasks is where are one.
#[derive(Clone, Debug)]
pub struct Tree {
    /// By kind: the kinds of the children.
    children: Vec<Vec<u8>>,
    roots: Vec<u8>,
}

impl Tree {
    /// Reads a forest: `()` is a task, what stands inside are its children. `"(()(()))"` has 4
    /// tasks.
    ///
    /// # Panics
    /// Parentheses that do not match, other characters, and more than 255 kinds.
    pub fn new(forest: &str) -> Self {
        let mut children: Vec<Vec<u8>> = Vec::new();
        let mut open: Vec<Vec<u8>> = vec![Vec::new()];
        for c in forest.chars() {
            if c == '(' {
                open.push(Vec::new());
                continue;
            }
            assert!(c == ')' && open.len() > 1, "not a forest: {forest}");
            let inner = open.pop().expect("checked above");
            let kind = children.iter().position(|known| *known == inner);
            let kind = kind.unwrap_or_else(|| {
                children.push(inner);
                children.len() - 1
            });
            let outer = open.last_mut().expect("checked above");
            outer.push(u8::try_from(kind).expect("at most 255 kinds"));
        }
        let roots = open.pop().expect("the outermost");
        assert!(open.is_empty(), "not a forest: {forest}");
        Self { children, roots }
    }

    /// The tasks at the start.
    pub(super) fn roots(&self) -> &[u8] {
        &self.roots
    }

    /// The tasks that a task of this kind spawns.
    pub(super) fn children(&self, kind: u8) -> &[u8] {
        &self.children[usize::from(kind)]
    }

    /// All tasks in and below `tasks`.
    pub(super) fn size(&self, tasks: &[u8]) -> u32 {
        // Children are made before their parents, so the depth is bounded by the number of kinds.
        tasks
            .iter()
            .map(|kind| 1 + self.size(self.children(*kind)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;

    #[test]
    fn equal_subtrees_are_one_kind() {
        let tree = Tree::new("((())(()))()");
        assert_eq!(tree.children.len(), 3);
        assert_eq!(tree.size(tree.roots()), 6);
    }
}
