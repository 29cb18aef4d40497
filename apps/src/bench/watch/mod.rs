//! Processor time that other programs use during a measurement.
//!
//! # Algorithm
//! Linux counts for each thread how long it was in the queue of its processor, ready to run
//! (`/proc/thread-self/schedstat`), for each processor the time that was used and that the host
//! gave to other guests (`/proc/stat`), and for each process what it used (`/proc/self/stat`). The
//! first is exact; the others count ticks of a hundredth of a second, so that a few of them are
//! insignificant.
#![forbid(unsafe_code)]

mod process;

pub(crate) use process::Observed;

use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::read_to_string;
use std::ops::AddAssign;
use std::path::Path;
use std::time::{Duration, Instant};

/// The part of the time that may be lost without a doubt.
const WAITED_MOST: f64 = 0.02;
/// The same for times counted in ticks, which differ between the process and the processors.
const TICKED_MOST: f64 = 0.05;
/// The number of ticks that is insignificant.
const TICKS_MOST: u64 = 4;
/// `USER_HZ` of the kernel: ticks a second in these tables, regardless of its clock.
const TICKS_PER_S: f64 = 100.0;

/// The time that threads lost to others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The time in the queue of their processor; `None` if the system does not count it.
    pub waited: Option<Duration>,
    /// The number of times that they were preempted; `None` if the system does not count it.
    pub switches: Option<u64>,
    /// The time for which they were observed, summed over the threads.
    pub of: Duration,
}

impl Taken {
    /// Returns the part of the time that they waited, if it is too much for a verdict.
    pub(super) fn too_much(&self) -> Option<f64> {
        let share = self.waited?.as_secs_f64() / self.of.as_secs_f64();
        (share > WAITED_MOST).then_some(share)
    }
}

impl AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        // Without an observation there is no statement.
        if self.of.is_zero() || other.of.is_zero() {
            *self = if self.of.is_zero() { other } else { *self };
            return;
        }
        self.waited = self.waited.zip(other.waited).map(|(a, b)| a + b);
        self.switches = self.switches.zip(other.switches).map(|(a, b)| a + b);
        self.of += other.of;
    }
}

/// One measurement, and how far it was disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The overhead of an episode in nanoseconds; negative if the loop without the barrier was
    /// slower.
    pub ns: f64,
    /// Whether all threads stayed on their processors.
    pub pinned: bool,
    /// The processor time that the threads lost to others.
    pub lost: Taken,
}

/// The calling thread, observed from some time on.
pub(super) struct Own {
    start: Instant,
    waited: Option<Duration>,
    switches: Option<u64>,
}

impl Own {
    pub(super) fn start() -> Self {
        let (waited, switches) = (waited(), switches());
        let start = Instant::now();
        Self {
            start,
            waited,
            switches,
        }
    }

    pub(super) fn taken(&self) -> Taken {
        let of = self.start.elapsed();
        let since = |(now, then): (Duration, Duration)| now.saturating_sub(then);
        Taken {
            waited: waited().zip(self.waited).map(since),
            switches: switches().zip(self.switches).map(|(now, then)| now - then),
            of,
        }
    }
}

/// The time of a thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spent {
    ran: Duration,
    waited: Duration,
}

impl Spent {
    /// Returns that of the thread with this folder in `/proc`, if the system counts it.
    fn of(thread: &Path) -> Option<Self> {
        Self::read(&read_to_string(thread.join("schedstat")).ok()?)
    }

    fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut number = || -> Option<u64> { numbers.next()?.ok() };
        let [ran, waited] = [number()?, number()?].map(Duration::from_nanos);
        // A kernel that does not count reports zeros.
        (number()? > 0).then_some(Self { ran, waited })
    }
}

fn waited() -> Option<Duration> {
    Some(Spent::of(Path::new("/proc/thread-self"))?.waited)
}

fn switches() -> Option<u64> {
    status("nonvoluntary_ctxt_switches:")?.parse().ok()
}

/// Returns what the system reports of the calling thread after this name.
fn status(name: &str) -> Option<String> {
    let text = read_to_string("/proc/thread-self/status").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim().to_owned())
}

/// Some processors, in ticks since the system started, and this process with the programs that it
/// has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    stolen: u64,
    own: u64,
}

impl Ticks {
    fn now(cpus: &[usize]) -> Option<Self> {
        let table = read_to_string("/proc/stat").ok()?;
        Self::read(&table, &read_to_string("/proc/self/stat").ok()?, cpus)
    }

