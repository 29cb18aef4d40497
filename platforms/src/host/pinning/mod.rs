//! Pinning: the processor of each worker.
//!
//! By default the n-th worker runs on the n-th *allowed* processor, one of each core first
//! ([`Machine::cpus`]). `TAUTLINE_PIN` lists other processors in the syntax of OpenMP places
//! (`cores`, `sockets(1)`, `{0:4},{8:4}`). Otherwise `OMP_PLACES` does, unless `OMP_PROC_BIND` is
//! `false`. The mask that a launcher set is never widened, and no more processors are used by
//! default than the control group grants.
//!
//! The n-th worker is the n-th thread that the runtime starts, from the second on: the first worker
//! is whichever thread calls [`run`](crate::Runtime::run), a thread of the program, which is not
//! pinned. Linux passes the mask of a pinned worker on to the threads and processes that a task
//! starts. Machines that are discovered there, and runtimes, have the processors of the process all
//! the same; for other libraries' pools and for programs there is [`unpinned()`].
//!
//! A runtime that is not requested to pin its workers does so only while no other runtime, of this
//! process or another, has workers pinned to one of its processors: two programs with one worker
//! each would both run on the first processor. Nor does it where the control group grants less time
//! than the allowed processors have, which is the sign of a machine with other programs, nor in a
//! network namespace of its own, as a container has, where processes outside cannot see which
//! processors it has. It is requested by [`pinned(true)`](crate::runtime::Builder::pinned), by
//! [`pinning`](crate::runtime::Builder::pinning), or by `TAUTLINE_PIN`, `OMP_PLACES` or
//! `TAUTLINE_NO_PIN=0`. [`Runtime::explain`](crate::Runtime::explain) and `tautline topo --explain`
//! report a refusal.
//!
//! # Algorithm
//! OpenMP 5.2, section 10.1.3: `close`, `spread` and `primary`. Two things differ. A worker is
//! pinned to one processor of its place, not to all of them. With more workers than places each
//! place gets as many as it has free processors, so that none is shared while another is free.
#![forbid(unsafe_code)]

mod claim;
mod list;
mod refusal;
mod share;
mod unpinned;

pub(crate) use claim::Claim;
pub(crate) use list::ordered;
pub use list::{ListError, Part, PlaceList};
pub(crate) use refusal::Refusal;
pub use share::{divided, in_order};
pub use unpinned::unpinned;

use crate::process::messages;
use crate::process::order::distinct;
use crate::setting::{PIN, WARN, environment};
use crate::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use tautline_node::Machine;
use tautline_node::machine::Cpu;

/// The variable of OpenMP that lists them where ours is unset.
pub(crate) const OPENMP_VARIABLE: &str = "OMP_PLACES";

/// The distribution of workers over places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bind {
    /// Neighbours next to each other.
    #[default]
    Close,
    /// As far from each other as possible.
    Spread,
    /// All in the first place.
    Primary,
}

/// The processor of each worker.
///
/// ```
/// use tautline::Machine;
/// use tautline::pinning::{Bind, Pinning};
///
/// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
/// let two = Pinning::listed(&machine, &"{0,2},{1,3}".parse()?, Bind::Spread)?;
/// assert_eq!(two.cpus(2), [0, 1]);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinning {
    /// In the default pinning one place, in which each worker has a dedicated processor.
    places: Vec<Vec<usize>>,
    bind: Bind,
    /// The default number of workers.
    processors: usize,
    allowed: Vec<Cpu>,
    online: usize,
}

impl Pinning {
    /// Pins every worker to a dedicated processor, one of each core first.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::Pinning;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// assert_eq!(Pinning::of(&machine).cpus(3), [0, 1, 2]);
    /// ```
    pub fn of(machine: &Machine) -> Self {
        Self::to(machine, vec![machine.cpus()], Bind::Close)
    }

    /// Distributes the workers over the places of `list`.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::{Bind, Pinning};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// let pinning = Pinning::listed(&machine, &"{0,1},{2,3}".parse()?, Bind::Close)?;
    /// assert_eq!(pinning.cpus(2), [0, 2]); // a worker for each place
    /// assert!(Pinning::listed(&machine, &"{8}".parse()?, Bind::Close).is_err());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// None of its processors is allowed.
    pub fn listed(machine: &Machine, list: &PlaceList, bind: Bind) -> Result<Self> {
        Self::asked(machine, "pin", list, bind)
    }

