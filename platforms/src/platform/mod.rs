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
//! `num` is the number of copies under each copy of the place above, 1 by default. Workers belong to
//! the innermost places. `type` is `mem`, `cache`, `core`, `node`, `device` or another word; `tuning`,
//! `name`, `bytes` and `cpus`, the processor of each worker in order, are optional extensions. `scratch` is memory near its
//! workers that software fills.
#![forbid(unsafe_code)]

mod discover;
mod entry;
mod form;
mod hpt;
mod hwloc;
mod xml;

use crate::file::{FileError, Mistake, locate};
use crate::pinning::{Pinning, ranges};
use crate::{Error, Result, environment};
use entry::Entry;
use std::borrow::Cow;
use std::path::Path;
use tautline_core::hierarchy::Hierarchy;
use tautline_node::Machine;

/// The variable that names a file with the platform of this machine.
pub const VARIABLE: &str = "TAUTLINE_PLATFORM";
/// The longest description that is read, in bytes.
const BYTES_MAX: u64 = 1 << 24;

/// A node: its tree of memories, and the processors of its workers.
///
/// ```
/// use tautline::Platform;
///
/// let platform = Platform::from_toml("two.toml", "[place]\ntype = \"mem\"\nworkers = 2\n")?;
/// assert_eq!(platform.hierarchy().workers(), 2);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    info: String,
    hierarchy: Hierarchy,
    /// By worker; empty if not known.
    cpus: Vec<usize>,
}

impl Platform {
    /// Parses a tree from the text of an XML document; `file` is its name in errors.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let text = r#"<HPT version="0.1" info="a node" cpus="0-1">
    ///     <place type="mem"><place num="2" type="core"><worker num="1"/></place></place>
    /// </HPT>"#;
    /// let platform = Platform::from_xml("node.xml", text)?;
    /// assert_eq!((platform.info(), platform.hierarchy().workers()), ("a node", 2));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`FileError::Malformed`]
    pub fn from_xml(file: &str, text: &str) -> Result<Self, FileError> {
        locate(file, text, hpt::read(text))
    }

    /// Parses a tree from the text of a TOML document; `file` is its name in errors.
    ///
    /// ```
    /// use tautline::platform::Platform;
    ///
    /// let text = "info = \"a node\"\n[place]\ntype = \"mem\"\nworkers = 2\n";
    /// assert_eq!(Platform::from_toml("node.toml", text)?.info(), "a node");
    /// let error = Platform::from_toml("node.toml", "info = \"a node\"").unwrap_err();
    /// assert_eq!(error.to_string(), "node.toml:1:1: missing field `place`");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`FileError::Malformed`]
    pub fn from_toml(file: &str, text: &str) -> Result<Self, FileError> {
        locate(file, text, form::read(text))
    }

    /// Reads a tree from a file: TOML if its name ends in `.toml`, else XML; a topology as `lstopo` writes
    /// it is read as the machine that it describes.
    ///
    /// ```
    /// use tautline::Platform;
    ///
    /// let error = Platform::from_file("/nowhere/tree.toml").unwrap_err();
    /// assert!(error.to_string().starts_with("/nowhere/tree.toml: "));
    /// ```
    ///
    /// # Errors
    /// A file that cannot be read, and a description with a mistake.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let text = crate::file::text(path, BYTES_MAX)?;
        if path.extension().is_some_and(|end| end == "toml") {
            return Self::from_toml(&file, &text);
        }
        match locate(&file, &text, xml::root(&text))?.as_str() {
            hwloc::ROOT => machine_from_xml(&file, &text).map(|machine| Self::of(&machine)),
            _ => Self::from_xml(&file, &text),
        }
    }

    /// Returns the platform of the file that [`VARIABLE`] names; `None` if that is unset or empty.
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
    /// As [`from_file`](Self::from_file), with the name of the variable before the line; a processor that
    /// is not allowed on `machine`.
    pub fn from_environment(machine: &Machine) -> Result<Option<Self>> {
        let Some(file) = environment::text(VARIABLE)? else {
            return Ok(None);
        };
        let refuse = |value: String, allowed: Cow<'static, str>| {
            Err(Error::Setting {
                setting: VARIABLE,
                value,
                allowed,
            })
        };
        let platform = match Self::from_file(&file) {
            Ok(platform) => platform,
            Err(error) => {
                let allowed = "a file in XML or TOML that describes a tree of memories";
                return refuse(error.to_string(), Cow::from(allowed));
            }
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

    /// Returns the processors of `machine` that workers are pinned to by default, one worker each, under its
    /// sockets, memory nodes, caches and cores. Parts with the same processors are one place.
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

/// Parses the machine that a topology describes as `lstopo --of xml` writes it (hwloc, versions 1 to 3): its
/// allowed processors, without a quota. `file` is its name in errors.
///
/// ```
/// use tautline::platform::machine_from_xml;
///
/// let error = machine_from_xml("x.xml", "<topology").unwrap_err();
/// assert!(error.to_string().starts_with("x.xml"), "{error}");
/// ```
///
/// # Errors
/// [`FileError::Malformed`]
pub fn machine_from_xml(file: &str, text: &str) -> Result<Machine, FileError> {
    locate(file, text, hwloc::read(text))
}

/// Reads the machine that a file describes; see [`machine_from_xml`].
///
/// ```
/// let error = tautline::platform::machine_from_file("/nowhere/x.xml").unwrap_err();
/// assert!(error.to_string().starts_with("/nowhere/x.xml: "));
/// ```
///
/// # Errors
/// A file that cannot be read, and a description with a mistake.
pub fn machine_from_file(path: impl AsRef<Path>) -> Result<Machine, FileError> {
    let path = path.as_ref();
    machine_from_xml(
        &path.display().to_string(),
        &crate::file::text(path, BYTES_MAX)?,
    )
}

/// Formats a value of a description in one line of a message.
fn shown(value: &str) -> String {
    const MOST: usize = 60;
    let mut text: String = value
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    if value.chars().nth(MOST).is_some() {
        text.push('…');
    }
    text
}
