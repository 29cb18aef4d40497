//! The files of a recorded run.

use super::internal::{Output, Picture, write_trace};
use super::{Clock, Life, Recorder, Trace, Watched};
use std::env;
use std::io;
use std::path::Path;
use tautline_core::glb::Run;

/// Writes what a [`Recorder`] has seen of a run. The title is the name of this program. A file is
/// replaced at once, when all of it is written.
///
/// ```
/// use tautline::prelude::*;
/// use tautline::story::{Life, Recorder, Trace, Written};
///
/// let watch = |_, _| Recorder { life: Some(Life::default()), trace: Some(Trace::new(1000)) };
/// let run = tautline::balancer().observed(watch).sum(0..1000u64, |n, _| n)?;
/// let folder = std::env::temp_dir();
/// # let folder = folder.join(format!("tautline-{}-written", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// run.write_life(folder.join("life.html"))?;
/// run.write_trace(folder.join("trace.json"))?;
/// # assert!(std::fs::read_to_string(folder.join("life.html"))?.contains("computing"));
/// # assert!(std::fs::read_to_string(folder.join("trace.json"))?.contains("computing"));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Written {
    /// Writes a page that draws what every worker did over time.
    ///
    /// # Errors
    /// Those of the system; [`InvalidInput`](io::ErrorKind::InvalidInput) if no worker had a
    /// [`Recorder::life`].
    fn write_life(&self, path: impl AsRef<Path>) -> io::Result<()>;

    /// Writes the latest states of every worker, for ui.perfetto.dev.
    ///
    /// # Errors
    /// Those of the system; [`InvalidInput`](io::ErrorKind::InvalidInput) if no worker had a
    /// [`Recorder::trace`].
    fn write_trace(&self, path: impl AsRef<Path>) -> io::Result<()>;
}

impl<T> Written for Run<T, Recorder> {
    fn write_life(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let workers: Vec<Watched<&Life>> = watched(self, |seen| seen.life.as_ref(), "life")?;
        let facts = [
            ("workers", workers.len().to_string()),
            ("seconds", format!("{:.6}", self.elapsed.as_secs_f64())),
        ];
        let picture = Picture {
            title: &title(),
            facts: &facts,
            clock: Clock::of(self),
            workers: &workers,
            places: &self.places,
        };
        Output::open(path.as_ref())?.fill(|out| picture.write(out))
    }

    fn write_trace(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let workers: Vec<Watched<&Trace>> = watched(self, |seen| seen.trace.as_ref(), "trace")?;
        let (title, clock) = (title(), Clock::of(self));
        Output::open(path.as_ref())?.fill(|out| write_trace(out, &title, clock, &workers))
    }
}

/// Returns that part of each worker's records.
fn watched<'a, T, S>(
    run: &'a Run<T, Recorder>,
    part: impl Fn(&'a Recorder) -> Option<&'a S>,
    name: &str,
) -> io::Result<Vec<Watched<&'a S>>> {
    let all = run.observers.iter();
    let all = all.filter_map(|(place, worker, seen)| Some((*place, *worker, part(seen)?)));
    let all: Vec<_> = all.collect();
    if all.is_empty() {
        let line = format!("Recorder::{name} is None at every worker: nothing to write");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, line));
    }
    Ok(all)
}

/// Returns the name of this program.
fn title() -> String {
    let program = env::args_os().next().unwrap_or_default();
    let stem = Path::new(&program).file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Runtime;
    use std::fs;

    #[test]
    fn both_files_of_a_run_have_its_workers_and_the_name_of_the_program() {
        let folder = env::temp_dir().join(format!("written-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let watch = |_, _| Recorder {
            life: Some(Life::default()),
            trace: Some(Trace::new(100)),
        };
        let rt = Runtime::builder()
            .places(2)
            .workers(1)
            .pinned(false)
            .build()
            .unwrap();
        let balancer = rt.balancer();
        let run = balancer.observed(watch).sum(0..1000u64, |n, _| n).unwrap();
        let [page, json] = ["life.html", "trace.json"].map(|name| folder.join(name));
        fs::write(&page, "an older page").unwrap();
        run.write_life(&page).unwrap();
        run.write_trace(&json).unwrap();
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains(&format!("<h1>{}</h1>", title())), "{page}");
        let trace = fs::read_to_string(json).unwrap();
        let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
        assert_eq!(trace["otherData"]["title"], title());
        let events = trace["traceEvents"].as_array().unwrap().iter();
        assert_eq!(events.filter(|e| e["name"] == "thread_name").count(), 2);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_run_without_records_writes_nothing() {
        let watch = |_, _| Recorder::default();
        let rt = Runtime::builder().workers(1).pinned(false).build().unwrap();
        let balancer = rt.balancer().observed(watch);
        let run = balancer.sum(0..10u64, |n, _| n).unwrap();
        let path = env::temp_dir().join(format!("unwritten-{}", std::process::id()));
        for written in [run.write_life(&path), run.write_trace(&path)] {
            assert_eq!(written.unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
        assert!(!path.exists());
    }
}
