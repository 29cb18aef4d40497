//! The processors that runtimes pin workers to, of this process and of others.
//!
//! Two runtimes that pin workers to the same processor make them take turns there, even while other
//! processors are idle. So a runtime that is not requested to pin its workers pins them only if it
//! gets a claim to all its processors. One that is requested to pin them does so anyway. It warns
//! if the other runtime is in the same process; of other processes it only reports in `explain`.
//!
//! The claim of a process to processor n is an abstract Unix socket named `tautline-cpu-n`, which
//! receives nothing: a name has one owner, whichever user that is, and the kernel frees it when the
//! process ends, however it does. A claim costs a file descriptor for each processor. A process
//! that shares a processor on request has no name for it, also once the other process has ended.
//! The child of `fork` holds the names of its parent with it. Only processes of one network
//! namespace see each other's claims: where this process has another one than the system, as in a
//! container, programs outside it may be pinned to the same processors unnoticed, so workers are
//! not pinned there by default. On other systems than Linux no other processes see them.
#![forbid(unsafe_code)]

use super::refusal::Refusal;
use super::{ranges, warn};
use crate::process::order::distinct;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use tautline_node::process::without_forks;

/// The processors claimed by this process.
static CLAIMED: Registry = Registry::new("tautline-cpu");

/// The processors of one runtime, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    registry: &'static Registry,
    /// In order, each once.
    cpus: Vec<usize>,
    /// Those that were another runtime's when this one began.
    shared: Vec<usize>,
    /// Whether one of these is of this process.
    is_shared_here: bool,
}

impl Claim {
    /// Claims the processors of a runtime's workers, and warns once if another runtime of this
    /// process has some of them.
    pub(crate) fn new(cpus: &[usize]) -> Self {
        static ONCE: AtomicBool = AtomicBool::new(false);
        let claim = Self::of(cpus, &CLAIMED);
        if let Some(line) = claim.shared().filter(|_| claim.is_shared_here) {
            warn(&ONCE, &line);
        }
        claim
    }

    /// Claims the processors if no other runtime has any of them; else returns why not.
    pub(crate) fn alone(cpus: &[usize]) -> Result<Self, Refusal> {
        let claim = Self::alone_of(cpus, &CLAIMED).map_err(Refusal::Taken)?;
        match lock::is_seen_by_all("/proc/sys/net/core".as_ref()) {
            true => Ok(claim),
            false => Err(Refusal::Unseen),
        }
    }

    fn of(cpus: &[usize], registry: &'static Registry) -> Self {
        let mut claim = Self::none(registry);
        for cpu in distinct(cpus) {
            claim.is_shared_here |= registry.has(cpu);
            if !claim.add(cpu) {
                claim.shared.push(cpu);
            }
        }
        claim
    }

    /// In ascending order, and up to the first one that is refused: of several that claim the same
    /// processors, one succeeds.
    fn alone_of(cpus: &[usize], registry: &'static Registry) -> Result<Self, usize> {
        let mut claim = Self::none(registry);
        let refused = distinct(cpus).into_iter().find(|&cpu| !claim.add(cpu));
        refused.map_or(Ok(claim), Err)
    }

    fn none(registry: &'static Registry) -> Self {
        Self {
            registry,
            cpus: Vec::new(),
            shared: Vec::new(),
            is_shared_here: false,
        }
    }

    /// Adds a processor. Returns false if another runtime has it too.
    fn add(&mut self, cpu: usize) -> bool {
        self.cpus.push(cpu);
        self.registry.claim(cpu)
    }

    /// Returns the shared processors, in one line, if there are any.
    pub(crate) fn shared(&self) -> Option<String> {
        let is_shared = !self.shared.is_empty();
        is_shared.then(|| {
            let list = ranges(&self.shared);
            let remedy = "`pinned(false)` or TAUTLINE_NO_PIN=1 lets the system place workers";
            let others = "workers of another runtime, with which they take turns";
            format!("CPUs {list} have {others}; {remedy}")
        })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.registry.release(&self.cpus);
    }
}

/// Claims of one process.
#[derive(Debug)]
struct Registry {
    /// The prefix of the names of its locks.
    prefix: &'static str,
    /// By number.
    claimed: Mutex<Vec<Claimed>>,
}

/// A processor to which this process has a claim.
#[derive(Debug)]
struct Claimed {
    cpu: usize,
    /// The number of runtimes of this process with that claim.
    runtimes: usize,
    /// Held against other processes; `None` if one of them holds it, or the system has no such
    /// locks.
    _lock: Option<lock::Lock>,
}

