//! The processes of this machine from which the calling one descends: whether a rank has started
//! it.
//!
//! A process passes its variables on to the programs that it starts, so a program that a rank
//! starts has those of the rank. Each rank that has joined, and each launcher, therefore binds a
//! socket whose name contains its process id, and which the system releases when the process ends
//! or executes another program. A process searches for the nearest of its ancestors that has such a
//! socket. If that is a launcher, as below a script that has not joined, the process is a rank;
//! below a rank it is not one.
//!
//! Such names belong to a network namespace, process ids to a pid namespace. Containers may share
//! the former alone, so the name contains the latter too. Any user of the machine may bind a name
//! first: there is no protection against that.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
pub(crate) use linux::{Launching, nearest};

/// The part of a process in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "nothing is launched there")
)]
pub(crate) enum Part {
    Launcher,
    Rank,
}

/// States that this process has joined as the rank which `variable` contains, so that programs that
/// it starts are no ranks.
pub fn set_joined(variable: &str) {
    #[cfg(target_os = "linux")]
    std::mem::forget(linux::mark(Part::Rank, variable));
    #[cfg(not(target_os = "linux"))]
    let _ = variable;
}

/// Whether the nearest ancestor with a part in a launch by `variable`, as its launcher or as a rank
/// that has [joined](set_joined), is a rank. An ancestor whose name begins with one of `launchers`
/// counts as a launcher, since it sets the variable again.
///
/// ```
/// use tautline_process::{is_started_by_rank, set_joined};
///
/// set_joined("EXAMPLE_RANK");
/// // A program is no descendant of itself.
/// assert!(!is_started_by_rank("EXAMPLE_RANK", &["mpirun"]));
/// ```
pub fn is_started_by_rank(variable: &str, launchers: &[&str]) -> bool {
    #[cfg(target_os = "linux")]
    return nearest(variable, launchers) == Some(Part::Rank);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (variable, launchers);
        false
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::Part;
    use crate::variables::RANK_VARIABLE;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::{fs, iter, process};

    /// Shows that this process launches ranks, until it is dropped. Launches at the same time share
    /// a socket: a name can be bound once, and the first launch may end before the others.
    pub(crate) struct Launching {
        process: u32,
    }

    static LAUNCHES: Mutex<Launches> = Mutex::new(Launches {
        process: 0,
        number: 0,
        socket: None,
    });

    struct Launches {
        /// The process that they are of: the child of a fork has a copy of those of its parent.
        process: u32,
        number: usize,
        socket: Option<UnixDatagram>,
    }

    impl Launching {
        pub(crate) fn begin() -> Self {
            let process = process::id();
            let mut launches = launches();
            if launches.process != process || launches.number == 0 {
                *launches = Launches {
                    process,
                    number: 0,
                    socket: mark(Part::Launcher, RANK_VARIABLE),
                };
            }
            launches.number += 1;
            Self { process }
        }
    }

    impl Drop for Launching {
        fn drop(&mut self) {
            let mut launches = launches();
            if launches.process == self.process {
                launches.number -= 1;
                if launches.number == 0 {
                    launches.socket = None;
                }
            }
        }
    }

    fn launches() -> MutexGuard<'static, Launches> {
        LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the part of this process while the socket exists. A system that refuses it leaves the
    /// process without.
    pub(super) fn mark(part: Part, variable: &str) -> Option<UnixDatagram> {
        mark_process(part, variable, process::id())
    }

    fn mark_process(part: Part, variable: &str, process: u32) -> Option<UnixDatagram> {
        UnixDatagram::bind_addr(&name(part, variable, process)?).ok()
    }

    /// Returns the part of the nearest ancestor that has one by `variable`, or the name of a
    /// launcher.
    pub(crate) fn nearest(variable: &str, launchers: &[&str]) -> Option<Part> {
        let socket = UnixDatagram::unbound().ok()?;
        // This sends nothing, so it is not seen at the other end.
        let is = |part, process| {
            let name = name(part, variable, process);
            name.is_some_and(|name| socket.connect_addr(&name).is_ok())
        };
        let part_of = |Ancestor { process, program }: Ancestor| {
            let is_named = launchers.iter().any(|name| program.starts_with(name));
            let is_launcher = is_named || is(Part::Launcher, process);
            let is_rank = || is(Part::Rank, process).then_some(Part::Rank);
            is_launcher.then_some(Part::Launcher).or_else(is_rank)
        };
        ancestors().find_map(part_of)
    }

    fn name(part: Part, variable: &str, process: u32) -> Option<SocketAddr> {
        let namespace = pid_namespace();
        let name = format!("tautline-{part:?}-{namespace}-{process}-{variable}");
        SocketAddr::from_abstract_name(name).ok()
    }

    /// Returns the number of the namespace of this process's id; 0 if the system does not tell.
    fn pid_namespace() -> u64 {
        fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
    }

    struct Ancestor {
        process: u32,
        /// Its name, of which the system keeps 15 bytes.
        program: String,
    }

    /// Returns the ancestors of this process, its parent first.
    fn ancestors() -> impl Iterator<Item = Ancestor> {
        let parents = iter::successors(stat("self"), |(_, parent)| stat(&parent.to_string()));
        let parents = parents.map(|(_, parent)| parent);
        parents.map_while(|process| {
            let (program, _) = stat(&process.to_string())?;
            Some(Ancestor { process, program })
        })
    }

    /// Returns the name of a process, and its parent.
    fn stat(process: &str) -> Option<(String, u32)> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name may contain anything. The state of the process follows it.
        let (before, after) = stat.rsplit_once(") ")?;
        let (_, name) = before.split_once('(')?;
        Some((name.to_owned(), after.split(' ').nth(1)?.parse().ok()?))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn ancestors_begin_with_the_parent() {
            let all: Vec<_> = ancestors().map(|ancestor| ancestor.process).collect();
            assert_eq!(all[0], std::os::unix::process::parent_id());
            assert!(!all.contains(&process::id()), "{all:?}");
        }

        /// A process of another pid namespace may have the same id.
        #[test]
        fn a_name_contains_the_pid_namespace() {
            let link = fs::read_link("/proc/self/ns/pid").expect("as Linux has it");
            let link = link.to_str().expect("in ASCII");
            let number = link.trim_start_matches("pid:[").trim_end_matches(']');
            let name = name(Part::Rank, "TEST", 7).expect("a short name");
            let name = name.as_abstract_name().expect("an abstract one");
            let expected = format!("tautline-Rank-{number}-7-TEST");
            assert_eq!(str::from_utf8(name), Ok(&*expected));
        }

        /// Launches of several threads end in any order.
        #[test]
        fn a_launcher_is_one_until_its_last_launch_ends() {
            let name = name(Part::Launcher, RANK_VARIABLE, process::id()).expect("a short name");
            let socket = UnixDatagram::unbound().expect("a socket");
            let is_launcher = || socket.connect_addr(&name).is_ok();
            let [first, second] = [(); 2].map(|()| Launching::begin());
            drop(first);
            assert!(is_launcher());
            drop(second);
            assert!(!is_launcher());
            let _next = Launching::begin();
            assert!(is_launcher());
        }

        /// As if ancestors of this process had joined.
        #[test]
        fn the_nearest_ancestor_counts() {
            let variable = format!("TEST {}", process::id());
            let found = || nearest(&variable, &[]);
            let mut all = ancestors();
            let Ancestor { process, program } = all.next().expect("a parent");
            let _own = mark(Part::Rank, &variable);
            assert_eq!(found(), None);
            if let Some(far) = all.next() {
                let _far = mark_process(Part::Rank, &variable, far.process);
                assert_eq!(found(), Some(Part::Rank));
                assert_eq!(nearest("OTHER", &[]), None);
                assert_eq!(nearest(&variable, &[&program]), Some(Part::Launcher));
                let _near = mark_process(Part::Launcher, &variable, process);
                assert_eq!(found(), Some(Part::Launcher));
            }
            let near = mark_process(Part::Rank, &variable, process);
            assert_eq!(found(), Some(Part::Rank));
            drop(near);
            assert_eq!(found(), None);
        }
    }
}
