//! One node as a tree of memories, and the processor of each worker: described, or discovered.
//!
//! In XML, with the element names of the hierarchical place trees of Chatterjee 2013, section 5.2:
//!
//! ```xml
//! <HPT version="0.1" info="two sockets of four cores" cpus="0-7">
//!   <place type="mem">
//!     <place num="2" type="cache" name="L3" bytes="8388608" tuning="1">
//!       <place num="4" type="core"><worker num="1"/></place>
//!     </place>
//!   </place>
//! </HPT>
//! ```
//!
//! and in TOML:
//!
//! ```toml
//! info = "two sockets of four cores"
//! cpus = "0-7"
//! [place]
//! type = "mem"
//! [[place.place]]
//! num = 2
//! type = "cache"
//! name = "L3"
//! bytes = 8388608
//! tuning = true
//! [[place.place.place]]
//! num = 4
//! type = "core"
//! workers = 1
//! ```
//!
//! `num` is the number of copies under each copy of the place above, 1 by default. Workers belong
//! to the innermost places. `type` is `mem`, `cache`, `core`, `node`, `device` or another word;
//! `tuning`, `name`, `bytes` and `cpus`, the processor of each worker in order, are optional
//! extensions. `scratch` is memory near its workers that software fills.
#![forbid(unsafe_code)]

mod discover;
#[cfg(feature = "describe")]
mod read;

#[cfg(feature = "describe")]
pub use read::{machine_from_file, machine_from_xml};

use crate::host::pinning::{Pinning, ranges};
use crate::setting::{PLATFORM, environment};
use crate::{Error, Result};
use std::borrow::Cow;
use tautline_core::hierarchy::Hierarchy;
use tautline_node::Machine;

/// A node: its tree of memories, and the processors of its workers.
///
/// ```
/// use tautline::Platform;
///
/// let platform = Platform::discover();
/// println!("{} workers, the first on {:?}", platform.hierarchy().workers(), platform.cpu(0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    info: String,
    hierarchy: Hierarchy,
    /// By worker; empty if not known.
    cpus: Vec<usize>,
}

impl Platform {
    /// Returns the platform of the file that `TAUTLINE_PLATFORM` names; `None` if that is unset or
    /// empty.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let described = Platform::from_environment(&tautline::Machine::discover())?;
    /// println!("{}", described.map_or("not described".to_owned(), |it| it.info().to_owned()));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read or has a mistake, in a line that begins with the name of the
    /// variable; a processor that is not allowed on `machine`. Without the feature `describe` no
    /// file can be read.
    pub fn from_environment(machine: &Machine) -> Result<Option<Self>> {
        let Some(file) = environment::text(PLATFORM.variable)? else {
            return Ok(None);
        };
        let refuse = |value: String, allowed: Cow<'static, str>| {
            Err(Error::Setting {
                setting: PLATFORM.variable,
                value,
                allowed,
            })
        };
        let platform = match described(&file) {
            Ok(platform) => platform,
            Err((value, allowed)) => return refuse(value, Cow::from(allowed)),
        };
        let allowed: Vec<usize> = machine.allowed().iter().map(|cpu| cpu.id).collect();
        match platform.cpus.iter().find(|cpu| !allowed.contains(cpu)) {
            None => Ok(Some(platform)),
            Some(cpu) => {
                let allowed = format!("allowed processors, of {}", ranges(&allowed));
                refuse(format!("{file}, CPU {cpu}"), Cow::from(allowed))
            }
        }
    }

    /// The present machine, as the calling thread may use it.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let tree = Platform::discover();
    /// assert!(tree.hierarchy().workers() >= 1);
    /// ```
    pub fn discover() -> Self {
        Self::of(&Machine::discover())
    }

    /// Returns the processors of `machine` that workers are pinned to by default, one worker each,
    /// under its sockets, memory nodes, caches and cores. Parts with the same processors are one
    /// place.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let machine = tautline::Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// assert_eq!(Platform::of(&machine).hierarchy().workers(), 4);
    /// ```
    pub fn of(machine: &Machine) -> Self {
        discover::platform(machine, &machine.cpus())
    }

    /// Returns the same for the processors that `pinning` assigns to its default number of workers.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// use tautline::pinning::{Bind, Pinning};
    ///
    /// let machine = tautline::Machine::read("/nowhere".as_ref(), &[0, 1, 2, 3]);
    /// let pinning = Pinning::listed(&machine, &"{1},{3}".parse()?, Bind::Close)?;
    /// assert_eq!(Platform::pinned(&machine, &pinning).cpu(1), Some(3));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn pinned(machine: &Machine, pinning: &Pinning) -> Self {
        discover::platform(machine, &pinning.cpus(pinning.processors()))
    }

    /// Returns the description's `info`; empty if it has none.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let platform = Platform::from_toml("two.toml", "info = \"two\"\n[place]\ntype = \"mem\"\nworkers = 2\n")?;
    /// assert_eq!(platform.info(), "two");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn info(&self) -> &str {
        &self.info
    }

    /// Returns the tree of memories.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let platform = Platform::from_toml("two.toml", "[place]\ntype = \"mem\"\nworkers = 2\n")?;
    /// assert_eq!((platform.hierarchy().len(), platform.hierarchy().workers()), (1, 2));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// Returns the processor of the worker, if it is known.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let machine = tautline::Machine::read("/nowhere".as_ref(), &[4, 5]);
    /// assert_eq!((Platform::of(&machine).cpu(1), Platform::of(&machine).cpu(2)), (Some(5), None));
    /// ```
    pub fn cpu(&self, worker: u32) -> Option<usize> {
        self.cpus.get(worker as usize).copied()
    }
}

/// Returns the platform that the file describes; or what is wrong, and what is allowed.
#[cfg(feature = "describe")]
fn described(file: &str) -> Result<Platform, (String, &'static str)> {
    let allowed = "a file in XML or TOML that describes a tree of memories";
    Platform::from_file(file).map_err(|error| (error.to_string(), allowed))
}

#[cfg(not(feature = "describe"))]
fn described(file: &str) -> Result<Platform, (String, &'static str)> {
    let allowed = "unset, or a build of the crate tautline with the feature `describe`, which reads such files";
    Err((file.escape_debug().to_string(), allowed))
}