impl Registry {
    const fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            claimed: Mutex::new(Vec::new()),
        }
    }

    /// Returns whether a runtime of this process has the processor.
    fn has(&self, cpu: usize) -> bool {
        self.with(|claimed| find(claimed, cpu).is_ok())
    }

    /// Claims a processor for a runtime. Returns false if another one has it too.
    fn claim(&self, cpu: usize) -> bool {
        self.with(|claimed| {
            let at = match find(claimed, cpu) {
                Ok(at) => {
                    claimed[at].runtimes += 1;
                    return false;
                }
                Err(at) => at,
            };
            let lock = lock::acquire(&format!("{}-{cpu}", self.prefix));
            let is_free = lock.is_ok();
            let claim = Claimed {
                cpu,
                runtimes: 1,
                _lock: lock.unwrap_or(None),
            };
            claimed.insert(at, claim);
            is_free
        })
    }

    fn release(&self, cpus: &[usize]) {
        self.with(|claimed| {
            for &cpu in cpus {
                if let Ok(at) = find(claimed, cpu) {
                    claimed[at].runtimes -= 1;
                }
            }
            claimed.retain(|claim| claim.runtimes > 0);
        });
    }

    /// Calls `act` with the claims, which no child of `fork` finds locked.
    fn with<R>(&self, act: impl FnOnce(&mut Vec<Claimed>) -> R) -> R {
        // Nothing panics while it is locked.
        without_forks(|| act(&mut self.claimed.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Returns the index of the claim to a processor; as an error that at which to insert it.
fn find(claimed: &[Claimed], cpu: usize) -> Result<usize, usize> {
    claimed.binary_search_by_key(&cpu, |claim| claim.cpu)
}

/// A name that at most one process can hold.
#[cfg(target_os = "linux")]
mod lock {
    use std::io::ErrorKind;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    use std::path::Path;

    pub(super) type Lock = UnixDatagram;

    /// Whether the network namespace with these `settings` is that of the system, which alone has
    /// those of devices. A system without any settings has one namespace.
    pub(super) fn is_seen_by_all(settings: &Path) -> bool {
        settings.join("netdev_budget").exists() || !settings.exists()
    }

    /// Another process holds the name.
    #[derive(Debug)]
    pub(super) struct Held;

    /// Acquires a name. Returns `None` where the system refuses for another reason than that it is
    /// held: no descriptors, no such sockets.
    pub(super) fn acquire(name: &str) -> Result<Option<Lock>, Held> {
        let address = SocketAddr::from_abstract_name(name);
        match address.and_then(|address| UnixDatagram::bind_addr(&address)) {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == ErrorKind::AddrInUse => Err(Held),
            Err(_) => Ok(None),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod lock {
    /// Uninhabited: the system has no such names.
    #[derive(Debug)]
    pub(super) enum Lock {}

    /// Returns true: no process sees claims of another, in whichever namespace.
    pub(super) fn is_seen_by_all(_settings: &std::path::Path) -> bool {
        true
    }

    /// Another process holds the name.
    #[derive(Debug)]
    pub(super) enum Held {}

    pub(super) fn acquire(_name: &str) -> Result<Option<Lock>, Held> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two registries with one prefix stand for two processes.
    static HERE: Registry = Registry::new("tautline-test-cpu");
    static THERE: Registry = Registry::new("tautline-test-cpu");
    static ALONE: Registry = Registry::new("tautline-test-alone");

    /// The numbers are beyond those of processors, and other runs of the test have others.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_processor_belongs_to_one_process() {
        let first = 1 + std::process::id() as usize;
        let (one, two, three) = (first, first + (1 << 30), first + (2 << 30));
        let here = Claim::alone_of(&[two, one, one], &HERE).unwrap();
        assert_eq!(here.cpus, [one, two]);
        assert_eq!(
            Claim::alone_of(&[three, two, one], &THERE).unwrap_err(),
            one
        );
        // A refused request leaves no claim.
        let there = Claim::alone_of(&[three], &THERE).unwrap();
        assert_eq!(Claim::alone_of(&[three], &HERE).unwrap_err(), three);
        // A runtime shares processors on request.
        let asked = Claim::of(&[one, three], &THERE);
        assert_eq!(asked.shared, [one, three]);
        drop((asked, here));
        drop(Claim::alone_of(&[one, two], &THERE).unwrap());
        assert_eq!(Claim::alone_of(&[three], &HERE).unwrap_err(), three);
        drop(there);
        drop(Claim::alone_of(&[one, two, three], &HERE).unwrap());
        drop(Claim::alone_of(&[one, two, three], &THERE).unwrap());
    }

    /// A container's namespace has fewer settings than that of the system; a system without them
    /// has one namespace.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_container_is_noticed() {
        let name = format!("tautline-claim-{}", std::process::id());
        let settings = std::env::temp_dir().join(name);
        assert!(lock::is_seen_by_all(&settings));
        std::fs::create_dir_all(settings.join("somaxconn")).unwrap();
        assert!(!lock::is_seen_by_all(&settings));
        std::fs::create_dir_all(settings.join("netdev_budget")).unwrap();
        assert!(lock::is_seen_by_all(&settings));
        std::fs::remove_dir_all(&settings).unwrap();
        let line = Refusal::Unseen.line();
        assert!(line.starts_with("not pinned: ") && line.lines().count() == 1);
    }

    /// The second of two runtimes of a process gets no claim until the first is gone; a claim to no
    /// processor always succeeds.
    #[test]
    fn a_processor_belongs_to_one_runtime() {
        let first = 1 + std::process::id() as usize;
        let here = Claim::alone_of(&[first], &ALONE).unwrap();
        assert_eq!(Claim::alone_of(&[first], &ALONE).unwrap_err(), first);
        assert!(Claim::alone_of(&[], &ALONE).unwrap().shared().is_none());
        let asked = Claim::of(&[first], &ALONE);
        assert!(
            asked
                .shared()
                .unwrap()
                .contains("have workers of another runtime")
        );
        drop(here);
        assert_eq!(Claim::alone_of(&[first], &ALONE).unwrap_err(), first);
        drop(asked);
        drop(Claim::alone_of(&[first], &ALONE).unwrap());
    }
}
