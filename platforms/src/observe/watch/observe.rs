//! The selection of records of a runtime.

use crate::setting::{DUMP, LIFE, Setting, TIMES, TRACE, environment, launchers};
use crate::{Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tautline_core::watch::Observer;
use tautline_core::{PlaceId, WorkerId};

/// The records to make of the workers of a runtime. [`Observe::new`] records the time in each
/// state, the default nothing, unless a method or the environment requests it.
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is observed before it is given to a builder"]
pub struct Observe {
    pub(super) trace: Option<Target>,
    pub(super) life: Option<Target>,
    pub(super) is_printed: bool,
    pub(super) is_dumped: bool,
    pub(super) each: Option<Each>,
    /// The rank of this process, if a launcher has started it.
    pub(super) rank: Option<String>,
    /// Whether the time in each state is recorded, even if nothing else is.
    is_on: bool,
}

/// A file, and the setting that named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub setting: &'static str,
    pub path: PathBuf,
}

/// Makes the observer of each worker.
#[derive(Clone)]
pub(super) struct Each(pub Arc<Make>);

type Make = dyn Fn(PlaceId, WorkerId) -> Box<dyn Observer> + Send + Sync;

impl fmt::Debug for Each {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Each")
    }
}

impl Observe {
    /// Records the time in each state, for [`Runtime::times`](crate::Runtime::times).
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::watch::Observe;
    ///
    /// let rt = Runtime::builder().observe(Observe::new()).build()?;
    /// assert!(rt.times().is_some());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn new() -> Self {
        Self {
            is_on: true,
            ..Self::default()
        }
    }

    /// Writes the latest states of every worker to a file, in the trace event format, when the
    /// runtime is dropped. The file is opened when the runtime is built. With the feature `story`.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::watch::Observe;
    ///
    /// # #[cfg(feature = "story")] {
    /// let path = std::env::temp_dir().join("tautline-trace-doc.json");
    /// let rt = Runtime::builder().observe(Observe::new().trace(&path)).build()?;
    /// rt.run(|cx| cx.join(|_| 1, |_| 2));
    /// drop(rt);
    /// assert!(std::fs::read_to_string(&path)?.contains("computing"));
    /// # std::fs::remove_file(&path)?;
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(mut self, path: impl Into<PathBuf>) -> Self {
        let (setting, path) = ("trace", path.into());
        self.trace = Some(Target { setting, path });
        self
    }

    /// Writes a page that draws what every worker did over time, when the runtime is dropped. The
    /// file is opened when the runtime is built. With the feature `story`.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::watch::Observe;
    ///
    /// # #[cfg(feature = "story")] {
    /// let path = std::env::temp_dir().join("tautline-life-doc.html");
    /// let rt = Runtime::builder().observe(Observe::new().life(&path)).build()?;
    /// rt.run(|cx| cx.join(|_| 1, |_| 2));
    /// drop(rt);
    /// assert!(std::fs::read_to_string(&path)?.contains("computing"));
    /// # std::fs::remove_file(&path)?;
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn life(mut self, path: impl Into<PathBuf>) -> Self {
        let (setting, path) = ("life", path.into());
        self.life = Some(Target { setting, path });
        self
    }

    /// Prints the time of each worker in each state to standard error when the runtime is dropped.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::watch::Observe;
    ///
    /// let rt = Runtime::builder().observe(Observe::new().printed()).build()?;
    /// rt.run(|cx| cx.join(|_| 1, |_| 2));
    /// drop(rt); // prints
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn printed(mut self) -> Self {
        self.is_printed = true;
        self
    }

    /// Prints what every worker does to standard error whenever the process receives `SIGUSR1`. On
    /// Unix systems, with the feature `signals`.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::watch::Observe;
    ///
    /// let rt = Runtime::builder().observe(Observe::new().dumped()).build()?;
    /// rt.run(|cx| cx.join(|_| 1, |_| 2)); // `kill -USR1` prints while it runs
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn dumped(mut self) -> Self {
        self.is_dumped = true;
        self
    }

    /// Has every worker observed by what `make` returns for it. The worker calls the observer where
    /// it begins or ends a search, a sleep or a wait, so the observer must not block.
    ///
    /// ```
    /// use tautline::prelude::*;
    /// use tautline::watch::Observe;
    ///
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    /// use tautline::watch::{Observer, State};
    ///
    /// /// Adds up the ticks of all workers in tasks.
    /// struct Busy(Arc<AtomicU64>);
    ///
    /// impl Observer for Busy {
    ///     fn span(&mut self, state: State, from: u64, to: u64) {
    ///         if state == State::Computing {
    ///             self.0.fetch_add(to - from, Relaxed);
    ///         }
    ///     }
    /// }
    ///
    /// let busy = Arc::new(AtomicU64::new(0));
    /// let each = Arc::clone(&busy);
    /// let observe = Observe::new().each(move |_place, _worker| Busy(each.clone()));
    /// let rt = Runtime::builder().observe(observe).build()?;
    /// rt.run(|cx| cx.par_for(0..1000, |n| _ = n * n));
    /// drop(rt);
    /// assert!(busy.load(Relaxed) > 0);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn each<O: Observer + 'static>(
        mut self,
        make: impl Fn(PlaceId, WorkerId) -> O + Send + Sync + 'static,
    ) -> Self {
        self.each = Some(Each(Arc::new(move |place, worker| {
            Box::new(make(place, worker))
        })));
        self
    }

    /// Whether anything is recorded.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on || self.trace.is_some() || self.life.is_some() || self.is_printed
    }

    /// Returns the records that the environment requests.
    pub(crate) fn from_environment() -> Result<Self> {
        let rank = launchers::rank()?;
        let file = |setting: &Setting| {
            let setting = setting.variable;
            let path = environment::text(setting)?.map(|path| of_rank(path, rank.as_deref()));
            Ok::<_, Error>(path.map(|path| Target { setting, path }))
        };
        Ok(Self {
            trace: file(&TRACE)?,
            life: file(&LIFE)?,
            is_printed: environment::flag(&TIMES)?,
            is_dumped: environment::flag(&DUMP)?,
            rank: launchers::rank_of_all()?,
            ..Self::default()
        })
    }

    /// Returns this, or else `environment`, for each part.
    pub(crate) fn or(self, environment: Self) -> Self {
        Self {
            trace: self.trace.or(environment.trace),
            life: self.life.or(environment.life),
            is_printed: self.is_printed || environment.is_printed,
            is_dumped: self.is_dumped || environment.is_dumped,
            each: self.each,
            rank: self.rank.or(environment.rank),
            is_on: self.is_on || environment.is_on,
        }
    }

    /// Refuses one file for two purposes.
    pub(crate) fn check(self) -> Result<Self> {
        match (&self.trace, &self.life) {
            (Some(trace), Some(life)) if trace.path == life.path => Err(Error::Setting {
                setting: trace.setting,
                value: trace.path.display().to_string(),
                allowed: Cow::from(format!("another file than that of {}", life.setting)),
            }),
            _ => Ok(self),
        }
    }
}

impl Target {
    /// The error for a file that cannot be written.
    pub(super) fn refused(&self, allowed: String) -> Error {
        Error::Setting {
            setting: self.setting,
            value: self.path.display().to_string(),
            allowed: Cow::from(allowed),
        }
    }
}

/// Returns the path of this rank's file: all ranks inherit the variable.
fn of_rank(path: String, rank: Option<&str>) -> PathBuf {
    let path = PathBuf::from(path);
    let Some(rank) = rank.filter(|rank| *rank != "0") else {
        return path;
    };
    let name = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_owned();
    let mut own = name(path.file_stem());
    own.push(format!(".rank{rank}"));
    if path.extension().is_some() {
        own.push(".");
        own.push(name(path.extension()));
    }
    path.with_file_name(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rank_has_files_of_its_own() {
        for (path, rank, own) in [
            ("a/trace.json", None, "a/trace.json"),
            ("a/trace.json", Some("0"), "a/trace.json"),
            ("a/trace.json", Some("1"), "a/trace.rank1.json"),
            ("trace", Some("12"), "trace.rank12"),
        ] {
            assert_eq!(
                of_rank(path.to_owned(), rank),
                PathBuf::from(own),
                "{path} {rank:?}"
            );
        }
    }
}
