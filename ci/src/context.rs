//! The lane in which a thread runs a job: where output goes, whether commands have a limit, the
//! processor time that they used.
//!
//! Two lanes write to one terminal, so none may write a part of a line: one prints whole lines as
//! they come, the other collects the output of each job.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The destination of output.
#[derive(Clone, Debug, Default)]
pub(crate) enum Output {
    /// To the terminal, which commands inherit: no other lane writes to it.
    #[default]
    Attached,
    /// To the terminal in whole lines.
    Lines,
    /// Into a text that is printed as a whole.
    Collected(Arc<Mutex<String>>),
}

impl Output {
    /// Returns an output that collects, and its text.
    pub(crate) fn collecting() -> (Self, Arc<Mutex<String>>) {
        let text = Arc::default();
        (Self::Collected(Arc::clone(&text)), text)
    }

    /// Prints a text, which consists of whole lines unless this is the terminal itself.
    pub(crate) fn text(&self, text: &str) {
        match self {
            // One call, which locks the terminal: lines of two lanes are not mixed.
            Self::Attached | Self::Lines => print!("{text}"),
            Self::Collected(all) => *lock(all) += text,
        }
    }
}

/// State of a job, shared by all threads that work for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    pub output: Output,
    /// Whether commands have a limit.
    pub limited: bool,
    used: Arc<Mutex<Duration>>,
}

thread_local! {
    static CURRENT: RefCell<Context> = RefCell::default();
}

impl Context {
    pub(crate) fn new(output: Output, limited: bool) -> Self {
        Self {
            output,
            limited,
            used: Arc::default(),
        }
    }

    /// Returns the same job with another output.
    pub(crate) fn with_output(&self, output: Output) -> Self {
        Self {
            output,
            ..self.clone()
        }
    }

    /// Makes this the context of the calling thread while `body` runs.
    pub(crate) fn enter<T>(&self, body: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(self.clone());
        let value = body();
        CURRENT.set(before);
        value
    }

    /// Adds processor time to that of the job.
    pub(crate) fn add(&self, used: Duration) {
        *lock(&self.used) += used;
    }

    /// Returns the processor time added until now.
    pub(crate) fn used(&self) -> Duration {
        *lock(&self.used)
    }

    /// Whether commands inherit the terminal.
    pub(crate) fn is_attached(&self) -> bool {
        matches!(self.output, Output::Attached)
    }
}

/// Returns the context of the calling thread. A thread that works for another one enters that
/// one's.
pub(crate) fn current() -> Context {
    CURRENT.with_borrow(Clone::clone)
}

/// Prints a text to the output of the calling thread; see [`Output::text`].
pub(crate) fn text(text: &str) {
    current().output.text(text);
}

/// Locks what is whole even if its owner panicked: texts and sums.
pub(crate) fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `println!` to the output of the calling thread.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::context::text(&(format!($($words)*) + "\n"))
    };
}
pub(crate) use say;

#[cfg(test)]
mod tests {
    use super::{Context, Output, current, lock};
    use std::time::Duration;

    #[test]
    fn what_a_job_prints_is_collected_and_only_that() {
        let (output, text) = Output::collecting();
        let context = Context::new(output, true);
        context.enter(|| {
            say!("a {}", 1);
            let (inner, part) = Output::collecting();
            current().with_output(inner).enter(|| say!("part"));
            say!("b");
            assert_eq!(*lock(&part), "part\n");
        });
        assert!(current().is_attached() && !current().limited);
        assert_eq!(*lock(&text), "a 1\nb\n");
    }

    #[test]
    fn threads_of_a_job_add_to_its_processor_time() {
        let context = Context::new(Output::Lines, false);
        let (output, _) = Output::collecting();
        let part = context.with_output(output);
        std::thread::spawn(move || part.add(Duration::from_secs(2)))
            .join()
            .unwrap();
        context.add(Duration::from_secs(1));
        assert_eq!(context.used(), Duration::from_secs(3));
    }
}
