//! The reason why a program cannot be started, in one line.

use crate::command::quote::shown;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

/// The system's number of the error for a file that is neither a binary nor a script.
const NO_FORMAT: i32 = 8;

/// Returns the line for `program`, which the system refused to start with `error`.
pub(super) fn refusal(program: &OsStr, error: &io::Error) -> String {
    let name = shown(&program.to_string_lossy());
    let path = Path::new(program);
    // As `execvp` has it: anything with a slash is a path.
    let is_path = path.components().count() > 1 || name.contains('/');
    let why = match error.kind() {
        io::ErrorKind::NotFound if !is_path && path.is_file() => {
            format!("`./{name}`? programs without a folder are looked up in PATH")
        }
        io::ErrorKind::NotFound if !is_path => "no program of this name in PATH".to_owned(),
        io::ErrorKind::NotFound if path.is_file() => {
            "the interpreter or loader that this file names is not installed".to_owned()
        }
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied if is_path && path.is_dir() => {
            "a folder, not a program".to_owned()
        }
        io::ErrorKind::PermissionDenied if is_path && path.is_file() => {
            format!("not executable; chmod +x {name} makes it so")
        }
        _ if error.raw_os_error() == Some(NO_FORMAT) => {
            "not a program: neither a binary for this machine nor a script that begins with #!"
                .to_owned()
        }
        _ => format!("cannot be started: {error}"),
    };
    format!("{name}: {why}")
}
