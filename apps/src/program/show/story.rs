//! The options and files of a run's life story, for every command that has one.

use crate::program::{Failure, Outcome};
use clap::Args;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tautline::balance::{PlaceId, PlaceRun, WorkerId};
use tautline::internal::{LIFE, TRACE};
use tautline::story::internal::{Output, Picture, write_trace};
use tautline::story::{Clock, Life, Recorder, Trace, Watched};
use tautline_process::{RANK_VARIABLE, is_started_by_rank};

/// The files of the stories.
#[derive(Args, Debug)]
#[group(skip)]
pub struct Stories {
    #[arg(long, value_name = "FILE.html", help = LIFE.help)]
    life: Option<PathBuf>,
    #[arg(long, value_name = "FILE.json", help = TRACE.help)]
    trace: Option<PathBuf>,
}

/// Files that are written after the run, opened before it so that a failure precedes the run.
pub struct Files {
    life: Option<Pending>,
    trace: Option<Pending>,
}

/// A file that is filled after the run, and the option that named it.
#[derive(Debug)]
pub struct Pending {
    option: &'static str,
    /// The file, until it is filled.
    output: Mutex<Option<Output>>,
}

/// The content of a story.
pub struct Story<'a> {
    /// The name of the problem that ran.
    pub title: &'a str,
    /// The settings of the run, in some words each.
    pub facts: &'a [(&'static str, String)],
    /// The clock of the run.
    pub clock: Clock,
    /// The recording of each worker.
    pub observers: &'a [(PlaceId, WorkerId, Recorder)],
    /// The totals of each place.
    pub places: &'a [PlaceRun],
}

impl Stories {
    /// Returns the first option that is present, with its file.
    pub fn requested(&self) -> Option<String> {
        let life = self.life.as_ref().map(|file| ("--life", file));
        let requested = life.or(self.trace.as_ref().map(|file| ("--trace", file)));
        requested.map(|(option, file)| format!("{option} {}", file.display()))
    }

    /// Opens the requested files.
    pub fn open(&self) -> Result<Files, Failure> {
        if self.life.is_some() && self.life == self.trace {
            let file = self.life.as_deref().unwrap_or(Path::new("")).display();
            return Err(Failure::Usage(format!(
                "--trace {file}: another file than --life"
            )));
        }
        Ok(Files {
            life: Pending::open("--life", self.life.as_deref())?,
            trace: Pending::open("--trace", self.trace.as_deref())?,
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
    /// Fills the files, each whether or not the other could be filled.
    pub fn write(&self, story: &Story) -> Outcome {
        let life = self.life.as_ref().map_or(Ok(()), |file| {
            file.write(|out| {
                Picture {
                    title: story.title,
                    facts: story.facts,
                    clock: story.clock,
                    workers: &story.watched(|recorder| recorder.life.as_ref()),
                    places: story.places,
                }
                .write(out)
            })
        });
        let trace = self.trace.as_ref().map_or(Ok(()), |file| {
            let workers = story.watched(|recorder| recorder.trace.as_ref());
            file.write(|out| write_trace(out, story.title, story.clock, &workers))
        });
        life.and(trace)
    }
}

impl Pending {
    /// Opens the file at `path`, if there is one, which `option` requests. Of several ranks, the
    /// first one alone has files.
    pub fn open(option: &'static str, path: Option<&Path>) -> Result<Option<Self>, Failure> {
        let is_home = std::env::var_os(RANK_VARIABLE).is_none_or(|rank| rank == "0")
            || is_started_by_rank(RANK_VARIABLE, &[]);
        let Some(path) = path.filter(|_| is_home) else {
            return Ok(None);
        };
        match Output::open(path) {
            Ok(output) => Ok(Some(Self {
                option,
                output: Mutex::new(Some(output)),
            })),
            Err(error) => Err(Failure::Usage(format!(
                "{option} {}: a file that can be written ({error})",
                path.display()
            ))),
        }
    }

    /// Fills it, unless it is filled.
    pub fn write(&self, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> Outcome {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(output) = output.take() else {
            return Ok(());
        };
        let (option, path) = (self.option, output.path().to_owned());
        output.fill(write).map_err(|error| {
            let path = path.display();
            Failure::Undelivered(format!("{option} {path}: cannot write it: {error}"))
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
