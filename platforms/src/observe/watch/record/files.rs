//! The files of a record: the trace and the life story.

use crate::Result;
use crate::observe::story::internal::{Output, Picture};
use crate::observe::story::{Clock, Life, Placed, Trace, Watched, write_placed};
use crate::observe::watch::observe::{Observe, Target};
use crate::observe::watch::times::{TICKS_PER_SECOND, TimeTable};
use crate::process::messages;
use std::fs::File;
use std::io::{self, BufWriter};
use tautline_core::glb::PlaceRun;
use tautline_core::{PlaceId, WorkerId};

pub(super) use crate::observe::story::Recorder;

/// The files that a plan names, open.
pub(super) struct Files {
    trace: Option<(Target, Output)>,
    life: Option<(Target, Output)>,
    placed: Placed,
}

impl Files {
    pub(super) fn open(observe: &Observe) -> Result<Self> {
        let open = |target: &Option<Target>| match target {
            None => Ok(None),
            Some(target) => match Output::open(&target.path) {
                Ok(output) => Ok(Some((target.clone(), output))),
                Err(error) => Err(target.refused(format!("a file that can be written ({error})"))),
            },
        };
        Ok(Self {
            trace: open(&observe.trace)?,
            life: open(&observe.life)?,
            placed: Placed::ALONE,
        })
    }

    /// Returns the recorder of one of `workers` workers for the files.
    pub(super) fn recorder(observe: &Observe, workers: usize) -> Recorder {
        Recorder {
            life: observe.life.as_ref().map(|_| Life::default()),
            trace: observe.trace.as_ref().map(|_| Trace::for_workers(workers)),
        }
    }

    /// Sets the rank of the trace.
    #[cfg(feature = "serde")]
    pub(super) fn place(&mut self, placed: Placed) {
        self.placed = placed;
    }

    /// Writes what `ran` recorded in the ticks until `now`.
    pub(super) fn write(
        &mut self,
        now: u64,
        places: u32,
        ran: &[((PlaceId, WorkerId), &Recorder)],
        times: &TimeTable,
    ) {
        let clock = Clock {
            began: 0,
            ticks_per_second: TICKS_PER_SECOND,
            seconds: now as f64 / TICKS_PER_SECOND,
        };
        let (title, placed) = (program(), self.placed);
        fill(self.trace.take(), |out| {
            let traces = watched(ran, |recorder| recorder.trace.as_ref());
            write_placed(out, &title, clock, &traces, placed)
        });
        let mut sums = vec![PlaceRun::default(); places as usize];
        for worker in &times.workers {
            if let Some(place) = sums.get_mut(worker.place.index()) {
                place.times.merge(&worker.times);
            }
        }
        fill(self.life.take(), |out| {
            Picture {
                title: &title,
                facts: &[("workers", ran.len().to_string())],
                clock,
                workers: &watched(ran, |recorder| recorder.life.as_ref()),
                places: &sums,
            }
            .write(out)
        });
    }
}

fn watched<'a, T>(
    ran: &[((PlaceId, WorkerId), &'a Recorder)],
    part: impl Fn(&'a Recorder) -> Option<&'a T>,
) -> Vec<Watched<&'a T>> {
    ran.iter()
        .filter_map(|((place, worker), recorder)| Some((*place, *worker, part(recorder)?)))
        .collect()
}

/// Fills a file, if there is one. An error is reported: the program's result does not depend on it.
fn fill(
    file: Option<(Target, Output)>,
    write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
) {
    let Some((target, output)) = file else { return };
    if let Err(error) = output.fill(write) {
        let (setting, path) = (target.setting, target.path.display());
        messages::send(&format!(
            "tautline: {setting} {path}: cannot write it: {error}"
        ));
    }
}

/// Returns the name of the program.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
