//! System calls that a filter refuses, as those of containers do.
#![allow(dead_code, reason = "each program of tests uses a part of it")]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The refused system calls, and the error number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refused {
    /// New threads, not new processes.
    Threads(i32),
    /// The system call of this number, as on a kernel without it.
    Missing(libc::c_long),
}

/// Has the system refuse it to the program that `command` starts, and to what that starts.
pub(crate) fn refusing(command: &mut Command, refused: Refused) {
    // SAFETY: the closure makes system calls alone, and allocates nothing.
    unsafe { command.pre_exec(move || refuse(refused)) };
}

/// Has the system refuse it to the calling thread, for ever, and to what that starts.
pub(crate) fn refuse(refused: Refused) -> io::Result<()> {
    let pass = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
    let errno = |errno: i32| {
        let action = libc::SECCOMP_RET_ERRNO | errno as u32;
        statement(libc::BPF_RET | libc::BPF_K, action)
    };
    let number = load(0);
    let program = match refused {
        Refused::Missing(call) => [
            number,
            unless(call, 1),
            errno(libc::ENOSYS),
            pass,
            pass,
            pass,
            pass,
            pass,
        ],
        Refused::Threads(error) => [
            number,
            unless(libc::SYS_clone3, 1),
            errno(error),
            unless(libc::SYS_clone, 3),
            // The low half of the first argument.
            load(16),
            jump(libc::BPF_JSET, libc::CLONE_THREAD as u32, [0, 1]),
            errno(error),
            pass,
        ],
    };
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the system copies the program during the call; the first call takes numbers alone.
    let status = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
    };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Loads a word of the call: its number first, then its arguments from 16 on.
fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Skips as many statements unless the word is `call`.
fn unless(call: libc::c_long, skipped: u8) -> libc::sock_filter {
    jump(libc::BPF_JEQ, call as u32, [0, skipped])
}

fn jump(test: u32, k: u32, [jt, jf]: [u8; 2]) -> libc::sock_filter {
    let code = (libc::BPF_JMP | test | libc::BPF_K) as u16;
    libc::sock_filter { code, jt, jf, k }
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    let (jt, jf) = (0, 0);
    libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