    /// Returns the pinning that the environment requests, as the module documents. An empty
    /// variable counts as unset. A malformed list in `OMP_PLACES` is ignored with a warning, since
    /// it was not written for this library.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::Pinning;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// // `TAUTLINE_PIN`, else `OMP_PLACES`, else all four.
    /// println!("{:?}", Pinning::from_environment(&machine)?.places());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The list in `TAUTLINE_PIN` is malformed or has no allowed processor.
    pub fn from_environment(machine: &Machine) -> Result<Self> {
        match environment::text(PIN.variable)? {
            None => Ok(Self::from_openmp(machine)),
            Some(value) => match value.parse() {
                Ok(list) => Self::asked(machine, PIN.variable, &list, Bind::Close),
                Err(error) => refuse(PIN.variable, &value, error.to_string()),
            },
        }
    }

    /// Returns the pinning that the variables of OpenMP request, else [`of`](Self::of).
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::Pinning;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// println!("{:?}", Pinning::from_openmp(&machine).places());
    /// ```
    pub fn from_openmp(machine: &Machine) -> Self {
        let (pinning, warning) = openmp(machine, variable);
        static ONCE: AtomicBool = AtomicBool::new(false);
        if let Some(line) = warning {
            warn(&ONCE, &line);
        }
        pinning
    }

    /// Returns the reason why the list in OpenMP's variable is ignored, if it is.
    pub(crate) fn passed_over(machine: &Machine) -> Option<String> {
        openmp(machine, variable).1
    }

    fn asked(
        machine: &Machine,
        setting: &'static str,
        list: &PlaceList,
        bind: Bind,
    ) -> Result<Self> {
        let places = list.on(machine);
        if places.is_empty() {
            let ids: Vec<usize> = machine.allowed().iter().map(|cpu| cpu.id).collect();
            let allowed = format!("at least one allowed processor, of {}", ranges(&ids));
            return refuse(setting, list, allowed);
        }
        Ok(Self::to(machine, places, bind))
    }

    fn to(machine: &Machine, places: Vec<Vec<usize>>, bind: Bind) -> Self {
        let places: Vec<_> = match bind {
            Bind::Primary => places.into_iter().take(1).collect(),
            Bind::Close | Bind::Spread => places,
        };
        let distinct = distinct(&places.concat()).len();
        Self {
            processors: distinct.min(machine.cpus().len()),
            places,
            bind,
            allowed: machine.allowed().to_vec(),
            online: machine.online(),
        }
    }

    /// Returns the default number of workers: the number of processors in the places, at most what
    /// the control group grants.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::{Bind, Pinning};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// assert_eq!(Pinning::of(&machine).processors(), 4);
    /// let two = Pinning::listed(&machine, &"{1},{3}".parse()?, Bind::Close)?;
    /// assert_eq!(two.processors(), 2);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn processors(&self) -> usize {
        self.processors
    }

    /// Returns the places, each with its processors.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::{Bind, Pinning};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// let pinning = Pinning::listed(&machine, &"{0,1},{2,3}".parse()?, Bind::Close)?;
    /// assert_eq!(pinning.places(), [[0, 1], [2, 3]]);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn places(&self) -> &[Vec<usize>] {
        &self.places
    }

    /// Returns the processor of each of `threads` threads.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::{Bind, Pinning};
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// let spread = Pinning::listed(&machine, &"threads".parse()?, Bind::Spread)?;
    /// assert_eq!((spread.cpus(2), spread.cpus(5)), (vec![0, 2], vec![0, 0, 1, 2, 3]));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn cpus(&self, threads: usize) -> Vec<usize> {
        let places = self.places.len();
        if threads <= places {
            let step = |thread: usize| match self.bind {
                Bind::Spread => thread * places / threads,
                Bind::Close | Bind::Primary => thread,
            };
            return self.seats((0..threads).map(|thread| (step(thread), 1)));
        }
        // The number of threads of each place: one more each in turn, while one has a free
        // processor.
        let mut counts = vec![0; places];
        let (mut left, mut rounds) = (threads, 1);
        while left > 0 {
            let room = |(place, count): (usize, &usize)| *count < self.places[place].len() * rounds;
            let free: Vec<usize> = (0..places).filter(|&at| room((at, &counts[at]))).collect();
            rounds += usize::from(free.is_empty());
            for &at in free.iter().take(left) {
                counts[at] += 1;
            }
            left -= free.len().min(left);
        }
        self.seats(counts.into_iter().enumerate())
    }

    /// Returns the processors of this many threads of each of these places: of a place those with
    /// the fewest threads, and of these those in the fewest places, since places may overlap.
    fn seats(&self, counts: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
        let shares = |cpu: usize| {
            let places = self.places.iter();
            places.filter(|place| place.contains(&cpu)).count()
        };
        // Places that the list made of parts of the machine are disjoint, and many.
        let listed: usize = self.places.iter().map(Vec::len).sum();
        let overlaps = distinct(&self.places.concat()).len() < listed;
        let mut seats = Vec::new();
        for (place, count) in counts {
            let cpus = &self.places[place];
            if !overlaps {
                seats.extend(cpus.iter().copied().cycle().take(count));
                continue;
            }
            for _ in 0..count {
                let taken = |cpu: usize| seats.iter().filter(|&&seat| seat == cpu).count();
                let next = cpus.iter().min_by_key(|&&cpu| (taken(cpu), shares(cpu)));
                seats.push(*next.expect("no place is empty"));
            }
        }
        seats
    }

    /// Describes an unexpected effect of this many workers on these processors, in one line.
    ///
    /// ```
    /// use tautline::Machine;
    /// use tautline::pinning::Pinning;
    ///
    /// let machine = Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// let pinning = Pinning::of(&machine);
    /// assert_eq!(pinning.surprise(4, true), None);
    /// let line = pinning.surprise(5, true).unwrap();
    /// assert_eq!(line, "5 workers take turns on CPUs 0-3");
    /// ```
    pub fn surprise(&self, workers: usize, pinned: bool) -> Option<String> {
        let used = distinct(&match pinned {
            true => self.cpus(workers),
            false => self.places.concat(),
        });
        let list = ranges(&used);
        if workers > self.processors {
            let processors = self.processors;
            // A quota may grant fewer than there are.
            let granted = match processors < used.len() {
                true => format!("{processors} of the "),
                false => String::new(),
            };
            let plural = if used.len() == 1 { "" } else { "s" };
            return Some(format!(
                "{workers} workers take turns on {granted}CPU{plural} {list}"
            ));
        }
        let is_used = |cpu: &&Cpu| used.binary_search(&cpu.id).is_ok();
        let mut cores = self.allowed.iter().filter(is_used).map(|cpu| cpu.core);
        let first = cores.next();
        let alone = first.is_some()
            && cores.all(|core| Some(core) == first)
            && workers > 1
            && self.online > used.len();
        alone.then(|| {
            let online = self.online;
            format!(
                "all {workers} workers share one core (CPUs {list}) of a machine with {online} CPUs"
            )
        })
    }

    /// Reports [`surprise`](Self::surprise) on stderr, once in the life of the process, unless
    /// `TAUTLINE_WARN` is `0`.
    pub(crate) fn warn(&self, workers: usize, pinned: bool) {
        static ONCE: AtomicBool = AtomicBool::new(false);
        if let Some(line) = self.surprise(workers, pinned) {
            warn(&ONCE, &line);
        }
    }
}

