//! A fence in all threads of the process, by an interrupt to the processors that run one:
//! `membarrier(2)` of Linux, `FlushProcessWriteBuffers` of Windows. Other systems have full fences
//! on both sides.

#[cfg(target_os = "linux")]
use crate::process::generation;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicU64, Ordering};
use tautline_core::port::Fence;
#[cfg(not(any(target_os = "linux", windows)))]
use tautline_core::sync::full_fence;
#[cfg(any(target_os = "linux", windows))]
use tautline_core::sync::light_fence;

/// The frequent side of an asymmetric fence; [`heavy`] is the other.
#[inline(always)]
pub(crate) fn light() {
    // ORDERING: SeqCst, as in the trait; no mutant: model checkers have no heavy fence of this
    // kind.
    #[cfg(any(target_os = "linux", windows))]
    light_fence();
    // ORDERING: SeqCst: one half of the pair; no mutant: the models have the pair that the trait
    // provides.
    #[cfg(not(any(target_os = "linux", windows)))]
    full_fence();
}

/// Executes a full fence in every thread of this process; false, and nothing was fenced, where the
/// system cannot.
///
/// Costs microseconds, for the interrupted threads too: some 15 and 8 on a virtual machine.
#[cfg(target_os = "linux")]
pub fn heavy() -> bool {
    prepare() && membarrier(PRIVATE_EXPEDITED)
}

/// Prepares for the first [`heavy`] of this process; returns whether the system can. Quick while
/// the process has one thread. After that it takes milliseconds (5 with two processors), since the
/// kernel waits for all of them: workers that wait for it are missing until then.
///
/// Without a lock: in the child of `fork` one would stay locked that another thread held.
#[cfg(target_os = "linux")]
pub(crate) fn prepare() -> bool {
    /// Twice the generation of the process that was registered last, plus 1 if it was refused; 0:
    /// none was.
    static REGISTERED: AtomicU64 = AtomicU64::new(0);
    let here = 2 * (generation() + 1);
    // ORDERING: Relaxed: the kernel knows by itself; threads that register it twice get the same
    // answer.
    match REGISTERED.load(Ordering::Relaxed) {
        known if known & !1 == here => known == here,
        _ => {
            let is_registered = membarrier(REGISTER_PRIVATE_EXPEDITED);
            // ORDERING: Relaxed: as above.
            REGISTERED.store(here | u64::from(!is_registered), Ordering::Relaxed);
            is_registered
        }
    }
}

#[cfg(target_os = "linux")]
fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: these commands take no pointer and change no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`: a full fence in every running thread of the process.
#[cfg(target_os = "linux")]
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;

/// `MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED`: announces its use.
#[cfg(target_os = "linux")]
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

/// Nothing is to be prepared.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prepare() -> bool {
    true
}

/// Executes a full fence in every thread of this process.
#[cfg(windows)]
pub fn heavy() -> bool {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn FlushProcessWriteBuffers();
    }
    // SAFETY: takes nothing, changes no memory, and cannot fail.
    unsafe { FlushProcessWriteBuffers() };
    true
}

/// Executes the other half of the full fence that [`light`] is.
#[cfg(not(any(target_os = "linux", windows)))]
pub fn heavy() -> bool {
    // ORDERING: SeqCst: the other half; no mutant: the models have the pair that the trait
    // provides.
    full_fence();
    true
}

/// The asymmetric fence of all threads of this process: the light half is free, the heavy one is
/// [`heavy`].
#[derive(Clone, Copy, Debug)]
pub struct ProcessFences;

// SAFETY: where it returns true, the heavy fence makes each thread of the process execute a full
// fence between two instructions of its program, so that a light fence need only prevent reordering
// by the compiler; or both are full fences.
unsafe impl Fence for ProcessFences {
    #[inline(always)]
    fn light_fence(&self) {
        light();
    }

    fn heavy_fence(&self) -> bool {
        heavy()
    }
}

/// Full fences on both sides, which every machine has.
#[cfg(feature = "loopback")]
#[derive(Debug)]
pub(crate) struct FullFences;

// SAFETY: the provided methods are full fences.
#[cfg(feature = "loopback")]
unsafe impl Fence for FullFences {}
