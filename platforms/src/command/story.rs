//! The options and files of a run's life story, for every command that has one.

use super::{Failure, Outcome};
use clap::Args;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tautline::glb::{PlaceId, PlaceRun, WorkerId};
use tautline::story::{Clock, Life, Picture, Recorder, Trace, Watched, write_trace};

/// Where the stories go.
#[derive(Args, Debug)]
pub struct Stories {
    /// Draw what every worker did over time
    #[arg(long, value_name = "FILE.html")]
    life: Option<PathBuf>,
    /// Write the latest states of every worker for ui.perfetto.dev
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

/// Files that are written after the run, made before it so that a run is never in vain.
pub struct Files {
    life: Option<Target>,
    trace: Option<Target>,
}

/// A file and the option that named it.
struct Target {
    option: &'static str,
    path: PathBuf,
    file: File,
}

/// What there is to tell.
pub struct Story<'a> {
    /// What ran.
    pub title: &'a str,
    /// How it ran, in some words each.
    pub facts: &'a [(&'static str, String)],
    /// The clock of the run.
    pub clock: Clock,
    /// What was recorded of each worker.
    pub observers: &'a [(PlaceId, WorkerId, Recorder)],
    /// The totals of each place.
    pub places: &'a [PlaceRun],
}

impl Stories {
    /// Makes the files that were asked for.
    pub fn create(&self) -> Result<Files, Failure> {
        if self.life.is_some() && self.life == self.trace {
            let file = self.life.as_deref().unwrap_or(Path::new("")).display();
            return Err(Failure::Usage(format!(
                "--trace {file}: another file than --life"
            )));
        }
        let create = |option: &'static str, path: &Option<PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            // Not emptied yet: what is there stays if the request turns out to be refused.
            match File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
            {
                Ok(file) => Ok(Some(Target {
                    option,
                    path: path.clone(),
                    file,
                })),
                Err(error) => Err(Failure::Usage(format!(
                    "{option} {}: a file that can be written ({error})",
                    path.display()
                ))),
            }
        };
        Ok(Files {
            life: create("--life", &self.life)?,
            trace: create("--trace", &self.trace)?,
        })
    }

    /// Records what the files need of one worker of `workers`.
    pub fn recorder(&self, workers: usize) -> Recorder {
        Recorder {
            life: self.life.as_ref().map(|_| Life::default()),
            trace: self.trace.as_ref().map(|_| Trace::for_workers(workers)),
        }
    }
}

impl Files {
    /// Fills the files.
    pub fn write(self, story: &Story) -> Outcome {
        write_to(self.life, |out| {
            Picture {
                title: story.title,
                facts: story.facts,
                clock: story.clock,
                workers: &story.watched(|recorder| recorder.life.as_ref()),
                places: story.places,
            }
            .write(out)
        })?;
        write_to(self.trace, |out| {
            let workers = story.watched(|recorder| recorder.trace.as_ref());
            write_trace(out, story.title, story.clock, &workers)
        })
    }
}

impl<'a> Story<'a> {
    fn watched<T>(&self, part: impl Fn(&'a Recorder) -> Option<&'a T>) -> Vec<Watched<&'a T>> {
        let all = self.observers.iter();
        all.filter_map(|(place, worker, recorder)| Some((*place, *worker, part(recorder)?)))
            .collect()
    }
}

fn write_to(
    target: Option<Target>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Outcome {
    let Some(Target { option, path, file }) = target else {
        return Ok(());
    };
    let fill = || {
        // A device has no length.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    };
    fill().map_err(|error| Failure::Check(format!("{option} {}: {error}", path.display())))
}