/// Returns a variable of the environment as text.
fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned())
}

/// Returns the pinning that the variables of OpenMP request, and a warning.
fn openmp(
    machine: &Machine,
    variable: impl Fn(&str) -> Option<String>,
) -> (Pinning, Option<String>) {
    let default = || Pinning::of(machine);
    let Some(value) = variable(OPENMP_VARIABLE).filter(|value| !value.trim().is_empty()) else {
        return (default(), None);
    };
    // A value for each level of nesting; the first one applies.
    let bind = variable("OMP_PROC_BIND")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let bind = match bind.split(',').next().unwrap_or_default().trim() {
        "false" => return (default(), None),
        "spread" => Bind::Spread,
        "primary" | "master" => Bind::Primary,
        _ => Bind::Close,
    };
    let asked = value
        .parse::<PlaceList>()
        .map_err(|error| error.to_string());
    let asked = asked.and_then(|list| {
        let pinning = Pinning::asked(machine, OPENMP_VARIABLE, &list, bind);
        pinning.map_err(|_| "none of these processors is allowed".to_owned())
    });
    match asked {
        Ok(pinning) => (pinning, None),
        Err(why) => {
            let value = value.escape_debug();
            (
                default(),
                Some(format!("OMP_PLACES {value}: passed over, {why}")),
            )
        }
    }
}

/// Not by `std::sync::Once`, in which the child of `fork` could wait for a thread of its parent.
fn warn(was_warned: &AtomicBool, line: &str) {
    if !environment::warns() {
        return;
    }
    // ORDERING: Relaxed: it publishes nothing.
    if !was_warned.swap(true, Ordering::Relaxed) {
        messages::send(&format!(
            "tautline: {line}; {}=0 silences this",
            WARN.variable
        ));
    }
}

fn refuse<T>(setting: &'static str, value: impl ToString, allowed: String) -> Result<T> {
    Err(Error::Setting {
        setting,
        value: value.to_string().escape_debug().to_string(),
        allowed: allowed.into(),
    })
}

/// Formats numbers of processors as ranges: `0-3 8`, in the order given.
///
/// ```
/// assert_eq!(tautline::pinning::ranges(&[0, 1, 2, 3, 8]), "0-3 8");
/// ```
pub fn ranges(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let text = parts.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}-{last}"),
    });
    text.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