    fn read(processors: &str, process: &str, cpus: &[usize]) -> Option<Self> {
        let (mut busy, mut stolen) = (0, 0);
        for cpu in cpus {
            let name = format!("cpu{cpu} ");
            let row = processors.lines().find_map(|row| row.strip_prefix(&name))?;
            let numbers: Result<Vec<u64>, _> = row.split_whitespace().map(str::parse).collect();
            // user nice system idle iowait irq softirq steal
            let numbers = numbers.ok().filter(|numbers| numbers.len() >= 8)?;
            busy += numbers[..3].iter().sum::<u64>() + numbers[5] + numbers[6];
            stolen += numbers[7];
        }
        // The name of the program, in parentheses, may contain any character. The first word after
        // it is field 3; fields 14 to 17 are the time used, also by child programs that have ended.
        let (_, fields) = process.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let used = fields
            .get(11..15)?
            .iter()
            .map(|field| field.parse::<u64>().ok());
        Some(Self {
            busy,
            stolen,
            own: used.sum::<Option<u64>>()?,
        })
    }
}

/// Observes the machine while samples are taken, and reports why they allow no verdict.
#[derive(Debug)]
pub struct Watch {
    cpus: Vec<usize>,
    start: Instant,
    before: Option<Ticks>,
    unpinned: bool,
    lost: Taken,
}

/// A reason why figures allow no verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Tasks shared processors.
    Crowded {
        /// The number of tasks.
        tasks: usize,
        /// The number of processors.
        processors: usize,
    },
    /// The system refused to keep threads on their processors.
    Unpinned,
    /// This part of their time threads were ready and did not run.
    Waited(f64),
    /// This part of the processors' time went to other programs.
    Others(f64),
    /// This part of the processors' time went to other guests of the host.
    Stolen(f64),
    /// Round trips of a cache line between the processors took the first time in a quarter of the
    /// samples, and the second one in another: the host has moved the processors of a virtual
    /// machine.
    Moved([f64; 2]),
    /// The system does not report what other programs use.
    Unknown,
    /// The measurements ended early.
    Cut {
        /// The number of samples that each row has at least.
        taken: usize,
        /// The number of samples that each row should have.
        of: usize,
    },
}

impl Watch {
    /// Starts observing these processors.
    pub fn start(cpus: &[usize]) -> Self {
        let mut cpus = cpus.to_vec();
        cpus.sort_unstable();
        cpus.dedup();
        Self {
            before: Ticks::now(&cpus),
            cpus,
            start: Instant::now(),
            unpinned: false,
            lost: Taken::default(),
        }
    }

    /// Adds what a sample's threads observed.
    pub fn add(&mut self, sample: &Sample) {
        self.unpinned |= !sample.pinned;
        self.lost += sample.lost;
    }

    /// Returns what the threads of all samples lost.
    pub fn lost(&self) -> Taken {
        self.lost
    }

    /// Returns why there is no verdict on `tasks` tasks on this many processors since the start;
    /// empty if there is one.
    pub fn doubts(&self, tasks: usize, processors: usize) -> Vec<Doubt> {
        // Tasks that share processors wait for each other: waits for other programs cannot be
        // distinguished.
        if tasks > processors {
            return vec![Doubt::Crowded { tasks, processors }];
        }
        let mut doubts = Vec::new();
        if self.unpinned {
            doubts.push(Doubt::Unpinned);
        }
        doubts.extend(self.lost.too_much().map(Doubt::Waited));
        // If only external programs were measured, there are no threads to observe.
        if self.lost.waited.is_none() && !self.lost.of.is_zero() {
            doubts.push(Doubt::Unknown);
        }
        let after = Ticks::now(&self.cpus);
        if let Some((before, after)) = self.before.zip(after) {
            let all = self.start.elapsed().as_secs_f64() * self.cpus.len() as f64;
            doubts.extend(ticked(before, after, all));
        } else if !doubts.contains(&Doubt::Unknown) {
            doubts.push(Doubt::Unknown);
        }
        doubts
    }
}

