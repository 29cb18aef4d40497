//! The threads of a runtime: names, stacks, and what they do when they start and stop.
#![forbid(unsafe_code)]

use crate::Result;
use crate::error::refuse;
use crate::execution::plan::Builder;
use tautline_node::pool::{Hook, Thread};

/// The smallest and the largest stack, in bytes. Tasks that need more than a small one continue on
/// further pieces.
const STACK_BYTES: (usize, usize) = (256 << 10, 1 << 30);

/// The settings of the started threads, one for each worker but the first: the first is the caller
/// of [`Runtime::run`](crate::Runtime::run), a thread of the program.
impl Builder {
    /// Sets what the names of the started threads begin with; a hyphen and the number of the worker
    /// follow. Debuggers, profilers and messages of panics show it. Default: `tautline`. Linux
    /// keeps the first 15 bytes of a name.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).thread_name("solver").build()?;
    /// let met = std::sync::Barrier::new(2);
    /// let name = || {
    ///     met.wait(); // so that each of the two workers runs one of the tasks
    ///     std::thread::current().name().map(str::to_owned)
    /// };
    /// let names: [_; 2] = rt.run(|cx| cx.join(|_| name(), |_| name())).into();
    /// assert!(names.contains(&Some("solver-1".to_owned())));
    ///
    /// let error = Runtime::builder().thread_name("").build().unwrap_err();
    /// assert_eq!(error.to_string(), "thread name \"\": not empty, and without a null character");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.thread.name = prefix.into();
        self
    }

    /// Sets the stack of each started thread in bytes, from 256 KiB to 1 GiB. Default: 64 MiB, of
    /// which only what is touched takes memory. Deep forks need no larger one: with the feature
    /// `deep-recursion` they continue on further pieces of stack.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).stack_size(1 << 20).build()?;
    /// # assert_eq!(rt.run(|cx| cx.join(|_| 1, |_| 2)), (1, 2));
    ///
    /// let error = Runtime::builder().stack_size(4096).build().unwrap_err();
    /// assert_eq!(error.to_string(), "stack size 4096: from 262144 to 1073741824 bytes");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.thread.stack_bytes = bytes;
        self
    }

    /// Sets what each started thread calls before it runs tasks: to register with a library, set a
    /// priority, or fill a thread-local variable. The threads of callers do not call it; that which
    /// runs tasks of [`Runtime::spawn`](crate::Runtime::spawn) does, from the first such task on.
    /// If it panics, the panic is reported as any other, and the thread works nevertheless.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use std::cell::Cell;
    ///
    /// thread_local!(static IS_WORKER: Cell<bool> = const { Cell::new(false) });
    ///
    /// let rt = Runtime::builder().workers(2).on_thread_start(|| IS_WORKER.set(true)).build()?;
    /// let met = std::sync::Barrier::new(2);
    /// let is_worker = || {
    ///     met.wait(); // so that each of the two workers runs one of the tasks
    ///     IS_WORKER.get()
    /// };
    /// let both: [bool; 2] = rt.run(|cx| cx.join(|_| is_worker(), |_| is_worker())).into();
    /// assert!(both.contains(&true) && both.contains(&false)); // the caller is a thread of the program
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// Futures of tokio that use timers or sockets must be created and polled in the context of a
    /// tokio runtime. A [`TaskCx`](crate::runtime::TaskCx) polls its futures on the workers, so
    /// each worker enters that context once, for the life of the thread:
    ///
    /// ```text
    /// let tokio = tokio::runtime::Runtime::new()?;
    /// let handle = tokio.handle().clone();
    /// let rt = Runtime::builder()
    ///     .on_thread_start(move || std::mem::forget(Box::leak(Box::new(handle.clone())).enter()))
    ///     .build()?;
    /// let _context = tokio.enter(); // the calling thread is a worker, too
    /// rt.block_on(async |_: TaskCx| tokio::time::sleep(Duration::from_millis(10)).await);
    /// ```
    pub fn on_thread_start(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.thread.on_start = Some(Hook::new(act));
        self
    }

    /// Sets what each started thread calls after its last task, when the runtime is dropped: the
    /// counterpart of [`on_thread_start`](Self::on_thread_start). A panic of it is only reported.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let stopped = Arc::new(AtomicUsize::new(0));
    /// let count = Arc::clone(&stopped);
    /// let rt = Runtime::builder()
    ///     .workers(3)
    ///     .on_thread_stop(move || _ = count.fetch_add(1, Ordering::Relaxed))
    ///     .build()?;
    /// let started = rt.workers() - 1;
    /// drop(rt);
    /// assert_eq!(stopped.load(Ordering::Relaxed), started);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn on_thread_stop(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.thread.on_stop = Some(Hook::new(act));
        self
    }

    /// Returns the settings of the threads.
    ///
    /// # Errors
    /// A name that the system does not take, or a stack out of bounds.
    pub(crate) fn checked_thread(&self) -> Result<Thread> {
        let Thread {
            name, stack_bytes, ..
        } = &self.thread;
        if name.is_empty() || name.contains('\0') {
            let allowed = "not empty, and without a null character".to_owned();
            return refuse("thread name", format!("{name:?}"), allowed);
        }
        let (least, most) = STACK_BYTES;
        if !(least..=most).contains(stack_bytes) {
            let allowed = format!("from {least} to {most} bytes");
            return refuse("stack size", stack_bytes, allowed);
        }
        Ok(self.thread.clone())
    }
}
