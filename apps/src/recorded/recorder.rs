//! Recording the tree of tasks of a program in one sequential run.

use super::Tree;
use std::time::{Duration, Instant};

/// Runs tasks one after the other, each where it is made, and records the parent and the duration
/// of each.
///
/// ```
/// use tautline_cli::recorded::Recorder;
///
/// let mut recorder = Recorder::new();
/// recorder.root(|task| task.child(|_| ()));
/// assert_eq!(recorder.tree().tasks(), 2);
/// ```
#[derive(Debug, Default)]
pub struct Recorder {
    parents: Vec<Option<u32>>,
    ns: Vec<u64>,
}

/// A task that is being recorded.
#[derive(Debug)]
pub struct Task<'r> {
    recorder: &'r mut Recorder,
    number: u32,
    /// The time at which it started or last resumed.
    since: Instant,
    /// Time that it ran before `since`.
    before: Duration,
}

impl Recorder {
    /// Creates a recorder without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs a task without a parent.
    ///
    /// # Panics
    /// If `body` panics, or if there are 2^32 - 1 tasks already.
    pub fn root<R>(&mut self, body: impl FnOnce(&mut Task<'_>) -> R) -> R {
        self.run(None, body)
    }

    fn run<R>(&mut self, parent: Option<u32>, body: impl FnOnce(&mut Task<'_>) -> R) -> R {
        let number = u32::try_from(self.parents.len()).expect("fewer than 2^32 tasks");
        assert!(number < u32::MAX, "fewer than 2^32 - 1 tasks");
        self.parents.push(parent);
        self.ns.push(0);
        let mut task = Task {
            recorder: self,
            number,
            since: Instant::now(),
            before: Duration::ZERO,
        };
        let result = body(&mut task);
        task.pause();
        let took = u64::try_from(task.before.as_nanos()).unwrap_or(u64::MAX);
        self.ns[number as usize] = took;
        result
    }

    /// Returns the recorded tree.
    pub fn tree(self) -> Tree {
        Tree::new(self.parents, self.ns)
    }
}

impl Task<'_> {
    /// Runs a child of this task. The child's time does not count as this task's.
    ///
    /// # Panics
    /// As [`Recorder::root`].
    pub fn child<R>(&mut self, body: impl FnOnce(&mut Task<'_>) -> R) -> R {
        self.pause();
        let result = self.recorder.run(Some(self.number), body);
        self.since = Instant::now();
        result
    }

    fn pause(&mut self) {
        self.before += self.since.elapsed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn each_time_is_its_own() {
        // Tasks sleep, since what is recorded is the time that passes in them: there is no event.
        let ms = Duration::from_millis;
        let mut recorder = Recorder::new();
        let result = recorder.root(|task| {
            sleep(ms(2));
            let one = task.child(|task| {
                sleep(ms(200));
                task.child(|_| 1)
            });
            sleep(ms(2));
            one + task.child(|_| 2)
        });
        recorder.root(|_| ());
        let tree = recorder.tree();
        assert_eq!(result, 3);
        assert_eq!(tree.parents, [None, Some(0), Some(1), Some(0), None]);
        assert!(
            tree.ns[0] >= 4_000_000 && tree.ns[1] >= 200_000_000,
            "{tree:?}"
        );
        // The child's 200 ms are not counted for the root.
        assert!(tree.ns[0] < tree.ns[1], "{tree:?}");
    }
}