/// Interprets the ticks of this many seconds.
fn ticked(before: Ticks, after: Ticks, seconds: f64) -> impl Iterator<Item = Doubt> {
    let share = move |ticks: u64| {
        let share = ticks as f64 / TICKS_PER_S / seconds;
        (ticks > TICKS_MOST && share > TICKED_MOST).then_some(share)
    };
    let since = |part: fn(&Ticks) -> u64| part(&after).saturating_sub(part(&before));
    let others = since(|ticks| ticks.busy).saturating_sub(since(|ticks| ticks.own));
    let stolen = since(|ticks| ticks.stolen);
    let others = share(others).map(Doubt::Others);
    others.into_iter().chain(share(stolen).map(Doubt::Stolen))
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.0} %", (share * 100.0).ceil());
        match *self {
            Self::Crowded { tasks, processors } => {
                let s = if processors == 1 { "" } else { "s" };
                write!(f, "{tasks} tasks take turns on {processors} processor{s}")
            }
            Self::Unpinned => f.write_str("threads could not be kept on their processors"),
            Self::Waited(share) => {
                let share = percent(share);
                write!(
                    f,
                    "threads had to wait for their processors for {share} of the time"
                )
            }
            Self::Others(share) => {
                write!(
                    f,
                    "other programs used {} of the processors",
                    percent(share)
                )
            }
            Self::Stolen(share) => {
                write!(f, "the host took {} of the processors away", percent(share))
            }
            Self::Moved([near, far]) => write!(
                f,
                "the host moved the processors: a cache line took {near:.0} ns, then {far:.0} ns"
            ),
            Self::Cut { taken, of } => {
                write!(f, "the measurement ended after {taken} of {of} samples")
            }
            Self::Unknown => f.write_str("this system does not report what other programs use"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESSORS: &str = "cpu  9 9 9 9 9 9 9 9 9 9\n\
        cpu0 100 10 20 1000 5 1 2 7 0 0\n\
        cpu1 200 0 0 1000 0 0 0 1 0 0\n\
        cpu10 9000 0 0 0 0 0 0 0 0 0\nintr 1\n";

    fn process(used: [u64; 4]) -> String {
        let [user, system, user_ended, system_ended] = used;
        format!(
            "7 (a) b (c) R 1 1 1 0 -1 4 5 0 0 0 {user} {system} {user_ended} {system_ended} 20 0 1"
        )
    }

    #[test]
    fn tables_are_read() {
        let read = |cpus: &[usize]| Ticks::read(PROCESSORS, &process([30, 4, 200, 1]), cpus);
        let ticks = read(&[0, 1]).unwrap();
        assert_eq!((ticks.busy, ticks.stolen, ticks.own), (333, 8, 235));
        assert_eq!(read(&[2]), None);
        assert_eq!(Ticks::read(PROCESSORS, "7 (cut) R 1", &[0]), None);
    }

    #[test]
    fn ticks_of_others_and_of_the_host_are_told_apart() {
        let before = Ticks::read(PROCESSORS, &process([0; 4]), &[0, 1]).unwrap();
        let later = |busy, stolen, own| Ticks {
            busy: before.busy + busy,
            stolen: before.stolen + stolen,
            own: before.own + own,
        };
        let seen = |after| ticked(before, after, 2.0).collect::<Vec<_>>();
        assert_eq!(seen(later(190, 0, 190)), []);
        // A tick is 0.5 %.
        assert_eq!(seen(later(199, 4, 190)), []);
        assert_eq!(seen(later(200, 0, 150)), [Doubt::Others(0.25)]);
        assert_eq!(seen(later(100, 40, 150)), [Doubt::Stolen(0.2)]);
        // Few ticks of a short time are insignificant.
        let short: Vec<_> = ticked(before, later(4, 4, 0), 0.02).collect();
        assert_eq!(short, []);
    }

    #[test]
    fn times_of_threads_are_read() {
        let spent = Spent {
            ran: Duration::from_nanos(1_068_111_668),
            waited: Duration::from_nanos(3_175_630),
        };
        assert_eq!(Spent::read("1068111668 3175630 55\n"), Some(spent));
        assert_eq!(Spent::read("1068111668 3175630"), None);
        assert_eq!(Spent::read("0 0 0"), None);
        assert_eq!(Spent::read("many 1 2"), None);
    }

    #[test]
    fn what_a_sample_saw_makes_doubts() {
        let mut watch = Watch::start(&[]);
        let sample = |pinned, waited_ms: Option<u64>| Sample {
            ns: 100.0,
            pinned,
            lost: Taken {
                waited: waited_ms.map(Duration::from_millis),
                switches: Some(1),
                of: Duration::from_secs(1),
            },
        };
        watch.add(&sample(true, Some(10)));
        watch.add(&sample(true, Some(25)));
        assert_eq!(watch.doubts(2, 2), []);
        let crowded = Doubt::Crowded {
            tasks: 3,
            processors: 2,
        };
        assert_eq!(watch.doubts(3, 2), [crowded]);
        assert_eq!(crowded.to_string(), "3 tasks take turns on 2 processors");
        watch.add(&sample(false, Some(340)));
        assert_eq!(watch.doubts(2, 2), [Doubt::Unpinned, Doubt::Waited(0.125)]);
        assert_eq!(watch.lost().switches, Some(3));
        watch.add(&sample(true, None));
        assert!(watch.doubts(2, 2).contains(&Doubt::Unknown));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_shares_its_processor_waits() {
        let plan = crate::bench::Plan {
            cpus: vec![tautline_node::Machine::discover().cpus()[0]; 2],
            iterations: 100,
            delay: 100_000,
            stop: Default::default(),
        };
        let kind = &crate::bench::kinds(&[])[1];
        let sample = kind.sample(&plan).expect("two threads");
        let waited = sample.lost.waited.expect("Linux reports it");
        assert!(waited > sample.lost.of / 10, "{sample:?}");
    }
}
