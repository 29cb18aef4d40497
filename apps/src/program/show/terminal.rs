//! Terminals, as opposed to files and pipes.

use std::io::IsTerminal;

/// Whether `stream` is a terminal that displays what this process writes to it. Launchers such as
/// `mpirun` give each rank a terminal for its output, wherever they pass it on to, as in
/// `mpirun … > file`; that is not the one which controls the process.
#[cfg(target_os = "linux")]
pub fn is_terminal(stream: &(impl IsTerminal + std::os::fd::AsRawFd)) -> bool {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    let is_controlling = || {
        let file = fs::metadata(format!("/proc/self/fd/{}", stream.as_raw_fd())).ok()?;
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        Some(file.rdev() == controlling(&stat)?)
    };
    stream.is_terminal() && is_controlling().unwrap_or(true)
}

/// Whether `stream` is a terminal.
#[cfg(not(target_os = "linux"))]
pub fn is_terminal(stream: &impl IsTerminal) -> bool {
    stream.is_terminal()
}

/// Returns the device of the terminal that controls a process, of which `stat` is the file of this
/// name in `/proc`; 0 without one.
#[cfg(target_os = "linux")]
fn controlling(stat: &str) -> Option<u64> {
    // The name of the program may contain anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let device: i32 = fields.split(' ').nth(4)?.parse().ok()?;
    Some(device.cast_unsigned().into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn the_controlling_terminal_follows_the_session() {
        let stat = "17 (a ) (b) S 1 17 16 34818 18 4194304 0";
        assert_eq!(controlling(stat), Some(34818));
        assert_eq!(controlling("17 (a) S 1 17 16 0 -1 0"), Some(0));
        assert_eq!(controlling("17 (a"), None);
    }

    #[test]
    fn files_are_no_terminals() {
        assert!(!is_terminal(
            &File::open("/dev/null").expect("there is one")
        ));
    }
}
