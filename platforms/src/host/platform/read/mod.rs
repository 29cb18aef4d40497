//! Descriptions in files, and their errors.

mod entry;
mod form;
mod hpt;
mod hwloc;
mod xml;

use super::Platform;
use crate::host::file::{FileError, Mistake, locate};
use entry::Entry;
use std::path::Path;
use tautline_node::Machine;

/// The longest description that is read, in bytes.
const BYTES_MAX: u64 = 1 << 24;

impl Platform {
    /// Parses a tree from the text of an XML document; `file` is its name in errors. Feature
    /// `describe`.
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

    /// Parses a tree from the text of a TOML document; `file` is its name in errors. Feature
    /// `describe`.
    ///
    /// ```
    /// use tautline::Platform;
    ///
    /// let platform = Platform::from_toml("two.toml", "[place]\ntype = \"mem\"\nworkers = 2\n")?;
    /// assert_eq!(platform.hierarchy().workers(), 2);
    /// # Ok::<(), tautline::Error>(())
    /// ```
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

    /// Reads a tree from a file: TOML if its name ends in `.toml`, else XML; a topology as `lstopo`
    /// writes it is read as the machine that it describes. Feature `describe`.
    ///
    /// ```
    /// use tautline::Platform;
    ///
    /// let error = Platform::from_file("/nowhere/tree.toml").unwrap_err();
    /// assert!(error.to_string().starts_with("/nowhere/tree.toml: "));
    /// ```
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
        let text = FileError::read(path, BYTES_MAX)?;
        if path.extension().is_some_and(|end| end == "toml") {
            return Self::from_toml(&file, &text);
        }
        match locate(&file, &text, xml::root(&text))?.as_str() {
            hwloc::ROOT => machine_from_xml(&file, &text).map(|machine| Self::of(&machine)),
            _ => Self::from_xml(&file, &text),
        }
    }
}

/// Parses the machine that a topology describes as `lstopo --of xml` writes it (hwloc, versions 1
/// to 3): its allowed processors, without a quota. `file` is its name in errors. Feature
/// `describe`.
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

/// Reads the machine that a file describes; see [`machine_from_xml`]. Feature `describe`.
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
        &FileError::read(path, BYTES_MAX)?,
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
