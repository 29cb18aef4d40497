//! Signals that this process ignores: since its start, or on request.
#![cfg_attr(not(unix), forbid(unsafe_code))]

/// Whether this process ignores a signal: one started by `nohup` ignores `SIGHUP`, and one that a
/// shell without job control runs in the background ignores `SIGINT`. Such a signal should get no
/// handler. `false` for a number that is not a signal's.
///
/// ```
/// # #[cfg(unix)] {
/// use tautline_node::signal::is_ignored;
///
/// // Rust programs ignore it: a write to a pipe without a reader fails instead.
/// let sigpipe = 13;
/// assert!(is_ignored(sigpipe));
/// # }
/// ```
#[cfg(unix)]
pub fn is_ignored(signal: i32) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action the call changes nothing. If it succeeds, it has written the
    // present one.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Other systems have no such signals.
#[cfg(not(unix))]
pub fn is_ignored(_: i32) -> bool {
    false
}

/// Has writes beyond the limit of the size of files (`ulimit -f`) fail from now on: ignores
/// `SIGXFSZ`, which would end the process there. Programs that this process starts inherit that.
///
/// ```
/// tautline_node::signal::ignore_file_size_limit();
/// # #[cfg(target_os = "linux")]
/// assert!(tautline_node::signal::is_ignored(25));
/// ```
#[cfg(unix)]
pub fn ignore_file_size_limit() {
    // SAFETY: the action is no function.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub fn ignore_file_size_limit() {}

#[cfg(all(test, unix))]
mod tests {
    use super::is_ignored;

    #[test]
    fn a_signal_is_ignored_only_where_the_system_says_so() {
        // Used by no other test of this process.
        let signal = libc::SIGWINCH;
        let set = |action: libc::sighandler_t| {
            // SAFETY: neither of the two actions is a handler.
            unsafe { libc::signal(signal, action) }
        };
        assert!(!is_ignored(signal));
        set(libc::SIG_IGN);
        assert!(is_ignored(signal));
        set(libc::SIG_DFL);
        assert!(!is_ignored(signal));
        assert!(!is_ignored(-1));
    }
}
